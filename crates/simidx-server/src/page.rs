//! The page for people: search, and the figures of the indexes.

use std::sync::Arc;

use hyper::{Response, StatusCode};

use crate::problem::Problem;
use crate::response::{Content, whole};
use crate::state::App;

/// The page.
pub(crate) async fn page(
    _app: &Arc<App>,
    _query: Option<&str>,
) -> Result<Response<Content>, Problem> {
    Ok(whole(
        StatusCode::OK,
        "text/html; charset=utf-8",
        "<!DOCTYPE html>",
    ))
}
