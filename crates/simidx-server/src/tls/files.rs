//! The certificate and the key, read from files.

use std::io;
use std::path::Path;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::options::TlsFiles;

/// What encrypts connections by these files.
///
/// # Errors
/// A file that cannot be read or used, with its name.
pub(super) fn acceptor(files: &TlsFiles) -> io::Result<TlsAcceptor> {
    let named = |path: &Path, error: &dyn std::fmt::Display| {
        io::Error::other(format!("{}: {error}", path.display()))
    };
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
    Ok(TlsAcceptor::from(Arc::new(config)))
}
