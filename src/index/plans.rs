//! The probe plans of an index, worked out when they are first needed.

use std::sync::OnceLock;

use crate::design::ProbePlan;

/// A place for the plan of each distance from 0 to the width.
#[derive(Debug)]
pub(super) struct Plans {
    by_distance: Box<[OnceLock<ProbePlan>]>,
}

impl Plans {
    pub(super) fn new(width: u32) -> Self {
        Plans {
            by_distance: (0..=width).map(|_| OnceLock::new()).collect(),
        }
    }

    /// The plan for a distance of at most the width.
    #[inline]
    pub(super) fn get(&self, distance: u32, plan: impl FnOnce() -> ProbePlan) -> &ProbePlan {
        self.by_distance[distance as usize].get_or_init(plan)
    }
}
