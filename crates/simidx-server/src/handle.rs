//! What tells a running server what to do, from any thread.

use std::fmt;
use std::sync::Arc;

use tokio::sync::watch;

use crate::state::App;

/// What tells a running [`Server`](crate::Server) what to do.
#[derive(Clone)]
pub struct ServerHandle {
    pub(crate) app: Arc<App>,
    pub(crate) stop: watch::Sender<bool>,
}

/// Waits until it is time to end.
pub(crate) async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

impl fmt::Debug for ServerHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServerHandle(…)")
    }
}

impl ServerHandle {
    /// Lets the server end: it is no longer ready, takes no connections after the drain delay, and answers what it has begun.
    /// Called again, it ends the drain delay.
    pub fn shut_down(&self) {
        self.app.stop_being_ready();
        if self.stop.send_replace(true) {
            self.app.hurry.notify_one();
        }
    }

    /// The same after a signal.
    pub(crate) fn end_by(&self, signal: &'static str) {
        self.app.log.info("ending", &[("signal", signal.into())]);
        self.shut_down();
    }

    /// Opens all files anew, and lets them answer if all are good. Returns when they do.
    pub fn reload(&self) {
        // A failure is in the log.
        let _ = self.app.reload_all();
    }

    /// Open generations of all indexes: as many as there are indexes when no request is left of an old one.
    pub fn generation_count(&self) -> u64 {
        self.app.generation_count() as u64
    }
}
