//! `--annotate`: fields that say of each record what it is a duplicate of.

use simidx::{Error, IdBuf};
use simidx_input::{FieldKind, FieldValue, NewField};

use super::judged::{Cause, Judged};
use crate::support::labels::Label;

/// The new fields, in order.
pub(super) struct Notes {
    pub(super) fields: Vec<NewField>,
    has_distance: bool,
    has_estimate: bool,
    has_index: bool,
}

impl Notes {
    /// The fields for these documents; their names begin with the prefix.
    pub(super) fn new(prefix: &str, judged: &Judged<'_>) -> Self {
        let has_index = judged.set.is_some();
        // Members of an index may have any ids.
        let of = match has_index || judged.documents.has_text_ids {
            true => FieldKind::Text,
            false => FieldKind::Number,
        };
        let has_distance = judged.found.has_distances();
        let has_estimate = has_index && !has_distance;
        let fields = [
            (true, "duplicate_of", of),
            (true, "cluster", FieldKind::Number),
            (has_distance, "distance", FieldKind::Number),
            (!has_distance, "similarity", FieldKind::Real),
            (has_estimate, "estimate", FieldKind::Real),
            (has_index, "duplicate_in", FieldKind::Text),
        ];
        let fields = fields.into_iter().filter(|(is_there, ..)| *is_there);
        Notes {
            fields: fields
                .map(|(_, name, kind)| NewField::new(format!("{prefix}{name}"), kind))
                .collect(),
            has_distance,
            has_estimate,
            has_index,
        }
    }

    /// The values for a document: but for the cluster, none if it is kept.
    ///
    /// # Errors
    /// What the index or the temporary files report.
    pub(super) fn of(
        &self,
        document: usize,
        judged: &Judged<'_>,
    ) -> Result<Vec<Option<FieldValue>>, Error> {
        let number = |number: u64| Some(FieldValue::Number(number));
        let cluster = judged.found.cluster_of(document).and_then(number);
        let (mut of, mut distance, mut place) = (None, None, None);
        let (mut similarity, mut estimate) = (None, None);
        if let Some(dropped) = judged.dropped(document)? {
            distance = dropped.distance.map(|bits| FieldValue::Number(bits.into()));
            match dropped.cause {
                Cause::Document {
                    of: label,
                    similarity: found,
                    ..
                } => {
                    of = Some(value(label));
                    similarity = found.map(FieldValue::Real);
                    place = Some("input");
                }
                Cause::Member {
                    fingerprint,
                    id,
                    estimate: found,
                } => {
                    estimate = found.map(|found| FieldValue::Real(found.similarity));
                    of = Some(match id {
                        Some(id) => value(Label::Id(id)),
                        None => FieldValue::Text(fingerprint),
                    });
                    place = Some("index");
                }
            }
        }
        let mut values = vec![of, cluster];
        values.extend(self.has_distance.then_some(distance));
        values.extend((!self.has_distance).then_some(similarity));
        values.extend(self.has_estimate.then_some(estimate));
        let place = place.map(|place| FieldValue::Text(place.to_owned()));
        values.extend(self.has_index.then_some(place));
        Ok(values)
    }
}

fn value(label: Label) -> FieldValue {
    match label {
        Label::Id(IdBuf::String(id)) => FieldValue::Text(id),
        Label::Id(IdBuf::Number(number)) | Label::Position(number) => FieldValue::Number(number),
    }
}
