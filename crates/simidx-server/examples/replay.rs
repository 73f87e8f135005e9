//! Replays requests from a file to a running server, consecutively on each connection and all on loopback.
//! `benches/serve-peers` compares different servers with it.
//!
//! ```text
//! replay ADDRESS PROTOCOL FILE SECONDS CONNECTIONS
//! replay ADDRESS PROTOCOL FILE answers OUT
//! ```
//!
//! PROTOCOL is `http`, `resp` (the protocol of Redis) or `postgres`. FILE holds requests, each as its length and its
//! number of answers (little-endian 32-bit words), then its bytes. The first request opens each connection. The second
//! form sends all requests once and writes the answers, each after its length: the body for HTTP, otherwise all bytes
//! from the server. An error answer ends the program.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A request, with its number of answers.
struct Request {
    bytes: Vec<u8>,
    answers: u32,
}

/// Reads one answer and appends it to the bytes. Returns whether it is successful.
type Receive = fn(&mut BufReader<TcpStream>, &mut Vec<u8>) -> std::io::Result<bool>;

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [address, protocol, file, seconds, last] = &args[..] else {
        return Err("usage: replay ADDRESS PROTOCOL FILE SECONDS CONNECTIONS".into());
    };
    let address: SocketAddr = address.parse()?;
    if !address.ip().is_loopback() {
        return Err("this is for loopback addresses".into());
    }
    let receive: Receive = match &**protocol {
        "http" => http,
        "resp" => resp,
        "postgres" => postgres,
        other => return Err(format!("{other} is no protocol").into()),
    };
    let requests = read(file)?;
    let (opening, requests) = requests.split_first().ok_or("no requests")?;
    if seconds == "answers" {
        let mut stream = open(address, opening, receive)?;
        let mut out = Vec::new();
        for request in requests {
            let mut answer = Vec::new();
            ask(&mut stream, request, receive, &mut answer)?;
            out.extend_from_slice(&u32::try_from(answer.len())?.to_le_bytes());
            out.extend_from_slice(&answer);
        }
        return Ok(std::fs::write(last, out)?);
    }
    let (seconds, connections): (f64, usize) = (seconds.parse()?, last.parse()?);
    let started = Instant::now();
    let end = started + Duration::from_secs_f64(seconds);
    let mut latencies = std::thread::scope(|scope| {
        let load = |number: usize| -> Result<Vec<Duration>, Failure> {
            let mut stream = open(address, opening, receive)?;
            let (mut answer, mut latencies) = (Vec::new(), Vec::new());
            for request in requests.iter().cycle().skip(number * 997) {
                let asked = Instant::now();
                if asked >= end {
                    break;
                }
                answer.clear();
                ask(&mut stream, request, receive, &mut answer)?;
                latencies.push(asked.elapsed());
            }
            Ok(latencies)
        };
        let threads: Vec<_> = (0..connections)
            .map(|number| scope.spawn(move || load(number)))
            .collect();
        let all: Result<Vec<_>, Failure> = threads.into_iter().map(|t| t.join().unwrap()).collect();
        Ok::<_, Failure>(all?.concat())
    })?;
    let elapsed = started.elapsed().as_secs_f64();
    latencies.sort_unstable();
    let us = |part: f64| {
        let place = (part * latencies.len() as f64) as usize;
        let latency = latencies.get(place.min(latencies.len().saturating_sub(1)));
        latency.map_or(0.0, |latency| latency.as_secs_f64() * 1e6)
    };
    println!(
        "{{\"requests\":{},\"seconds\":{elapsed},\"p50_us\":{:.1},\"p99_us\":{:.1}}}",
        latencies.len(),
        us(0.5),
        us(0.99)
    );
    Ok(())
}

fn read(file: &str) -> Result<Vec<Request>, Failure> {
    let bytes = std::fs::read(file)?;
    let mut rest = &bytes[..];
    let mut requests = Vec::new();
    while !rest.is_empty() {
        let (head, after) = rest.split_first_chunk::<8>().ok_or("the file is cut")?;
        let [len, answers] = [0, 4].map(|at| [head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let len = u32::from_le_bytes(len) as usize;
        let (bytes, after) = after.split_at_checked(len).ok_or("the file is cut")?;
        requests.push(Request {
            bytes: bytes.to_vec(),
            answers: u32::from_le_bytes(answers),
        });
        rest = after;
    }
    Ok(requests)
}

fn open(
    address: SocketAddr,
    opening: &Request,
    receive: Receive,
) -> Result<BufReader<TcpStream>, Failure> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    let mut stream = BufReader::with_capacity(1 << 16, stream);
    ask(&mut stream, opening, receive, &mut Vec::new())?;
    Ok(stream)
}

fn ask(
    stream: &mut BufReader<TcpStream>,
    request: &Request,
    receive: Receive,
    answer: &mut Vec<u8>,
) -> Result<(), Failure> {
    stream.get_mut().write_all(&request.bytes)?;
    for _ in 0..request.answers {
        if !receive(stream, answer)? {
            return Err(format!("refused: {}", String::from_utf8_lossy(answer)).into());
        }
    }
    Ok(())
}

/// Reads a line, including its line end.
fn line<'a>(
    stream: &mut BufReader<TcpStream>,
    answer: &'a mut Vec<u8>,
) -> std::io::Result<&'a [u8]> {
    let start = answer.len();
    stream.read_until(b'\n', answer)?;
    match answer[start..].ends_with(b"\n") {
        true => Ok(&answer[start..]),
        false => Err(std::io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Reads a known number of bytes.
fn exact(
    stream: &mut BufReader<TcpStream>,
    answer: &mut Vec<u8>,
    len: usize,
) -> std::io::Result<()> {
    let start = answer.len();
    answer.resize(start + len, 0);
    stream.read_exact(&mut answer[start..])
}

fn number(text: &[u8]) -> std::io::Result<i64> {
    let text = std::str::from_utf8(text).unwrap_or_default().trim();
    text.parse().map_err(std::io::Error::other)
}

/// Reads an HTTP response with a known length and appends its body.
fn http(stream: &mut BufReader<TcpStream>, answer: &mut Vec<u8>) -> std::io::Result<bool> {
    let (mut head, mut len) = (Vec::new(), None);
    let is_good = line(stream, &mut head)?.starts_with(b"HTTP/1.1 200");
    loop {
        head.clear();
        let line = line(stream, &mut head)?;
        if line == b"\r\n" {
            break;
        }
        let name = line.split(|&byte| byte == b':').next().unwrap_or_default();
        if name.eq_ignore_ascii_case(b"content-length") {
            len = Some(number(&line[name.len() + 1..])?);
        }
    }
    let len = len.ok_or_else(|| std::io::Error::other("a response without a length"))?;
    exact(stream, answer, usize::try_from(len).unwrap_or_default())?;
    Ok(is_good)
}

/// Reads a reply of Redis.
fn resp(stream: &mut BufReader<TcpStream>, answer: &mut Vec<u8>) -> std::io::Result<bool> {
    let line = line(stream, answer)?;
    let (kind, rest) = (line[0], &line[1..]);
    match kind {
        b'$' => {
            // A null reply has the length -1, and neither contents nor a line end after them.
            if let Ok(len) = usize::try_from(number(rest)?) {
                exact(stream, answer, len + 2)?;
            }
        }
        b'*' => {
            for _ in 0..number(rest)? {
                resp(stream, answer)?;
            }
        }
        _ => {}
    }
    Ok(kind != b'-')
}

/// Reads messages of PostgreSQL up to `ReadyForQuery`.
fn postgres(stream: &mut BufReader<TcpStream>, answer: &mut Vec<u8>) -> std::io::Result<bool> {
    let mut is_good = true;
    loop {
        let start = answer.len();
        exact(stream, answer, 5)?;
        let head = &answer[start..];
        let (kind, len) = (head[0], [head[1], head[2], head[3], head[4]]);
        let len = u32::from_be_bytes(len) as usize;
        exact(stream, answer, len.saturating_sub(4))?;
        is_good &= kind != b'E';
        if kind == b'Z' {
            return Ok(is_good);
        }
    }
}
