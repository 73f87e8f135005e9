//! The addresses of the server, and what each of them answers.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue, ORIGIN, WWW_AUTHENTICATE};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use serde_json::{Value, json};
use simidx::format::MAX_ID_LEN;
use simidx::{IdBuf, IdKind};

use crate::answer::{Asked, Form};
use crate::batch::{Batch, aside};
use crate::documents;
use crate::metrics::IndexLine;
use crate::page;
use crate::problem::Problem;
use crate::request::{self, Params, What, shown};
use crate::response::{self, BINARY, Content, JSON, NDJSON, of_generation, whole, wrong_method};
use crate::source::{Search, Source};
use crate::state::{App, Generation, Served};

/// The description of these addresses.
const OPENAPI: &str = include_str!("../openapi.json");

/// What Prometheus calls its text.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// An address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    Page,
    Livez,
    Readyz,
    Healthz,
    Metrics,
    OpenApi,
    Info,
    QueryOne,
    Query,
    Nearest,
    Ids,
    Text,
    Documents,
    Document,
    Reload,
    /// Everything else.
    Unknown,
}

impl Route {
    pub(crate) const ALL: [Route; 16] = [
        Route::Page,
        Route::Livez,
        Route::Readyz,
        Route::Healthz,
        Route::Metrics,
        Route::OpenApi,
        Route::Info,
        Route::QueryOne,
        Route::Query,
        Route::Nearest,
        Route::Ids,
        Route::Text,
        Route::Documents,
        Route::Document,
        Route::Reload,
        Route::Unknown,
    ];

    /// The address as the description and the metrics call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Route::Page => "/",
            Route::Livez => "/livez",
            Route::Readyz => "/readyz",
            Route::Healthz => "/healthz",
            Route::Metrics => "/metrics",
            Route::OpenApi => "/openapi.json",
            Route::Info => "/v1/info",
            Route::QueryOne => "/v1/query/{fingerprint}",
            Route::Query => "/v1/query",
            Route::Nearest => "/v1/nearest/{fingerprint}",
            Route::Ids => "/v1/ids/{id}",
            Route::Text => "/v1/text",
            Route::Documents => "/v1/documents",
            Route::Document => "/v1/documents/{id}",
            Route::Reload => "/-/reload",
            Route::Unknown => "unknown",
        }
    }

    /// The route of a path, and the part of the path that is a parameter.
    fn of(path: &str) -> (Self, &str) {
        let route = match path {
            "/" => Route::Page,
            "/livez" => Route::Livez,
            "/readyz" => Route::Readyz,
            "/healthz" => Route::Healthz,
            "/metrics" => Route::Metrics,
            "/openapi.json" => Route::OpenApi,
            "/v1/info" => Route::Info,
            "/v1/query" => Route::Query,
            "/v1/text" => Route::Text,
            "/v1/documents" => Route::Documents,
            "/-/reload" => Route::Reload,
            path => return Self::with_parameter(path),
        };
        (route, "")
    }

    fn with_parameter(path: &str) -> (Self, &str) {
        for (start, route) in [
            ("/v1/query/", Route::QueryOne),
            ("/v1/nearest/", Route::Nearest),
            ("/v1/ids/", Route::Ids),
            ("/v1/documents/", Route::Document),
        ] {
            if let Some(rest) = path.strip_prefix(start) {
                // Ids may be addresses themselves.
                let is_one = matches!(route, Route::Ids | Route::Document) || !rest.contains('/');
                if !rest.is_empty() && is_one {
                    return (route, rest);
                }
            }
        }
        (Route::Unknown, "")
    }

    /// The methods that it takes.
    fn methods(self) -> &'static str {
        match self {
            Route::Query | Route::Text | Route::Documents | Route::Reload => "POST",
            Route::Document => "GET, HEAD, DELETE",
            _ => "GET, HEAD",
        }
    }

    /// Whether everybody may ask.
    fn is_open(self) -> bool {
        matches!(self, Route::Livez | Route::Readyz | Route::Healthz)
    }
}

/// Answers a request.
pub(crate) async fn serve(app: &Arc<App>, request: Request<Incoming>) -> Response<Content> {
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
        let (status, us) = (
            response.status().as_u16().to_string(),
            took.as_micros().to_string(),
        );
        let fields = [
            ("method", head.method.as_str()),
            ("path", head.uri.path()),
            ("status", &*status),
            ("us", &*us),
        ];
        app.log.access(&fields);
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
    if let Some(token) = &app.options.token
        && !route.is_open()
        && !token.is_shown(&head.headers, route == Route::Page)
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
    let query = head.uri.query();
    match route {
        Route::Livez => Ok(plain(StatusCode::OK, "ok\n")),
        Route::Readyz | Route::Healthz if app.is_ready() => Ok(plain(StatusCode::OK, "ready\n")),
        Route::Readyz | Route::Healthz => {
            Ok(plain(StatusCode::SERVICE_UNAVAILABLE, "shutting down\n"))
        }
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
            query_one(app, parameter, params).await
        }
        Route::Nearest => {
            let mut params = Params::parse(query, &["k", "count", "index"])?;
            params.nearest.get_or_insert(1);
            query_one(app, parameter, params).await
        }
        Route::Ids => ids(app, parameter, query).await,
        Route::Query => batch(app, head, body).await,
        Route::Text => text(app, head, body).await,
        Route::Documents => documents::add(app, head, body).await,
        Route::Document => documents::one(app, head, parameter).await,
        Route::Reload => reload(app, &head.headers, query).await,
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

/// The number of an index, and the generation of it that answers a request.
pub(crate) fn current(app: &App, name: Option<&str>) -> Result<(usize, Arc<Generation>), Problem> {
    let served: &Served = app.index(name)?;
    let number = app
        .indexes
        .iter()
        .position(|index| std::ptr::eq(index, served));
    Ok((number.unwrap_or_default(), served.current()))
}

/// How a request wants to be searched for.
///
/// # Errors
/// A distance that is too large.
pub(crate) fn search(app: &App, source: &dyn Source, params: &Params) -> Result<Search, Problem> {
    let largest = app.max_distance(source);
    let nearest = params.nearest.is_some();
    let by_default = if nearest {
        largest
    } else {
        source.max_distance()
    };
    let distance = params.k.unwrap_or(by_default.min(largest));
    if distance > largest {
        let (width, made_for) = (source.width(), source.max_distance());
        let detail = match distance > width {
            true => format!("k={distance} is more than the {width} bits of a fingerprint"),
            false => format!(
                "k={distance} is more than this server permits, {largest}; the tables were made for {made_for}, and each \
                 further bit costs several times as many probes"
            ),
        };
        return Err(Problem::unanswerable("distance-too-large", detail));
    }
    Ok(Search {
        distance,
        nearest: params.nearest.or(params.limit),
    })
}

async fn query_one(
    app: &Arc<App>,
    hex: &str,
    params: Params,
) -> Result<Response<Content>, Problem> {
    let (index, generation) = current(app, params.index.as_deref())?;
    let name = generation.source.generation();
    let fingerprint = request::fingerprint(generation.source.width(), hex)?;
    let asked = Asked {
        what: What::Fingerprint(fingerprint),
        id: None,
        search: search(app, &*generation.source, &params)?,
    };
    let batch = Batch::new(app, index, generation, vec![asked], Form::Lines);
    let body = batch.whole().await?.bytes;
    Ok(of_generation(whole(StatusCode::OK, JSON, body), &name))
}

/// What is near the records that have an id.
async fn ids(app: &Arc<App>, id: &str, query: Option<&str>) -> Result<Response<Content>, Problem> {
    let params = Params::parse(query, &["k", "limit", "nearest", "index"])?;
    let (index, generation) = current(app, params.index.as_deref())?;
    let name = generation.source.generation();
    let word = request::decode(id, false)?;
    let id = record_id(generation.source.id_kind(), &word)?;
    let (asked, source) = (id.clone(), generation.clone());
    // Without a table of ids all of them are gone through.
    let look_up = move || Ok(source.source.fingerprints_of_id(asked.as_id())?);
    let fingerprints = aside(app, look_up).await?;
    if fingerprints.is_empty() {
        let detail = format!("no record has the id {}", shown(&word));
        return Err(Problem::not_found("unknown-id", detail));
    }
    let search = search(app, &*generation.source, &params)?;
    let asked = fingerprints.into_iter().map(|fingerprint| Asked {
        what: What::Fingerprint(fingerprint),
        id: Some(id.clone()),
        search,
    });
    let batch = Batch::new(app, index, generation, asked.collect(), Form::Objects);
    let results = results(batch.whole().await?.bytes);
    Ok(of_generation(whole(StatusCode::OK, JSON, results), &name))
}

/// The id that a word of an address is.
///
/// # Errors
/// It can be none of this kind.
pub(crate) fn record_id(kind: IdKind, word: &str) -> Result<IdBuf, Problem> {
    match kind {
        IdKind::None => {
            let detail = "the index has no ids; build it with --ids to look records up";
            Err(Problem::unanswerable("no-ids", detail))
        }
        IdKind::Number => match word.parse() {
            Ok(number) => Ok(IdBuf::Number(number)),
            Err(_) => {
                let detail = format!("{} is no number below 2^64, as ids are here", shown(word));
                Err(Problem::bad("bad-id", detail))
            }
        },
        IdKind::String if word.len() > MAX_ID_LEN => {
            let detail = format!("an id has at most {MAX_ID_LEN} bytes");
            Err(Problem::bad("bad-id", detail))
        }
        IdKind::String => Ok(IdBuf::String(word.into())),
    }
}

/// Objects between commas as the object that a batch answers.
fn results(objects: Vec<u8>) -> Vec<u8> {
    [b"{\"results\":[", &objects[..], b"]}\n"].concat()
}

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

pub(crate) fn wrong_type(given: &str, wanted: &str) -> Problem {
    let detail = format!("the content type is {}, not one of {wanted}", shown(given));
    Problem::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "bad-content-type",
        detail,
    )
}

/// A batch in one of three forms.
async fn batch(
    app: &Arc<App>,
    head: &hyper::http::request::Parts,
    body: Incoming,
) -> Result<Response<Content>, Problem> {
    let params = Params::parse(head.uri.query(), &["k", "limit", "nearest", "index"])?;
    let kind = content_type(&head.headers);
    if ![JSON, NDJSON, BINARY].contains(&&*kind) {
        return Err(wrong_type(&kind, &[JSON, NDJSON, BINARY].join(", ")));
    }
    // An index that is not there is no reason to read a body.
    app.index(params.index.as_deref())?;
    let body = read(app, body).await?;
    let (index, generation) = current(app, params.index.as_deref())?;
    let name = generation.source.generation();
    let width = generation.source.width();
    let max_batch = app.options.limits.max_batch;
    let response = match &*kind {
        BINARY => {
            let search = search(app, &*generation.source, &params)?;
            let words = request::words(width, &body, max_batch)?.into_iter();
            let count = words.len() as u32;
            let asked = words.map(|word| Asked {
                what: What::Fingerprint(word),
                id: None,
                search,
            });
            let batch = Batch::new(app, index, generation, asked.collect(), Form::Columns);
            let columns = batch.whole().await?;
            let count = count.to_le_bytes();
            let parts = [
                &count[..],
                &columns.counts,
                &columns.bytes,
                &columns.distances,
            ];
            whole(StatusCode::OK, BINARY, parts.concat())
        }
        JSON => {
            let batch = request::batch(width, &body, max_batch)?;
            let search = search(app, &*generation.source, &either(params, batch.params)?)?;
            let asked = batch.queries.into_iter().map(|what| Asked {
                what,
                id: None,
                search,
            });
            let batch = Batch::new(app, index, generation, asked.collect(), Form::Objects);
            whole(StatusCode::OK, JSON, results(batch.whole().await?.bytes))
        }
        _ => {
            let (asked, trouble) = lines(app, &generation, &params, &body);
            if let (true, Some(trouble)) = (asked.is_empty(), &trouble) {
                return Err(trouble.clone());
            }
            let batch = Batch::new(app, index, generation, asked, Form::Lines);
            // The queries are as long as the body.
            let batch = batch.keeping(body.into_room());
            response::pieces(NDJSON, batch.lines(trouble).await?)
        }
    };
    Ok(of_generation(response, &name))
}

/// What the address says of a search and what the body says of it.
///
/// # Errors
/// They speak of the same.
fn either(address: Params, body: Params) -> Result<Params, Problem> {
    let nearest = |p: &Params| p.nearest.or(p.limit).is_some();
    if address.k.is_some() && body.k.is_some() || nearest(&address) && nearest(&body) {
        let detail = "k and limit are either in the address or in the body";
        return Err(Problem::bad("bad-parameter", detail));
    }
    Ok(Params {
        k: address.k.or(body.k),
        limit: address.limit.or(body.limit),
        nearest: address.nearest.or(body.nearest),
        ..address
    })
}

/// The queries of a body of lines up to the first that is none, and what is wrong with that.
fn lines(
    app: &App,
    generation: &Generation,
    params: &Params,
    body: &[u8],
) -> (Vec<Asked>, Option<Problem>) {
    let (source, max_batch) = (&*generation.source, app.options.limits.max_batch);
    let mut all = Vec::new();
    for (number, line) in request::lines(body) {
        let asked = request::check_batch(all.len() + 1, max_batch).and_then(|()| {
            let line = request::line(source.width(), line)?;
            let mut own = params.clone();
            own.k = line.k.or(own.k);
            if line.limit.is_some() {
                (own.limit, own.nearest) = (line.limit, None);
            }
            Ok(Asked {
                what: line.query,
                id: None,
                search: search(app, source, &own)?,
            })
        });
        match asked {
            Ok(asked) => all.push(asked),
            Err(problem) => return (all, Some(problem.at_line(number))),
        }
    }
    (all, None)
}

/// What is near a text.
async fn text(
    app: &Arc<App>,
    head: &hyper::http::request::Parts,
    body: Incoming,
) -> Result<Response<Content>, Problem> {
    const KINDS: [&str; 4] = ["", "text/plain", "text/html", JSON];
    let params = Params::parse(head.uri.query(), &["k", "limit", "nearest", "index"])?;
    let kind = content_type(&head.headers);
    if !KINDS.contains(&&*kind) {
        return Err(wrong_type(&kind, &KINDS[1..].join(", ")));
    }
    app.index(params.index.as_deref())?;
    let body = read(app, body).await?;
    let (index, generation) = current(app, params.index.as_deref())?;
    let name = generation.source.generation();
    generation.fingerprinter()?;
    let (text, own) = request::text(&body, kind == JSON)?;
    let asked = Asked {
        what: What::Text(text.into_owned()),
        id: None,
        search: search(app, &*generation.source, &either(params, own)?)?,
    };
    let batch = Batch::new(app, index, generation, vec![asked], Form::Lines);
    let body = batch.whole().await?.bytes;
    Ok(of_generation(whole(StatusCode::OK, JSON, body), &name))
}

/// Opens files anew.
async fn reload(
    app: &Arc<App>,
    headers: &HeaderMap,
    query: Option<&str>,
) -> Result<Response<Content>, Problem> {
    let params = Params::parse(query, &["index"])?;
    // A page elsewhere may send a browser here, but its request says where it comes from.
    if headers.contains_key(ORIGIN) {
        let detail = "pages may not ask for this";
        return Err(Problem::new(StatusCode::FORBIDDEN, "forbidden", detail));
    }
    if let Some(name) = &params.index {
        app.index(Some(name))?;
    }
    let app = app.clone();
    let reloading = tokio::task::spawn_blocking(move || {
        let is_asked = |served: &&Served| params.index.as_ref().is_none_or(|n| *n == served.name);
        let asked: Vec<&Served> = app.indexes.iter().filter(is_asked).collect();
        let reloaded = app.reload(&asked)?;
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

/// A body, with the room that it takes among all bodies.
pub(crate) struct Held {
    bytes: Bytes,
    room: BodyRoom,
}

impl Held {
    /// The room alone, for those who have read the body and keep what they read.
    pub(crate) fn into_room(self) -> BodyRoom {
        self.room
    }
}

impl std::ops::Deref for Held {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Room among the bodies; it is free again after this.
pub(crate) struct BodyRoom {
    app: Arc<App>,
    kib: u32,
}

impl BodyRoom {
    fn new(app: &Arc<App>) -> Self {
        let app = app.clone();
        BodyRoom { app, kib: 0 }
    }

    /// Takes room for as many bytes in all.
    ///
    /// # Errors
    /// There is none.
    fn grow(&mut self, len: usize) -> Result<(), Problem> {
        let kib = u32::try_from(len.div_ceil(1024)).unwrap_or(u32::MAX);
        let more = kib.saturating_sub(self.kib);
        let permit = self.app.bodies.try_acquire_many(more);
        let no_room = |_| Problem::busy("there is no memory for further bodies");
        permit.map_err(no_room)?.forget();
        self.kib += more;
        let bodies = &self.app.metrics.bodies;
        bodies.fetch_add(u64::from(more) * 1024, Ordering::Relaxed);
        Ok(())
    }
}

impl Drop for BodyRoom {
    fn drop(&mut self) {
        self.app.bodies.add_permits(self.kib as usize);
        let bodies = &self.app.metrics.bodies;
        bodies.fetch_sub(u64::from(self.kib) * 1024, Ordering::Relaxed);
    }
}

/// Reads a body, as long as it may be and as long as it may take. It takes room as it arrives.
pub(crate) async fn read(app: &Arc<App>, mut body: Incoming) -> Result<Held, Problem> {
    let limits = &app.options.limits;
    let too_large =
        || Problem::too_large(format!("the limit of a body is {} bytes", limits.max_body));
    if body.size_hint().lower() > limits.max_body as u64 {
        return Err(too_large());
    }
    let mut room = BodyRoom::new(app);
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
