//! Collections: against a naive twin, under threads, killed, on a full disk, and with torn or damaged files.

mod crash;
mod damage;
mod durable;
mod files;
mod limits;
mod naive;
mod reopening;
mod snapshots;
mod threads;
mod twin;
