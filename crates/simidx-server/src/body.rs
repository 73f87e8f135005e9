//! The bodies of requests: their types, and reading them within the limits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderValue, TRANSFER_ENCODING};
use hyper::{HeaderMap, StatusCode};
use tokio::sync::Semaphore;

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

/// Refuses a body that is sent in another way than as it is, or in chunks.
///
/// # Errors
/// 501, as a server answers that does not know how to read what follows.
pub(crate) fn check_transfer(headers: &HeaderMap) -> Result<(), Problem> {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let is_known = |coding: &HeaderValue| coding.as_bytes().eq_ignore_ascii_case(b"chunked");
    match codings.all(is_known) {
        true => Ok(()),
        false => {
            let detail = "the transfer coding is not understood; send the body in chunks alone";
            Err(Problem::new(
                StatusCode::NOT_IMPLEMENTED,
                "bad-encoding",
                detail,
            ))
        }
    }
}

/// Refuses a body that is compressed, or whose text is not UTF-8 by what its type says.
fn check_encoding(headers: &HeaderMap) -> Result<(), Problem> {
    let wrong = |detail: &str| {
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        Problem::new(status, "bad-encoding", detail)
    };
    let mut codings = headers.get_all(CONTENT_ENCODING).iter();
    if !codings.all(|coding| coding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return Err(wrong(
            "a body with a content encoding is not read; send it as it is",
        ));
    }
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let params = kind.unwrap_or_default().split(';').skip(1);
    let charsets = params.filter_map(|param| {
        let (name, value) = param.split_once('=')?;
        let is_charset = name.trim().eq_ignore_ascii_case("charset");
        is_charset.then(|| value.trim().trim_matches('"'))
    });
    // ASCII is UTF-8 too.
    let known = ["utf-8", "utf8", "us-ascii"];
    for charset in charsets {
        if !known
            .iter()
            .any(|known| charset.eq_ignore_ascii_case(known))
        {
            return Err(wrong(
                "the charset of the content type is not UTF-8; send UTF-8",
            ));
        }
    }
    Ok(())
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
    room: ByteRoom,
}

impl Held {
    /// The room alone, for those who have read the body and keep what they read.
    pub(crate) fn into_room(self) -> ByteRoom {
        self.room
    }
}

impl std::ops::Deref for Held {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// What takes memory for as long as a client needs to send or to read it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kept {
    Bodies,
    Answers,
}

impl Kept {
    /// The room of all of them in KiB, and the bytes that are taken of it.
    fn all(self, app: &App) -> (&Semaphore, &AtomicU64) {
        match self {
            Kept::Bodies => (&app.bodies, &app.metrics.bodies),
            Kept::Answers => (&app.answers, &app.metrics.answers),
        }
    }
}

/// Room among the bytes of all bodies or of all answers; it is free again after this.
pub(crate) struct ByteRoom {
    app: Arc<App>,
    kept: Kept,
    kib: u32,
}

impl ByteRoom {
    pub(crate) fn new(app: &Arc<App>, kept: Kept) -> Self {
        let app = app.clone();
        ByteRoom { app, kept, kib: 0 }
    }

    /// Takes room for as many bytes in all.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn grow(&mut self, len: usize) -> Result<(), Problem> {
        let kib = u32::try_from(len.div_ceil(1024)).unwrap_or(u32::MAX);
        let more = kib.saturating_sub(self.kib);
        let (room, taken) = self.kept.all(&self.app);
        let no_room = |_| {
            Problem::busy(match self.kept {
                Kept::Bodies => "there is no memory for further bodies",
                Kept::Answers => "there is no memory for further answers until others are read",
            })
        };
        room.try_acquire_many(more).map_err(no_room)?.forget();
        taken.fetch_add(u64::from(more) * 1024, Ordering::Relaxed);
        self.kib += more;
        Ok(())
    }
}

impl Drop for ByteRoom {
    fn drop(&mut self) {
        let (room, taken) = self.kept.all(&self.app);
        room.add_permits(self.kib as usize);
        taken.fetch_sub(u64::from(self.kib) * 1024, Ordering::Relaxed);
    }
}

/// Reads a body, as long as it may be and as long as it may take. It takes room as it arrives.
pub(crate) async fn read(
    app: &Arc<App>,
    headers: &HeaderMap,
    mut body: Incoming,
) -> Result<Held, Problem> {
    check_encoding(headers)?;
    let limits = &app.options.limits;
    let too_large =
        || Problem::too_large(format!("the limit of a body is {} bytes", limits.max_body));
    if body.size_hint().lower() > limits.max_body as u64 {
        return Err(too_large());
    }
    let mut room = ByteRoom::new(app, Kept::Bodies);
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

/// Reads what a form of a page sends: what would be after the `?` of an address.
pub(crate) async fn form(
    app: &Arc<App>,
    headers: &HeaderMap,
    body: Incoming,
) -> Result<String, Problem> {
    const FORM: &str = "application/x-www-form-urlencoded";
    let kind = content_type(headers);
    if kind != FORM {
        return Err(wrong_type(&kind, FORM));
    }
    let body = read(app, headers, body).await?;
    let text = std::str::from_utf8(&body);
    let broken = |_| Problem::bad("bad-encoding", "the form is no UTF-8");
    Ok(text.map_err(broken)?.to_owned())
}
