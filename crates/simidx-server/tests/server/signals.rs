//! Signals that come before any request does. One test alone: a signal is for the whole process.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Once;

use rustix::process::{Signal, getpid, kill_process};
use serde_json::Value;
use simidx::set::Question;
use simidx::{Fingerprints, Id, IdKind, Index, Width};
use simidx_server::{Server, Sink, Source, SourceSize, StartError};

use crate::client::PATIENCE;
use crate::harness::{Fixture, default, fingerprints, options, run, write};
use crate::sources::Plain;

/// A source that does something while it is opened, which is after the files.
struct Opening<F> {
    plain: Plain,
    once: Once,
    act: F,
}

impl<F: Fn()> Opening<F> {
    fn sources(act: F) -> Vec<(String, Box<dyn Source>)>
    where
        F: Send + Sync + 'static,
    {
        let plain = Plain(BTreeMap::new());
        let once = Once::new();
        vec![("other".to_owned(), Box::new(Opening { plain, once, act }))]
    }
}

impl<F: Fn() + Send + Sync + 'static> Source for Opening<F> {
    fn width(&self) -> Width {
        self.once.call_once(&self.act);
        self.plain.width()
    }

    fn max_distance(&self) -> u32 {
        self.plain.max_distance()
    }

    fn id_kind(&self) -> IdKind {
        self.plain.id_kind()
    }

    fn pipeline(&self) -> Option<&str> {
        None
    }

    fn generation(&self) -> String {
        self.plain.generation()
    }

    fn find(
        &self,
        queries: &Fingerprints,
        question: Question,
        sink: &mut dyn Sink,
    ) -> simidx::Result<()> {
        self.plain.find(queries, question, sink)
    }

    fn fingerprints_of_id(&self, id: Id<'_>) -> simidx::Result<Vec<u128>> {
        self.plain.fingerprints_of_id(id)
    }

    fn cost(&self, question: Question) -> f64 {
        self.plain.cost(question)
    }

    fn size(&self) -> SourceSize {
        self.plain.size()
    }

    fn figures(&self) -> simidx::Result<Value> {
        self.plain.figures()
    }

    fn resident_fraction(&self) -> Option<f64> {
        self.plain.resident_fraction()
    }
}

fn raise(signal: Signal) {
    kill_process(getpid(), signal).unwrap();
}

fn name(path: &PathBuf) -> String {
    Index::<u64>::open(path).unwrap().content_id().to_string()
}

#[test]
fn signals_that_come_while_files_are_opened_are_obeyed() {
    for threads in [1, 2] {
        let fixture = Fixture::<u64>::new(400);
        let (path, other) = (
            fixture.path.clone(),
            fixture.path.with_extension("replacing"),
        );
        write(&other, &fingerprints::<u64>(200, 99), true);
        let (old, new) = (name(&path), name(&other));
        assert_ne!(old, new);
        let mut options = options(vec![default(&path)]);
        options.signals = true;
        options.threads = threads;
        // The old file is open by now.
        let replaced = Opening::sources(move || {
            std::fs::rename(&other, &path).unwrap();
            raise(Signal::HUP);
        });
        let server = run(Server::bind_with_sources(options.clone(), replaced).unwrap());
        let started = std::time::Instant::now();
        let generation = || {
            let response = server.client().get("/v1/query/1?index=default");
            response.generation()
        };
        while generation() != new {
            assert!(started.elapsed() < PATIENCE);
        }
        drop(server);
        // What takes long to open holds no end up.
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let receiver = std::sync::Mutex::new(receiver);
        let slow = Opening::sources(move || {
            raise(Signal::TERM);
            let _ = receiver.lock().unwrap().recv_timeout(PATIENCE);
        });
        let ended = Server::bind_with_sources(options, slow);
        assert!(matches!(ended, Err(StartError::Ended)), "{ended:?}");
        assert!(started.elapsed() < PATIENCE);
        drop(sender);
    }
}
