//! A request: its head, its parameters, and its body, which is read within limits.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use hyper::body::{Body, Incoming};
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderValue, TRANSFER_ENCODING};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Response, StatusCode};
use tokio::sync::OwnedSemaphorePermit;

use crate::problem::Problem;
use crate::request::{Params, shown};
use crate::response::Content;
use crate::state::App;

/// A request.
pub(crate) struct Call {
    pub(crate) app: Arc<App>,
    pub(crate) head: Parts,
    pub(crate) body: Incoming,
    /// The offset in the path at which its parameter begins.
    pub(crate) parameter: usize,
}

/// The response to a request, or the problem with it.
pub(crate) type Answer = Result<Response<Content>, Problem>;

/// The body of a request, and the permits for its bytes.
pub(crate) type Held = (Bytes, Option<OwnedSemaphorePermit>);

impl Call {
    /// The parameter in the path, still percent-encoded.
    pub(crate) fn parameter(&self) -> &str {
        &self.head.uri.path()[self.parameter..]
    }

    /// Parses the query parameters. Names other than `allowed` are refused.
    pub(crate) fn params(&self, allowed: &[&str]) -> Result<Params, Problem> {
        Params::parse(self.head.uri.query(), allowed)
    }

    /// Returns the content type of the body, one of `known`, without its parameters. An empty type matches a missing
    /// one.
    pub(crate) fn kind(&self, known: &[&'static str]) -> Result<&'static str, Problem> {
        let kind = content_type(&self.head.headers);
        let kind = kind.split(';').next().unwrap_or_default().trim();
        let found = known.iter().find(|known| known.eq_ignore_ascii_case(kind));
        found.copied().ok_or_else(|| {
            let known = known.iter().filter(|known| !known.is_empty());
            let known = known.copied().collect::<Vec<_>>().join(", ");
            let kind = shown(&kind.to_ascii_lowercase());
            let detail = format!("the content type is {kind}, not one of {known}");
            let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            Problem::new(status, "bad-content-type", detail)
        })
    }

    /// Reads the body within its limits of length and time. Permits are acquired as it arrives.
    pub(crate) async fn read(&mut self) -> Result<Held, Problem> {
        check_encoding(&self.head.headers)?;
        let (app, mut body) = (&self.app, Pin::new(&mut self.body));
        let limits = &app.options.limits;
        let too_large =
            || Problem::too_large(format!("the limit of a body is {} bytes", limits.max_body));
        if body.size_hint().lower() > limits.max_body as u64 {
            return Err(too_large());
        }
        let mut permit = None;
        let reading = async {
            let mut whole = BytesMut::new();
            while let Some(frame) = poll_fn(|context| body.as_mut().poll_frame(context)).await {
                let broken = |_| Problem::bad("cut", "the body broke off");
                if let Ok(data) = frame.map_err(broken)?.into_data() {
                    let len = whole.len() + data.len();
                    if len > limits.max_body {
                        return Err(too_large());
                    }
                    if !app.bodies.hold(&mut permit, len) {
                        return Err(no_memory());
                    }
                    whole.extend_from_slice(&data);
                }
            }
            Ok(whole.freeze())
        };
        match tokio::time::timeout(limits.timeout, reading).await {
            Ok(bytes) => Ok((bytes?, permit)),
            Err(_) => {
                let detail = "the body took too long to arrive";
                Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "timeout", detail))
            }
        }
    }
}

/// The problem of a body, or of its queries, that all permits are too few for.
pub(crate) fn no_memory() -> Problem {
    Problem::busy("there is no memory for further bodies")
}

/// Returns the content type of a body, with its parameters.
fn content_type(headers: &HeaderMap) -> &str {
    let value = headers.get(CONTENT_TYPE);
    value.and_then(|v| v.to_str().ok()).unwrap_or_default()
}

/// Refuses a body with a transfer encoding other than `chunked`.
///
/// # Errors
/// 501, because the server cannot find the end of the body.
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

/// Refuses a body that is compressed, or whose type declares a charset other than UTF-8.
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
    let params = content_type(headers).split(';').skip(1);
    let charsets = params.filter_map(|param| {
        let (name, value) = param.split_once('=')?;
        let is_charset = name.trim().eq_ignore_ascii_case("charset");
        is_charset.then(|| value.trim().trim_matches('"'))
    });
    // ASCII text is valid UTF-8.
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
