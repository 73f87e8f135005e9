//! The project itself: what it depends on and under which terms, and what its documents name.

mod dependencies;
mod documents;
