//! HTTP as model back ends and downloads use it: one small runtime on a thread of its own, and calls that block their
//! caller but are dropped the moment somebody cancels.
//!
//! Owns the runtime, the cryptography provider and what every client has in common. Must not know what is fetched.

use std::future::Future;
use std::net::IpAddr;
use std::sync::Once;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use reqwest::{Client, ClientBuilder, Url};
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::Cancel;

/// How often a waiting caller looks whether it is cancelled.
const LOOK: Duration = Duration::from_millis(15);

/// The runtime. Dropping it ends its thread and everything that runs on it.
pub struct Runtime {
    handle: Handle,
    stop: Option<oneshot::Sender<()>>,
}

/// Why a call gave nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoResult {
    /// Somebody cancelled it.
    Cancelled,
    /// Its task broke down.
    Broken,
}

/// What a task says to its caller.
enum Said<N, T> {
    News(N),
    Done(T),
}

/// Carries news from a task to its caller.
pub struct Teller<N, T>(Sender<Said<N, T>>);

impl<N, T> Teller<N, T> {
    /// Tells it. What nobody waits for any more is dropped.
    pub fn tell(&self, news: N) {
        let _ = self.0.send(Said::News(news));
    }
}

/// Ends the task when its caller goes away, whatever the reason.
struct Ending(JoinHandle<()>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Runtime {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the system gives no thread or no event queue.
    pub fn start() -> std::io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        std::thread::Builder::new().name("http".to_owned()).spawn(move || {
            // An error means that the other end is gone, which is the same news.
            let _ = runtime.block_on(stopped);
            // A name that is just being looked up must not hold anybody up.
            runtime.shutdown_background();
        })?;
        Ok(Self {
            handle,
            stop: Some(stop),
        })
    }

    /// Runs a task to its end, passing its news to `sink` on the caller's thread. The task is dropped, and with it its
    /// connection, as soon as `cancel` is set.
    pub fn run<N, T, F>(
        &self,
        cancel: &Cancel,
        sink: &mut dyn FnMut(N),
        task: impl FnOnce(Teller<N, T>) -> F,
    ) -> Result<T, NoResult>
    where
        N: Send + 'static,
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let (sender, receiver) = crossbeam_channel::unbounded();
        let work = task(Teller(sender.clone()));
        let _ending = Ending(self.handle.spawn(async move {
            let _ = sender.send(Said::Done(work.await));
        }));
        wait(&receiver, cancel, sink)
    }
}

fn wait<N, T>(receiver: &Receiver<Said<N, T>>, cancel: &Cancel, sink: &mut dyn FnMut(N)) -> Result<T, NoResult> {
    loop {
        if cancel.is_cancelled() {
            return Err(NoResult::Cancelled);
        }
        match receiver.recv_timeout(LOOK) {
            Ok(Said::News(news)) => sink(news),
            Ok(Said::Done(result)) => return Ok(result),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(NoResult::Broken),
        }
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
    }
}

/// What all clients have in common: no redirects of its own (a key must not follow one), the ordinary proxy variables,
/// but no proxy between two programs of one machine.
pub fn client(to: &Url, connect: Duration) -> ClientBuilder {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        // Another part of the process may have chosen one already; then that one serves.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    let builder = Client::builder()
        .user_agent(concat!("automem/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(connect);
    if is_this_machine(to) {
        builder.no_proxy()
    } else {
        builder
    }
}

/// Whether an address is this machine's own.
pub fn is_this_machine(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The innermost cause of a transport error, which is the part that helps, without the address.
pub fn cause(error: &reqwest::Error) -> String {
    let mut inner: &dyn std::error::Error = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    let text = inner.to_string();
    // reqwest's own words name the address, which may hold what others should not read.
    if std::ptr::addr_eq(inner, error) && error.url().is_some() {
        return "the request could not be sent".to_owned();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn news_and_results_reach_the_caller() {
        let runtime = Runtime::start().unwrap();
        let mut news = Vec::new();
        let result = runtime.run(&Cancel::new(), &mut |n: u32| news.push(n), |teller| async move {
            for n in 0..3 {
                teller.tell(n);
                tokio::task::yield_now().await;
            }
            "done"
        });
        assert_eq!((result, news), (Ok("done"), vec![0, 1, 2]));
    }

    #[test]
    fn cancelling_drops_the_task_at_once() {
        struct Gone(Sender<()>);
        impl Drop for Gone {
            fn drop(&mut self) {
                let _ = self.0.send(());
            }
        }
        let runtime = Runtime::start().unwrap();
        let (sender, gone) = crossbeam_channel::bounded(1);
        let cancel = Cancel::new();
        let other = cancel.clone();
        let began = Instant::now();
        let result = runtime.run(&cancel, &mut |(): ()| other.cancel(), |teller| async move {
            let _gone = Gone(sender);
            teller.tell(());
            tokio::time::sleep(Duration::from_secs(60)).await;
        });
        assert_eq!(result, Err(NoResult::Cancelled));
        gone.recv_timeout(Duration::from_secs(5)).unwrap();
        assert!(began.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn a_task_that_breaks_down_is_told() {
        let runtime = Runtime::start().unwrap();
        let result = runtime.run(&Cancel::new(), &mut |(): ()| {}, |_| async {
            panic!("as the test wants")
        });
        assert!(matches!(result, Err(NoResult::Broken)));
    }

    #[test]
    fn this_machine_needs_no_proxy() {
        let own = |url: &str| is_this_machine(&Url::parse(url).unwrap());
        assert!(own("http://localhost:8080/v1") && own("http://127.0.0.1/") && own("http://[::1]:1/"));
        assert!(!own("https://api.openai.com/v1") && !own("http://10.0.0.7:8000/v1"));
    }
}
