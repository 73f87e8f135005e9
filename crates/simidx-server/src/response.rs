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

/// The header with the generation of the records that an answer comes from.
pub(crate) const GENERATION: HeaderName = HeaderName::from_static("x-simidx-generation");

pub(crate) const JSON: &str = "application/json";
pub(crate) const NDJSON: &str = "application/x-ndjson";
pub(crate) const BINARY: &str = "application/octet-stream";
const PROBLEM: &str = "application/problem+json";

/// The body of a response: complete parts, then an optional stream of pieces.
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

/// Creates a response from a complete body.
pub(crate) fn whole(
    status: StatusCode,
    content_type: &'static str,
    body: impl Into<Bytes>,
) -> Response<Content> {
    let mut response = parts(content_type, [body.into()]);
    *response.status_mut() = status;
    response
}

/// Creates a response from the complete parts of a body.
pub(crate) fn parts(
    content_type: &'static str,
    parts: impl IntoIterator<Item = Bytes>,
) -> Response<Content> {
    let parts = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let pieces = None;
    with_head(content_type, Content { parts, pieces })
}

/// Creates a response whose body is streamed.
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

/// Creates a response from a JSON value, with a line end.
pub(crate) fn json(value: &serde_json::Value) -> Response<Content> {
    whole(StatusCode::OK, JSON, format!("{value}\n"))
}

/// Adds the header with the generation.
pub(crate) fn of_generation(mut response: Response<Content>, name: String) -> Response<Content> {
    let name = HeaderValue::try_from(name).map(|name| (GENERATION, name));
    response.headers_mut().extend(name);
    response
}

/// Creates the response of a problem.
pub(crate) fn problem(problem: &Problem) -> Response<Content> {
    let body = format!("{}\n", problem.to_json());
    let mut response = whole(problem.status(), PROBLEM, body);
    response.headers_mut().extend(problem.header().cloned());
    response
}
