//! `model pull` from `hf:` and from addresses, against a fake server of ours that cuts, changes, lies and sends on.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod fake_server;

use std::io::{self, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use automem::jobs::Cancel;
use automem::llm::pull::{FetchLimits, PullError, PullProgress, Pulled, RemoteFile, Source, pull};
use fake_server::{FakeServer, Seen, answer, wait_for_end};
use sha2::{Digest, Sha256};

const TOKEN: &str = "hf_nobody_may_see_this";

/// A whole GGUF file without tensors, with something behind its head.
fn gguf(fill: u8) -> Vec<u8> {
    let mut bytes = b"GGUF\x03\0\0\0".to_vec();
    bytes.resize(24, 0);
    bytes.extend((0..200_000_u32).map(|n| (n % 251) as u8 ^ fill));
    bytes
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Serves bytes as a good server does: ranges only of the state that was named. `cut` ends the connection early.
fn serve(seen: &Seen, stream: &mut TcpStream, bytes: &[u8], etag: &str, cut: Option<usize>) -> io::Result<()> {
    let range = seen
        .header("range")
        .strip_prefix("bytes=")
        .and_then(|range| range.strip_suffix('-'));
    let start = range
        .and_then(|start| start.parse::<usize>().ok())
        .filter(|_| seen.header("if-range") == etag);
    let rest = &bytes[start.unwrap_or(0)..];
    let head = match start {
        Some(start) => format!(
            "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {start}-{}/{}\r\n",
            bytes.len() - 1,
            bytes.len()
        ),
        None => "HTTP/1.1 200 OK\r\n".to_owned(),
    };
    write!(
        stream,
        "{head}ETag: {etag}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        rest.len()
    )?;
    stream.write_all(&rest[..cut.unwrap_or(rest.len()).min(rest.len())])
}

fn limits() -> FetchLimits {
    FetchLimits {
        connect: Duration::from_secs(5),
        silence: Duration::from_secs(20),
        retries: 3,
        backoff: Duration::from_millis(10),
    }
}

fn remote(text: &str, environment: &[(&str, &str)]) -> RemoteFile {
    let variable = |name: &str| {
        environment
            .iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| (*value).to_owned())
    };
    RemoteFile::parse(text, &variable)
        .unwrap()
        .unwrap()
        .with_limits(limits())
}

fn fetch(file: RemoteFile, folder: &Path) -> Result<Pulled, PullError> {
    pull(
        &Source::Remote(Box::new(file)),
        "m",
        folder,
        &Cancel::new(),
        &mut |_| {},
    )
}

fn listing(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_file_comes_whole_and_checked() {
    let bytes = gguf(0);
    let served = bytes.clone();
    let server = FakeServer::start(move |seen, _, stream| serve(seen, stream, &served, "\"one\"", None));
    let dir = tempfile::tempdir().unwrap();
    let file = remote(&server.url("/some/where/m.gguf?sig=secret"), &[])
        .with_sha256(&sha256(&bytes))
        .unwrap();
    let mut progress: Vec<PullProgress> = Vec::new();
    let source = Source::Remote(Box::new(file));
    let pulled = pull(&source, "m", dir.path(), &Cancel::new(), &mut |p| progress.push(p)).unwrap();
    assert_eq!(
        (pulled.bytes, &pulled.sha256, pulled.already),
        (bytes.len() as u64, &sha256(&bytes), false)
    );
    assert!(progress.iter().all(|p| p.total == bytes.len() as u64) && progress.len() >= 2);
    assert_eq!(listing(dir.path()), ["m.gguf"]);
    // The checksum says that it is there: nobody is asked.
    let again = pull(&source, "m", dir.path(), &Cancel::new(), &mut |_| {}).unwrap();
    assert!(again.already);
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn what_was_cut_off_is_continued() {
    let bytes = gguf(1);
    let served = bytes.clone();
    let server = FakeServer::start(move |seen, nth, stream| match nth {
        0 => serve(seen, stream, &served, "\"one\"", Some(70_000)),
        1 => answer(stream, "503 Busy", "", b""),
        2 => serve(seen, stream, &served, "\"one\"", Some(50_000)),
        _ => serve(seen, stream, &served, "\"one\"", None),
    });
    let dir = tempfile::tempdir().unwrap();
    let pulled = fetch(remote(&server.url("/m.gguf"), &[]), dir.path()).unwrap();
    assert_eq!(std::fs::read(&pulled.path).unwrap(), bytes);
    let asked: Vec<(String, String)> = server
        .seen()
        .iter()
        .map(|seen| (seen.header("range").to_owned(), seen.header("if-range").to_owned()))
        .collect();
    let expected = [
        ("", ""),
        ("bytes=70000-", "\"one\""),
        ("bytes=70000-", "\"one\""),
        ("bytes=120000-", "\"one\""),
    ];
    assert_eq!(
        asked,
        expected.map(|(range, state)| (range.to_owned(), state.to_owned()))
    );
    assert_eq!(listing(dir.path()), ["m.gguf"]);
}

#[test]
fn patience_ends_and_what_came_stays() {
    let bytes = gguf(2);
    let served = bytes.clone();
    let server = FakeServer::start(move |seen, nth, stream| match nth {
        0 => serve(seen, stream, &served, "\"one\"", Some(1000)),
        1..=3 => answer(stream, "502 Bad Gateway", "", b""),
        _ => serve(seen, stream, &served, "\"one\"", None),
    });
    let dir = tempfile::tempdir().unwrap();
    let error = fetch(remote(&server.url("/m.gguf"), &[]), dir.path())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("HTTP 502") && error.contains("goes on after the 1000 bytes"),
        "{error}"
    );
    assert_eq!(listing(dir.path()), ["m.gguf.part", "m.gguf.part.json"]);
    let pulled = fetch(remote(&server.url("/m.gguf"), &[]), dir.path()).unwrap();
    assert_eq!(std::fs::read(&pulled.path).unwrap(), bytes);
    assert_eq!(server.seen().last().unwrap().header("range"), "bytes=1000-");
}

#[test]
fn a_file_that_changed_is_fetched_anew() {
    let (old, new) = (gguf(3), gguf(4));
    let served = new.clone();
    let server = FakeServer::start(move |seen, nth, stream| match nth {
        0 => serve(seen, stream, &old, "\"old\"", Some(90_000)),
        _ => serve(seen, stream, &served, "\"new\"", None),
    });
    let dir = tempfile::tempdir().unwrap();
    let pulled = fetch(remote(&server.url("/m.gguf"), &[]), dir.path()).unwrap();
    assert_eq!(std::fs::read(&pulled.path).unwrap(), new, "no mixture");

    // A server that sends a part of another file, or too much, is not believed either.
    let served = new.clone();
    let liar = FakeServer::start(move |seen, nth, stream| match nth {
        0 => serve(seen, stream, &served, "\"a\"", Some(500)),
        1 => answer(stream, "206 Partial Content", "Content-Range: bytes 7-9/10\r\n", b"xyz"),
        2 => serve(seen, stream, &served, "\"a\"", Some(600)),
        3 => answer(stream, "416 Range Not Satisfiable", "Content-Range: bytes */9\r\n", b""),
        _ => serve(seen, stream, &served, "\"a\"", None),
    });
    let pulled = fetch(remote(&liar.url("/other.gguf"), &[]), dir.path()).unwrap();
    assert_eq!(std::fs::read(&pulled.path).unwrap(), new);
}

#[test]
fn servers_that_know_little_serve_too() {
    // No length, no state, no ranges: the end of the connection is the end of the file.
    let bytes = gguf(5);
    let served = bytes.clone();
    let server = FakeServer::start(move |_, _, stream| {
        stream.write_all(b"HTTP/1.0 200 OK\r\n\r\nG")?;
        std::thread::sleep(Duration::from_millis(20));
        stream.write_all(&served[1..])
    });
    let dir = tempfile::tempdir().unwrap();
    let pulled = fetch(remote(&server.url("/m.gguf"), &[]), dir.path()).unwrap();
    assert_eq!(std::fs::read(&pulled.path).unwrap(), bytes);
}

#[test]
fn what_is_no_model_never_gets_the_name() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("m.gguf"), b"the old one").unwrap();
    let cases: [(&str, &str, Vec<u8>, &str); 5] = [
        (
            "/page.gguf",
            "Content-Type: text/html\r\n",
            b"<!doctype html><h1>Hello</h1>".to_vec(),
            "web page",
        ),
        (
            "/lfs.gguf",
            "",
            b"version https://git-lfs.github.com/spec/v1\noid sha256:00".to_vec(),
            "LFS pointer",
        ),
        ("/zip.gguf", "", b"PK\x03\x04 and so on".to_vec(), "no GGUF file"),
        ("/short.gguf", "", b"GG".to_vec(), "no GGUF file"),
        // It ends in the middle of its own head, though all that was promised came.
        ("/half.gguf", "", b"GGUF\x03\0\0\0\x01\0\0".to_vec(), "cut off"),
    ];
    for (path, head, body, words) in cases {
        let server = FakeServer::start(move |_, _, stream| answer(stream, "200 OK", head, &body));
        let error = fetch(remote(&server.url(path), &[]), dir.path())
            .unwrap_err()
            .to_string();
        assert!(error.contains(words) && error.contains(path), "{path}: {error}");
        assert_eq!(server.seen().len(), 1);
        assert_eq!(listing(dir.path()), ["m.gguf"], "{path}");
    }
    let bytes = gguf(6);
    let sum = sha256(&bytes);
    let server = FakeServer::start(move |seen, _, stream| serve(seen, stream, &bytes, "\"x\"", None));
    let file = remote(&server.url("/m.gguf"), &[])
        .with_sha256(&"0".repeat(64))
        .unwrap();
    let error = fetch(file, dir.path()).unwrap_err();
    assert!(
        matches!(&error, PullError::Checksum { found, .. } if *found == sum),
        "{error}"
    );
    assert_eq!(std::fs::read(dir.path().join("m.gguf")).unwrap(), b"the old one");
    assert_eq!(listing(dir.path()), ["m.gguf"]);
}

/// A hub that sends on to another host, where the bytes lie.
fn hub(bytes: Vec<u8>, sum: String) -> (FakeServer, FakeServer) {
    let store = FakeServer::start(move |seen, _, stream| serve(seen, stream, &bytes, "\"stored\"", None));
    let to = format!("http://localhost:{}/blob?sig=1", store.address.port());
    let hub = FakeServer::start(move |_, _, stream| {
        answer(
            stream,
            "302 Found",
            &format!("Location: {to}\r\nX-Linked-Etag: \"{sum}\"\r\nX-Linked-Size: 7\r\n"),
            b"",
        )
    });
    (hub, store)
}

#[test]
fn the_hubs_token_stays_with_the_hub_and_its_sum_is_checked() {
    let bytes = gguf(7);
    let (hub, store) = hub(bytes.clone(), sha256(&bytes));
    let endpoint = hub.url("");
    let set = [("HF_TOKEN", TOKEN), ("HF_ENDPOINT", endpoint.as_str())];
    let dir = tempfile::tempdir().unwrap();
    let file = remote("hf:owner/repo/q4/m.gguf@v1", &set);
    let pulled = fetch(file.clone(), dir.path()).unwrap();
    assert_eq!((std::fs::read(&pulled.path).unwrap(), pulled.already), (bytes, false));
    let asked = &hub.seen()[0];
    assert_eq!(
        (asked.method.as_str(), asked.path.as_str()),
        ("GET", "/owner/repo/resolve/v1/q4/m.gguf")
    );
    assert_eq!(asked.header("authorization"), format!("Bearer {TOKEN}"));
    assert_eq!(store.seen()[0].header("authorization"), "", "no token for another host");
    assert!(
        fetch(file.clone(), dir.path()).unwrap().already,
        "the hub's sum tells that it is here"
    );
    assert_eq!(listing(dir.path()), ["m.gguf"]);

    // The sum a person gives and the hub's differ: nothing is fetched.
    let count = std::fs::metadata(dir.path().join("m.gguf")).unwrap().len();
    let error = fetch(file.with_sha256(&"0".repeat(64)).unwrap(), dir.path()).unwrap_err();
    assert!(matches!(error, PullError::Checksum { .. }), "{error}");
    assert_eq!(std::fs::metadata(dir.path().join("m.gguf")).unwrap().len(), count);
}

#[test]
fn bytes_that_are_not_what_the_hub_says_are_refused() {
    let (hub, _store) = hub(gguf(8), "a".repeat(64));
    let endpoint = hub.url("");
    let dir = tempfile::tempdir().unwrap();
    let error = fetch(remote("hf:o/r/m.gguf", &[("HF_ENDPOINT", &endpoint)]), dir.path()).unwrap_err();
    assert!(matches!(error, PullError::Checksum { .. }), "{error}");
    assert!(listing(dir.path()).is_empty());
}

#[test]
fn closed_doors_are_explained() {
    let dir = tempfile::tempdir().unwrap();
    for (status, token, words) in [
        ("404 Not Found", None, "/o/r/blob/main/m.gguf"),
        ("401 Unauthorized", None, "set HF_TOKEN"),
        ("403 Forbidden", Some(TOKEN), "accept the model's terms"),
    ] {
        let server = FakeServer::start(move |_, _, stream| answer(stream, status, "", b"no"));
        let endpoint = server.url("");
        let mut set = vec![("HF_ENDPOINT", endpoint.as_str())];
        set.extend(token.map(|token| ("HF_TOKEN", token)));
        let error = fetch(remote("hf:o/r/m.gguf", &set), dir.path())
            .unwrap_err()
            .to_string();
        assert!(
            error.contains(words) && error.contains(&status[..3]) && !error.contains(TOKEN),
            "{error}"
        );
        assert_eq!(server.seen().len(), 1, "asking again would not help");
    }
    let round = FakeServer::start(|_, _, stream| answer(stream, "302 Found", "Location: /m.gguf\r\n", b""));
    let error = fetch(remote(&round.url("/m.gguf"), &[]), dir.path())
        .unwrap_err()
        .to_string();
    assert!(error.contains("without end"), "{error}");
    assert_eq!(round.seen().len(), 11);
    let nobody = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let error = fetch(remote(&format!("http://{nobody}/m.gguf"), &[]), dir.path())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("cannot be reached") && error.contains("HTTPS_PROXY"),
        "{error}"
    );
    assert!(listing(dir.path()).is_empty());
}

#[cfg(target_os = "linux")]
#[test]
fn what_no_disk_holds_is_not_begun() {
    let server = FakeServer::start(|_, _, stream| {
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\nGGUF", 1_u64 << 60)?;
        wait_for_end(stream);
        Ok(())
    });
    let dir = tempfile::tempdir().unwrap();
    let error = fetch(remote(&server.url("/m.gguf"), &[]), dir.path()).unwrap_err();
    assert!(
        matches!(error, PullError::NoRoom { needed, .. } if needed == 1 << 60),
        "{error}"
    );
    assert!(listing(dir.path()).is_empty());
}

#[test]
fn cancelling_keeps_what_came() {
    let bytes = gguf(9);
    let served = bytes.clone();
    let server = FakeServer::start(move |seen, nth, stream| {
        let cut = (nth == 0).then_some(30_000);
        serve(seen, stream, &served, "\"one\"", cut)?;
        if nth == 0 {
            wait_for_end(stream);
        }
        Ok(())
    });
    let dir = tempfile::tempdir().unwrap();
    let source = Source::Remote(Box::new(remote(&server.url("/m.gguf"), &[])));
    let cancel = Cancel::new();
    let part = dir.path().join("m.gguf.part");
    let error = std::thread::scope(|scope| {
        scope.spawn(|| {
            let began = Instant::now();
            while std::fs::metadata(&part).map_or(0, |part| part.len()) < 30_000 {
                assert!(began.elapsed() < Duration::from_secs(20));
                std::thread::sleep(Duration::from_millis(5));
            }
            cancel.cancel();
        });
        pull(&source, "m", dir.path(), &cancel, &mut |_| {}).unwrap_err()
    });
    assert!(matches!(error, PullError::Paused { kept: 30_000 }), "{error}");
    let pulled = pull(&source, "m", dir.path(), &Cancel::new(), &mut |_| {}).unwrap();
    assert_eq!(std::fs::read(&pulled.path).unwrap(), bytes);
    assert_eq!(server.seen()[1].header("range"), "bytes=30000-");
}

#[test]
fn the_verb_fetches_names_and_goes_on_after_ctrl_c() {
    let bytes = gguf(10);
    let sum = sha256(&bytes);
    let served = bytes.clone();
    let server = FakeServer::start(move |seen, nth, stream| {
        let cut = (nth == 0).then_some(40_000);
        serve(seen, stream, &served, "\"one\"", cut)?;
        if nth == 0 {
            wait_for_end(stream);
        }
        Ok(())
    });
    let home = tempfile::tempdir().unwrap();
    let automem = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_automem"));
        command
            .args([
                "model",
                "pull",
                "hf:owner/repo/some.gguf",
                "--name",
                "mine",
                "--sha256",
                &sum,
                "--json",
            ])
            .env("AUTOMEM_HOME", home.path())
            .env("HF_ENDPOINT", server.url(""))
            .env("HF_TOKEN", TOKEN)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    };
    let child = automem().spawn().unwrap();
    let part = home.path().join("models/mine.gguf.part");
    let began = Instant::now();
    while std::fs::metadata(&part).map_or(0, |part| part.len()) < 40_000 {
        assert!(began.elapsed() < Duration::from_secs(30));
        std::thread::sleep(Duration::from_millis(10));
    }
    let killed = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(killed.success());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("40000 bytes are kept") && !said.contains(TOKEN), "{said}");

    let output = automem().output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && !said.contains(TOKEN), "{said}");
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&answer["name"], &answer["sha256"]),
        (&"mine".into(), &sum.as_str().into())
    );
    assert_eq!(server.seen()[1].header("range"), "bytes=40000-");
    assert_eq!(listing(&home.path().join("models")), ["mine.gguf"]);

    let wrong = Command::new(env!("CARGO_BIN_EXE_automem"))
        .args(["model", "pull", "smollm2-135m", "--sha256", &sum])
        .env("AUTOMEM_HOME", home.path())
        .output()
        .unwrap();
    assert_eq!(wrong.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("goes with an address"));
}

#[test]
fn proxies_are_used_as_everywhere() {
    let bytes = gguf(11);
    let sum = sha256(&bytes);
    let proxy = FakeServer::start(move |seen, _, stream| serve(seen, stream, &bytes, "\"one\"", None));
    let home = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_automem"))
        .args(["model", "pull", "http://models.example/a/m.gguf", "--sha256", &sum])
        .env("AUTOMEM_HOME", home.path())
        .env("HTTP_PROXY", proxy.url(""))
        .env_remove("http_proxy")
        .env_remove("NO_PROXY")
        .env_remove("no_proxy")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert_eq!(proxy.seen()[0].path, "http://models.example/a/m.gguf");
    assert!(home.path().join("models/m.gguf").is_file());
}
