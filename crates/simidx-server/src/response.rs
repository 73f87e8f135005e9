//! Responses: their heads and bodies.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Response, StatusCode};
use tokio::sync::mpsc::Receiver;

use crate::problem::Problem;

/// Which records an answer comes from.
pub(crate) const GENERATION: HeaderName = HeaderName::from_static("x-simidx-generation");

pub(crate) const JSON: &str = "application/json";
pub(crate) const NDJSON: &str = "application/x-ndjson";
pub(crate) const BINARY: &str = "application/octet-stream";
const PROBLEM: &str = "application/problem+json";

/// The body of a response: there as a whole, in one part or several, or coming in pieces.
#[derive(Debug)]
pub(crate) enum Content {
    Whole(Option<Bytes>),
    Parts(VecDeque<Bytes>),
    Pieces(Receiver<Bytes>),
}

impl Body for Content {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Content::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Content::Parts(parts) => {
                Poll::Ready(parts.pop_front().map(|part| Ok(Frame::data(part))))
            }
            Content::Pieces(pieces) => {
                let piece = pieces.poll_recv(context);
                piece.map(|piece| piece.map(|bytes| Ok(Frame::data(bytes))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Content::Whole(bytes) => bytes.is_none(),
            Content::Parts(parts) => parts.is_empty(),
            Content::Pieces(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Content::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            Content::Parts(parts) => {
                SizeHint::with_exact(parts.iter().map(|part| part.len() as u64).sum())
            }
            Content::Pieces(_) => SizeHint::default(),
        }
    }
}

/// A response that is there as a whole.
pub(crate) fn whole(
    status: StatusCode,
    content_type: &'static str,
    body: impl Into<Bytes>,
) -> Response<Content> {
    with_head(status, content_type, Content::Whole(Some(body.into())))
}

/// A response that is there in several parts.
pub(crate) fn parts(
    content_type: &'static str,
    parts: impl IntoIterator<Item = Bytes>,
) -> Response<Content> {
    let parts = parts.into_iter().filter(|part| !part.is_empty()).collect();
    with_head(StatusCode::OK, content_type, Content::Parts(parts))
}

/// A response that comes in pieces.
pub(crate) fn pieces(content_type: &'static str, pieces: Receiver<Bytes>) -> Response<Content> {
    with_head(StatusCode::OK, content_type, Content::Pieces(pieces))
}

fn with_head(status: StatusCode, content_type: &'static str, body: Content) -> Response<Content> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// A value as JSON, with a line end.
pub(crate) fn json(status: StatusCode, value: &serde_json::Value) -> Response<Content> {
    whole(status, JSON, format!("{value}\n"))
}

/// Adds the generation that an answer comes from.
pub(crate) fn of_generation(
    mut response: Response<Content>,
    name: impl TryInto<HeaderValue>,
) -> Response<Content> {
    if let Ok(value) = name.try_into() {
        response.headers_mut().insert(GENERATION, value);
    }
    response
}

/// A problem as a response.
pub(crate) fn problem(problem: &Problem) -> Response<Content> {
    let body = format!("{}\n", problem.to_json());
    let mut response = whole(problem.status(), PROBLEM, body);
    let headers = response.headers_mut();
    if let Some(seconds) = problem.retry_after() {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    if problem.status() == StatusCode::UNAUTHORIZED {
        let challenge = HeaderValue::from_static("Bearer realm=\"simidx\"");
        headers.insert(WWW_AUTHENTICATE, challenge);
    }
    response
}

/// The response to a method that a route does not have.
pub(crate) fn wrong_method(allowed: &'static str) -> Response<Content> {
    let detail = format!("this address takes {allowed}");
    let status = StatusCode::METHOD_NOT_ALLOWED;
    let mut response = problem(&Problem::new(status, "method-not-allowed", detail));
    let allowed = HeaderValue::from_static(allowed);
    response.headers_mut().insert(ALLOW, allowed);
    response
}
