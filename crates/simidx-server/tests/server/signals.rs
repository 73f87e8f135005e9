//! Signals before the first request. This binary has only one test, because a signal concerns the whole process.

use std::path::PathBuf;
use std::sync::Arc;

use rustix::process::{Signal, getpid, kill_process};
use simidx::Index;
use simidx_server::{Hook, Server, StartError};

use crate::client::PATIENCE;
use crate::harness::{Fixture, default, fingerprints, options, run, write};

/// Returns a hook that runs once during the start, after the files are open.
fn opening(act: impl Fn() + Send + Sync + 'static) -> Option<Hook> {
    Some(Hook(Arc::new(move |queries| {
        if queries.is_none() {
            act();
        }
    })))
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
        options.hook = opening(move || {
            std::fs::rename(&other, &path).unwrap();
            raise(Signal::HUP);
        });
        let server = run(Server::bind(options.clone()).unwrap());
        let started = std::time::Instant::now();
        let generation = || {
            let response = server.client().get("/v1/query/1?index=default");
            response.generation()
        };
        while generation() != new {
            assert!(started.elapsed() < PATIENCE);
        }
        drop(server);
        // A slow start does not delay a stop.
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let receiver = std::sync::Mutex::new(receiver);
        options.hook = opening(move || {
            raise(Signal::TERM);
            let _ = receiver.lock().unwrap().recv_timeout(PATIENCE);
        });
        let ended = Server::bind(options);
        assert!(matches!(ended, Err(StartError::Ended)), "{ended:?}");
        assert!(started.elapsed() < PATIENCE);
        drop(sender);
    }
}
