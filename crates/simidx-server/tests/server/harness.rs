//! Servers for tests, with their expected answers.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use serde_json::{Value, json};
use simidx::{BuildOptions, Fingerprint, IdKind, Index, IndexBuilder, Width};
use simidx_server::{LogFormat, NamedIndex, Server, ServerHandle, ServerOptions};
use tempfile::TempDir;

use crate::client::Client;

/// A running server, stopped on drop.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) handle: ServerHandle,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    pub(crate) fn client(&self) -> Client {
        Client::new(self.address)
    }

    /// Returns the value of a metric.
    pub(crate) fn metric(&self, name: &str) -> f64 {
        let text = self.client().get("/metrics");
        let mut values = text
            .text()
            .lines()
            .filter_map(|line| line.strip_prefix(name));
        let value = values.next().unwrap_or_else(|| panic!("no metric {name}"));
        value.trim().parse().unwrap()
    }

    /// Waits until the server has stopped.
    pub(crate) fn join(mut self) {
        self.thread.take().unwrap().join().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.handle.shut_down();
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking());
        }
    }
}

/// Returns options of a server on any free port.
pub(crate) fn options(indexes: Vec<NamedIndex>) -> ServerOptions {
    let mut options = ServerOptions::new(indexes);
    options.listen = SocketAddr::from(([127, 0, 0, 1], 0));
    options.threads = 2;
    options.log_format = LogFormat::None;
    options
}

pub(crate) fn start(options: ServerOptions) -> Running {
    run(Server::bind(options).unwrap())
}

pub(crate) fn run(server: Server) -> Running {
    let (address, handle) = (server.address(), server.handle());
    let thread = std::thread::spawn(move || server.run().unwrap());
    Running {
        address,
        handle,
        thread: Some(thread),
    }
}

/// Starts a server of one index.
pub(crate) fn serve(path: &Path) -> Running {
    start(options(vec![default(path)]))
}

pub(crate) fn default(path: &Path) -> NamedIndex {
    NamedIndex::new(NamedIndex::DEFAULT, [path]).unwrap()
}

/// Returns fingerprints, some of them near each other, determined by the seed.
pub(crate) fn fingerprints<F: Fingerprint>(count: usize, seed: u64) -> Vec<F> {
    let mut rng = simidx_testkit::rng(seed);
    let mut all: Vec<F> = Vec::with_capacity(count);
    while all.len() < count {
        let fresh = simidx_testkit::random(&mut rng);
        all.push(fresh);
        for near in 1..4 {
            all.push(simidx_testkit::flipped(fresh, near, &mut rng));
        }
    }
    all.truncate(count);
    all
}

/// Writes an index of fingerprints, with string ids `id-0`, `id-1` and so on, or without ids.
pub(crate) fn write<F: Fingerprint>(path: &Path, fingerprints: &[F], has_ids: bool) {
    let mut options = BuildOptions::default();
    if has_ids {
        options.ids = IdKind::String;
    }
    let mut builder = IndexBuilder::new(Width::of::<F>(), options).unwrap();
    for (number, &fingerprint) in fingerprints.iter().enumerate() {
        match has_ids {
            true => builder
                .push_with_id(fingerprint, &format!("id-{number}"))
                .unwrap(),
            false => builder.push(fingerprint).unwrap(),
        }
    }
    builder.finish_to_path(path).unwrap();
}

/// An index in a temporary folder.
pub(crate) struct Fixture<F> {
    pub(crate) folder: TempDir,
    pub(crate) path: PathBuf,
    pub(crate) fingerprints: Vec<F>,
    pub(crate) index: Index<F>,
}

impl<F: Fingerprint> Fixture<F> {
    pub(crate) fn new(count: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.simidx");
        let fingerprints = fingerprints(count, 7);
        write(&path, &fingerprints, true);
        let index = Index::open(&path).unwrap();
        Fixture {
            folder,
            path,
            fingerprints,
            index,
        }
    }

    /// Returns the answer of the library as an object.
    pub(crate) fn object(&self, query: F, k: u32) -> Value {
        let found = self.index.query(query, k).unwrap();
        let matches: Vec<Value> = found
            .iter()
            .map(|found| {
                let ids = self.index.ids(found).unwrap();
                let ids: Vec<String> = ids.map(|id| id.unwrap().to_string()).collect();
                json!({
                    "fingerprint": found.fingerprint.to_hex(),
                    "distance": found.distance,
                    "ids": ids,
                })
            })
            .collect();
        json!({ "query": query.to_hex(), "matches": matches })
    }
}
