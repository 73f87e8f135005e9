//! Signals: SIGINT and SIGTERM stop the server, and SIGHUP reloads it. They are handled before files are opened.

use std::io;

use crate::handle::ServerHandle;

/// Receives signals from its creation on, and keeps those that arrive early.
#[cfg(unix)]
pub(crate) struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hangup: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    /// Starts to receive signals. Must be called within a runtime.
    ///
    /// # Errors
    /// Any error of the system.
    pub(crate) fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};

        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for a signal to stop and returns its name. Signals to reload are kept.
    pub(crate) async fn end(&mut self) -> &'static str {
        tokio::select! {
            _ = self.interrupt.recv() => "SIGINT",
            _ = self.terminate.recv() => "SIGTERM",
        }
    }

    /// Handles signals indefinitely.
    pub(crate) async fn obey(mut self, handle: ServerHandle) {
        loop {
            tokio::select! {
                _ = self.hangup.recv() => {
                    let handle = handle.clone();
                    let _ = tokio::task::spawn_blocking(move || handle.reload()).await;
                }
                _ = self.interrupt.recv() => handle.end_by("SIGINT"),
                _ = self.terminate.recv() => handle.end_by("SIGTERM"),
            }
        }
    }
}

/// Receives the interrupt key.
#[cfg(not(unix))]
pub(crate) struct Signals;

#[cfg(not(unix))]
impl Signals {
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Signals)
    }

    pub(crate) async fn end(&mut self) -> &'static str {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        "Ctrl-C"
    }

    pub(crate) async fn obey(mut self, handle: ServerHandle) {
        loop {
            let name = self.end().await;
            handle.end_by(name);
        }
    }
}
