//! The bodies of requests: their types, and reading them within the limits.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::{HeaderMap, StatusCode};

use crate::problem::Problem;
use crate::request::shown;
use crate::state::App;

/// The type of a body, without its parameters.
pub(crate) fn content_type(headers: &HeaderMap) -> String {
    let value = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let kind = value
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default();
    kind.trim().to_ascii_lowercase()
}

pub(crate) fn wrong_type(given: &str, wanted: &str) -> Problem {
    let detail = format!("the content type is {}, not one of {wanted}", shown(given));
    Problem::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "bad-content-type",
        detail,
    )
}

/// A body, with the room that it takes among all bodies.
pub(crate) struct Held {
    bytes: Bytes,
    room: BodyRoom,
}

impl Held {
    /// The room alone, for those who have read the body and keep what they read.
    pub(crate) fn into_room(self) -> BodyRoom {
        self.room
    }
}

impl std::ops::Deref for Held {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Room among the bodies; it is free again after this.
pub(crate) struct BodyRoom {
    app: Arc<App>,
    kib: u32,
}

impl BodyRoom {
    fn new(app: &Arc<App>) -> Self {
        let app = app.clone();
        BodyRoom { app, kib: 0 }
    }

    /// Takes room for as many bytes in all.
    ///
    /// # Errors
    /// There is none.
    fn grow(&mut self, len: usize) -> Result<(), Problem> {
        let kib = u32::try_from(len.div_ceil(1024)).unwrap_or(u32::MAX);
        let more = kib.saturating_sub(self.kib);
        let permit = self.app.bodies.try_acquire_many(more);
        let no_room = |_| Problem::busy("there is no memory for further bodies");
        permit.map_err(no_room)?.forget();
        self.kib += more;
        let bodies = &self.app.metrics.bodies;
        bodies.fetch_add(u64::from(more) * 1024, Ordering::Relaxed);
        Ok(())
    }
}

impl Drop for BodyRoom {
    fn drop(&mut self) {
        self.app.bodies.add_permits(self.kib as usize);
        let bodies = &self.app.metrics.bodies;
        bodies.fetch_sub(u64::from(self.kib) * 1024, Ordering::Relaxed);
    }
}

/// Reads a body, as long as it may be and as long as it may take. It takes room as it arrives.
pub(crate) async fn read(app: &Arc<App>, mut body: Incoming) -> Result<Held, Problem> {
    let limits = &app.options.limits;
    let too_large =
        || Problem::too_large(format!("the limit of a body is {} bytes", limits.max_body));
    if body.size_hint().lower() > limits.max_body as u64 {
        return Err(too_large());
    }
    let mut room = BodyRoom::new(app);
    let reading = async {
        let mut whole = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let broken = |_| Problem::bad("cut", "the body broke off");
            if let Ok(data) = frame.map_err(broken)?.into_data() {
                let len = whole.len() + data.len();
                if len > limits.max_body {
                    return Err(too_large());
                }
                room.grow(len)?;
                whole.extend_from_slice(&data);
            }
        }
        Ok(whole.freeze())
    };
    let bytes = match tokio::time::timeout(limits.timeout, reading).await {
        Ok(bytes) => bytes?,
        Err(_) => {
            let detail = "the body took too long to arrive";
            return Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "timeout", detail));
        }
    };
    Ok(Held { bytes, room })
}
