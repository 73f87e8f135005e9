//! Signals: SIGINT and SIGTERM end the server, SIGHUP reloads. They are listened to before files are opened.

use std::io;

use crate::handle::ServerHandle;

/// Signals from its making on; those that come before they are asked for are kept.
#[cfg(unix)]
pub(crate) struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hangup: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    /// To be called within a runtime.
    ///
    /// # Errors
    /// What the system reports.
    pub(crate) fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};

        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for a signal that ends the server, and names it. Those to reload stay where they are.
    pub(crate) async fn end(&mut self) -> &'static str {
        tokio::select! {
            _ = self.interrupt.recv() => "SIGINT",
            _ = self.terminate.recv() => "SIGTERM",
        }
    }

    /// Does what the signals ask for, for ever.
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

/// The key that ends a program.
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
