//! What is said of each document: `--report`, a line for each that is dropped, and the fields of `--annotate`.

use std::io::{self, Write};

use serde_json::{Value, json};
use simidx::{Error, IdBuf};
use simidx_input::{FieldKind, FieldValue, NewField};

use super::Job;
use super::judged::{Cause, Dropped, Judged, Member};
use crate::support::failure::Failure;
use crate::support::output::{Column, id_to_json, write_object};

/// Writes a line for each document that is dropped, in order: columns, or an object.
///
/// # Errors
/// What `out`, the index or the temporary files report.
pub(super) fn write(
    judged: &Judged<'_>,
    as_json: bool,
    out: &mut (dyn Write + Send),
) -> Result<(), Failure> {
    for document in 0..judged.count() {
        let Some(dropped) = judged.dropped(document)? else {
            continue;
        };
        let label = judged.label(document)?;
        match as_json {
            false => write_columns(&label, &dropped, out)?,
            true => write_object(out, &object(&label, &dropped))?,
        }
    }
    Ok(())
}

/// The columns: what is dropped, for what, the distance if fingerprints were compared, where that is, the number of the
/// cluster, the similarity or the id in the index.
fn write_columns(label: &IdBuf, dropped: &Dropped, out: &mut (dyn Write + Send)) -> io::Result<()> {
    let distance = dropped.distance.map(|bits| bits.to_string());
    let (label, distance) = (Column::of(label), distance.unwrap_or_default());
    match &dropped.cause {
        Cause::Document {
            of,
            cluster,
            similarity,
        } => {
            write!(out, "{label}\t{}\t{distance}\tinput\t", Column::of(of))?;
            if let Some(cluster) = cluster {
                write!(out, "{cluster}")?;
            }
            if let Some(similarity) = similarity {
                write!(out, "\t{similarity:.4}")?;
            }
        }
        Cause::Member(Member {
            fingerprint,
            id,
            similarity,
            estimate,
        }) => {
            write!(out, "{label}\t{fingerprint}\t{distance}\tindex\t")?;
            let shown = similarity.or(estimate.map(|estimate| estimate.similarity));
            match (id, shown) {
                (Some(id), _) => write!(out, "\t{}", Column::of(id))?,
                (None, Some(_)) => write!(out, "\t")?,
                (None, None) => {}
            }
            if let Some(similarity) = shown {
                write!(out, "\t{similarity:.4}")?;
            }
        }
    }
    writeln!(out)
}

fn object(label: &IdBuf, dropped: &Dropped) -> Value {
    let mut object = json!({ "dropped": id_to_json(label.as_id()) });
    if let Some(distance) = dropped.distance {
        object["distance"] = distance.into();
    }
    match &dropped.cause {
        Cause::Document {
            of,
            cluster,
            similarity,
        } => {
            object["kept"] = id_to_json(of.as_id());
            object["cluster"] = (*cluster).into();
            if let Some(similarity) = similarity {
                object["similarity"] = (*similarity).into();
            }
        }
        Cause::Member(member) => {
            object["index"] = json!({ "fingerprint": member.fingerprint });
            if let Some(id) = &member.id {
                object["index"]["id"] = id_to_json(id.as_id());
            }
            if let Some(similarity) = member.similarity {
                object["similarity"] = similarity.into();
            }
            if let Some(estimate) = member.estimate {
                object["estimate"] = estimate.similarity.into();
                object["standard_error"] = estimate.standard_error.into();
            }
        }
    }
    object
}

/// The new fields, in order.
pub(super) struct Notes {
    pub(super) fields: Vec<NewField>,
    /// Of all that there may be, in order, which there are.
    wanted: [bool; 6],
}

impl Notes {
    /// The fields for these documents; their names begin with the prefix.
    pub(super) fn new(job: &Job<'_>, judged: &Judged<'_>) -> Self {
        let (prefix, has_index) = (&job.args.annotate_prefix, job.set.is_some());
        // Members of an index may have any ids.
        let of = match has_index || judged.documents.has_text_ids {
            true => FieldKind::Text,
            false => FieldKind::Number,
        };
        let has_distance = job.measure.distance().is_some();
        let has_estimate = has_index && !has_distance && job.args.texts.is_empty();
        let fields = [
            (true, "duplicate_of", of),
            (true, "cluster", FieldKind::Number),
            (has_distance, "distance", FieldKind::Number),
            (!has_distance, "similarity", FieldKind::Real),
            (has_estimate, "estimate", FieldKind::Real),
            (has_index, "duplicate_in", FieldKind::Text),
        ];
        let wanted = fields.map(|(is_wanted, ..)| is_wanted);
        let fields = fields.into_iter().filter(|(is_wanted, ..)| *is_wanted);
        let fields = fields.map(|(_, name, kind)| NewField::new(format!("{prefix}{name}"), kind));
        Notes {
            fields: fields.collect(),
            wanted,
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
        let cluster = judged.decisions.cluster_of(document).and_then(number);
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
                Cause::Member(Member {
                    fingerprint,
                    id,
                    similarity: compared,
                    estimate: found,
                }) => {
                    similarity = compared.map(FieldValue::Real);
                    estimate = found.map(|found| FieldValue::Real(found.similarity));
                    of = Some(match id {
                        Some(id) => value(id),
                        None => FieldValue::Text(fingerprint),
                    });
                    place = Some("index");
                }
            }
        }
        let place = place.map(|place| FieldValue::Text(place.to_owned()));
        let values = [of, cluster, distance, similarity, estimate, place];
        let values = values.into_iter().zip(self.wanted);
        Ok(values
            .filter_map(|(value, is_wanted)| is_wanted.then_some(value))
            .collect())
    }
}

fn value(label: IdBuf) -> FieldValue {
    match label {
        IdBuf::String(id) => FieldValue::Text(id),
        IdBuf::Number(number) => FieldValue::Number(number),
    }
}
