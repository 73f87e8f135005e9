//! A handle that controls a running server from any thread.

use std::fmt;
use std::sync::Arc;

use tokio::sync::watch;

use crate::state::App;

/// Controls a running [`Server`](crate::Server).
#[derive(Clone)]
pub struct ServerHandle {
    pub(crate) app: Arc<App>,
    pub(crate) stop: watch::Sender<bool>,
}

/// Waits until the server is asked to stop.
pub(crate) async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

impl fmt::Debug for ServerHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServerHandle(…)")
    }
}

impl ServerHandle {
    /// Starts a shutdown: the server is no longer ready, accepts no connections after the drain delay, and finishes the
    /// requests in progress. A second call ends the drain delay.
    pub fn shut_down(&self) {
        self.app.stop_being_ready();
        if self.stop.send_replace(true) {
            self.app.hurry.notify_one();
        }
    }

    /// [`ServerHandle::shut_down`] after a signal.
    pub(crate) fn end_by(&self, signal: &'static str) {
        self.app.log.info("ending", &[("signal", signal.into())]);
        self.shut_down();
    }

    /// Opens all files again and, if all are valid, replaces the served ones. Returns afterwards.
    pub fn reload(&self) {
        // A failure is logged.
        let _ = self.app.reload_all();
    }

    /// Number of open generations of all indexes. It equals the number of indexes when all requests to old generations
    /// have ended.
    pub fn generation_count(&self) -> u64 {
        self.app.generation_count() as u64
    }
}
