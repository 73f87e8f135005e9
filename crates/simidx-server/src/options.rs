//! How the server runs: what it serves, where, and the limits that it keeps.

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

/// Files that are searched as one, and their name.
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
    /// Letters, digits, `-`, `_` and `.`.
    pub(crate) name: String,
    pub(crate) files: Vec<PathBuf>,
}

impl NamedIndex {
    /// The name of an index that is given without one.
    pub const DEFAULT: &'static str = "default";

    /// Files under a name.
    ///
    /// # Errors
    /// A name of other characters than letters, digits, `-`, `_` and `.`, or no file.
    pub fn new<P: Into<PathBuf>>(
        name: impl Into<String>,
        files: impl IntoIterator<Item = P>,
    ) -> Result<Self, String> {
        let (name, files) = (name.into(), files.into_iter().map(Into::into).collect());
        let is_good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.len() > 64 || !name.chars().all(is_good) {
            return Err(format!(
                "{name:?} is no name of an index: at most 64 letters, digits, -, _ or ."
            ));
        }
        let index = NamedIndex { name, files };
        match index.files.is_empty() {
            true => Err(format!("the index {} has no file", index.name)),
            false => Ok(index),
        }
    }
}

/// What a request may ask for, and how long it may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of a body, and of a text in it once it is normalised. Default 16 MiB.
    pub max_body: usize,
    /// Queries of a batch. Default 100,000.
    pub max_batch: usize,
    /// Matches and ids in all answers of a request together. Default 1,000,000.
    pub max_results: u64,
    /// Bytes of an answer that are put together before they are sent: all of it, or of one in lines those of at most 256
    /// queries. All answers together may have four times that. Default 64 MiB.
    pub max_answer: usize,
    /// The largest distance of a query. By default each index permits 4 more than its tables were made for.
    pub max_distance: Option<u32>,
    /// How long a request may take to arrive, and its answer to be found. Default 30 s.
    #[serde(rename = "timeout_seconds", serialize_with = "seconds")]
    pub timeout: Duration,
    /// How long the head of a request may take to arrive, a connection may lie idle, and a client may read nothing of an
    /// answer. Default 60 s.
    #[serde(rename = "idle_timeout_seconds", serialize_with = "seconds")]
    pub idle_timeout: Duration,
    /// Connections at a time. Default 10,000.
    pub max_connections: usize,
    /// Batches and other expensive requests at a time. Default 64.
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

/// The certificate and the key of HTTPS: files in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The chain of certificates, that of the server first.
    pub certificates: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// How the server runs. Start from [`ServerOptions::new`] and set what differs.
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
    /// What is searched.
    pub indexes: Vec<NamedIndex>,
    /// A collection that is searched too, and that requests add to. It is called `default` where no index is, or else `store`.
    pub store: Option<Arc<Collection>>,
    /// Where the server listens; port 0 is any. Default 127.0.0.1:8080.
    pub listen: SocketAddr,
    /// The name by which that address was given, if it was one. Requests that need no token may name it as their host.
    pub listen_name: Option<String>,
    /// Whether an address that others can reach is permitted without a token. Default `false`.
    pub insecure: bool,
    /// What requests must show. By default nothing.
    pub token: Option<Token>,
    /// The files of HTTPS. By default HTTP is spoken. Feature `tls`.
    pub tls: Option<TlsFiles>,
    /// What requests may ask for.
    pub limits: Limits,
    /// Threads that take requests, and as many that answer batches; 0 for as many as the processor runs at a time.
    pub threads: usize,
    /// Whether files are read into memory. By default they are mapped.
    pub no_mmap: bool,
    /// Whether files are brought to memory and checked before they are searched. Default `true`. Without it all queries
    /// are answered on threads of their own, so that one that waits for the disk holds no other.
    pub warm: bool,
    /// How often the files are looked at; one that was replaced is opened. By default never.
    pub watch: Option<Duration>,
    /// How long requests are still taken after the server was told to end. Default none.
    pub drain_delay: Duration,
    /// Whether SIGINT and SIGTERM end the server and SIGHUP reloads, on systems that have them. They do from the
    /// start of [`Server::bind`](crate::Server::bind). Default `false`.
    pub signals: bool,
    /// What the log looks like.
    pub log_format: LogFormat,
    /// Whether each request has a line in the log. Default `false`.
    pub access_log: bool,
    /// Whether the log has warnings and errors alone. Default `false`.
    pub quiet: bool,
    /// How answers are written.
    pub json: JsonStyle,
    /// Files that text pipelines need.
    pub assets: Assets,
    /// Texts by their ids, which the page shows.
    pub texts: HashMap<String, String>,
    #[doc(hidden)]
    pub hook: Option<Hook>,
}

/// What a test does when all indexes are open, and before each search, with its queries. Each of these counts as expensive.
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
    /// The defaults, for these indexes.
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
