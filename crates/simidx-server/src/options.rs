//! The options of the server: its indexes, its address and its limits.

use std::collections::HashMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use simidx::Fingerprints;
use simidx_collection::Collection;
use simidx_output::JsonStyle;
use simidx_text::assets::Assets;

use crate::auth::Token;
use crate::log::LogFormat;

/// A named index: files that are searched as one.
///
/// ```
/// use simidx_server::NamedIndex;
///
/// let index = NamedIndex::new("news", ["news.simidx"])?;
/// assert!(NamedIndex::new("a b", ["x.simidx"]).is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedIndex {
    /// The name, of letters, digits, `-`, `_` and `.`.
    pub(crate) name: String,
    pub(crate) files: Vec<PathBuf>,
}

impl NamedIndex {
    /// The name of an index that is given without one.
    pub const DEFAULT: &'static str = "default";

    /// Creates an index with a name.
    ///
    /// # Errors
    /// A name with characters other than letters, digits, `-`, `_` and `.`, or an empty list of files.
    pub fn new<P: Into<PathBuf>>(
        name: impl Into<String>,
        files: impl IntoIterator<Item = P>,
    ) -> Result<Self, String> {
        let (name, files) = (name.into(), files.into_iter().map(Into::into).collect());
        let is_good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.len() > 64 || !name.chars().all(is_good) {
            return Err(format!(
                "{name:?} is not a name of an index: at most 64 letters, digits, -, _ or ."
            ));
        }
        let index = NamedIndex { name, files };
        match index.files.is_empty() {
            true => Err(format!("the index {} has no file", index.name)),
            false => Ok(index),
        }
    }
}

/// The limits of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Limits {
    /// Largest size in bytes of a body, and of a text in it after normalisation. Default 16 MiB.
    pub max_body: usize,
    /// Largest number of queries in a batch. Default 100,000.
    pub max_batch: usize,
    /// Largest number of matches and ids together in all answers of a request. Default 1,000,000.
    pub max_results: u64,
    /// Largest number of bytes of an answer that are buffered before they are sent: the whole answer or, in lines, the
    /// answers to at most 256 queries. All answers together may have four times this size. Default 64 MiB.
    pub max_answer: usize,
    /// Largest distance of a query. By default, 4 more than the distance of the index's tables.
    pub max_distance: Option<u32>,
    /// Time limit for receiving a request, and for finding its answer. Default 30 s.
    #[serde(rename = "timeout_seconds", serialize_with = "seconds")]
    pub timeout: Duration,
    /// Time limit for receiving the head of a request, for an idle connection, and for a client that reads none of its
    /// answer. Default 60 s.
    #[serde(rename = "idle_timeout_seconds", serialize_with = "seconds")]
    pub idle_timeout: Duration,
    /// Largest number of connections. Default 10,000.
    pub max_connections: usize,
    /// Largest number of simultaneous batches and other expensive requests. Default 64.
    pub max_waiting: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_body: 16 << 20,
            max_batch: 100_000,
            max_results: 1_000_000,
            max_answer: 64 << 20,
            max_distance: None,
            timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(60),
            max_connections: 10_000,
            max_waiting: 64,
        }
    }
}

fn seconds<S: serde::Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
}

/// The certificate and the key for HTTPS, as PEM files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate chain, starting with the certificate of the server.
    pub certificates: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// The options of a server. Start from [`ServerOptions::new`] and change fields.
///
/// ```
/// use simidx_server::{NamedIndex, ServerOptions};
///
/// let mut options = ServerOptions::new(vec![NamedIndex::new("news", ["news.simidx"])?]);
/// options.limits.max_batch = 1000;
/// options.threads = 2;
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServerOptions {
    /// The indexes that are searched.
    pub indexes: Vec<NamedIndex>,
    /// A collection that is also searched, and that requests add to. Its name is `default` if `indexes` is empty,
    /// otherwise `store`.
    pub store: Option<Arc<Collection>>,
    /// The address to listen on; port 0 means any free port. Default 127.0.0.1:8080.
    pub listen: SocketAddr,
    /// The host name that the address was given by, if any. Requests without a token may use it as their host.
    pub listen_name: Option<String>,
    /// Whether an address that other machines can reach is permitted without a token. Default `false`.
    pub insecure: bool,
    /// The token that requests must contain. By default, requests need none.
    pub token: Option<Token>,
    /// The files for HTTPS. By default, the server uses HTTP. Needs the feature `tls`.
    pub tls: Option<TlsFiles>,
    /// The limits of requests.
    pub limits: Limits,
    /// Number of threads that handle requests, and also of threads that answer batches; 0 means the number of
    /// processors.
    pub threads: usize,
    /// Whether files are read into memory. By default, they are mapped.
    pub no_mmap: bool,
    /// Whether files are loaded into memory and checked before they are searched. Default `true`. Without it, all
    /// queries run on the thread pool, so that a query that waits for the disk does not block others.
    pub warm: bool,
    /// Interval between checks for replaced files, which are then reloaded. By default, files are not checked.
    pub watch: Option<Duration>,
    /// How long the server continues to accept requests after it was asked to stop. Default 0.
    pub drain_delay: Duration,
    /// Whether SIGINT and SIGTERM stop the server and SIGHUP reloads it, on systems with these signals, from the start
    /// of [`Server::bind`](crate::Server::bind) on. Default `false`.
    pub signals: bool,
    /// The format of the log.
    pub log_format: LogFormat,
    /// Whether each request is logged. Default `false`.
    pub access_log: bool,
    /// Whether the log is limited to warnings and errors. Default `false`.
    pub quiet: bool,
    /// The style of JSON answers.
    pub json: JsonStyle,
    /// Files that text pipelines need.
    pub assets: Assets,
    /// Texts by their ids, for display on the page.
    pub texts: HashMap<String, String>,
    #[doc(hidden)]
    pub hook: Option<Hook>,
}

/// A hook for tests. It runs when all indexes are open, and before each search with its queries, which then count as
/// expensive.
#[doc(hidden)]
#[derive(Clone)]
pub struct Hook(pub Arc<Act>);

type Act = dyn Fn(Option<&Fingerprints>) + Send + Sync;

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hook(…)")
    }
}

impl ServerOptions {
    /// Creates the default options for these indexes.
    pub fn new(indexes: Vec<NamedIndex>) -> Self {
        ServerOptions {
            indexes,
            store: None,
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            listen_name: None,
            insecure: false,
            token: None,
            tls: None,
            limits: Limits::default(),
            threads: 0,
            no_mmap: false,
            warm: true,
            watch: None,
            drain_delay: Duration::ZERO,
            signals: false,
            log_format: LogFormat::Text,
            access_log: false,
            quiet: false,
            json: JsonStyle::default(),
            assets: Assets::default(),
            texts: HashMap::new(),
            hook: None,
        }
    }
}
