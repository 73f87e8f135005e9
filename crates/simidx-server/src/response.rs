//! Responses: their heads and bodies.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use hyper::{Response, StatusCode};
use tokio::sync::mpsc::Receiver;

use crate::problem::Problem;

/// Which records an answer comes from.
pub(crate) const GENERATION: HeaderName = HeaderName::from_static("x-simidx-generation");

pub(crate) const JSON: &str = "application/json";
pub(crate) const NDJSON: &str = "application/x-ndjson";
pub(crate) const BINARY: &str = "application/octet-stream";
const PROBLEM: &str = "application/problem+json";

/// The body of a response: parts that are there, and pieces that are still to come, if there are any.
#[derive(Debug)]
pub(crate) struct Content {
    parts: VecDeque<Bytes>,
    pieces: Option<Receiver<Bytes>>,
}

impl Body for Content {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = match (self.parts.pop_front(), &mut self.pieces) {
            (None, Some(pieces)) => std::task::ready!(pieces.poll_recv(context)),
            (part, _) => part,
        };
        Poll::Ready(next.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.parts.is_empty() && self.pieces.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        match self.pieces {
            None => SizeHint::with_exact(self.parts.iter().map(|part| part.len() as u64).sum()),
            Some(_) => SizeHint::default(),
        }
    }
}

/// A response that is there as a whole.
pub(crate) fn whole(
    status: StatusCode,
    content_type: &'static str,
    body: impl Into<Bytes>,
) -> Response<Content> {
    let mut response = parts(content_type, [body.into()]);
    *response.status_mut() = status;
    response
}

/// A response that is there in several parts.
pub(crate) fn parts(
    content_type: &'static str,
    parts: impl IntoIterator<Item = Bytes>,
) -> Response<Content> {
    let parts = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let pieces = None;
    with_head(content_type, Content { parts, pieces })
}

/// A response that comes in pieces.
pub(crate) fn pieces(content_type: &'static str, pieces: Receiver<Bytes>) -> Response<Content> {
    let (parts, pieces) = (VecDeque::new(), Some(pieces));
    with_head(content_type, Content { parts, pieces })
}

fn with_head(content_type: &'static str, body: Content) -> Response<Content> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// A value as JSON, with a line end.
pub(crate) fn json(value: &serde_json::Value) -> Response<Content> {
    whole(StatusCode::OK, JSON, format!("{value}\n"))
}

/// Adds the generation that an answer comes from.
pub(crate) fn of_generation(
    mut response: Response<Content>,
    name: Option<HeaderValue>,
) -> Response<Content> {
    let name = name.map(|name| (GENERATION, name));
    response.headers_mut().extend(name);
    response
}

/// A problem as a response.
pub(crate) fn problem(problem: &Problem) -> Response<Content> {
    let body = format!("{}\n", problem.to_json());
    let mut response = whole(problem.status(), PROBLEM, body);
    response.headers_mut().extend(problem.header().cloned());
    response
}
