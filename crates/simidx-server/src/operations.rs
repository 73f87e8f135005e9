//! Requests about the server: probes, metrics, figures, reloads, snapshots.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Instant, SystemTime};

use hyper::{Response, StatusCode};
use serde_json::{Value, json};
use simidx::Watch;
use simidx_collection::{Collection, CollectionStats};

use crate::call::{Answer, Call};
use crate::documents;
use crate::health::parts;
use crate::log::timestamp;
use crate::metrics::{Samples, seconds};
use crate::problem::Problem;
use crate::response::{self, Content, JSON, whole};
use crate::state::{App, Served};

/// The OpenAPI description of the addresses.
const OPENAPI: &str = include_str!("../openapi.json");

/// The content type of the text format of Prometheus.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

fn plain(status: StatusCode, text: &'static str) -> Response<Content> {
    whole(status, "text/plain; charset=utf-8", text)
}

pub(crate) async fn livez(_: Call) -> Answer {
    Ok(plain(StatusCode::OK, "ok\n"))
}

pub(crate) async fn readyz(call: Call) -> Answer {
    Ok(match call.app.readiness() {
        (true, line) => plain(StatusCode::OK, line),
        (false, line) => plain(StatusCode::SERVICE_UNAVAILABLE, line),
    })
}

pub(crate) async fn openapi(_: Call) -> Answer {
    Ok(whole(StatusCode::OK, JSON, OPENAPI))
}

pub(crate) async fn metrics(call: Call) -> Answer {
    // Determining which pages are in memory takes long for large files.
    let text = tokio::task::spawn_blocking(move || samples(&call.app).text()).await;
    let broken = |_| Problem::busy("the metrics broke off");
    Ok(whole(StatusCode::OK, METRICS, text.map_err(broken)?))
}

fn samples(app: &App) -> Samples {
    let mut all = Samples::default();
    app.metrics.add_to(&mut all);
    for index in &app.indexes {
        let label = format!("index=\"{}\"", index.name);
        all.add_times("simidx_query_seconds", &label, &index.metrics.queries);
        let matches = index.metrics.matches.load(Ordering::Relaxed);
        all.add("simidx_matches_total", &label, matches);
        let generation = index.current();
        let (source, loaded_at) = (&generation.source, seconds(generation.loaded_at));
        let size = source.size();
        all.add("simidx_index_records", &label, size.records);
        all.add("simidx_index_fingerprints", &label, size.fingerprints);
        all.add("simidx_index_bytes", &label, size.bytes);
        all.add("simidx_index_tables", &label, size.tables);
        all.add("simidx_index_max_distance", &label, source.max_distance());
        all.add("simidx_index_loaded_timestamp_seconds", &label, loaded_at);
        if let Some(part) = source.resident_fraction() {
            all.add("simidx_index_resident_ratio", &label, part);
        }
        let labels = format!("{label},generation=\"{}\"", source.generation());
        all.add("simidx_index_info", &labels, 1);
    }
    if let Some(store) = &app.options.store {
        add_store(&mut all, &store.stats());
    }
    all.add("simidx_connections", "", app.connections.taken());
    all.add("simidx_body_bytes", "", app.bodies.taken() * 1024);
    all.add("simidx_answer_bytes", "", app.answers.taken() * 1024);
    all.add("simidx_generations", "", app.generation_count());
    all.add("simidx_ready", "", u64::from(app.readiness().0));
    all.add_process();
    all
}

fn add_store(all: &mut Samples, stats: &CollectionStats) {
    all.add("simidx_store_records", "", stats.record_count);
    all.add("simidx_store_recent_records", "", stats.recent_count);
    all.add("simidx_store_segments", "", stats.segment_count);
    all.add("simidx_store_deleted_records", "", stats.deleted_count);
    all.add("simidx_store_seals_total", "", stats.seal_count);
    all.add("simidx_store_merges_total", "", stats.merge_count);
    all.add("simidx_store_journal_bytes", "", stats.journal_bytes);
    for (part, error) in parts(stats) {
        let labels = format!("what=\"{part}\"");
        all.add("simidx_store_failed", &labels, u64::from(error.is_some()));
    }
}

/// Returns the figures of the indexes and the limits.
pub(crate) async fn info(call: Call) -> Answer {
    let (app, params) = (&call.app, call.params(&["index"])?);
    let indexes = app
        .asked(params.index.as_deref())?
        .into_iter()
        .map(|index| {
            let generation = index.current();
            let mut figures = generation.source.figures()?;
            hide_folders(&mut figures);
            Ok(json!({
                "name": index.name,
                "generation": generation.source.generation(),
                "loaded_at": timestamp(generation.loaded_at),
                "largest_k": app.max_distance(&generation.source),
                "texts": generation.fingerprinter().is_ok(),
                "figures": figures,
            }))
        });
    let indexes: Vec<Value> = indexes.collect::<Result<_, Problem>>()?;
    Ok(response::json(&json!({
        "version": env!("CARGO_PKG_VERSION"),
        "ready": app.readiness().0,
        "uptime_seconds": app.metrics.started.elapsed().as_secs(),
        "limits": app.options.limits,
        "indexes": indexes,
    })))
}

/// Removes the folders of file names, which clients should not see.
fn hide_folders(figures: &mut Value) {
    let segments = figures.get_mut("segments").and_then(Value::as_array_mut);
    for segment in segments.into_iter().flatten() {
        let path = segment["path"].as_str().unwrap_or_default();
        let name = std::path::Path::new(path).file_name().unwrap_or_default();
        segment["path"] = name.to_string_lossy().into();
    }
}

/// Copies the store.
pub(crate) async fn snapshot(call: Call) -> Answer {
    call.params(&[])?;
    let app = call.app;
    let (store, _) = documents::store(&app)?;
    let copying = app.clone();
    let object = documents::on_disk(&app, move || copy(&copying, &store)).await?;
    Ok(response::json(&object))
}

/// Copies the store to a new folder below its own, unless another request is copying it.
fn copy(app: &App, store: &Collection) -> Result<Value, Problem> {
    let Some(_only) = app.copying.take() else {
        return Err(Problem::busy("another snapshot is being taken"));
    };
    let started = Instant::now();
    let now = timestamp(SystemTime::now()).replace(':', "-");
    let name = format!("snapshots/{now}");
    let changes = store
        .snapshot(store.path().join(&name), &Watch::default())
        .map_err(|error| {
            let fields = [("error", error.to_string().into())];
            app.log.error("snapshot failed", &fields);
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
    let fields = [
        ("snapshot", Value::from(&*name)),
        ("seconds", seconds.into()),
    ];
    app.log.info("snapshot taken", &fields);
    Ok(json!({ "snapshot": name, "changes": changes, "seconds": seconds }))
}

/// Reloads files.
pub(crate) async fn reload(call: Call) -> Answer {
    let params = call.params(&["index"])?;
    let app: Arc<App> = call.app;
    app.asked(params.index.as_deref())?;
    let reloading = tokio::task::spawn_blocking(move || {
        let asked: Vec<&Served> = app.asked(params.index.as_deref())?;
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
    Ok(response::json(&reloaded))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_of_a_store_fails_by_itself() {
        let mut store = CollectionStats::default();
        store.journal_bytes = 4096;
        store.merge_error = Some("no room".to_owned());
        let mut samples = Samples::default();
        add_store(&mut samples, &store);
        let text = samples.text();
        for line in [
            "simidx_store_journal_bytes 4096\n",
            "simidx_store_failed{what=\"journal\"} 0\n",
            "simidx_store_failed{what=\"seal\"} 0\n",
            "simidx_store_failed{what=\"merge\"} 1\n",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
    }
}
