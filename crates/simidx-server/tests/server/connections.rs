//! Slow, silent and many connections, and the shutdown of the server.

use std::io::Write;
use std::net::TcpStream;
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use simidx::Width;
use simidx_server::ServerOptions;

use crate::client::{Client, PATIENCE};
use crate::documents::store;
use crate::harness::{Fixture, default, options, serve, start, write};
use crate::sources::acting;

#[test]
fn heads_that_trickle_are_cut_while_others_are_answered() {
    let fixture = Fixture::<u64>::new(400);
    let mut options = options(vec![default(&fixture.path)]);
    options.limits.idle_timeout = Duration::from_millis(300);
    let server = start(options);
    let mut slow: Vec<Client> = (0..200).map(|_| server.client()).collect();
    for client in &mut slow {
        client
            .send(b"GET /v1/query/ff HTTP/1.1\r\nhost: localhost\r\nx-a: ")
            .unwrap();
    }
    for _ in 0..50 {
        assert_eq!(server.client().get("/v1/query/ff").status, 200);
    }
    // These connections send a byte from time to time, and are closed nevertheless.
    std::thread::sleep(Duration::from_millis(200));
    for client in &mut slow {
        let _ = client.send(b"y");
    }
    for client in &mut slow {
        assert!(client.is_closed());
    }
    assert!(server.metric("simidx_cut_total ") >= 200.0);
}

#[test]
fn bodies_that_trickle_are_cut() {
    let fixture = Fixture::<u64>::new(400);
    let mut options = options(vec![default(&fixture.path)]);
    options.limits.timeout = Duration::from_millis(200);
    let server = start(options);
    let mut client = server.client();
    let head = "POST /v1/query HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/octet-stream\r\ncontent-length: 80\r\n\r\n12";
    client.send(head.as_bytes()).unwrap();
    let response = client.receive(false).unwrap();
    assert_eq!(
        (response.status, response.kind()),
        (408, "timeout".to_owned())
    );
}

#[test]
fn bodies_that_are_announced_and_do_not_come_take_no_room() {
    let fixture = Fixture::<u64>::new(400);
    let server = serve(&fixture.path);
    // The announced lengths add up to the limit of all bodies together.
    let head = "POST /v1/query HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/octet-stream\r\n\
                expect: 100-continue\r\ncontent-length: 16776192\r\n\r\n";
    let mut idle: Vec<Client> = (0..20).map(|_| server.client()).collect();
    for client in &mut idle {
        client.send(head.as_bytes()).unwrap();
        // The server waits for the body.
        assert_eq!(client.receive(true).unwrap().status, 100);
    }
    let body = fixture.fingerprints[0].to_le_bytes();
    let mut client = server.client();
    let response = client.post("/v1/query", "application/octet-stream", &body);
    assert_eq!(response.status, 200, "{response:?}");
}

#[test]
fn a_client_that_reads_nothing_is_cut() {
    let fixture = Fixture::<u64>::new(4000);
    let mut options = options(vec![default(&fixture.path)]);
    options.limits.idle_timeout = Duration::from_millis(300);
    let server = start(options);
    let query = fixture.fingerprints[0];
    let body = format!("\"{query:x}\"\n").repeat(100_000);
    let mut stream = TcpStream::connect(server.address).unwrap();
    let head = format!(
        "POST /v1/query HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-ndjson\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    let started = std::time::Instant::now();
    while server.metric("simidx_cut_total ") < 1.0 {
        assert!(started.elapsed() < crate::client::PATIENCE);
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(server.client().get("/v1/query/ff").status, 200);
}

#[test]
fn more_connections_than_permitted_are_refused_politely() {
    let fixture = Fixture::<u64>::new(400);
    let mut options = options(vec![default(&fixture.path)]);
    options.limits.max_connections = 3;
    let server = start(options);
    let mut held: Vec<Client> = (0..3).map(|_| server.client()).collect();
    for client in &mut held {
        assert_eq!(client.get("/livez").status, 200);
    }
    let response = server.client().receive(false).unwrap();
    assert_eq!((response.status, response.kind()), (503, "busy".to_owned()));
    assert!(response.header("retry-after").is_some());
    drop(held);
    let started = std::time::Instant::now();
    loop {
        let mut client = server.client();
        client
            .send(b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n")
            .unwrap();
        if client
            .receive(false)
            .is_ok_and(|response| response.status == 200)
        {
            break;
        }
        assert!(started.elapsed() < crate::client::PATIENCE);
    }
}

#[test]
fn more_batches_than_permitted_are_refused_with_a_time() {
    let fixture = Fixture::<u64>::new(400);
    let mut options = options(vec![default(&fixture.path)]);
    options.limits.max_waiting = 0;
    let server = start(options);
    let mut client = server.client();
    let body = 1u64.to_le_bytes().repeat(1000);
    let response = client.post("/v1/query", "application/octet-stream", &body);
    assert_eq!((response.status, response.kind()), (503, "busy".to_owned()));
    assert_eq!(response.header("retry-after"), Some("1"));
    // Cheap requests are answered.
    assert_eq!(client.get("/v1/query/ff").status, 200);
    assert!(server.metric("simidx_shed_total ") >= 1.0);
}

#[test]
fn an_answer_with_many_ids_is_no_cheap_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.simidx");
    // All records but the last have the same fingerprint.
    let mut fingerprints = vec![0xff_u64; 1100];
    fingerprints.push(0xff00_0000);
    write(&path, &fingerprints, true);
    let records = store(&folder.path().join("pages"), Width::W64);
    let all = fingerprints.iter().enumerate();
    let all: Vec<_> = all.map(|(number, f)| (number.to_string(), *f)).collect();
    records.add_many(&all).1.unwrap();
    let mut options = options(vec![default(&path)]);
    options.store = Some(records);
    let words = 0xff_u64.to_le_bytes();
    let ask = |options: ServerOptions| {
        let server = start(options);
        let mut client = server.client();
        let mut status = |path: &str| client.get(path).status;
        let mut all = vec![
            status("/v1/query/ff"),
            status("/v1/query/ff?index=store"),
            status("/v1/nearest/ff?index=store"),
            status("/v1/query/ff000000"),
            status("/v1/query/ff000000?index=store"),
        ];
        for index in ["store", "default"] {
            let path = format!("/v1/query?index={index}");
            let answer = client.post(&path, "application/octet-stream", &words);
            all.push(answer.status);
        }
        all
    };
    assert_eq!(ask(options.clone()), [200; 7]);
    // Answers that need the thread pool are refused.
    options.limits.max_waiting = 0;
    assert_eq!(ask(options), [503, 503, 503, 200, 200, 503, 200]);
}

#[test]
fn requests_follow_each_other_on_a_connection() {
    let fixture = Fixture::<u64>::new(400);
    let server = serve(&fixture.path);
    let mut client = server.client();
    let requests = "GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\nGET /v1/query/ff HTTP/1.1\r\nhost: localhost\r\n\r\n";
    client.send(requests.repeat(50).as_bytes()).unwrap();
    for _ in 0..50 {
        assert_eq!(client.receive(false).unwrap().text(), "ok\n");
        assert_eq!(
            client.receive(false).unwrap().json()["query"],
            "00000000000000ff"
        );
    }
    let head = client.request("HEAD", "/v1/query/ff", "", b"");
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(client.get("/livez").status, 200);
}

#[test]
fn the_server_answers_while_it_drains() {
    let fixture = Fixture::<u64>::new(400);
    let mut options = options(vec![default(&fixture.path)]);
    options.drain_delay = Duration::from_millis(200);
    let server = start(options);
    let mut idle = server.client();
    assert_eq!(idle.get("/readyz").status, 200);
    server.handle.shut_down();
    // During the drain delay, the server reports it and still answers, also on new connections.
    let mut client = server.client();
    assert_eq!(client.get("/readyz").status, 503);
    assert_eq!(client.get("/livez").status, 200);
    assert_eq!(client.get("/v1/query/ff").status, 200);
    assert!(idle.is_closed());
    let address = server.address;
    server.join();
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn the_second_time_it_is_told_to_end_it_drains_no_longer() {
    let fixture = Fixture::<u64>::new(40);
    let mut options = options(vec![default(&fixture.path)]);
    options.drain_delay = Duration::from_secs(86_400);
    let server = start(options);
    server.handle.shut_down();
    assert_eq!(server.client().get("/readyz").status, 503);
    server.handle.shut_down();
    server.join();
}

#[test]
fn the_server_ends_after_what_it_has_begun() {
    let (began, begun) = mpsc::channel::<()>();
    let (release, released) = mpsc::channel::<()>();
    let released = Mutex::new(released);
    let server = acting(options(Vec::new()), move |_| {
        began.send(()).unwrap();
        let _ = released.lock().unwrap().recv_timeout(PATIENCE);
    });
    let mut client = server.client();
    client
        .send(b"GET /v1/query/ff HTTP/1.1\r\nhost: localhost\r\n\r\n")
        .unwrap();
    begun.recv_timeout(PATIENCE).unwrap();
    server.handle.shut_down();
    // The server accepts no connections any more, and the request is still in progress.
    let started = std::time::Instant::now();
    while TcpStream::connect(server.address).is_ok() {
        assert!(started.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(release);
    assert_eq!(client.receive(false).unwrap().status, 200);
    assert!(client.is_closed());
    server.join();
}
