//! HTTPS: the certificate and the key, read from files.

use crate::options::ServerOptions;
use crate::problem::StartError;

/// Encrypts connections.
#[cfg(feature = "tls")]
pub(crate) type Tls = tokio_rustls::TlsAcceptor;
#[cfg(not(feature = "tls"))]
pub(crate) enum Tls {}

/// Reads the certificate and the key, if the options name them.
///
/// # Errors
/// A file that cannot be read or used, with its name.
#[cfg(feature = "tls")]
pub(crate) fn open(options: &ServerOptions) -> Result<Option<Tls>, StartError> {
    use std::fmt::Display;
    use std::path::Path;
    use std::sync::Arc;

    use tokio_rustls::rustls::ServerConfig;
    use tokio_rustls::rustls::crypto::ring::default_provider;
    use tokio_rustls::rustls::pki_types::pem::PemObject;
    use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

    let Some(files) = &options.tls else {
        return Ok(None);
    };
    let named =
        |path: &Path, error: &dyn Display| StartError::Io(format!("{}: {error}", path.display()));
    let path = &files.certificates;
    let chain = CertificateDer::pem_file_iter(path)
        .and_then(|certificates| certificates.collect::<Result<Vec<_>, _>>())
        .map_err(|error| named(path, &error))?;
    if chain.is_empty() {
        return Err(named(path, &"there is no certificate in this file"));
    }
    let key = PrivateKeyDer::from_pem_file(&files.key);
    let key = key.map_err(|error| named(&files.key, &error))?;
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key));
    let mut config = config.map_err(|error| named(path, &error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Some(Arc::new(config).into()))
}

/// Refuses options that need HTTPS, because this program was built without it.
#[cfg(not(feature = "tls"))]
pub(crate) fn open(options: &ServerOptions) -> Result<Option<Tls>, StartError> {
    match options.tls {
        Some(_) => Err(StartError::Missing("HTTPS; it is the feature tls")),
        None => Ok(None),
    }
}
