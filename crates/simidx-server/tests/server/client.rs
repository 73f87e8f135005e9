//! A client that sends exact bytes and waits a bounded time.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The timeout of every operation, far above its usual time.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until a condition holds.
#[track_caller]
pub(crate) fn until(mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    /// Header names in lower case, and values.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name);
        found.next().map(|(_, value)| &**value)
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Checks the properties that all problems have, and returns the kind.
    pub(crate) fn kind(&self) -> String {
        assert_eq!(
            self.header("content-type"),
            Some("application/problem+json"),
            "{self:?}"
        );
        let problem = self.json();
        assert_eq!(problem["status"], self.status, "{problem}");
        assert_eq!(self.header("retry-after").is_some(), self.status == 503);
        assert!(
            problem["detail"].as_str().unwrap().len() < 1000,
            "{problem}"
        );
        let kind = problem["kind"].as_str().unwrap().to_owned();
        assert_eq!(problem["type"], format!("urn:simidx:problem:{kind}"));
        kind
    }

    pub(crate) fn generation(&self) -> String {
        self.header("x-simidx-generation").unwrap().to_owned()
    }
}

/// A persistent connection.
#[derive(Debug)]
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
    /// Additional header lines of each request.
    pub(crate) headers: String,
}

impl Client {
    pub(crate) fn new(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Client {
            stream: BufReader::new(stream),
            headers: String::new(),
        }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.get_mut().write_all(bytes)
    }

    /// Shuts down the sending side, and keeps reading.
    pub(crate) fn end_sending(&self) {
        self.stream.get_ref().shutdown(Shutdown::Write).unwrap();
    }

    pub(crate) fn get(&mut self, path: &str) -> Response {
        self.request("GET", path, "", b"")
    }

    pub(crate) fn post(&mut self, path: &str, content_type: &str, body: &[u8]) -> Response {
        self.request("POST", path, content_type, body)
    }

    pub(crate) fn request(
        &mut self,
        method: &str,
        path: &str,
        content_type: &str,
        body: &[u8],
    ) -> Response {
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\n{}",
            self.headers
        );
        if !content_type.is_empty() {
            request += &format!("content-type: {content_type}\r\n");
        }
        if method == "POST" {
            request += &format!("content-length: {}\r\n", body.len());
        }
        let request = [request.as_bytes(), b"\r\n", body].concat();
        // A server that refuses a body may have closed the connection already; its answer gives the reason.
        let _ = self.send(&request);
        self.receive(method == "HEAD").unwrap()
    }

    /// Reads a response.
    pub(crate) fn receive(&mut self, is_head: bool) -> io::Result<Response> {
        let line = self.line()?;
        let status = line
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| io::Error::other(format!("no status: {line:?}")))?;
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(':') else {
                break;
            };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut response = Response {
            status,
            headers,
            body: Vec::new(),
        };
        if is_head {
            return Ok(response);
        }
        if response.header("transfer-encoding") == Some("chunked") {
            loop {
                let line = self.line()?;
                let len = usize::from_str_radix(&line, 16).map_err(io::Error::other)?;
                let mut piece = vec![0; len + 2];
                self.stream.read_exact(&mut piece)?;
                piece.truncate(len);
                response.body.extend(piece);
                if len == 0 {
                    return Ok(response);
                }
            }
        }
        let len = response
            .header("content-length")
            .unwrap_or("0")
            .parse()
            .unwrap();
        response.body = vec![0; len];
        self.stream.read_exact(&mut response.body)?;
        Ok(response)
    }

    /// Reads a line of the head or of the body.
    pub(crate) fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end_matches(['\r', '\n']).to_owned())
    }

    /// Waits until the server closes the connection. Returns whether it does.
    pub(crate) fn is_closed(&mut self) -> bool {
        let mut rest = Vec::new();
        // A reset connection is closed too.
        match self.stream.read_to_end(&mut rest) {
            Ok(_) => true,
            Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
        }
    }
}
