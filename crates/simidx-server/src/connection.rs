//! Connections: accepted within limits of number and time, and closed in an orderly way.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::IpAddr;
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
use tokio::sync::watch;
use tokio::time::{Instant, Sleep};

use crate::handle::stopped;
use crate::problem::Problem;
use crate::routes;
use crate::state::App;

/// Largest size of the head of a request, in bytes.
const HEAD_LEN: usize = 32 << 10;

/// Largest number of header lines in a request.
const HEADERS: usize = 64;

/// Pause before the next accept when the system has no resources for another connection.
const REST: Duration = Duration::from_millis(50);

/// Interval between log lines about the same lasting condition.
const SAID: Duration = Duration::from_secs(60);

/// Accepts connections until `stop` is set, then waits for them to end, up to the time limit of a request.
pub(crate) async fn serve(app: Arc<App>, listener: TcpListener, mut stop: watch::Receiver<bool>) {
    let mut last_said: Option<Instant> = None;
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopped(&mut stop) => break,
        };
        let (stream, client) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                if !is_of_client(&error) {
                    if last_said.is_none_or(|last| last.elapsed() >= SAID) {
                        last_said = Some(Instant::now());
                        let fields = [("error", error.to_string().into())];
                        app.log.warn("cannot accept connections", &fields);
                    }
                    tokio::time::sleep(REST).await;
                }
                continue;
            }
        };
        app.metrics.accepted.fetch_add(1, Ordering::Relaxed);
        // Answers are sent immediately, without Nagle's algorithm.
        let _ = stream.set_nodelay(true);
        match app.connections.take() {
            Some(permit) => {
                let connection = one(app.clone(), stream, client.ip(), stop.clone());
                tokio::spawn(async move {
                    connection.await;
                    drop(permit);
                });
            }
            None => {
                app.metrics.shed.fetch_add(1, Ordering::Relaxed);
                if app.tls.is_none() {
                    tokio::spawn(refuse(stream, app.connections.count));
                }
            }
        }
    }
    drop(listener);
    let all = app.connections.all();
    let _ = tokio::time::timeout(app.options.limits.timeout, all).await;
}

/// Whether a failure to accept concerns only one connection.
fn is_of_client(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    [ConnectionAborted, ConnectionRefused, ConnectionReset].contains(&error.kind())
}

/// Answers a client that there are too many connections.
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

/// Serves a connection.
async fn one(app: Arc<App>, stream: TcpStream, client: IpAddr, stop: watch::Receiver<bool>) {
    #[cfg(feature = "tls")]
    if let Some(tls) = &app.tls {
        let handshake = tls.load().accept(stream);
        match tokio::time::timeout(app.options.limits.idle_timeout, handshake).await {
            Ok(Ok(stream)) => serve_http(app.clone(), stream, client, stop).await,
            _ => {
                app.metrics.cut.fetch_add(1, Ordering::Relaxed);
            }
        }
        return;
    }
    serve_http(app, stream, client, stop).await;
}

/// Serves HTTP on a connection until one side closes it.
async fn serve_http<S>(app: Arc<App>, stream: S, client: IpAddr, mut stop: watch::Receiver<bool>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let idle = app.options.limits.idle_timeout;
    let stream = TokioIo::new(Patient::new(stream, idle));
    let service = service_fn(|request| {
        let app = app.clone();
        async move { Ok::<_, Infallible>(routes::serve(app, request, client).await) }
    });
    let mut builder = http1::Builder::new();
    builder
        // Without a timer, the timeout would have no effect.
        .timer(TokioTimer::new())
        .header_read_timeout(idle)
        .max_buf_size(HEAD_LEN)
        .max_headers(HEADERS)
        .half_close(false);
    let mut connection = pin!(builder.serve_connection(stream, service));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stopped(&mut stop) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if ended.is_err() {
        // Aborted connections are counted, not logged.
        app.metrics.cut.fetch_add(1, Ordering::Relaxed);
    }
}

/// Smallest rate, in bytes per second, at which a client has to read over time.
const RATE: f64 = 16_384.0;

/// A stream that is closed when the client reads nothing for too long, or reads too slowly. Patience decreases while a
/// write waits, and recovers with the bytes that the client reads, up to its initial value.
struct Patient<S> {
    stream: S,
    patience: Duration,
    left: Duration,
    /// The time since which a write has been waiting, and the deadline.
    waits: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl<S> Patient<S> {
    fn new(stream: S, patience: Duration) -> Self {
        Patient {
            stream,
            patience,
            left: patience,
            waits: None,
        }
    }

    /// Limits the waiting time of a write. `len` is the number of bytes that it wrote.
    fn limit<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
        len: impl FnOnce(&T) -> usize,
    ) -> Poll<io::Result<T>> {
        if let Poll::Ready(outcome) = &written {
            let waited = self.waits.take().map(|(since, _)| since.elapsed());
            let len = outcome.as_ref().map_or(0, len);
            self.left = patience_after(self.left, waited, len, self.patience);
            return written;
        }
        let left = self.left;
        let (_, end) = self.waits.get_or_insert_with(|| {
            let now = Instant::now();
            (now, Box::pin(tokio::time::sleep_until(now + left)))
        });
        match end.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

/// Returns the patience after a write of `len` bytes that did or did not have to wait.
fn patience_after(
    left: Duration,
    waited: Option<Duration>,
    len: usize,
    most: Duration,
) -> Duration {
    let left = left.saturating_sub(waited.unwrap_or_default());
    let earned = Duration::from_secs_f64(len as f64 / RATE);
    left.saturating_add(earned).min(most)
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
        self.limit(context, written, |&len| len)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.limit(context, written, |&len| len)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.limit(context, flushed, |()| 0)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(context);
        self.limit(context, shut, |()| 0)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    #[test]
    fn a_client_that_reads_a_byte_now_and_then_is_cut() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let outcome = runtime.block_on(async {
            let (server, mut client) = tokio::io::duplex(1);
            tokio::spawn(async move {
                while client.read_u8().await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            });
            let mut patient = Patient::new(server, Duration::from_millis(200));
            // With unlimited patience, this would take minutes.
            let bytes = vec![0; 100_000];
            let written = patient.write_all(&bytes);
            tokio::time::timeout(Duration::from_secs(30), written).await
        });
        let error = outcome.unwrap().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn patience_comes_back_with_what_is_read() {
        let seconds = Duration::from_secs;
        let after = |left, waited, len| {
            patience_after(seconds(left), Some(seconds(waited)), len, seconds(60))
        };
        let rate = RATE as usize;
        assert_eq!(after(60, 10, rate * 4), seconds(54));
        assert_eq!(after(60, 10, rate * 10), seconds(60));
        // Patience never exceeds its initial value.
        assert_eq!(after(60, 10, rate * 1000), seconds(60));
        assert_eq!(after(5, 10, 0), seconds(0));
        assert_eq!(patience_after(seconds(7), None, 0, seconds(60)), seconds(7));
    }
}
