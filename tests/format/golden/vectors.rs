//! Answers of files of the corpus, found by comparing all records: near fingerprints, and fingerprints by ids; and whether
//! plans are complete, found by trying all differences.

use std::collections::BTreeMap;

use super::good::Good;

/// Fingerprints of the largest file that is asked.
const MOST_FINGERPRINTS: usize = 200;

/// The tables of vectors, by their names.
pub(super) fn all(good: &[Good]) -> [(&'static str, String); 3] {
    [
        ("queries.tsv", table(QUERIES, queries(good))),
        ("lookups.tsv", table(LOOKUPS, lookups(good))),
        ("plans.tsv", table(PLANS, plans())),
    ]
}

const QUERIES: &str = "file\tquery\tdistance\tmatches";
const LOOKUPS: &str = "file\tid\tfingerprints";
const PLANS: &str = "width\tdistance\tplan\tcomplete";

fn table(heading: &str, rows: Vec<[String; 4]>) -> String {
    let columns = heading.split('\t').count();
    let rows = rows.iter().map(|row| row[..columns].join("\t"));
    let lines: Vec<String> = [heading.to_owned()].into_iter().chain(rows).collect();
    lines.join("\n") + "\n"
}

/// Words, or a dash for none.
fn joined(words: &[String]) -> String {
    match words {
        [] => "-".into(),
        words => words.join(" "),
    }
}

/// The width of a file, and its fingerprints with their ids in rank order.
fn records(file: &Good) -> (u32, Vec<(u128, &str)>) {
    let record = |line| {
        let (digits, id): (&str, &str) = str::split_once(line, '\t').unwrap_or((line, ""));
        (u128::from_str_radix(digits, 16).unwrap(), id)
    };
    (file.width(), file.dump.lines().map(record).collect())
}

/// Members with some of their bits changed, at distances that find them, miss them, and find all.
fn queries(good: &[Good]) -> Vec<[String; 4]> {
    let mut rows = Vec::new();
    for file in good {
        let (width, records) = records(file);
        let mut members: Vec<u128> = records
            .iter()
            .map(|(fingerprint, _)| *fingerprint)
            .collect();
        members.dedup();
        let Some(&member) = members.get(members.len() / 2) else {
            continue;
        };
        if members.len() > MOST_FINGERPRINTS {
            continue;
        }
        let query = member ^ 1 ^ 1 << (width / 2) ^ 1 << (width - 1);
        let mut distances = vec![2, 3];
        if members.len() <= 10 {
            distances.extend([5, width]);
        }
        for distance in distances {
            let far = |x: u128| (x ^ query).count_ones();
            let mut near: Vec<(u32, u128)> = members.iter().map(|&x| (far(x), x)).collect();
            near.retain(|(d, _)| *d <= distance);
            near.sort_unstable();
            let digits = |x: u128| format!("{x:0len$x}", len = width as usize / 4);
            let near: Vec<String> = near.iter().map(|&(_, x)| digits(x)).collect();
            rows.push([
                file.file_name(),
                digits(query),
                distance.to_string(),
                joined(&near),
            ]);
        }
    }
    rows
}

/// The first id, one in the middle, the last one, and one that no record has.
fn lookups(good: &[Good]) -> Vec<[String; 4]> {
    let mut rows = Vec::new();
    for file in good {
        let (width, records) = records(file);
        if !file.has_ids() || records.is_empty() || records.len() > 2 * MOST_FINGERPRINTS {
            continue;
        }
        let id = |i: usize| records[i].1.to_owned();
        let mut ids = vec![id(0), id(records.len() / 2), id(records.len() - 1)];
        ids.push("4711471".into());
        ids.sort();
        ids.dedup();
        // Empty ids, and those too long for a line of a table, have no vector.
        ids.retain(|id| (1..100).contains(&id.len()));
        for id in ids {
            let with_id = records.iter().filter(|record| record.1 == id);
            let mut found: Vec<String> = with_id
                .map(|(x, _)| format!("{x:0len$x}", len = width as usize / 4))
                .collect();
            found.dedup();
            rows.push([file.file_name(), id, joined(&found), String::new()]);
        }
    }
    rows
}

/// A table of a plan: its mask, and its address bits and flips if it is not skipped.
type Probed = (u128, Option<(u32, u32)>);

/// Section 11: the bits A_t.
fn address_bits(mask: u128, count: u32, width: u32) -> u128 {
    let bits = (0..width).rev();
    let of_mask = bits.clone().filter(|bit| mask >> bit & 1 == 1);
    let others = bits.filter(|bit| mask >> bit & 1 == 0);
    let first = of_mask.chain(others).take(count as usize);
    first.fold(0, |bits, bit| bits | 1 << bit)
}

/// Section 11: whether no set of `distance` bits has too many of the address bits of each table.
fn is_complete(plan: &[Probed], width: u32, distance: u32) -> bool {
    let probed = plan.iter().filter_map(|&(mask, how)| Some((mask, how?)));
    let sets: Vec<(u128, u32)> = probed
        .map(|(mask, (count, flips))| (address_bits(mask, count, width), flips))
        .collect();
    // Bits of the same sets are alike.
    let mut alike: BTreeMap<Vec<bool>, u32> = BTreeMap::new();
    for bit in 0..width {
        let member = sets.iter().map(|(set, _)| set >> bit & 1 == 1).collect();
        *alike.entry(member).or_default() += 1;
    }
    let alike: Vec<(Vec<bool>, u32)> = alike.into_iter().collect();
    let flips: Vec<u32> = sets.iter().map(|(_, flips)| *flips).collect();
    !is_missed(&alike, &flips, &vec![0; flips.len()], distance)
}

/// Whether some choice of at most `left` more bits, from the classes that are left, is missed by each table.
fn is_missed(alike: &[(Vec<bool>, u32)], flips: &[u32], taken: &[u32], left: u32) -> bool {
    let Some(((member, count), rest)) = alike.split_first() else {
        return taken.iter().zip(flips).all(|(taken, flips)| taken > flips);
    };
    (0..=left.min(*count)).any(|more| {
        let mut taken = taken.to_vec();
        for (taken, _) in taken.iter_mut().zip(member).filter(|(_, member)| **member) {
            *taken += more;
        }
        is_missed(rest, flips, &taken, left - more)
    })
}

/// Plans of bands, of masks that overlap, with fewer and with more address bits than prefix bits, and with tables skipped.
fn plans() -> Vec<[String; 4]> {
    const HIGH: u128 = 0xffff_0000;
    const LOW: u128 = 0xffff;
    const BYTES: [u128; 4] = [0xff00_0000, 0xff_0000, 0xff00, 0xff];
    let bands = |flips: [u32; 4]| -> Vec<Probed> {
        let tables = BYTES.iter().zip(flips);
        tables
            .map(|(&mask, flips)| (mask, Some((8, flips))))
            .collect()
    };
    let pairs = |flips: u32| -> Vec<Probed> {
        let pairs = (0..4).flat_map(|i| (i + 1..4).map(move |j| BYTES[i] | BYTES[j]));
        pairs.map(|mask| (mask, Some((16, flips)))).collect()
    };
    let halves = |one, two| -> Vec<Probed> { vec![(HIGH, one), (LOW, two)] };
    let wide = |bits: u32| -> Vec<Probed> {
        let half = u128::MAX << 64;
        vec![(half, Some((bits, 1))), (!half, Some((bits, 0)))]
    };
    let plans: Vec<(u32, u32, Vec<Probed>)> = vec![
        (32, 0, halves(Some((16, 0)), None)),
        (32, 1, halves(Some((16, 0)), None)),
        (32, 1, halves(Some((16, 0)), Some((16, 0)))),
        (32, 2, halves(Some((16, 0)), Some((16, 0)))),
        (32, 2, halves(Some((16, 1)), Some((16, 0)))),
        (32, 3, halves(Some((16, 1)), Some((16, 0)))),
        (32, 3, halves(Some((16, 1)), Some((16, 1)))),
        (32, 2, halves(Some((20, 0)), Some((20, 0)))),
        (32, 1, halves(Some((20, 0)), Some((20, 0)))),
        (32, 2, halves(Some((20, 1)), Some((12, 0)))),
        (32, 3, halves(Some((20, 1)), Some((12, 1)))),
        (32, 32, halves(Some((0, 0)), None)),
        (32, 32, halves(Some((3, 3)), None)),
        (32, 5, halves(Some((16, 5)), None)),
        (32, 5, halves(Some((16, 4)), None)),
        (32, 3, bands([0, 0, 0, 0])),
        (32, 4, bands([0, 0, 0, 0])),
        (32, 4, bands([1, 0, 0, 0])),
        (32, 7, bands([1, 1, 1, 1])),
        (32, 8, bands([1, 1, 1, 1])),
        (32, 2, pairs(0)),
        (32, 3, pairs(0)),
        (32, 3, pairs(1)),
        (32, 4, pairs(1)),
        (32, 5, pairs(1)),
        (128, 2, wide(64)),
        (128, 3, wide(64)),
        (128, 3, wide(60)),
        (128, 2, wide(66)),
    ];
    let row = |(width, distance, plan): &(u32, u32, Vec<Probed>)| {
        let digits = |mask: u128| format!("{mask:0len$x}", len = *width as usize / 4);
        let one = |&(mask, how): &Probed| match how {
            Some((bits, flips)) => format!("{}:{bits}:{flips}", digits(mask)),
            None => format!("{}:-", digits(mask)),
        };
        let complete = match is_complete(plan, *width, *distance) {
            true => "yes",
            false => "no",
        };
        let tables: Vec<String> = plan.iter().map(one).collect();
        [
            width.to_string(),
            distance.to_string(),
            joined(&tables),
            complete.into(),
        ]
    };
    plans.iter().map(row).collect()
}
