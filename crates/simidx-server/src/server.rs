//! The server: binding, running and stopping.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

use crate::connection;
use crate::handle::{ServerHandle, stopped};
use crate::health;
use crate::options::ServerOptions;
use crate::problem::{Problem, StartError};
use crate::routes;
use crate::signals::Signals;
use crate::state::App;
use crate::tls::{self, Tls};

/// How long the threads may take to stop after all connections have ended.
const END: Duration = Duration::from_secs(1);

/// A server with open indexes and a bound address. It answers while [`Server::run`] runs.
///
/// ```
/// use std::net::SocketAddr;
/// use simidx_server::{NamedIndex, Server, ServerOptions};
/// # use simidx::{BuildOptions, IndexBuilder, Width};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("pages.simidx");
/// # let mut builder = IndexBuilder::new(Width::W64, BuildOptions::default())?;
/// # builder.push(7_u64)?;
/// # builder.finish_to_path(&path)?;
/// let mut options = ServerOptions::new(vec![NamedIndex::new("pages", [path])?]);
/// options.listen = SocketAddr::from(([127, 0, 0, 1], 0));
/// let server = Server::bind(options)?;
/// println!("listening on {}", server.url());
/// let handle = server.handle();
/// let running = std::thread::spawn(move || server.run());
/// handle.shut_down();
/// running.join().unwrap()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Server {
    app: Arc<App>,
    runtime: Runtime,
    listener: TcpListener,
    address: SocketAddr,
    signals: Option<Signals>,
    stop: watch::Sender<bool>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Binds the address, and opens and warms the indexes.
    ///
    /// With [`ServerOptions::signals`], signals are handled before files are opened: a signal to reload is kept for
    /// [`Server::run`], and a signal to stop cancels the start.
    ///
    /// # Errors
    /// An address or an index that cannot be used, an address that needs a token, or a signal to stop.
    pub fn bind(mut options: ServerOptions) -> Result<Self, StartError> {
        if !options.listen.ip().is_loopback() && options.token.is_none() && !options.insecure {
            return Err(StartError::Open(options.listen));
        }
        if options.threads == 0 {
            options.threads = std::thread::available_parallelism().map_or(1, usize::from);
        }
        let tls = tls::open(&options)?;
        allow_files(options.limits.max_connections)?;
        let listener = TcpListener::bind(options.listen)
            .map_err(|error| StartError::Io(format!("{}: {error}", options.listen)))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let mut builder = match options.threads {
            1 => Builder::new_current_thread(),
            _ => Builder::new_multi_thread(),
        };
        let runtime = builder
            .worker_threads(options.threads)
            .enable_all()
            .build()?;
        // A signal to reload that arrives during the start may concern a file that is already open.
        let mut signals = match options.signals {
            true => Some(runtime.block_on(async { Signals::listen() })?),
            false => None,
        };
        let opened = match &mut signals {
            None => Some(App::open(options, tls, routes::paths())),
            Some(signals) => runtime.block_on(open(options, tls, signals)),
        };
        let Some(app) = opened else {
            // The start does not wait for indexes that are still being opened.
            runtime.shutdown_background();
            return Err(StartError::Ended);
        };
        Ok(Server {
            app: Arc::new(app?),
            runtime,
            listener,
            address,
            signals,
            stop: watch::Sender::new(false),
        })
    }

    /// The address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of the server for a browser.
    pub fn url(&self) -> String {
        let scheme = if self.app.tls.is_some() {
            "https"
        } else {
            "http"
        };
        format!("{scheme}://{}", self.address)
    }

    /// Returns a handle that controls the server while it runs.
    pub fn handle(&self) -> ServerHandle {
        ServerHandle {
            app: self.app.clone(),
            stop: self.stop.clone(),
        }
    }

    /// Answers requests until the server is asked to stop, then writes the changes of the store to disk and stops it.
    ///
    /// # Errors
    /// An error of the system about the address or signals, and changes of the store that could not be written.
    pub fn run(self) -> io::Result<()> {
        let handle = self.handle();
        let Server {
            app,
            runtime,
            listener,
            signals,
            stop,
            ..
        } = self;
        let fields = [("address", self.address.to_string().into())];
        app.log.info("serving", &fields);
        let outcome = runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            if let Some(signals) = signals {
                tokio::spawn(signals.obey(handle));
            }
            if let Some(period) = app.options.watch {
                tokio::spawn(watch_files(app.clone(), period, stop.subscribe()));
            }
            if app.options.store.is_some() {
                tokio::spawn(health::watch(app.clone(), stop.subscribe()));
            }
            let (end, ended) = watch::channel(false);
            let (mut stop, draining) = (stop.subscribe(), app.clone());
            tokio::spawn(async move {
                stopped(&mut stop).await;
                tokio::select! {
                    () = tokio::time::sleep(draining.options.drain_delay) => {}
                    () = draining.hurry.notified() => {}
                }
                end.send_replace(true);
                // The sender has to outlive all receivers.
                end.closed().await;
            });
            connection::serve(app.clone(), listener, ended).await;
            Ok(())
        });
        runtime.shutdown_timeout(END);
        let closed = app.options.store.as_ref().map(|store| store.close());
        if let Some(Err(error)) = closed {
            let error = error.to_string();
            let fields = [("error", (*error).into())];
            app.log.error("store-not-written", &fields);
            return outcome.and(Err(io::Error::other(error)));
        }
        app.log.info("ended", &[]);
        outcome
    }
}

/// Opens the indexes, unless a signal to stop arrives first.
async fn open(
    options: ServerOptions,
    tls: Option<Tls>,
    signals: &mut Signals,
) -> Option<Result<App, Problem>> {
    let opening = tokio::task::spawn_blocking(|| App::open(options, tls, routes::paths()));
    tokio::select! {
        opened = opening => {
            let broken = |_| Err(Problem::busy("the opening broke off"));
            Some(opened.unwrap_or_else(broken))
        }
        _ = signals.end() => None,
    }
}

/// Checks the files periodically.
async fn watch_files(app: Arc<App>, period: Duration, mut stop: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(period) => {}
            () = stopped(&mut stop) => return,
        }
        let app = app.clone();
        let _ = tokio::task::spawn_blocking(move || app.reload_replaced()).await;
    }
}

/// Asks the system for enough open files for all connections; if it permits fewer, connections wait. Refuses to start
/// if there are too few for the address and for the runtime, which would panic without files for its signals and
/// events.
#[cfg(unix)]
fn allow_files(connections: usize) -> Result<(), StartError> {
    use std::os::unix::net::UnixStream;

    use rustix::process::{Resource, getrlimit, setrlimit};

    let wanted = connections as u64 + 256;
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < wanted) {
        limit.current = Some(limit.maximum.map_or(wanted, |most| most.min(wanted)));
        let _ = setrlimit(Resource::Nofile, limit);
    }
    let too_few = |error| format!("too few files can be open at a time: {error}");
    let pairs = (0..5).map(|_| UnixStream::pair());
    let pairs = pairs.collect::<io::Result<Vec<_>>>();
    pairs.map_err(|error| StartError::Io(too_few(error)))?;
    Ok(())
}

#[cfg(not(unix))]
fn allow_files(_: usize) -> Result<(), StartError> {
    Ok(())
}
