//! Clusters on standard output: a line for each member, a line for each cluster, or JSON.

use std::io::{BufWriter, Write};

use serde_json::{Value, json};
use simidx::batch::Cluster;
use simidx::{IdBuf, Set, Width};

use super::Args;
use super::records::KnownRecords;
use crate::support::failure::Failure;
use crate::support::output::{Column, Json, Stdout, stdout, write_ids};

/// What the ids of an index are to the user.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ids<'a> {
    /// There are none.
    None,
    /// Ids of the user's.
    Own,
    /// Numbers of records, of which these are known.
    Numbers(&'a KnownRecords),
}

/// Where ids come from.
type IdSource<'a> = (&'a Set, Ids<'a>);

/// Prints clusters one by one.
pub(super) struct Printer<'a> {
    width: Width,
    ids: Option<IdSource<'a>>,
    summary: bool,
    json: bool,
    out: BufWriter<Stdout>,
    line: Vec<u8>,
}

impl<'a> Printer<'a> {
    pub(super) fn new(args: &Args, width: Width, ids: Option<IdSource<'a>>) -> Self {
        Printer {
            width,
            ids: ids.filter(|(_, ids)| !matches!(ids, Ids::None)),
            summary: args.summary,
            json: args.json,
            out: stdout(),
            line: Vec::new(),
        }
    }

    /// Prints a cluster.
    ///
    /// # Errors
    /// What standard output or the index reports.
    pub(super) fn cluster(&mut self, cluster: &Cluster<'_>) -> simidx::Result<()> {
        match (self.json, self.summary) {
            (true, _) => self.object(cluster),
            (_, true) => self.summary(cluster),
            _ => members(cluster).try_for_each(|member| self.rows(cluster, member)),
        }
    }

    /// Prints a cluster of equal documents without features; they have this fingerprint.
    ///
    /// # Errors
    /// What standard output or the temporary file of ids reports.
    pub(super) fn equal(
        &mut self,
        number: u64,
        fingerprint: u128,
        documents: &[u64],
    ) -> simidx::Result<()> {
        let ids = match self.ids {
            Some((_, Ids::Numbers(records))) => ids_of(documents.to_vec(), records, 1)?,
            _ => Vec::new(),
        };
        let (size, hex) = (documents.len(), self.width.to_hex(fingerprint));
        match (self.json, self.summary) {
            (true, summary) => {
                let head = head(number, size as u64, 1, &hex).to_string();
                if summary {
                    return Ok(writeln!(self.out, "{head}")?);
                }
                let head = head.strip_suffix('}').unwrap_or(&head);
                write!(
                    self.out,
                    r#"{head},"members":[{{"fingerprint":"{hex}","ids":"#
                )?;
                write_ids(&mut self.out, &mut ids.into_iter().map(Ok))?;
                writeln!(self.out, "}}]}}")?;
            }
            (_, true) => {
                let first = ids.first().map_or(String::new(), |id| format!("\t{id}"));
                writeln!(self.out, "{number}\t{size}\t1\t0\t{hex}{first}")?;
            }
            _ => {
                for id in ids {
                    writeln!(self.out, "{number}\t{hex}\t{id}")?;
                }
            }
        }
        Ok(())
    }

    /// Brings everything to standard output.
    ///
    /// # Errors
    /// What it reports.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        Ok(self.out.flush()?)
    }

    /// A line for each record of a member, or for the member itself where there are no ids.
    fn rows(&mut self, cluster: &Cluster<'_>, member: u128) -> simidx::Result<()> {
        self.line.clear();
        write!(self.line, "{}\t", cluster.number)?;
        self.width.extend_hex(member, &mut self.line);
        let mut has_ids = false;
        let (line, out) = (&self.line, &mut self.out);
        with_ids(self.ids, cluster, member, |ids| {
            for id in ids {
                let id = id?;
                has_ids = true;
                out.write_all(line)?;
                writeln!(out, "\t{}", Column::of(&id))?;
            }
            Ok(())
        })?;
        if !has_ids {
            self.line.push(b'\n');
            self.out.write_all(&self.line)?;
        }
        Ok(())
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
        if let Some(id) = self.first_id(cluster)? {
            write!(self.line, "\t{id}")?;
        }
        self.line.push(b'\n');
        Ok(self.out.write_all(&self.line)?)
    }

    /// A JSON object, its members written one by one: there may be many.
    fn object(&mut self, cluster: &Cluster<'_>) -> simidx::Result<()> {
        let representative = self.width.to_hex(cluster.representative);
        let (number, size) = (cluster.number, cluster.record_count);
        let mut object = head(number, size, cluster.fingerprints.len(), &representative);
        object["radius"] = cluster.radius.into();
        let object = Json(&object).to_string();
        if self.summary {
            return Ok(writeln!(self.out, "{object}")?);
        }
        let head = object.strip_suffix('}').unwrap_or(&object);
        write!(self.out, "{head},\"members\":[")?;
        for (number, member) in members(cluster).enumerate() {
            let separator = if number == 0 { "" } else { "," };
            let (ids, hex) = (self.ids, self.width.to_hex(member));
            write!(self.out, r#"{separator}{{"fingerprint":"{hex}","ids":"#)?;
            with_ids(ids, cluster, member, |ids| write_ids(&mut self.out, ids))?;
            self.out.write_all(b"}")?;
        }
        Ok(writeln!(self.out, "]}}")?)
    }

    /// The id that the representative is told by.
    fn first_id(&self, cluster: &Cluster<'_>) -> simidx::Result<Option<String>> {
        with_ids(self.ids, cluster, cluster.representative, |ids| {
            let first = ids.next().transpose()?;
            Ok(first.map(|id| Column::of(&id).to_string()))
        })
    }
}

/// What a JSON object says of a cluster before its members.
fn head(number: u64, size: u64, fingerprints: usize, representative: &str) -> Value {
    json!({
        "cluster": number,
        "size": size,
        "fingerprints": fingerprints,
        "radius": 0,
        "representative": representative,
    })
}

/// The ids of a member.
type MemberIds<'i> = &'i mut dyn Iterator<Item = simidx::Result<IdBuf>>;

/// Hands the ids of a member to `take`, in order; of the representative that of its record comes first.
fn with_ids<T>(
    source: Option<IdSource<'_>>,
    cluster: &Cluster<'_>,
    member: u128,
    take: impl FnOnce(MemberIds<'_>) -> simidx::Result<T>,
) -> simidx::Result<T> {
    let Some((set, kind)) = source else {
        return take(&mut std::iter::empty());
    };
    let Ids::Numbers(records) = kind else {
        return take(&mut set.ids_of(member)?);
    };
    let mut numbers = Vec::new();
    for number in set.ids_of(member)? {
        numbers.extend(KnownRecords::number(number?.as_id()));
    }
    let mut first = 0;
    if member == cluster.representative {
        let least = (0..numbers.len()).min_by_key(|&at| records.key(numbers[at]));
        if let Some(least) = least {
            numbers.swap(0, least);
        }
        first = numbers.len().min(1);
    }
    let ids = ids_of(numbers, records, first)?;
    take(&mut ids.into_iter().map(Ok))
}

/// The ids of records: those of the first so many, then those of the others in order.
fn ids_of(numbers: Vec<u64>, records: &KnownRecords, first: usize) -> simidx::Result<Vec<IdBuf>> {
    let mut ids = Vec::with_capacity(numbers.len());
    for number in numbers {
        ids.extend(records.id(number)?);
    }
    ids[first..].sort_unstable();
    Ok(ids)
}

/// The members, the representative first.
fn members(cluster: &Cluster<'_>) -> impl Iterator<Item = u128> {
    let representative = cluster.representative;
    let others = cluster.fingerprints.iter().copied();
    std::iter::once(representative).chain(others.filter(move |&other| other != representative))
}
