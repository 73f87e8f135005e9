//! The project itself: what it depends on, and under which terms.

mod dependencies;
