//! Which server a request is for, and which page sent it: what keeps the pages of others out.
//!
//! A browser lets a page read what comes from the name that the page itself came from, and whoever owns a name can point it to
//! this machine. So a server that asks for no token, since only this machine reaches it, goes by names that are its own.

use std::net::IpAddr;

use hyper::header::{HOST, HeaderValue, ORIGIN};
use hyper::http::request::Parts;
use hyper::http::uri::Authority;
use hyper::{StatusCode, Version};

use crate::options::ServerOptions;
use crate::problem::Problem;
use crate::request::shown;

/// Refuses a request without a host or with two, and, where nothing else keeps pages out, one for a host of another name.
///
/// # Errors
/// The request is refused.
pub(crate) fn check_host(options: &ServerOptions, head: &Parts) -> Result<(), Problem> {
    let Some(host) = host(head)? else {
        return Ok(());
    };
    if options.token.is_some() || !options.listen.ip().is_loopback() {
        return Ok(());
    }
    match is_own(host.host(), options.listen_name.as_deref()) {
        true => Ok(()),
        false => {
            let detail = format!(
                "{} is not a name of this machine; use localhost, or start the server with --token-file",
                shown(host.host())
            );
            Err(forbidden(detail))
        }
    }
}

/// Refuses a change that a page of another server asks for.
///
/// # Errors
/// The request is refused.
pub(crate) fn check_origin(head: &Parts) -> Result<(), Problem> {
    let Some(origin) = head.headers.get(ORIGIN) else {
        // It comes from no page.
        return Ok(());
    };
    let host = host(head)?;
    let own = host.as_ref().map(Authority::as_str);
    match authority_of(origin).is_some_and(|page| own.is_some_and(|own| own == page)) {
        true => Ok(()),
        false => Err(forbidden("pages of other servers may not ask for this")),
    }
}

fn forbidden(detail: impl Into<String>) -> Problem {
    Problem::new(StatusCode::FORBIDDEN, "forbidden", detail)
}

/// The host of a request; HTTP/1.0 need not name any.
fn host(head: &Parts) -> Result<Option<Authority>, Problem> {
    let bad = |detail: &str| Problem::bad("bad-request", detail);
    let mut named = head.headers.get_all(HOST).iter();
    match (named.next(), named.next()) {
        (Some(_), Some(_)) => Err(bad("there are two Host lines")),
        (None, _) if head.version != Version::HTTP_10 => Err(bad("there is no Host line")),
        (host, _) => match (head.uri.authority(), host) {
            // A whole address counts for more.
            (Some(authority), _) => Ok(Some(authority.clone())),
            (None, None) => Ok(None),
            (None, Some(host)) => match Authority::try_from(host.as_bytes()) {
                Ok(host) => Ok(Some(host)),
                Err(_) => Err(bad("the Host line names no host")),
            },
        },
    }
}

/// Whether a host is this machine by a name that nobody else can give it.
fn is_own(host: &str, listen_name: Option<&str>) -> bool {
    let number = host.trim_start_matches('[').trim_end_matches(']');
    match number.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => {
            host.eq_ignore_ascii_case("localhost")
                || listen_name.is_some_and(|name| host.eq_ignore_ascii_case(name))
        }
    }
}

/// Host and port of the server that a page came from.
fn authority_of(origin: &HeaderValue) -> Option<&str> {
    let origin = origin.to_str().ok()?;
    let (_, authority) = origin.split_once("://")?;
    Some(authority)
}
