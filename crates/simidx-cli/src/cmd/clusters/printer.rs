//! Clusters on standard output: a line for each member, a line for each cluster, or JSON.

use std::io::{BufWriter, Write};

use serde_json::{Map, Value};
use simidx::batch::Cluster;
use simidx::segments::Segments;
use simidx::{Fingerprint, Id, IdKind, Storage};

use super::Args;
use super::keyed_ids::unkeyed;
use crate::support::failure::Failure;
use crate::support::json_ids::write_ids;
use crate::support::output::{Stdout, stdout};

/// What the ids of an index are to the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ids {
    /// There are none.
    None,
    /// Ids of the user's.
    Own,
    /// Strings with a key before ids of this kind.
    Keyed(IdKind),
}

/// Where ids come from.
type IdSource<'a, F> = (&'a Segments<F, Storage>, Ids);

/// Prints clusters one by one.
pub(super) struct Printer<'a, F> {
    ids: Option<IdSource<'a, F>>,
    summary: bool,
    json: bool,
    out: BufWriter<Stdout>,
    line: Vec<u8>,
}

impl<'a, F: Fingerprint> Printer<'a, F> {
    pub(super) fn new(args: &Args, ids: Option<IdSource<'a, F>>) -> Self {
        Printer {
            ids: ids.filter(|(_, ids)| *ids != Ids::None),
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
    pub(super) fn cluster(&mut self, cluster: &Cluster<'_, F>) -> simidx::Result<()> {
        match (self.json, self.summary) {
            (true, _) => self.object(cluster),
            (_, true) => self.summary(cluster),
            _ => members(cluster).try_for_each(|member| self.rows(cluster, member)),
        }
    }

    /// Brings everything to standard output.
    ///
    /// # Errors
    /// What it reports.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        Ok(self.out.flush()?)
    }

    /// A line for each record of a member, or for the member itself where there are no ids.
    fn rows(&mut self, cluster: &Cluster<'_, F>, member: F) -> simidx::Result<()> {
        self.line.clear();
        write!(self.line, "{}\t", cluster.number)?;
        member.extend_hex(&mut self.line);
        let mut has_ids = false;
        for id in ids_of(self.ids, cluster, member)? {
            let id = id?;
            has_ids = true;
            self.out.write_all(&self.line)?;
            writeln!(self.out, "\t{id}")?;
        }
        if !has_ids {
            self.line.push(b'\n');
            self.out.write_all(&self.line)?;
        }
        Ok(())
    }

    fn summary(&mut self, cluster: &Cluster<'_, F>) -> simidx::Result<()> {
        self.line.clear();
        let fingerprint_count = cluster.fingerprints.len();
        let (number, size) = (cluster.number, cluster.record_count);
        let diameter = cluster.diameter.distance;
        write!(
            self.line,
            "{number}\t{size}\t{fingerprint_count}\t{diameter}\t"
        )?;
        cluster.representative.extend_hex(&mut self.line);
        if let Some(id) = self.first_id(cluster)? {
            write!(self.line, "\t{id}")?;
        }
        self.line.push(b'\n');
        Ok(self.out.write_all(&self.line)?)
    }

    /// A JSON object, its members written one by one: there may be many.
    fn object(&mut self, cluster: &Cluster<'_, F>) -> simidx::Result<()> {
        let mut object = Map::new();
        object.insert("cluster".into(), cluster.number.into());
        object.insert("size".into(), cluster.record_count.into());
        object.insert("fingerprints".into(), cluster.fingerprints.len().into());
        object.insert("diameter".into(), cluster.diameter.distance.into());
        if !cluster.diameter.is_exact {
            object.insert("diameter_exact".into(), false.into());
        }
        let representative = cluster.representative.to_hex();
        object.insert("representative".into(), representative.into());
        let object = Value::Object(object).to_string();
        if self.summary {
            return Ok(writeln!(self.out, "{object}")?);
        }
        let head = object.strip_suffix('}').unwrap_or(&object);
        write!(self.out, "{head},\"members\":[")?;
        for (number, member) in members(cluster).enumerate() {
            let separator = if number == 0 { "" } else { "," };
            let (ids, hex) = (self.ids, member.to_hex());
            write!(self.out, r#"{separator}{{"fingerprint":"{hex}","ids":"#)?;
            write_ids(&mut self.out, ids_of(ids, cluster, member)?)?;
            self.out.write_all(b"}")?;
        }
        Ok(writeln!(self.out, "]}}")?)
    }

    /// The id that the representative is told by.
    fn first_id(&self, cluster: &Cluster<'_, F>) -> simidx::Result<Option<String>> {
        let mut ids = ids_of(self.ids, cluster, cluster.representative)?;
        Ok(ids.next().transpose()?.map(|id| id.to_string()))
    }
}

/// The ids of a member.
type MemberIds<'a> = Box<dyn Iterator<Item = simidx::Result<Id<'a>>> + 'a>;

/// The ids of a member in order; of the representative that of its record comes first.
fn ids_of<'a, F: Fingerprint>(
    source: Option<IdSource<'a, F>>,
    cluster: &Cluster<'_, F>,
    member: F,
) -> simidx::Result<MemberIds<'a>> {
    match source {
        None => Ok(Box::new(std::iter::empty())),
        Some((segments, Ids::Keyed(kind))) => {
            let ids = segments.ids_of(member)?;
            let mut ids = ids
                .map(|id| Ok(unkeyed(id?, kind)))
                .collect::<simidx::Result<Vec<_>>>()?;
            // The first by the key stays the first of the representative.
            let kept = usize::from(member == cluster.representative).min(ids.len());
            ids[kept..].sort_unstable();
            Ok(Box::new(ids.into_iter().map(Ok)))
        }
        Some((segments, _)) => Ok(Box::new(segments.ids_of(member)?)),
    }
}

/// The members, the representative first.
fn members<F: Fingerprint>(cluster: &Cluster<'_, F>) -> impl Iterator<Item = F> {
    let representative = cluster.representative;
    let others = cluster.fingerprints.iter().copied();
    std::iter::once(representative).chain(others.filter(move |&other| other != representative))
}
