//! `simidx serve`: serves index files over HTTP.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use simidx::Width;
use simidx_collection::{Collection, Sync};
use simidx_output::one_line;
use simidx_server::{LogFormat, NamedIndex, Server, ServerOptions, StartError, TlsFiles, Token};

use crate::cmd::Answer;
use crate::support::failure::Failure;
use crate::support::inputs::FieldArgs;
use crate::support::messages::is_quiet;
use crate::support::options::{
    Choice, InputFormat, MOST_THREADS, TABLE_DISTANCES, heading, input_format, one_of, width,
};
use crate::support::output::{json_style, stdout};
use crate::support::pipeline::PipelineArgs;
use crate::support::process;
use crate::support::progress::ProgressMode;
use crate::support::quantity::{count, size};
use crate::support::records::{open_texts, visit_texts};

/// The head of `simidx serve --help` and of its man page.
pub(crate) const HELP: &str = "\
Answer queries over HTTP.

The server opens, checks and warms the files, then prints the line `listening on ADDRESS` on standard output, such as \
`listening on http://127.0.0.1:8080`. \
SIGHUP opens the files anew, SIGINT and SIGTERM end the server. The book describes the addresses, /openapi.json specifies \
them, and / is a page for people.

Examples:
  simidx serve crawl.simidx
  simidx serve monday.simidx tuesday.simidx --listen 127.0.0.1:0 --watch 1
  simidx serve --index news=news.simidx --index web=a.simidx,b.simidx
  simidx serve --store pages/
  simidx serve --check --listen 127.0.0.1:8080
  simidx serve crawl.simidx --listen 0.0.0.0:8080 --token-file token.txt";

/// Largest number of bytes of a text that the page shows.
const MAX_TEXT_LEN: usize = 64 << 10;

/// Largest number of bytes in the answer of a server to a readiness check.
const MAX_CHECK_LEN: u64 = 64 << 10;

/// Largest number of seconds in a flag.
const MAX_SECONDS: f64 = 86_400.0;

/// The heading of flags about the store.
const STORE: &str = "Store";

/// The heading of flags about limits.
const LIMITS: &str = "Limits";

/// Arguments of `simidx serve`.
#[derive(Debug, clap::Args)]
// Indexes have pipelines of their own, which may need the files of this one.
#[command(mut_arg("pipeline", |arg| arg.requires("store")), mut_arg("html", |arg| arg.requires("store")))]
pub(crate) struct Args {
    /// Index files, which are searched as one: the index called default
    #[arg(value_name = "INDEX", required_unless_present_any = ["index", "store", "check"])]
    paths: Vec<PathBuf>,
    /// Serve these files as one index under a name. May be repeated; requests choose it by ?index=NAME
    #[arg(long, value_name = "NAME=FILE[,FILE]", value_parser = named_index)]
    index: Vec<NamedIndex>,
    /// Folder of a collection, which is created if it does not exist: POST /v1/documents adds to it. It is the index called default,
    /// or store if there is another default
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    /// When a change of the store is acknowledged
    #[arg(long, value_parser = one_of(SYNCS), value_name = "WHEN", default_value = "always", requires = "store", help_heading = STORE)]
    sync: Sync,
    /// Largest distance of near-duplicates in a new store [default: 3]. An existing store keeps its -k, --width and --pipeline;
    /// other values are refused
    #[arg(short = 'k', long, value_name = "K", value_parser = count(TABLE_DISTANCES), requires = "store")]
    max_distance: Option<u32>,
    /// Bits per fingerprint of a new store [default: 64]
    #[arg(long, value_name = "BITS", value_parser = width(), requires = "store")]
    width: Option<Width>,
    /// Address to listen at, or a name of this machine and a port; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080", value_parser = listen)]
    listen: Listen,
    /// Ask the server at --listen, by plain HTTP, whether it is ready, and exit: 0 if it is, 1 if it is not, 2 without an
    /// answer
    #[arg(long, conflicts_with_all = ["paths", "index", "store", "tls_cert"])]
    check: bool,
    /// File with the token that requests must show as Authorization: Bearer TOKEN; /livez, /readyz and /healthz need none. A
    /// reload reads it again
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Allow an address that other machines can reach, without a token
    #[arg(long)]
    insecure: bool,
    /// Speak HTTPS with this chain of certificates, a file in PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Private key of the certificate, a file in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Check the files at this interval, and open those that were replaced
    #[arg(long, value_name = "SECONDS", value_parser = some_seconds)]
    watch: Option<Duration>,
    /// After SIGINT or SIGTERM, keep accepting requests for this time while /readyz fails; a second signal ends it
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = seconds)]
    drain_delay: Duration,
    /// Largest size of a body, and of a text once it is normalised
    #[arg(long, value_name = "SIZE", default_value = "16MiB", value_parser = some_size, help_heading = LIMITS)]
    max_body: u64,
    /// Most queries of a batch
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = count(1..=100_000_000u64), help_heading = LIMITS)]
    max_batch: u64,
    /// Most matches and ids in all answers of a request
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = count(1..=u64::MAX), help_heading = LIMITS)]
    max_results: u64,
    /// Largest size of an answer, or of one piece of an answer in lines
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = some_size, help_heading = LIMITS)]
    max_answer: u64,
    /// Largest distance of a query [default: 4 more than the tables of an index were made for]
    #[arg(long, value_name = "K", value_parser = count(0..=128u32), help_heading = LIMITS)]
    max_k: Option<u32>,
    /// Seconds that a request may take to arrive, and to be answered
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = some_seconds, help_heading = LIMITS)]
    timeout: Duration,
    /// Seconds that a connection may lie idle, and that a client may leave an answer unread
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = some_seconds, help_heading = LIMITS)]
    idle_timeout: Duration,
    /// Most connections at a time
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = count(1..=10_000_000u32), help_heading = LIMITS)]
    max_connections: u32,
    /// Most batches and other expensive requests at a time
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = count(1..=100_000u32), help_heading = LIMITS)]
    max_waiting: u32,
    /// Format of the log on stderr
    #[arg(long, value_parser = one_of(LOG_FORMATS), value_name = "FORMAT", default_value = "text")]
    log_format: LogFormat,
    /// Log each request
    #[arg(long)]
    access_log: bool,
    /// Files or quoted patterns with the documents whose texts the page shows, found by their ids. May be repeated
    #[arg(long, value_name = "FILE")]
    texts: Vec<PathBuf>,
    /// Format of --texts
    #[arg(long, value_parser = input_format(), value_name = "FORMAT", default_value = "auto", help_heading = heading::INPUT)]
    input: InputFormat,
    #[command(flatten)]
    fields: FieldArgs,
    #[command(flatten)]
    pipeline: PipelineArgs,
    /// Read index files into memory instead of mapping them
    #[arg(long, help_heading = heading::RESOURCES)]
    no_mmap: bool,
    /// Do not load the files at the start; for files larger than memory
    #[arg(long)]
    no_warm: bool,
    /// Number of threads; 0 uses all cores
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = count(0..=MOST_THREADS), help_heading = heading::RESOURCES)]
    threads: u16,
}

/// `--sync`.
const SYNCS: [Choice<Sync>; 3] = [
    ("always", "When it is on disk", Sync::Always),
    (
        "batch",
        "At once; it is on disk after 100 ms and one commit",
        Sync::Batch,
    ),
    (
        "never",
        "At once; it is on disk when it is sealed, or when the server ends",
        Sync::Never,
    ),
];

/// `--log-format`.
const LOG_FORMATS: [Choice<LogFormat>; 2] = [
    ("text", "Time, level, event and fields", LogFormat::Text),
    ("json", "An object with these", LogFormat::Json),
];

fn named_index(text: &str) -> Result<NamedIndex, String> {
    let (name, files) = text
        .split_once('=')
        .ok_or("write NAME=FILE or NAME=FILE,FILE")?;
    let files = files.split(',').filter(|file| !file.is_empty());
    NamedIndex::new(name, files)
}

fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=MAX_SECONDS).contains(&seconds) => {
            Ok(Duration::from_secs_f64(seconds))
        }
        _ => Err(format!("not a number of seconds up to {MAX_SECONDS}")),
    }
}

/// Parses seconds above 0, because a limit of 0 would refuse everything.
fn some_seconds(text: &str) -> Result<Duration, String> {
    match seconds(text)? {
        Duration::ZERO => Err(format!(
            "not a number of seconds above 0, up to {MAX_SECONDS}"
        )),
        time => Ok(time),
    }
}

/// Parses a size above 0.
fn some_size(text: &str) -> Result<u64, &'static str> {
    match size(text)? {
        0 => Err("not a size above 0"),
        size => Ok(size),
    }
}

/// `--listen`.
#[derive(Debug, Clone)]
struct Listen {
    address: SocketAddr,
    /// The host name that the address was given by.
    name: Option<String>,
}

fn listen(text: &str) -> Result<Listen, String> {
    if let Ok(address) = text.parse() {
        return Ok(Listen {
            address,
            name: None,
        });
    }
    let (name, _) = text
        .rsplit_once(':')
        .ok_or("write an address or a name, and a port: 127.0.0.1:8080")?;
    let found = text.to_socket_addrs().map_err(|error| error.to_string())?;
    let found: Vec<SocketAddr> = found.collect();
    let first = found.iter().find(|address| address.is_ipv4());
    let address = first.or(found.first()).ok_or("the name has no address")?;
    Ok(Listen {
        address: *address,
        name: Some(name.to_owned()),
    })
}

/// Asks a server whether it is ready, and prints its answer.
fn check(mut address: SocketAddr, timeout: Duration) -> Answer {
    if address.ip().is_unspecified() {
        address.set_ip(match address {
            SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect_timeout(&address, timeout)?;
        stream.set_read_timeout(Some(timeout))?;
        stream.set_write_timeout(Some(timeout))?;
        let request = "GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        stream.write_all(request.as_bytes())?;
        let mut answer = Vec::new();
        stream.take(MAX_CHECK_LEN).read_to_end(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    };
    let answer = ask().map_err(|error| Failure::new(error.to_string()).about(address))?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head
        .strip_prefix("HTTP/1.1 ")
        .and_then(|head| head.get(..3));
    let is_ready = match status {
        Some("200") => true,
        Some("503") => false,
        _ => {
            let message = format!(
                "this is not an answer of a simidx server by plain HTTP; with --tls-cert ask by another program: curl \
                 https://{address}/readyz"
            );
            return Err(Failure::new(message).about(address));
        }
    };
    let mut out = stdout();
    writeln!(out, "{}", one_line(body.trim_end()))?;
    out.flush()?;
    Ok(is_ready)
}

/// Runs the command.
pub(crate) fn run(args: Args) -> Answer {
    if args.check {
        return check(args.listen.address, args.timeout);
    }
    process::survive_hangups()?;
    let mut indexes = args.index;
    if !args.paths.is_empty() {
        let unnamed = NamedIndex::new(NamedIndex::DEFAULT, args.paths.clone());
        indexes.insert(0, unnamed.map_err(Failure::new)?);
    }
    let mut options = ServerOptions::new(indexes);
    options.listen = args.listen.address;
    options.listen_name = args.listen.name;
    options.insecure = args.insecure;
    if let Some(path) = &args.token_file {
        let token = Token::read(path);
        options.token = Some(token.map_err(|error| Failure::new(error).about(path.display()))?);
    }
    if let (Some(certificates), Some(key)) = (args.tls_cert, args.tls_key) {
        options.tls = Some(TlsFiles { certificates, key });
    }
    let limits = &mut options.limits;
    limits.max_body = usize::try_from(args.max_body).unwrap_or(usize::MAX);
    limits.max_batch = usize::try_from(args.max_batch).unwrap_or(usize::MAX);
    limits.max_results = args.max_results;
    limits.max_answer = usize::try_from(args.max_answer).unwrap_or(usize::MAX);
    limits.max_distance = args.max_k;
    limits.timeout = args.timeout;
    limits.idle_timeout = args.idle_timeout;
    limits.max_connections = args.max_connections as usize;
    limits.max_waiting = args.max_waiting as usize;
    options.threads = args.threads.into();
    options.no_mmap = args.no_mmap;
    options.warm = !args.no_warm;
    options.watch = args.watch;
    options.drain_delay = args.drain_delay;
    options.signals = true;
    options.log_format = args.log_format;
    options.access_log = args.access_log;
    options.quiet = is_quiet();
    options.json = json_style();
    options.assets = args.pipeline.files.read()?;
    options.texts = read_texts(&args.texts, args.input, &args.fields)?;
    if let Some(folder) = &args.store {
        let mut store = simidx_collection::Options::default();
        let pipeline = args.pipeline.pipeline()?.describe();
        store.max_distance = args.max_distance.unwrap_or(store.max_distance);
        store.pipeline = Some(pipeline.clone());
        store.sync = args.sync;
        let opened = Collection::open_or_create(folder, args.width.unwrap_or_default(), store);
        let store = opened.map_err(|error| Failure::new(error.to_string()))?;
        let (width, distance) = (store.width().to_string(), store.max_distance().to_string());
        let (given_width, given_distance) = (args.width, args.max_distance);
        let given_pipeline = args.pipeline.names_stages().then_some(pipeline);
        let own_pipeline = store.pipeline().unwrap_or("none");
        for (flag, given, own) in [
            (
                "--width",
                given_width.map(|width| width.to_string()),
                &*width,
            ),
            ("-k", given_distance.map(|k| k.to_string()), &distance),
            ("--pipeline", given_pipeline, own_pipeline),
        ] {
            if let Some(given) = given.filter(|given| given != own) {
                let message =
                    format!("the store was made with {flag} {own}, not {given}; leave {flag} out");
                return Err(Failure::new(message).about(folder.display()));
            }
        }
        options.store = Some(Arc::new(store));
    }
    process::expect_lost_pages()?;
    let server = match Server::bind(options) {
        Err(StartError::Ended) => return Ok(true),
        bound => bound.map_err(not_started)?,
    };
    let mut out = stdout();
    writeln!(out, "listening on {}", server.url())?;
    out.flush()?;
    server.run()?;
    Ok(true)
}

fn not_started(error: StartError) -> Failure {
    Failure::new(match error {
        StartError::Open(address) => format!(
            "{address} is reachable from other machines; use --token-file, or allow it with --insecure"
        ),
        other => other.to_string(),
    })
}

/// Reads the texts of documents by their ids.
fn read_texts(
    paths: &[PathBuf],
    format: InputFormat,
    fields: &FieldArgs,
) -> Result<HashMap<String, String>, Failure> {
    let files = open_texts(paths, format, &fields.options(Width::default()), None)?;
    let mut texts = HashMap::new();
    let reading = (ProgressMode::Never, "reading", "documents");
    visit_texts(&files, reading, |_, id, mut text| {
        text.truncate(text.floor_char_boundary(MAX_TEXT_LEN));
        texts.insert(id.to_string(), text);
        Ok(())
    })?;
    Ok(texts)
}
