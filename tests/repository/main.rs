//! The project itself: what it depends on and under which terms, what its documents name, and how its modules are layered.

mod circles;
mod dependencies;
mod documents;
mod modules;
mod rooms;
