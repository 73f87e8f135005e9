//! A load generator for a running server: consecutive requests on several connections, all on loopback.
//!
//! ```text
//! load ADDRESS INDEX MODE [SECONDS [CONNECTIONS [RATE]]]
//! ```
//!
//! MODE is `empty` (GET /livez), `get` (GET of one fingerprint), `binary` or `lines` (POST of 4,096), `idle`
//! (connections that do nothing), `serve` (the server itself, on one thread) or `library` (answers the same batches in
//! this process, without a server). INDEX is the file that the server serves; each query is one of its fingerprints
//! with two flipped bits. With a RATE, requests are sent at fixed times. The latency of each counts from its scheduled
//! time, so a slow answer also delays the requests after it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use simidx::index::WarmOptions;
use simidx::{Fingerprint, Index, Scratch};
use simidx_server::{NamedIndex, Server, ServerOptions};

/// Number of queries in a batch.
const BATCH: usize = 4096;

type Failure = Box<dyn std::error::Error + Send + Sync>;

struct Load {
    address: SocketAddr,
    mode: String,
    queries: Vec<u64>,
    end: Instant,
    /// Time between two requests of a connection, if a rate is given.
    period: Option<Duration>,
}

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize, default: f64| -> Result<f64, Failure> {
        args.get(place)
            .map_or(Ok(default), |text| Ok(text.parse()?))
    };
    let [address, index, mode, ..] = &args[..] else {
        return Err("usage: load ADDRESS INDEX MODE [SECONDS [CONNECTIONS [RATE]]]".into());
    };
    let (seconds, connections) = (number(3, 5.0)?, number(4, 8.0)? as usize);
    let rate = number(5, 0.0)?;
    if mode == "serve" {
        return serve(address.parse()?, index);
    }
    let index = Index::<u64>::open(index)?;
    let queries = sample(&index)?;
    if mode == "library" {
        return library(&index, &queries, seconds);
    }
    drop(index);
    let address: SocketAddr = address.parse()?;
    if !address.ip().is_loopback() {
        return Err("this is for loopback addresses".into());
    }
    if mode == "idle" {
        let held: Result<Vec<_>, _> = (0..connections)
            .map(|_| TcpStream::connect(address))
            .collect();
        println!("{} connections", held?.len());
        std::thread::sleep(Duration::from_secs_f64(seconds));
        return Ok(());
    }
    let load = Load {
        address,
        mode: mode.clone(),
        queries,
        end: Instant::now() + Duration::from_secs_f64(seconds),
        period: (rate > 0.0).then(|| Duration::from_secs_f64(connections as f64 / rate)),
    };
    let started = Instant::now();
    let mut latencies = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..connections)
            .map(|number| {
                let load = &load;
                scope.spawn(move || load.connection(number))
            })
            .collect();
        let all: Result<Vec<_>, Failure> = threads.into_iter().map(|t| t.join().unwrap()).collect();
        Ok::<_, Failure>(all?.concat())
    })?;
    let elapsed = started.elapsed().as_secs_f64();
    latencies.sort_unstable();
    let us = |part: f64| {
        let place = (part * latencies.len() as f64) as usize;
        latencies
            .get(place.min(latencies.len() - 1))
            .map_or(0.0, |l| l.as_secs_f64() * 1e6)
    };
    let per_second = latencies.len() as f64 / elapsed;
    let of_batch = if ["binary", "lines"].contains(&&**mode) {
        BATCH as f64
    } else {
        1.0
    };
    println!(
        "{mode}: {per_second:.0} requests/s, {:.0} queries/s; us: p50 {:.0} p99 {:.0} p99.9 {:.0} max {:.0}",
        per_second * of_batch,
        us(0.5),
        us(0.99),
        us(0.999),
        us(1.0)
    );
    Ok(())
}

/// Returns fingerprints of an index, each with two flipped bits.
fn sample(index: &Index<u64>) -> Result<Vec<u64>, Failure> {
    let mut rng = simidx_testkit::rng(1);
    let mut queries = Vec::new();
    for number in 0..1u64 << 16 {
        let rank = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % index.len().max(1);
        let member = index.fingerprint(rank)?.ok_or("the index is empty")?;
        queries.push(simidx_testkit::flipped(member, 2, &mut rng));
    }
    Ok(queries)
}

fn serve(address: SocketAddr, index: &str) -> Result<(), Failure> {
    let mut options = ServerOptions::new(vec![NamedIndex::new("default", [index])?]);
    options.listen = address;
    options.threads = 1;
    options.signals = true;
    options.limits.max_connections = 20_000;
    let server = Server::bind(options)?;
    println!("listening on {}", server.url());
    Ok(server.run()?)
}

fn library(index: &Index<u64>, queries: &[u64], seconds: f64) -> Result<(), Failure> {
    index.warm(&WarmOptions::default().threads(1))?;
    let (mut scratch, mut count, mut found) = (Scratch::new(), 0, 0);
    let started = Instant::now();
    while started.elapsed().as_secs_f64() < seconds {
        for batch in queries.chunks(BATCH) {
            index.query_many_with(&mut scratch, batch, 3, |_, matches| found += matches.len())?;
            count += batch.len();
        }
    }
    let per_second = count as f64 / started.elapsed().as_secs_f64();
    println!("library: {per_second:.0} queries/s ({found} matches)");
    Ok(())
}

impl Load {
    fn request(&self, batch: &[u64]) -> Vec<u8> {
        let post = |kind: &str, body: Vec<u8>| {
            let head = format!(
                "POST /v1/query HTTP/1.1\r\nhost: localhost\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n",
                body.len()
            );
            [head.into_bytes(), body].concat()
        };
        match &*self.mode {
            "empty" => b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n".to_vec(),
            "get" => {
                let hex = batch[0].to_hex();
                format!("GET /v1/query/{hex} HTTP/1.1\r\nhost: localhost\r\n\r\n").into_bytes()
            }
            "binary" => {
                let body = batch.iter().flat_map(|query| query.to_le_bytes()).collect();
                post("application/octet-stream", body)
            }
            _ => {
                let lines = batch
                    .iter()
                    .map(|query| format!("\"{}\"\n", query.to_hex()));
                post(
                    "application/x-ndjson",
                    lines.collect::<String>().into_bytes(),
                )
            }
        }
    }

    fn connection(&self, number: usize) -> Result<Vec<Duration>, Failure> {
        let stream = TcpStream::connect(self.address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        let mut stream = BufReader::with_capacity(1 << 16, stream);
        let batch_len = if ["empty", "get"].contains(&&*self.mode) {
            1
        } else {
            BATCH
        };
        let batches: Vec<_> = self
            .queries
            .chunks(batch_len)
            .map(|b| self.request(b))
            .collect();
        let mut latencies = Vec::new();
        let mut due = Instant::now() + self.period.unwrap_or_default().mul_f64(number as f64 / 8.0);
        for request in batches.iter().cycle().skip(number * 997) {
            if Instant::now() >= self.end {
                break;
            }
            if let Some(period) = self.period {
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                due += period;
            }
            let started = self.period.map_or_else(Instant::now, |period| due - period);
            stream.get_mut().write_all(request)?;
            receive(&mut stream)?;
            latencies.push(started.elapsed());
        }
        Ok(latencies)
    }
}

/// Reads a response. Its status must be 200.
fn receive(stream: &mut BufReader<TcpStream>) -> Result<(), Failure> {
    let (mut line, mut len, mut is_chunked) = (String::new(), 0, false);
    stream.read_line(&mut line)?;
    if !line.starts_with("HTTP/1.1 200") {
        return Err(line.into());
    }
    loop {
        line.clear();
        stream.read_line(&mut line)?;
        match line.trim_end().split_once(": ") {
            Some(("content-length", value)) => len = value.parse()?,
            Some(("transfer-encoding", _)) => is_chunked = true,
            Some(_) => {}
            None => break,
        }
    }
    if !is_chunked {
        skip(stream, len)?;
        return Ok(());
    }
    loop {
        line.clear();
        stream.read_line(&mut line)?;
        let len = u64::from_str_radix(line.trim_end(), 16)?;
        skip(stream, len + 2)?;
        if len == 0 {
            return Ok(());
        }
    }
}

fn skip(stream: &mut BufReader<TcpStream>, len: u64) -> std::io::Result<u64> {
    std::io::copy(&mut stream.by_ref().take(len), &mut std::io::sink())
}
