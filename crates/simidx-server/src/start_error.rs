//! Why a server does not start.

use std::io;
use std::net::SocketAddr;

use crate::problem::Problem;

/// Why a server does not start: one clause.
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
    /// The address can be reached by others, and no token is asked for.
    #[error("{0} can be reached by others; ask for a token, or insist")]
    Open(SocketAddr),
    /// The address cannot be listened at, or a file cannot be read.
    #[error("{0}")]
    Io(String),
    /// An index cannot be served.
    #[error(transparent)]
    Index(#[from] Problem),
    /// A signal said to end while files were opened.
    #[error("a signal ended the start")]
    Ended,
    /// This program was built without what the options ask for.
    #[error("this program was built without {0}")]
    Missing(&'static str),
}

impl From<io::Error> for StartError {
    fn from(error: io::Error) -> Self {
        StartError::Io(error.to_string())
    }
}
