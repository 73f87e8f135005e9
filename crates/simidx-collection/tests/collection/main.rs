//! Collections: against a naive twin, under threads, killed, on a full disk, and with torn or damaged files.

mod crash;
mod durable;
mod files;
mod naive;
mod threads;
mod twin;
