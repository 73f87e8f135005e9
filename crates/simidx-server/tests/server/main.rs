//! Tests of the server: a plain HTTP client sends requests to a server on a free port.

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
