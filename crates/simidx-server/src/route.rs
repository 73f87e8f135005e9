//! The addresses of the server.

use hyper::Method;

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
    Snapshot,
    /// Everything else.
    Unknown,
}

impl Route {
    pub(crate) const ALL: [Route; 17] = [
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
        Route::Snapshot,
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
            Route::Snapshot => "/-/snapshot",
            Route::Unknown => "unknown",
        }
    }

    /// The route of a path, and the part of the path that is a parameter.
    pub(crate) fn of(path: &str) -> (Self, &str) {
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
            "/-/snapshot" => Route::Snapshot,
            path => return Self::with_parameter(path),
        };
        (route, "")
    }

    pub(crate) fn with_parameter(path: &str) -> (Self, &str) {
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
    pub(crate) fn methods(self) -> &'static str {
        match self {
            Route::Query | Route::Text | Route::Documents | Route::Reload | Route::Snapshot => {
                "POST"
            }
            Route::Document => "GET, HEAD, DELETE",
            Route::Page => "GET, HEAD, POST",
            _ => "GET, HEAD",
        }
    }

    /// Whether a request with this method changes what is served.
    pub(crate) fn is_changed_by(self, method: &Method) -> bool {
        match self {
            Route::Documents | Route::Reload | Route::Snapshot => true,
            Route::Document => method == Method::DELETE,
            _ => false,
        }
    }

    /// Whether everybody may ask.
    pub(crate) fn is_open(self) -> bool {
        matches!(self, Route::Livez | Route::Readyz | Route::Healthz)
    }
}
