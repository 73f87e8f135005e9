//! The project itself: what it depends on and under which terms, what its documents name, how its modules
//! are layered, and how it is published.

mod circles;
mod dependencies;
mod documents;
mod modules;
mod packages;
mod prose;
mod rooms;
mod workflows;
