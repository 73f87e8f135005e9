//! Instances of the checks and oracles for each width, so that no test program compiles them. As `simidx::instances`.

use std::collections::BTreeMap;

use simidx::design::Costs;
use simidx::{Error, Fingerprint, Scratch};

use crate::checks::{self, Check};
use crate::{brute_force, patterns};

/// The functions for each width. It would be compiled by whoever calls it if it could be inlined.
#[inline(never)]
pub fn of_checks() -> [*const (); 3] {
    [
        use_checks::<u32> as *const (),
        use_checks::<u64> as *const (),
        use_checks::<u128> as *const (),
    ]
}

/// Names the functions. It is named too, and never called.
fn use_checks<F: Fingerprint>(check: &Check<'_>, values: &[F]) -> Result<(), Error> {
    let mut rng = crate::rng(1);
    for data in crate::data_sets::<F>(1) {
        check.run(&data.fingerprints, data.name);
    }
    let index = crate::open(crate::build(
        crate::options(check.design.clone(), 128),
        values,
    ));
    crate::build_numbers::<F>(crate::options(check.design.clone(), 128), &[]);
    for query in checks::queries_near(values, 1, 1, 1) {
        checks::check_nearest(&index, &mut Scratch::new(), values, query, &[1], "");
        crate::matched(&index.query(query, 1)?);
        crate::scan(values, query, 1);
    }
    let strategy = simidx::index::Strategy::Auto;
    checks::check_many_queries(&mut index.searcher(), values, 1, strategy);
    brute_force::all_pairs(values, 1);
    let weights: BTreeMap<F, u64> = BTreeMap::new();
    for part in brute_force::components(values, 1) {
        brute_force::diameter(&part);
        brute_force::central(&part, &|member| weights[&member]);
    }
    patterns::missed(check.design.masks(), values, 1);
    let probes = patterns::Probes::of(check.design, 1, 1, &Costs::DIRECT);
    patterns::escaping(&probes, values, 1);
    probes.find(probes.evasive(1, &mut rng));
    crate::flipped::<F>(crate::random(&mut rng), 1, &mut rng);
    Ok(())
}
