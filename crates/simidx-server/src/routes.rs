//! The addresses of the server, and what each of them answers.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use hyper::body::Incoming;
use hyper::header::{HeaderValue, WWW_AUTHENTICATE};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::{Value, json};

use crate::body::{self, check_transfer};
use crate::documents;
use crate::metrics::IndexLine;
use crate::origin::{check_host, check_origin};
use crate::page;
use crate::problem::Problem;
use crate::queries;
use crate::request::{Params, shown};
use crate::response::{self, Content, JSON, whole, wrong_method};
use crate::route::Route;
use crate::state::{App, Served};
use crate::store::Store;

/// The description of these addresses.
const OPENAPI: &str = include_str!("../openapi.json");

/// What Prometheus calls its text.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Answers a request.
pub(crate) async fn serve(
    app: &Arc<App>,
    request: Request<Incoming>,
    client: IpAddr,
) -> Response<Content> {
    let started = Instant::now();
    let (head, body) = request.into_parts();
    let (route, parameter) = Route::of(head.uri.path());
    let answered = answer(app, route, parameter, &head, body).await;
    let response = answered.unwrap_or_else(|problem| {
        let mut response = response::problem(&problem);
        if route == Route::Page && problem.status() == StatusCode::UNAUTHORIZED {
            let challenge = HeaderValue::from_static("Basic realm=\"simidx\", charset=\"UTF-8\"");
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        if problem.status() == StatusCode::SERVICE_UNAVAILABLE {
            app.metrics.shed.fetch_add(1, Ordering::Relaxed);
        }
        if problem.status() == StatusCode::INTERNAL_SERVER_ERROR {
            let fields = [("route", route.name()), ("error", problem.detail())];
            app.log.error("request failed", &fields);
        }
        response
    });
    let took = started.elapsed();
    app.metrics.answered(route, response.status(), took);
    if app.options.access_log {
        let fields = [
            ("client", &*client.to_string()),
            ("method", head.method.as_str()),
            ("path", head.uri.path()),
        ];
        let status = response.status().as_u16().into();
        app.log
            .access(&fields, &[("status", status), ("us", took.as_micros())]);
    }
    response
}

async fn answer(
    app: &Arc<App>,
    route: Route,
    parameter: &str,
    head: &hyper::http::request::Parts,
    body: Incoming,
) -> Result<Response<Content>, Problem> {
    check_transfer(&head.headers)?;
    check_host(&app.options, head)?;
    if let Some(token) = &app.token
        && !route.is_open()
        && !token.load().is_shown(&head.headers, route == Route::Page)
    {
        let detail = "show the token: Authorization: Bearer TOKEN";
        let status = StatusCode::UNAUTHORIZED;
        return Err(Problem::new(status, "unauthorized", detail));
    }
    if route == Route::Unknown {
        let path = shown(head.uri.path());
        let detail = format!("there is nothing at {path}; see /openapi.json");
        return Err(Problem::not_found("unknown-address", detail));
    }
    let method = match &head.method {
        &Method::HEAD => Method::GET,
        method => method.clone(),
    };
    if !route
        .methods()
        .split(", ")
        .any(|known| known == method.as_str())
    {
        return Ok(wrong_method(route.methods()));
    }
    if route.is_changed_by(&head.method) {
        check_origin(head)?;
    }
    let query = head.uri.query();
    match route {
        Route::Livez => Ok(plain(StatusCode::OK, "ok\n")),
        Route::Readyz | Route::Healthz => Ok(match app.readiness() {
            (true, line) => plain(StatusCode::OK, line),
            (false, line) => plain(StatusCode::SERVICE_UNAVAILABLE, line),
        }),
        Route::Metrics => {
            let app = app.clone();
            // To find out what is in memory takes long for large files.
            let text = tokio::task::spawn_blocking(move || metrics(&app)).await;
            let broken = |_| Problem::busy("the metrics broke off");
            Ok(whole(StatusCode::OK, METRICS, text.map_err(broken)?))
        }
        Route::OpenApi => Ok(whole(StatusCode::OK, JSON, OPENAPI)),
        Route::Info => info(app, query),
        Route::QueryOne => {
            let params = Params::parse(query, &["k", "limit", "nearest", "index"])?;
            queries::one(app, parameter, params).await
        }
        Route::Nearest => {
            let mut params = Params::parse(query, &["k", "count", "index"])?;
            params.nearest.get_or_insert(1);
            queries::one(app, parameter, params).await
        }
        Route::Ids => queries::of_id(app, parameter, query).await,
        Route::Query => queries::batch(app, head, body).await,
        Route::Text => queries::text(app, head, body).await,
        Route::Documents => documents::add(app, head, body).await,
        Route::Document => documents::one(app, head, parameter).await,
        Route::Reload => reload(app, query).await,
        Route::Snapshot => snapshot(app, query).await,
        Route::Page if method == Method::POST => {
            let form = body::form(app, &head.headers, body).await?;
            page::page(app, Some(&form)).await
        }
        Route::Page => page::page(app, query).await,
        Route::Unknown => unreachable!("it was answered above"),
    }
}

fn plain(status: StatusCode, text: &'static str) -> Response<Content> {
    whole(status, "text/plain; charset=utf-8", text)
}

fn metrics(app: &App) -> String {
    let lines: Vec<_> = app
        .indexes
        .iter()
        .map(|index| {
            let generation = index.current();
            IndexLine {
                name: &index.name,
                metrics: &index.metrics,
                generation: generation.source.generation(),
                size: generation.source.size(),
                max_distance: generation.source.max_distance(),
                loaded_at: generation.loaded_at,
                resident_fraction: generation.source.resident_fraction(),
            }
        })
        .collect();
    let stats = app.store.as_ref().map(|(_, store)| store.stats());
    app.metrics.write(&lines, stats.as_ref(), app.is_ready())
}

/// What is served, and the limits.
fn info(app: &App, query: Option<&str>) -> Result<Response<Content>, Problem> {
    let params = Params::parse(query, &["index"])?;
    let asked = match &params.index {
        Some(name) => vec![app.index(Some(name))?],
        None => app.indexes.iter().collect(),
    };
    let indexes: Result<Vec<Value>, Problem> = asked
        .into_iter()
        .map(|index| {
            let generation = index.current();
            let mut figures = generation.source.figures()?;
            hide_folders(&mut figures);
            Ok(json!({
                "name": index.name,
                "generation": generation.source.generation(),
                "loaded_at": crate::log::timestamp(generation.loaded_at),
                "largest_k": app.max_distance(&*generation.source),
                "texts": generation.fingerprinter().is_ok(),
                "figures": figures,
            }))
        })
        .collect();
    let limits = serde_json::to_value(app.options.limits).unwrap_or_default();
    let object = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "ready": app.is_ready(),
        "uptime_seconds": app.metrics.uptime().as_secs(),
        "limits": limits,
        "indexes": indexes?,
    });
    Ok(response::json(StatusCode::OK, &object))
}

/// Leaves the folders of files out, which are nobody's business.
fn hide_folders(figures: &mut Value) {
    let segments = figures.get_mut("segments").and_then(Value::as_array_mut);
    for segment in segments.into_iter().flatten() {
        let path = segment["path"].as_str().unwrap_or_default();
        let name = std::path::Path::new(path).file_name().unwrap_or_default();
        segment["path"] = name.to_string_lossy().into();
    }
}

/// Copies the store.
async fn snapshot(app: &Arc<App>, query: Option<&str>) -> Result<Response<Content>, Problem> {
    Params::parse(query, &[])?;
    let (store, _) = documents::store(app)?;
    let copying = app.clone();
    let object = documents::waiting(app, move || copy(&copying, &store)).await?;
    Ok(response::json(StatusCode::OK, &object))
}

/// Copies the store, unless another request does.
fn copy(app: &App, store: &Store) -> Result<Value, Problem> {
    let Ok(_only) = app.copying.try_acquire() else {
        return Err(Problem::busy("another snapshot is being taken"));
    };
    let started = Instant::now();
    let (name, changes) = store.snapshot().map_err(|error| {
        let text = error.to_string();
        app.log.error("snapshot failed", &[("error", &*text)]);
        match error {
            simidx_collection::Error::Journal(_) => error.into(),
            _ => {
                let status = StatusCode::INSUFFICIENT_STORAGE;
                let detail = "the copy could not be written; the log says why";
                Problem::new(status, "snapshot-failed", detail)
            }
        }
    })?;
    let seconds = started.elapsed().as_secs_f64();
    let shown = seconds.to_string();
    let fields = [("snapshot", &*name), ("seconds", &*shown)];
    app.log.info("snapshot taken", &fields);
    Ok(json!({ "snapshot": name, "changes": changes, "seconds": seconds }))
}

/// Opens files anew.
async fn reload(app: &Arc<App>, query: Option<&str>) -> Result<Response<Content>, Problem> {
    let params = Params::parse(query, &["index"])?;
    if let Some(name) = &params.index {
        app.index(Some(name))?;
    }
    let app = app.clone();
    let reloading = tokio::task::spawn_blocking(move || {
        let is_asked = |served: &&Served| params.index.as_ref().is_none_or(|n| *n == served.name);
        let asked: Vec<&Served> = app.indexes.iter().filter(is_asked).collect();
        let reloaded = match &params.index {
            Some(_) => app.reload(&asked)?,
            None => app.reload_all()?,
        };
        let reloaded = asked.iter().zip(reloaded).map(|(index, done)| {
            json!({
                "index": index.name,
                "generation": done.generation,
                "changed": done.is_changed,
                "seconds": done.took.as_secs_f64(),
            })
        });
        Ok::<Value, Problem>(json!({ "reloaded": reloaded.collect::<Vec<_>>() }))
    });
    let broken = |_| Problem::busy("the reload broke off");
    let reloaded = reloading.await.map_err(broken)??;
    Ok(response::json(StatusCode::OK, &reloaded))
}
