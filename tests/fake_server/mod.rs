//! A fake: a local server that answers as a test tells it to, and above all wrongly. It speaks just enough HTTP/1.1.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used)]

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A request as it came in.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) path: String,
    /// The head, as sent.
    pub(crate) head: String,
    pub(crate) body: String,
    pub(crate) at: Instant,
}

impl Seen {
    /// A header's value; empty when it is not there.
    pub(crate) fn header(&self, name: &str) -> &str {
        let found = self.head.lines().filter_map(|line| line.split_once(':'));
        let mut found = found.filter(|(key, _)| key.eq_ignore_ascii_case(name));
        found.next().map_or("", |(_, value)| value.trim())
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

type Handler = dyn Fn(&Seen, usize, &mut TcpStream) -> io::Result<()> + Send + Sync;

pub(crate) struct FakeServer {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    over: Arc<AtomicBool>,
}

impl FakeServer {
    /// Starts one. The handler gets the request, how many came before it on the same path, and the connection, which is
    /// closed when the handler returns.
    pub(crate) fn start(
        handler: impl Fn(&Seen, usize, &mut TcpStream) -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let over = Arc::new(AtomicBool::new(false));
        let handler: Arc<Handler> = Arc::new(handler);
        let (all, ended) = (Arc::clone(&seen), Arc::clone(&over));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(mut stream) = stream else { return };
                let (handler, all) = (Arc::clone(&handler), Arc::clone(&all));
                std::thread::spawn(move || {
                    let _ = stream.set_nodelay(true);
                    let Ok(request) = read_request(&mut stream) else { return };
                    let before = {
                        let mut all = all.lock().unwrap();
                        let before = all.iter().filter(|seen: &&Seen| seen.path == request.path).count();
                        all.push(request.clone());
                        before
                    };
                    // The other side may have gone, which some tests are about.
                    let _ = handler(&request, before, &mut stream);
                });
            }
        });
        Self { address, seen, over }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// The requests for a path.
    pub(crate) fn seen_at(&self, path: &str) -> Vec<Seen> {
        self.seen().into_iter().filter(|seen| seen.path == path).collect()
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
    }
}

fn read_request(stream: &mut TcpStream) -> io::Result<Seen> {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        bytes.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&bytes).into_owned();
    let mut words = head.split_whitespace();
    let mut seen = Seen {
        method: words.next().unwrap_or_default().to_owned(),
        path: words.next().unwrap_or_default().to_owned(),
        at: Instant::now(),
        body: String::new(),
        head,
    };
    let mut body = vec![0; seen.header("content-length").parse().unwrap_or(0)];
    stream.read_exact(&mut body)?;
    seen.body = String::from_utf8_lossy(&body).into_owned();
    Ok(seen)
}

/// A whole answer. `head` holds further header lines, each with its line end.
pub(crate) fn answer(stream: &mut TcpStream, status: &str, head: &str, body: &[u8]) -> io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n{head}\r\n",
        body.len()
    )?;
    stream.write_all(body)
}

pub(crate) fn json(stream: &mut TcpStream, status: &str, body: &str) -> io::Result<()> {
    answer(stream, status, "Content-Type: application/json\r\n", body.as_bytes())
}

/// The head of a stream whose end is the end of the connection.
pub(crate) fn stream_head(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
}

/// Waits until the other side has gone; false when it has not within 20 seconds.
pub(crate) fn wait_for_end(stream: &mut TcpStream) -> bool {
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    !matches!(stream.read(&mut [0; 16]), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
}
