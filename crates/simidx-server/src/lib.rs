//! The search server of simidx: index files over HTTP, replaced while it runs.
//!
//! [`Server`] serves what [`ServerOptions`] name. `simidx serve` is that with arguments. The book describes the addresses
//! and `openapi.json` specifies them.
//!
//! # Where things are
//!
//! | file | what |
//! |---|---|
//! | `server.rs` | binding, running, ending; watching |
//! | `signals.rs` | SIGHUP, SIGINT, SIGTERM |
//! | `connection.rs` | the accept loop, timeouts of connections |
//! | `routes.rs` | the table of addresses |
//! | `auth.rs`, `origin.rs` | who may ask |
//! | `call.rs`, `request.rs` | parameters and bodies |
//! | `queries.rs`, `documents.rs`, `operations.rs` | what answers: queries, records that come and go, all else |
//! | `batch.rs`, `answer.rs` | queries on threads of their own, answers as bytes |
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
