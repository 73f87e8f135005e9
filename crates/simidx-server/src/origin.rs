//! Checks of the host and the origin of a request, which keep out pages of other servers.
//!
//! A browser lets a page read the responses of the name that the page came from, and the owner of a name can point it
//! to this machine. Therefore a server without a token, which only this machine can reach, answers only to its own
//! names.

use std::net::IpAddr;

use hyper::header::{HOST, HeaderValue, ORIGIN};
use hyper::http::request::Parts;
use hyper::http::uri::Authority;
use hyper::{StatusCode, Version};

use crate::options::ServerOptions;
use crate::problem::Problem;
use crate::request::shown;

/// Refuses a request with no host or two hosts and, if nothing else keeps out pages, a request for a foreign host name.
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

/// Refuses a change that a page of another server requests.
///
/// # Errors
/// The request is refused.
pub(crate) fn check_origin(head: &Parts) -> Result<(), Problem> {
    let Some(origin) = head.headers.get(ORIGIN) else {
        // The request does not come from a page.
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

/// Returns the host of a request, which is optional in HTTP/1.0.
fn host(head: &Parts) -> Result<Option<Authority>, Problem> {
    let bad = |detail: &str| Problem::bad("bad-request", detail);
    let mut named = head.headers.get_all(HOST).iter();
    match (named.next(), named.next()) {
        (Some(_), Some(_)) => Err(bad("there are two Host lines")),
        (None, _) if head.version != Version::HTTP_10 => Err(bad("there is no Host line")),
        (host, _) => match (head.uri.authority(), host) {
            // The host of an absolute URL takes precedence.
            (Some(authority), _) => Ok(Some(authority.clone())),
            (None, None) => Ok(None),
            (None, Some(host)) => match Authority::try_from(host.as_bytes()) {
                Ok(host) => Ok(Some(host)),
                Err(_) => Err(bad("the Host line names no host")),
            },
        },
    }
}

/// Whether a host is a name of this machine that cannot be given to another one.
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

/// Returns the host and port of an origin.
fn authority_of(origin: &HeaderValue) -> Option<&str> {
    let origin = origin.to_str().ok()?;
    let (_, authority) = origin.split_once("://")?;
    Some(authority)
}
