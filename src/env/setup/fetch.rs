//! Fetches one file over HTTPS: the archive of the Boxoban levels.
//!
//! Owns redirects and the bound on its size. What breaks off is fetched anew: the archive has no checksum to go on with.

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use reqwest::Url;
use reqwest::header::LOCATION;

use super::SetupError;
use super::error::io_error;
use crate::jobs::Cancel;
use crate::jobs::http::{self, NoResult, Runtime};

/// Redirects that are followed.
const MOST_REDIRECTS: usize = 5;
/// The largest archive that is taken.
const MOST_BYTES: u64 = 512 << 20;
/// Time to connect, and time without a single byte.
const CONNECT: Duration = Duration::from_secs(10);
const SILENCE: Duration = Duration::from_secs(60);

/// Fetches an address into a new file; `tell` gets the bytes so far and in all (0 when nobody knows).
pub(super) fn fetch(
    address: &str,
    to: &Path,
    cancel: &Cancel,
    tell: &mut dyn FnMut((u64, u64)),
) -> Result<(), SetupError> {
    let remote = |message: String| SetupError::Remote {
        from: address.to_owned(),
        message: crate::protocol::sanitize::clean_line(&message).into_owned(),
    };
    let runtime = Runtime::start().map_err(|error| remote(format!("no thread for the network: {error}")))?;
    let mut file = std::fs::File::create(to).map_err(io_error("writing", to))?;
    let from = address.to_owned();
    let mut failed = None;
    let mut done = 0;
    let mut take = |news: (Vec<u8>, u64)| {
        let (bytes, total) = news;
        done += bytes.len() as u64;
        if failed.is_none()
            && let Err(error) = file.write_all(&bytes)
        {
            failed = Some(error);
        }
        tell((done, total));
    };
    let result = runtime.run(cancel, &mut take, |teller| async move {
        receive(&from, &mut |bytes, total| teller.tell((bytes, total))).await
    });
    match result {
        Err(NoResult::Cancelled) => return Err(SetupError::Cancelled),
        Err(NoResult::Broken) => return Err(remote("the fetch broke down".to_owned())),
        Ok(Err(message)) => return Err(remote(message)),
        Ok(Ok(())) => {}
    }
    match failed {
        Some(error) => Err(io_error("writing", to)(error)),
        None => file.sync_all().map_err(io_error("writing", to)),
    }
}

async fn receive(from: &str, news: &mut (dyn FnMut(Vec<u8>, u64) + Send)) -> Result<(), String> {
    let mut url = Url::parse(from).map_err(|error| format!("the address cannot be read ({error})"))?;
    let client = http::client(&url, CONNECT)
        .build()
        .map_err(|error| format!("HTTPS cannot be set up: {}", http::cause(&error)))?;
    for _ in 0..=MOST_REDIRECTS {
        let answer = tokio::time::timeout(SILENCE, client.get(url.clone()).send()).await;
        let mut response = match answer {
            Err(_) => return Err("the server does not answer".to_owned()),
            Ok(Err(error)) => return Err(format!("the server cannot be reached: {}", http::cause(&error))),
            Ok(Ok(response)) => response,
        };
        let status = response.status();
        if status.is_redirection() {
            let to = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
            let next = to.and_then(|to| url.join(to).ok());
            url = next.ok_or("it is sent on, but not said where to")?;
            if url.scheme() != "https" && !http::is_this_machine(&url) {
                return Err("it is sent on to an address that is not encrypted".to_owned());
            }
            continue;
        }
        if !status.is_success() {
            return Err(format!("the server refuses (HTTP {})", status.as_u16()));
        }
        let total = response.content_length().unwrap_or(0);
        let mut done = 0;
        loop {
            let bytes = match tokio::time::timeout(SILENCE, response.chunk()).await {
                Err(_) => return Err("nothing more came".to_owned()),
                Ok(Err(error)) => return Err(format!("the connection broke: {}", http::cause(&error))),
                Ok(Ok(None)) if total > done => return Err("the connection ended too early".to_owned()),
                Ok(Ok(None)) => return Ok(()),
                Ok(Ok(Some(bytes))) => bytes,
            };
            done += bytes.len() as u64;
            if done.max(total) > MOST_BYTES {
                return Err(format!(
                    "it has more than {MOST_BYTES} bytes, which the levels have not"
                ));
            }
            news(bytes.to_vec(), total);
        }
    }
    Err("it is sent from place to place without end".to_owned())
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::net::TcpListener;

    use super::*;

    /// A server that gives each connection one of the answers; its address.
    fn server(answers: Vec<String>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/x.zip", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                let _ = stream.read(&mut [0; 4096]).unwrap();
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        address
    }

    fn get(answers: &[&str]) -> Result<String, String> {
        let dir = tempfile::tempdir().unwrap();
        let to = dir.path().join("x.zip");
        let address = server(answers.iter().map(|&answer| answer.to_owned()).collect());
        let mut last = (0, 0);
        fetch(&address, &to, &Cancel::new(), &mut |news| last = news).map_err(|error| error.to_string())?;
        let text = std::fs::read_to_string(&to).unwrap();
        assert_eq!(last, (text.len() as u64, text.len() as u64));
        Ok(text)
    }

    #[test]
    fn a_file_comes_through_a_redirect_and_failures_name_both_ways_out() {
        let file = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nabcde";
        let on = "HTTP/1.1 302 Found\r\nlocation: /y.zip\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        assert_eq!(get(&[on, file]), Ok("abcde".to_owned()));
        let plain = on.replace("/y.zip", "http://example.org/y.zip");
        let long = file.replace("length: 5", "length: 600000000");
        for (answer, words) in [
            ("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", "HTTP 404"),
            (plain.as_str(), "not encrypted"),
            (long.as_str(), "more than"),
            (&file.replace("length: 5", "length: 9"), "connection"),
        ] {
            let error = get(&[answer]).unwrap_err();
            assert!(error.contains(words) && error.contains("--boxoban DIR"), "{error}");
        }
    }

    #[test]
    fn cancelling_a_silent_server_takes_no_time() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/", listener.local_addr().unwrap());
        let dir = tempfile::tempdir().unwrap();
        let cancel = Cancel::new();
        let other = cancel.clone();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            other.cancel();
        });
        let began = std::time::Instant::now();
        let error = fetch(&address, &dir.path().join("x"), &cancel, &mut |_| {}).unwrap_err();
        assert!(matches!(error, SetupError::Cancelled) && began.elapsed() < Duration::from_secs(10));
    }
}
