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
//! | `routes.rs` | the addresses, and what each answers |
//! | `auth.rs`, `origin.rs` | who may ask |
//! | `request.rs` | parameters and bodies |
//! | `batch.rs`, `answer.rs` | queries on threads of their own, answers as bytes |
//! | `state.rs` | indexes by name, generations, reloading |
//! | `source.rs` | what answers queries: the trait [`Source`], and files as one |
//! | `store.rs`, `documents.rs` | records that come and go, and the requests about them |
//! | `page.rs` | the page for people |

mod answer;
mod auth;
mod batch;
mod body;
mod connection;
mod documents;
mod handle;
mod health;
mod log;
mod metrics;
mod options;
mod origin;
mod page;
mod problem;
mod queries;
#[doc(hidden)]
pub mod request;
mod response;
mod route;
mod routes;
mod server;
mod signals;
mod source;
mod start_error;
mod state;
mod store;
mod tls;

pub use auth::Token;
pub use handle::ServerHandle;
pub use log::LogFormat;
pub use options::{Limits, NamedIndex, ServerOptions, TlsFiles};
pub use problem::Problem;
pub use server::Server;
pub use source::{IdIter, Sink, Source, SourceSize};
pub use start_error::StartError;
pub use store::Store;
