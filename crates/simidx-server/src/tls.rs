//! HTTPS: the certificate and the key, read from files.

#[cfg(feature = "tls")]
mod files;

use crate::options::ServerOptions;
use crate::problem::StartError;

/// How connections are encrypted.
#[cfg(feature = "tls")]
pub(crate) type Tls = tokio_rustls::TlsAcceptor;
#[cfg(not(feature = "tls"))]
pub(crate) enum Tls {}

/// What encrypts connections, if the options ask for it.
///
/// # Errors
/// A file that cannot be read or used, or a program without the feature.
#[cfg(feature = "tls")]
pub(crate) fn open(options: &ServerOptions) -> Result<Option<Tls>, StartError> {
    let acceptor = options.tls.as_ref().map(files::acceptor);
    Ok(acceptor.transpose()?)
}

/// The same of a program that cannot encrypt.
#[cfg(not(feature = "tls"))]
pub(crate) fn open(options: &ServerOptions) -> Result<Option<Tls>, StartError> {
    match options.tls {
        Some(_) => Err(StartError::Missing("HTTPS; it is the feature tls")),
        None => Ok(None),
    }
}
