//! Clusters on standard output: a line for each member, a line for each cluster, or JSON.

use std::io::Write;

use serde_json::json;
use simidx::batch::Cluster;
use simidx::{IdBuf, IdKind, Set, Width};
use simidx_input::FieldKind;

use super::Args;
use crate::support::failure::Failure;
use crate::support::labels::Labels;
use crate::support::output::{Column, json_style, write_object};
use crate::support::records::id_of_kind;
use crate::support::table::{self, Lines, Sheet, id_kind};

/// Records by their numbers, and the kind of their ids.
pub(super) type KnownRecords = (IdKind, Labels);

/// The source of ids: an index with the ids of the user, or with the numbers of these records.
type IdSource<'a> = (&'a Set, Option<&'a KnownRecords>);

/// The id of a record, and its number if it is not in an index of the user.
type Member = (IdBuf, Option<u64>);

/// Prints clusters in order.
pub(super) struct Printer<'a> {
    width: Width,
    ids: Option<IdSource<'a>>,
    summary: bool,
    json: bool,
    is_table: bool,
    out: Lines<'a>,
    line: Vec<u8>,
}

impl<'a> Printer<'a> {
    /// Creates a printer of the clusters of an index with such ids.
    ///
    /// # Errors
    /// An output that cannot be written.
    pub(super) fn new<'s: 'a>(
        args: &Args,
        width: Width,
        ids: Option<IdSource<'a>>,
        sheet: Option<Sheet<'s>>,
    ) -> Result<Self, Failure> {
        Ok(Printer {
            width,
            ids,
            summary: args.summary,
            json: args.json,
            is_table: sheet.is_some(),
            out: Lines::new(sheet, &columns(args.summary, ids))?,
            line: Vec::new(),
        })
    }

    /// Prints a cluster.
    ///
    /// # Errors
    /// An output that cannot be written, and a damaged index.
    pub(super) fn cluster(&mut self, cluster: &Cluster<'_>) -> simidx::Result<()> {
        match (self.json, self.summary) {
            (true, _) => self.object(cluster),
            (_, true) => self.summary(cluster),
            _ => members(cluster).try_for_each(|member| self.rows(cluster, member)),
        }
    }

    /// Writes the buffered lines.
    ///
    /// # Errors
    /// An output that cannot be written.
    pub(super) fn finish(self) -> Result<(), Failure> {
        self.out.finish()
    }

    /// Prints a line for each record of a member, or for the member itself if there are no ids.
    fn rows(&mut self, cluster: &Cluster<'_>, member: u128) -> simidx::Result<()> {
        self.line.clear();
        write!(self.line, "{}\t", cluster.number)?;
        self.width.extend_hex(member, &mut self.line);
        let mut has_ids = false;
        for id in member_ids(self.ids, cluster, member)? {
            let cells = self.id_cells(id?)?;
            has_ids = true;
            self.out.write_all(&self.line)?;
            writeln!(self.out, "\t{cells}")?;
        }
        if !has_ids {
            self.line.push(b'\n');
            self.out.write_all(&self.line)?;
        }
        Ok(())
    }

    /// Returns the id of a record; in a table only one of its own, and the place of the record.
    fn id_cells(&self, (id, number): Member) -> simidx::Result<String> {
        let records = self.ids.and_then(|(_, records)| records);
        match (records, number) {
            (Some((_, labels)), Some(number)) if self.is_table => {
                let (id, place) = labels.cells(number as usize)?;
                Ok(format!("{id}\t{place}"))
            }
            _ => Ok(Column::of(&id).to_string()),
        }
    }

    fn summary(&mut self, cluster: &Cluster<'_>) -> simidx::Result<()> {
        self.line.clear();
        let fingerprint_count = cluster.fingerprints.len();
        let (number, size) = (cluster.number, cluster.record_count);
        let radius = cluster.radius;
        write!(
            self.line,
            "{number}\t{size}\t{fingerprint_count}\t{radius}\t"
        )?;
        self.width
            .extend_hex(cluster.representative, &mut self.line);
        let mut ids = member_ids(self.ids, cluster, cluster.representative)?;
        if let Some(id) = ids.next().transpose()? {
            let cells = self.id_cells(id)?;
            write!(self.line, "\t{cells}")?;
        }
        self.line.push(b'\n');
        Ok(self.out.write_all(&self.line)?)
    }

    /// Prints a JSON object, one member after the other, because there may be many.
    fn object(&mut self, cluster: &Cluster<'_>) -> simidx::Result<()> {
        let representative = self.width.to_hex(cluster.representative);
        let (number, size) = (cluster.number, cluster.record_count);
        let figures = json!({
            "cluster": number,
            "size": size,
            "fingerprints": cluster.fingerprints.len(),
            "radius": cluster.radius,
            "representative": representative,
        });
        let mut object = Vec::new();
        write_object(&mut object, &figures)?;
        if self.summary {
            return Ok(self.out.write_all(&object)?);
        }
        let head = object.strip_suffix(b"}\n").unwrap_or(&object);
        self.out.write_all(head)?;
        self.out.write_all(b",\"members\":[")?;
        for (number, member) in members(cluster).enumerate() {
            let separator = if number == 0 { "" } else { "," };
            let hex = self.width.to_hex(member);
            write!(self.out, r#"{separator}{{"fingerprint":"{hex}","ids":"#)?;
            let ids = member_ids(self.ids, cluster, member)?;
            let ids = ids.map(|id| id.map(|(id, _)| id));
            json_style().write_ids(&mut self.out, ids)?;
            self.out.write_all(b"}")?;
        }
        Ok(writeln!(self.out, "]}}")?)
    }
}

/// Returns the columns of members, or of clusters with their representatives.
fn columns(summary: bool, ids: Option<IdSource<'_>>) -> Vec<table::Column> {
    let (number, text) = (FieldKind::Number, FieldKind::Text);
    let mut columns = vec![("cluster", number)];
    if summary {
        columns.extend([
            ("size", number),
            ("fingerprints", number),
            ("radius", number),
        ]);
    }
    columns.push(("fingerprint", text));
    let kind = ids.map(|(set, records)| {
        let of_records = records.map(|(_, labels)| labels.id_kind());
        of_records.unwrap_or_else(|| id_kind(set.id_kind()))
    });
    columns.extend(kind.map(|kind| ("id", kind)));
    if let Some((_, Some(_))) = ids {
        columns.extend([("row", number), ("file", text)]);
    }
    columns
}

/// The ids of a member.
type MemberIds<'i> = Box<dyn Iterator<Item = simidx::Result<Member>> + 'i>;

/// Returns the ids of a member in order; of the representative, the id of its record comes first.
fn member_ids<'i>(
    source: Option<IdSource<'i>>,
    cluster: &'i Cluster<'_>,
    member: u128,
) -> simidx::Result<MemberIds<'i>> {
    let Some((set, records)) = source else {
        return Ok(Box::new(std::iter::empty()));
    };
    let Some((kind, labels)) = records else {
        let ids = set.ids_of(member)?;
        return Ok(Box::new(ids.map(|id| Ok((id?, None)))));
    };
    let mut ids = Vec::new();
    for number in set.ids_of(member)? {
        if let IdBuf::Number(number) = number? {
            let id = id_of_kind(labels.of(number as usize)?, *kind);
            ids.extend(id.map(|id| (id, Some(number))));
        }
    }
    // Of the representative, the first record comes first.
    let is_first = member == cluster.representative;
    let first = usize::from(is_first).min(ids.len());
    ids[first..].sort_unstable();
    Ok(Box::new(ids.into_iter().map(Ok)))
}

/// The members, the representative first.
fn members(cluster: &Cluster<'_>) -> impl Iterator<Item = u128> {
    let representative = cluster.representative;
    let others = cluster.fingerprints.iter().copied();
    std::iter::once(representative).chain(others.filter(move |&other| other != representative))
}
