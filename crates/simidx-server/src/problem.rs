//! Problems with a request or its answer, sent as `application/problem+json` with the kind of the error; and the errors
//! that keep a server from starting.

use std::fmt;
use std::io;
use std::net::SocketAddr;

use hyper::StatusCode;
use hyper::header::{HeaderName, HeaderValue, RETRY_AFTER};
use simidx::Error;
use simidx::format::FormatClass;

/// The reason why a request fails: its status, its kind for programs, and one clause for people.
///
/// ```
/// use simidx_server::Problem;
///
/// let error = simidx::Error::LimitReached { what: "results", limit: 10 };
/// let problem = Problem::from(error);
/// assert_eq!((problem.status().as_u16(), problem.kind()), (422, "limit-reached"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    status: StatusCode,
    kind: &'static str,
    detail: String,
    /// The number of the faulty line of the request, from 1.
    line: Option<u64>,
    /// A response header that helps the client to proceed.
    header: Option<Box<(HeaderName, HeaderValue)>>,
}

impl Problem {
    /// Creates a problem. A request that finds the server busy may be repeated a second later.
    pub(crate) fn new(status: StatusCode, kind: &'static str, detail: impl Into<String>) -> Self {
        let problem = Problem {
            status,
            kind,
            detail: detail.into(),
            line: None,
            header: None,
        };
        match status {
            StatusCode::SERVICE_UNAVAILABLE => problem.with(RETRY_AFTER, "1"),
            _ => problem,
        }
    }

    /// Creates the problem of a malformed request.
    pub(crate) fn bad(kind: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, kind, detail)
    }

    /// Creates the problem of a well-formed request that cannot be answered.
    pub(crate) fn unanswerable(kind: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, kind, detail)
    }

    /// Creates the problem of something that does not exist.
    pub(crate) fn not_found(kind: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, kind, detail)
    }

    /// Creates the problem of a request that there is no room for.
    pub(crate) fn busy(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", detail)
    }

    /// Creates the problem of a body that exceeds its limit.
    pub(crate) fn too_large(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", detail)
    }

    /// Adds the number of the faulty line, from 1.
    pub(crate) fn at_line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }

    /// Adds a response header.
    pub(crate) fn with(mut self, name: HeaderName, value: &str) -> Self {
        let value = HeaderValue::from_str(value).ok();
        self.header = value.map(|value| Box::new((name, value)));
        self
    }

    /// The status of the response.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The kind, a word of lower-case letters and hyphens.
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// The description of the problem, one clause.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// A response header that helps the client to proceed.
    pub(crate) fn header(&self) -> Option<&(HeaderName, HeaderValue)> {
        self.header.as_deref()
    }

    /// Returns the object of RFC 9457, with the kind.
    pub fn to_json(&self) -> serde_json::Value {
        let mut object = serde_json::json!({
            "type": format!("urn:simidx:problem:{}", self.kind),
            "title": self.status.canonical_reason().unwrap_or("Error"),
            "status": self.status.as_u16(),
            "detail": self.detail,
            "kind": self.kind,
        });
        if let Some(line) = self.line {
            object["line"] = line.into();
        }
        object
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        f.write_str(&self.detail)
    }
}

impl std::error::Error for Problem {}

/// Returns the kind of an error of the library.
pub(crate) fn kind_of(error: &Error) -> &'static str {
    match error {
        Error::Io(_) => "io",
        Error::Format(error) => error.class().name(),
        Error::WidthMismatch { .. } => "width-mismatch",
        Error::Options(_) => "options",
        Error::Build(_) => "build",
        Error::Budget { .. } => "budget",
        Error::LimitReached { .. } => "limit-reached",
        Error::Mismatch { .. } => "mismatch",
        Error::Manifest(_) => "manifest",
        Error::Segment { error, .. } => kind_of(error),
        _ => "other",
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let kind = kind_of(&error);
        let damaged = FormatClass::Damaged.name();
        let status = match kind {
            "io" | "other" => StatusCode::INTERNAL_SERVER_ERROR,
            kind if kind == damaged => StatusCode::INTERNAL_SERVER_ERROR,
            _ => StatusCode::UNPROCESSABLE_ENTITY,
        };
        Problem::new(status, kind, error.to_string())
    }
}

/// The reason why a server does not start.
///
/// ```
/// use simidx_server::{NamedIndex, Server, ServerOptions};
///
/// let index = NamedIndex::new("missing", ["no-such-file.simidx"])?;
/// let error = Server::bind(ServerOptions::new(vec![index])).unwrap_err();
/// assert!(error.to_string().contains("no-such-file.simidx"));
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// Other machines can reach the address, and requests need no token.
    #[error("{0} is reachable from other machines; ask for a token, or allow it without")]
    Open(SocketAddr),
    /// Listening on the address failed, or a file cannot be read.
    #[error("{0}")]
    Io(String),
    /// An index cannot be served.
    #[error(transparent)]
    Index(#[from] Problem),
    /// A signal stopped the server while it opened files.
    #[error("a signal ended the start")]
    Ended,
    /// The options need a feature that this program was built without.
    #[error("this program was built without {0}")]
    Missing(&'static str),
}

impl From<io::Error> for StartError {
    fn from(error: io::Error) -> Self {
        StartError::Io(error.to_string())
    }
}
