//! Instances of generic functions that do much of the work, made once for each width.
//!
//! The compiler takes an instance from a crate below if one is there and the function is never inlined. So what has the width as
//! a type and calls much else is `#[inline(never)]`, takes closures of its callers as trait objects, and is named here. Programs
//! and tests then compile calls of it only. Functions of a `Set` have no such type and need no place here. Without this module
//! everything works as well, after more compiling.

use std::ops::ControlFlow;

use crate::design::Permutation;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::index::{Index, Scratch, Storage, WarmOptions};

/// The instances for each width. It would be compiled by whoever calls it if it could be inlined.
#[inline(never)]
pub fn of_widths() -> [*const (); 3] {
    [
        use_all::<u32> as *const (),
        use_all::<u64> as *const (),
        use_all::<u128> as *const (),
    ]
}

/// Names the functions. It is named too, and never called.
fn use_all<F: Fingerprint>(data: Storage, values: &[F]) -> Result<()> {
    let index = Index::<F>::from_bytes(data)?;
    of_index(&index, values)?;
    values
        .iter()
        .for_each(|&value| drop(Permutation::new(value)));
    Ok(())
}

fn of_index<F: Fingerprint>(index: &Index<F>, values: &[F]) -> Result<()> {
    let mut scratch = Scratch::new();
    for &value in values {
        index.query(value, 3)?;
        index.nearest(value, 1, 3)?;
        index.contains_near(value, 3)?;
        index.ids(&index.query_with(&mut scratch, value, 3)?[0])?;
        index.ids_of(value)?;
        index.fingerprint(0)?;
        index.sketches()?;
        index.records_of_rank(0)?;
        index.rank_of_record(0)?;
        index.id_of_record(0)?;
    }
    index.query_many_with(&mut scratch, values, 3, |_, _| ())?;
    index.iter().next();
    index.records().read()?;
    index.summary();
    index.verify();
    index.warm_with(&WarmOptions::default(), |_| ControlFlow::Continue(()))?;
    Ok(())
}
