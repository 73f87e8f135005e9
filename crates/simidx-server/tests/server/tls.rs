//! HTTPS. The key in `tests/data` is public, and only for these tests.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

use simidx_server::{Server, TlsFiles};
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::client::PATIENCE;
use crate::harness::{Fixture, default, options, start};

fn files() -> TlsFiles {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    TlsFiles {
        certificates: data.join("certificate.pem"),
        key: data.join("key.pem"),
    }
}

#[test]
fn requests_are_answered_over_https_and_nothing_else_is() {
    let fixture = Fixture::<u64>::new(400);
    let mut options = options(vec![default(&fixture.path)]);
    options.tls = Some(files());
    let server = start(options);

    let mut roots = RootCertStore::empty();
    let certificate = CertificateDer::from_pem_file(files().certificates).unwrap();
    roots.add(certificate).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    let stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut stream = StreamOwned::new(connection, stream);
    let query = fixture.fingerprints[0];
    let request =
        format!("GET /v1/query/{query:x} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    // Some servers close without a notification.
    let _ = stream.read_to_string(&mut response);
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(body, fixture.object(query, 3));

    let mut plain = server.client();
    plain
        .send(b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n")
        .unwrap();
    assert!(plain.receive(false).is_err());
}

#[test]
fn wrong_files_are_named() {
    let fixture = Fixture::<u64>::new(40);
    let mut options = options(vec![default(&fixture.path)]);
    let good = files();
    for (certificates, key, named) in [
        (&fixture.path, &good.key, "index.simidx"),
        (&good.certificates, &fixture.path, "index.simidx"),
        (&good.key, &good.key, "key.pem"),
        (&good.certificates, &good.certificates, "certificate.pem"),
    ] {
        options.tls = Some(TlsFiles {
            certificates: certificates.clone(),
            key: key.clone(),
        });
        let error = Server::bind(options.clone()).unwrap_err().to_string();
        assert!(error.contains(named), "{error}");
    }
}
