//! Connections: accepted, bounded in number and in time, and brought to an end in an orderly way.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, Sleep};

use crate::problem::Problem;
use crate::routes;
use crate::state::App;

/// Bytes of the head of a request, at most.
const HEAD_LEN: usize = 32 << 10;

/// Lines of the head of a request, at most.
const HEADERS: usize = 64;

/// How long accepting rests when the system has no room for connections.
const REST: Duration = Duration::from_millis(50);

/// How connections are encrypted.
#[cfg(feature = "tls")]
pub(crate) type Tls = tokio_rustls::TlsAcceptor;
#[cfg(not(feature = "tls"))]
#[derive(Clone)]
pub(crate) enum Tls {}

/// Accepts connections until `stop` says so, then waits for them to end, as long as a request may take.
pub(crate) async fn serve(
    app: Arc<App>,
    listener: TcpListener,
    tls: Option<Tls>,
    mut stop: watch::Receiver<bool>,
) {
    let limit = app
        .options
        .limits
        .max_connections
        .min(Semaphore::MAX_PERMITS);
    let limit = limit.min(u32::MAX as usize);
    let room = Arc::new(Semaphore::new(limit));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = told(&mut stop) => break,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                if !is_of_client(&error) {
                    let fields = [("error", &*error.to_string())];
                    app.log.warn("cannot accept connections", &fields);
                    tokio::time::sleep(REST).await;
                }
                continue;
            }
        };
        app.metrics.accepted.fetch_add(1, Ordering::Relaxed);
        // What is written goes out at once: an answer waits for nothing.
        let _ = stream.set_nodelay(true);
        match room.clone().try_acquire_owned() {
            Ok(permit) => {
                let connection = one(app.clone(), stream, tls.clone(), stop.clone());
                tokio::spawn(async move {
                    connection.await;
                    drop(permit);
                });
            }
            Err(_) => {
                app.metrics.shed.fetch_add(1, Ordering::Relaxed);
                if tls.is_none() {
                    tokio::spawn(refuse(stream, limit));
                }
            }
        }
    }
    drop(listener);
    let all = room.acquire_many(limit as u32);
    let _ = tokio::time::timeout(app.options.limits.timeout, all).await;
}

/// Waits until it is time to end.
pub(crate) async fn told(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

/// Whether an error of accepting is about one connection alone.
fn is_of_client(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    [ConnectionAborted, ConnectionRefused, ConnectionReset].contains(&error.kind())
}

/// Tells a client that there are too many.
async fn refuse(mut stream: TcpStream, limit: usize) {
    let problem = Problem::busy(format!("there are {limit} connections"));
    let body = format!("{}\n", problem.to_json());
    let response = format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/problem+json\r\nretry-after: 1\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let write = async {
        let _ = stream.write_all(response.as_bytes()).await;
        let _ = stream.shutdown().await;
    };
    let _ = tokio::time::timeout(Duration::from_secs(1), write).await;
}

/// Counts a connection while it lives.
struct Counted(Arc<App>);

impl Counted {
    fn new(app: Arc<App>) -> Self {
        app.metrics.connections.fetch_add(1, Ordering::Relaxed);
        Counted(app)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.metrics.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Serves a connection.
async fn one(app: Arc<App>, stream: TcpStream, tls: Option<Tls>, stop: watch::Receiver<bool>) {
    let _counted = Counted::new(app.clone());
    #[cfg(feature = "tls")]
    if let Some(acceptor) = tls {
        let greeting = acceptor.accept(stream);
        match tokio::time::timeout(app.options.limits.idle_timeout, greeting).await {
            Ok(Ok(stream)) => speak(app, stream, stop).await,
            _ => {
                app.metrics.cut.fetch_add(1, Ordering::Relaxed);
            }
        }
        return;
    }
    let _ = tls;
    speak(app, stream, stop).await;
}

/// Speaks HTTP on a connection until one side ends it.
async fn speak<S>(app: Arc<App>, stream: S, mut stop: watch::Receiver<bool>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let idle = app.options.limits.idle_timeout;
    let stream = TokioIo::new(Patient::new(stream, idle));
    let service = service_fn(|request| {
        let app = app.clone();
        async move { Ok::<_, Infallible>(routes::serve(&app, request).await) }
    });
    let mut builder = http1::Builder::new();
    builder
        // Without a timer the timeout would be of no effect.
        .timer(TokioTimer::new())
        .header_read_timeout(idle)
        .max_buf_size(HEAD_LEN)
        .max_headers(HEADERS)
        .half_close(false);
    let mut connection = pin!(builder.serve_connection(stream, service));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = told(&mut stop) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if ended.is_err() {
        // How a client breaks off is nothing to write home about.
        app.metrics.cut.fetch_add(1, Ordering::Relaxed);
    }
}

/// A stream that is closed when its other side reads nothing for too long.
struct Patient<S> {
    stream: S,
    patience: Duration,
    /// Since a write has been waiting.
    waits: Option<Pin<Box<Sleep>>>,
}

impl<S> Patient<S> {
    fn new(stream: S, patience: Duration) -> Self {
        Patient {
            stream,
            patience,
            waits: None,
        }
    }

    /// Lets a write wait for so long and no longer.
    fn limit<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.waits = None;
            return written;
        }
        let patience = self.patience;
        let waits = self
            .waits
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + patience)));
        match waits.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.limit(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.limit(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.limit(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(context);
        self.limit(context, shut)
    }
}
