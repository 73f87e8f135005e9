//! The addresses of the server: their methods, access rules and handlers.

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use hyper::body::Incoming;
use hyper::header::{ALLOW, WWW_AUTHENTICATE};
use hyper::{Request, Response, StatusCode};

use crate::call::{Answer, Call, check_transfer};
use crate::documents::{add, one};
use crate::operations::{info, livez, metrics, openapi, readyz, reload, snapshot};
use crate::origin::{check_host, check_origin};
use crate::page;
use crate::problem::Problem;
use crate::queries::{batch, nearest, of_id, text, within};
use crate::request::shown;
use crate::response::{self, Content};
use crate::state::App;

/// The address of the page for people, for which a browser asks for the token.
const PAGE: &str = "/";

const FORM: &str = "application/x-www-form-urlencoded";

type Handler = fn(Call) -> Pin<Box<dyn Future<Output = Answer> + Send>>;

/// A method of an address.
struct Route {
    method: &'static str,
    /// The address, as the description and the metrics name it.
    path: &'static str,
    answer: Handler,
    /// Whether the token is not needed.
    is_open: bool,
    /// Whether the method changes the served data.
    is_change: bool,
}

/// All routes. GET includes HEAD.
static ROUTES: [Route; 18] = [
    get("/livez", |call| Box::pin(livez(call))).open(),
    get("/readyz", |call| Box::pin(readyz(call))).open(),
    get("/healthz", |call| Box::pin(readyz(call))).open(),
    get("/v1/query/{fingerprint}", |call| Box::pin(within(call))),
    get("/v1/nearest/{fingerprint}", |call| Box::pin(nearest(call))),
    get("/v1/ids/{id}", |call| Box::pin(of_id(call))),
    post("/v1/query", |call| Box::pin(batch(call))),
    post("/v1/text", |call| Box::pin(text(call))),
    post("/v1/documents", |call| Box::pin(add(call))).change(),
    get("/v1/documents/{id}", |call| Box::pin(one(call))),
    delete("/v1/documents/{id}", |call| Box::pin(one(call))).change(),
    get("/v1/info", |call| Box::pin(info(call))),
    get("/metrics", |call| Box::pin(metrics(call))),
    get("/openapi.json", |call| Box::pin(openapi(call))),
    post("/-/reload", |call| Box::pin(reload(call))).change(),
    post("/-/snapshot", |call| Box::pin(snapshot(call))).change(),
    get(PAGE, |call| Box::pin(page(call))),
    post(PAGE, |call| Box::pin(form(call))),
];

const fn get(path: &'static str, answer: Handler) -> Route {
    Route::new("GET", path, answer)
}

const fn post(path: &'static str, answer: Handler) -> Route {
    Route::new("POST", path, answer)
}

const fn delete(path: &'static str, answer: Handler) -> Route {
    Route::new("DELETE", path, answer)
}

impl Route {
    const fn new(method: &'static str, path: &'static str, answer: Handler) -> Self {
        Route {
            method,
            path,
            answer,
            is_open: false,
            is_change: false,
        }
    }

    const fn open(mut self) -> Self {
        self.is_open = true;
        self
    }

    const fn change(mut self) -> Self {
        self.is_change = true;
        self
    }

    /// Returns the offset of the parameter, if a path matches this address.
    fn parameter(&self, path: &str) -> Option<usize> {
        let Some((start, name)) = self.path.split_once('{') else {
            return (path == self.path).then_some(path.len());
        };
        let parameter = path.strip_prefix(start)?;
        // An id may contain slashes.
        let is_one = name == "id}" || !parameter.contains('/');
        (is_one && !parameter.is_empty()).then_some(start.len())
    }
}

/// Returns the addresses, for the metrics.
pub(crate) fn paths() -> impl Iterator<Item = &'static str> {
    ROUTES.iter().map(|route| route.path)
}

/// Answers a request.
pub(crate) async fn serve(
    app: Arc<App>,
    request: Request<Incoming>,
    client: IpAddr,
) -> Response<Content> {
    let started = Instant::now();
    let (head, body) = request.into_parts();
    let (method, uri) = (head.method.clone(), head.uri.clone());
    let places = ROUTES.iter().map(|route| route.parameter(uri.path()));
    let found = places
        .enumerate()
        .find_map(|(at, place)| Some((at, place?)));
    let (first, parameter) = found.unwrap_or((ROUTES.len(), 0));
    let call = Call {
        app: app.clone(),
        head,
        body,
        parameter,
    };
    let answered = match admit(&call, first) {
        Ok(answer) => answer(call).await,
        Err(problem) => Err(problem),
    };
    let response = answered.unwrap_or_else(|problem| {
        if problem.status() == StatusCode::SERVICE_UNAVAILABLE {
            app.metrics.shed.fetch_add(1, Ordering::Relaxed);
        }
        if problem.status() == StatusCode::INTERNAL_SERVER_ERROR {
            let route = ROUTES.get(first).map_or("unknown", |route| route.path);
            let fields = [("route", route.into()), ("error", problem.detail().into())];
            app.log.error("request failed", &fields);
        }
        response::problem(&problem)
    });
    let (status, took) = (response.status(), started.elapsed());
    app.metrics.answered(first, status, took);
    if app.options.access_log {
        let fields = [
            ("client", client.to_string().into()),
            ("method", method.as_str().into()),
            ("path", uri.path().into()),
            ("status", status.as_u16().into()),
            ("us", (took.as_micros() as u64).into()),
        ];
        // The access log is written even by a quiet log.
        app.log.write("info", "request", &fields);
    }
    response
}

/// Returns the handler of a request, if it is permitted. `first` is a row of its address.
fn admit(call: &Call, first: usize) -> Result<Handler, Problem> {
    let (app, head) = (&call.app, &call.head);
    check_transfer(&head.headers)?;
    check_host(&app.options, head)?;
    let path = ROUTES.get(first).map(|route| route.path);
    let rows = ROUTES.iter().filter(|route| Some(route.path) == path);
    if let Some(token) = &app.token
        && !rows.clone().any(|route| route.is_open)
        && !token.load().is_shown(&head.headers, path == Some(PAGE))
    {
        let detail = "show the token: Authorization: Bearer TOKEN";
        let challenge = match path {
            Some(PAGE) => "Basic realm=\"simidx\", charset=\"UTF-8\"",
            _ => "Bearer realm=\"simidx\"",
        };
        let problem = Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", detail);
        return Err(problem.with(WWW_AUTHENTICATE, challenge));
    }
    if path.is_none() {
        let path = shown(head.uri.path());
        let detail = format!("there is nothing at {path}; see /openapi.json");
        return Err(Problem::not_found("unknown-address", detail));
    }
    let method = match head.method.as_str() {
        "HEAD" => "GET",
        method => method,
    };
    let Some(route) = rows.clone().find(|route| route.method == method) else {
        let allowed: Vec<_> = rows.map(|route| route.method).collect();
        let allowed = allowed.join(", ").replace("GET", "GET, HEAD");
        let detail = format!("this address takes {allowed}");
        let status = StatusCode::METHOD_NOT_ALLOWED;
        return Err(Problem::new(status, "method-not-allowed", detail).with(ALLOW, &allowed));
    };
    if route.is_change {
        check_origin(head)?;
    }
    Ok(route.answer)
}

async fn page(call: Call) -> Answer {
    page::page(&call.app, call.head.uri.query()).await
}

/// Answers the form of the page, whose body has the parameters of an address.
async fn form(mut call: Call) -> Answer {
    call.kind(&[FORM])?;
    let (body, _permit) = call.read().await?;
    let broken = |_| Problem::bad("bad-encoding", "the form is not UTF-8");
    let form = std::str::from_utf8(&body).map_err(broken)?;
    page::page(&call.app, Some(form)).await
}
