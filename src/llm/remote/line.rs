//! The connection to one server: sending, time limits, reading bodies that may never end.
//!
//! Owns bytes in and out. Must not know what a chat is.

use std::time::{Duration, Instant};

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER};
use reqwest::{Client, Response, Url};
use serde_json::Value;

use super::Dialect;
use super::address::Address;
use super::failure::{Failure, tidy};
use super::options::Settings;
use crate::llm::Secret;
use crate::llm::{http, retry};

/// Bytes of an error that are read.
const LONGEST_ERROR: usize = 64 << 10;

/// A server, and how to speak to it.
#[derive(Debug)]
pub(in crate::llm) struct Line {
    client: Client,
    /// Where it is.
    pub(in crate::llm) address: Address,
    /// How long to wait for it.
    pub(in crate::llm) settings: Settings,
    /// How it is spoken to.
    pub(in crate::llm) dialect: &'static Dialect,
    headers: HeaderMap,
}

/// The time limits of one try.
#[derive(Debug, Clone, Copy)]
pub(in crate::llm) struct Limits {
    began: Instant,
    first: Duration,
    between: Duration,
    whole: Duration,
}

impl Limits {
    /// Those of a call that begins now.
    pub(in crate::llm) fn of(settings: &Settings) -> Self {
        Self {
            began: Instant::now(),
            first: settings.first_byte,
            between: settings.between,
            whole: settings.whole,
        }
    }

    /// The same for all parts.
    pub(in crate::llm) fn short(time: Duration) -> Self {
        Self {
            began: Instant::now(),
            first: time,
            between: time,
            whole: time,
        }
    }

    /// How long may be waited now, and what it means when that is over.
    fn next(&self, something_came: bool) -> (Duration, String) {
        let spent = self.began.elapsed();
        let step = if something_came {
            self.between
        } else {
            self.first.saturating_sub(spent)
        };
        let left = self.whole.saturating_sub(spent);
        if left < step {
            return (left, format!("it took longer than {} in all", seconds(self.whole)));
        }
        let words = if something_came {
            format!("nothing more came for {}", seconds(self.between))
        } else {
            format!("no answer began within {}", seconds(self.first))
        };
        (step, words)
    }
}

fn seconds(time: Duration) -> String {
    format!("{} s", (time.as_secs_f64() * 100.0).round() / 100.0)
}

impl Line {
    /// Makes ready to speak to a server.
    pub(in crate::llm) fn new(address: Address, settings: Settings, dialect: &'static Dialect) -> Result<Self, String> {
        let mut headers = HeaderMap::new();
        if let Some(key) = &settings.key {
            let (name, before) = dialect.key_header;
            let mut value = HeaderValue::from_str(&format!("{before}{}", key.reveal())).map_err(|_| {
                format!(
                    "the key in {} has characters that no key has; set it again",
                    dialect.keys()
                )
            })?;
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static(name), value);
        }
        for (name, value) in dialect.headers {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        let client = http::client(&address.base, settings.connect)
            .build()
            .map_err(|error| format!("HTTPS cannot be set up: {}", http::cause(&error)))?;
        Ok(Self {
            client,
            address,
            settings,
            dialect,
            headers,
        })
    }

    /// The key, to keep it out of messages.
    pub(in crate::llm) fn key(&self) -> Option<&Secret> {
        self.settings.key.as_ref()
    }

    /// Asks for something; gives what a success gave.
    pub(in crate::llm) async fn get(&self, url: Url, limits: Limits) -> Result<Incoming, Failure> {
        let request = self.client.get(url).headers(self.headers.clone());
        self.send(request, limits).await
    }

    /// Sends a body; gives what a success gave.
    pub(in crate::llm) async fn post(&self, url: Url, body: &Value, limits: Limits) -> Result<Incoming, Failure> {
        let request = self
            .client
            .post(url)
            .headers(self.headers.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream, application/json")
            .body(body.to_string());
        self.send(request, limits).await
    }

    async fn send(&self, request: reqwest::RequestBuilder, limits: Limits) -> Result<Incoming, Failure> {
        let (time, words) = limits.next(false);
        let response = match tokio::time::timeout(time, request.send()).await {
            Err(_) => return Err(Failure::passing(words)),
            Ok(Err(error)) => return Err(broken(&error)),
            Ok(Ok(response)) => response,
        };
        let status = response.status();
        if status.is_success() {
            return Ok(Incoming {
                response,
                limits,
                something_came: false,
            });
        }
        if status.is_redirection() {
            return Err(self.redirected(&response));
        }
        let wait = response
            .headers()
            .get(RETRY_AFTER)
            .and_then(|value| value.to_str().ok());
        let wait = wait.and_then(|value| retry::retry_after(value, jiff::Timestamp::now()));
        let mut incoming = Incoming {
            response,
            limits,
            something_came: true,
        };
        // What there is of the error is worth more than why the rest of it did not come.
        let (body, _) = incoming.read_most(LONGEST_ERROR).await;
        let body = String::from_utf8_lossy(&body);
        Err((self.dialect.refusal)(status.as_u16(), &body, wait, self.key()))
    }

    /// A redirect is not followed: a key must only go where it was meant to go.
    fn redirected(&self, response: &Response) -> Failure {
        let to = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
        let to = to.and_then(|to| response.url().join(to).ok()).map(|mut url| {
            // Neither secrets nor what only this one answer was for belong into a message.
            let _ = url.set_username("");
            let _ = url.set_password(None);
            url.set_query(None);
            url.set_fragment(None);
            tidy(url.as_str(), self.key())
        });
        Failure::lasting(format!(
            "it sends elsewhere (HTTP {}{}), which is not followed because of the key; give the right address: {}",
            response.status().as_u16(),
            to.map_or_else(String::new, |to| format!(" to {to}")),
            self.dialect.form,
        ))
    }
}

/// A body as it comes.
#[derive(Debug)]
pub(in crate::llm) struct Incoming {
    response: Response,
    limits: Limits,
    something_came: bool,
}

impl Incoming {
    /// The value of a header.
    pub(in crate::llm) fn header(&self, name: &str) -> &str {
        self.response
            .headers()
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }

    /// The next bytes; `None` at the end.
    pub(in crate::llm) async fn chunk(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        let (time, words) = self.limits.next(self.something_came);
        match tokio::time::timeout(time, self.response.chunk()).await {
            Err(_) => Err(Failure::passing(words)),
            Ok(Err(error)) => Err(broken(&error)),
            Ok(Ok(None)) => Ok(None),
            Ok(Ok(Some(bytes))) => {
                self.something_came |= !bytes.is_empty();
                Ok(Some(bytes.to_vec()))
            }
        }
    }

    /// The whole body.
    pub(in crate::llm) async fn read(&mut self, most: usize) -> Result<Vec<u8>, Failure> {
        match self.read_most(most).await {
            (_, Some(failure)) => Err(failure),
            (body, None) => Ok(body),
        }
    }

    async fn read_most(&mut self, most: usize) -> (Vec<u8>, Option<Failure>) {
        let mut body = Vec::new();
        loop {
            match self.chunk().await {
                Ok(Some(bytes)) => body.extend(bytes),
                Ok(None) => return (body, None),
                Err(failure) => return (body, Some(failure)),
            }
            if body.len() > most {
                body.truncate(most);
                return (
                    body,
                    Some(Failure::lasting(format!("its answer has more than {most} bytes"))),
                );
            }
        }
    }
}

fn broken(error: &reqwest::Error) -> Failure {
    let what = if error.is_connect() && error.is_timeout() {
        "it cannot be reached: no connection came about in time".to_owned()
    } else if error.is_connect() {
        format!("it cannot be reached: {}", http::cause(error))
    } else {
        format!("the connection broke: {}", http::cause(error))
    };
    Failure::passing(tidy(&what, None))
}
