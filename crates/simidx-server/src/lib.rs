//! The search server of simidx: index files over HTTP, replaced while it runs.
//!
//! [`Server`] serves the indexes of its [`ServerOptions`]; `simidx serve` is its command line. The book describes the
//! addresses, and `openapi.json` specifies them.
//!
//! # Where things are
//!
//! | file | subject |
//! |---|---|
//! | `server.rs` | binding, running, stopping; watching files |
//! | `signals.rs` | SIGHUP, SIGINT, SIGTERM |
//! | `connection.rs` | the accept loop, timeouts of connections |
//! | `routes.rs` | the table of addresses |
//! | `auth.rs`, `origin.rs` | access control |
//! | `call.rs`, `request.rs` | parameters and bodies |
//! | `queries.rs`, `documents.rs`, `operations.rs` | handlers: of queries, of records that change, of everything else |
//! | `batch.rs`, `answer.rs` | queries on the thread pool, answers as bytes |
//! | `state.rs`, `source.rs` | indexes by name, generations, reloading |
//! | `page.rs` | the page for people |

mod answer;
mod auth;
mod batch;
mod call;
mod connection;
mod documents;
mod handle;
mod health;
mod log;
mod metrics;
mod operations;
mod options;
mod origin;
mod page;
mod problem;
mod queries;
#[doc(hidden)]
pub mod request;
mod response;
mod routes;
mod server;
mod signals;
mod source;
mod state;
mod tls;

pub use auth::Token;
pub use handle::ServerHandle;
pub use log::LogFormat;
#[doc(hidden)]
pub use options::Hook;
pub use options::{Limits, NamedIndex, ServerOptions, TlsFiles};
pub use problem::{Problem, StartError};
pub use server::Server;
