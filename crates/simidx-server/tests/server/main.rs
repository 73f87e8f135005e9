//! Tests of the server: a client that speaks plain HTTP asks a server on a port of its own.

mod bounds;
mod client;
mod connections;
mod description;
mod documents;
mod harness;
mod hostile;
mod operations;
mod origin;
mod page;
mod queries;
mod reloading;
#[cfg(unix)]
mod signals;
mod sources;
#[cfg(feature = "tls")]
mod tls;
