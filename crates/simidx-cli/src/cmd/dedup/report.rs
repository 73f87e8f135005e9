//! `--report`: a line for each document that is dropped.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use super::judged::{Cause, Dropped, Judged, id_json};
use crate::support::failure::Failure;
use crate::support::labels::Label;
use crate::support::output::{Column, Json};

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
            true => writeln!(out, "{}", Json(&object(&label, &dropped)))?,
        }
    }
    Ok(())
}

/// The columns: what is dropped, for what, the distance if fingerprints were compared, where that is, the number of the
/// cluster, the similarity or the id in the index.
fn write_columns(label: &Label, dropped: &Dropped, out: &mut (dyn Write + Send)) -> io::Result<()> {
    let distance = dropped.distance.map(|bits| bits.to_string());
    let distance = distance.unwrap_or_default();
    match &dropped.cause {
        Cause::Document {
            of,
            cluster,
            similarity,
        } => {
            write!(out, "{label}\t{of}\t{distance}\tinput\t")?;
            if let Some(cluster) = cluster {
                write!(out, "{cluster}")?;
            }
            if let Some(similarity) = similarity {
                write!(out, "\t{similarity:.4}")?;
            }
        }
        Cause::Member {
            fingerprint,
            id,
            estimate,
        } => {
            write!(out, "{label}\t{fingerprint}\t{distance}\tindex\t")?;
            match (id, estimate) {
                (Some(id), _) => write!(out, "\t{}", Column::of(id))?,
                (None, Some(_)) => write!(out, "\t")?,
                (None, None) => {}
            }
            if let Some(estimate) = estimate {
                write!(out, "\t{:.4}", estimate.similarity)?;
            }
        }
    }
    writeln!(out)
}

fn object(label: &Label, dropped: &Dropped) -> Value {
    let mut object = Map::new();
    object.insert("dropped".into(), label.to_json());
    if let Some(distance) = dropped.distance {
        object.insert("distance".into(), distance.into());
    }
    match &dropped.cause {
        Cause::Document {
            of,
            cluster,
            similarity,
        } => {
            object.insert("kept".into(), of.to_json());
            object.insert("cluster".into(), (*cluster).into());
            if let Some(similarity) = similarity {
                object.insert("similarity".into(), (*similarity).into());
            }
        }
        Cause::Member {
            fingerprint,
            id,
            estimate,
        } => {
            let mut member = json!({ "fingerprint": fingerprint });
            if let Some(id) = id {
                member["id"] = id_json(id);
            }
            object.insert("index".into(), member);
            if let Some(estimate) = estimate {
                object.insert("estimate".into(), estimate.similarity.into());
                object.insert("standard_error".into(), estimate.standard_error.into());
            }
        }
    }
    object.into()
}
