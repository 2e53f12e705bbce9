//! Many clients at once, and clients that hold what others need: everybody is answered, or told that the host is busy.

use super::{Door, allowed, config_map, grant, open, options, patch, review};
use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use futures::stream::{self, BoxStream};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::Frame;
use hyper_rustls::HttpsConnector;
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use oarlock_tests::harness::{Answer, HttpClient, SOON, World, eventually, text, trusting, with_world};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};
use std::{convert::Infallible, sync::Arc, time::Duration};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tower::ServiceExt as _;

/// How many reviews are in flight at the same moment.
const CROWD: usize = 3000;

/// Of those, so many connect at a time: whoever waits for ten seconds in a TLS handshake is given up.
const CONNECTING: usize = 200;

/// What the host may take for all of them.
const MOST_MEMORY_KIB: u64 = 512 << 10;

type Body = StreamBody<BoxStream<'static, Result<Frame<Bytes>, Infallible>>>;

/// Clients that send half a review, and the rest when all have got so far.
#[derive(Clone)]
struct Crowd {
    client: Client<HttpsConnector<HttpConnector>, Body>,
    url: String,
    connecting: Arc<Semaphore>,
    /// How many have sent the first half.
    arrived: watch::Sender<usize>,
}

impl Crowd {
    fn body(&self, text: &str, permit: OwnedSemaphorePermit) -> Body {
        let (first, rest) = text.as_bytes().split_at(text.len() / 2);
        let (first, rest) = (Bytes::copy_from_slice(first), Bytes::copy_from_slice(rest));
        let arrived = self.arrived.clone();
        let second = async move {
            // Whoever asks for this has a connection and has sent what was before it.
            drop(permit);
            arrived.send_modify(|arrived| *arrived += 1);
            // The sender is in `arrived`.
            let _ = arrived.subscribe().wait_for(|arrived| *arrived >= CROWD).await;
            Ok(Frame::data(rest))
        };
        let first = stream::once(async move { Ok(Frame::data(first)) });
        StreamBody::new(Box::pin(stream::StreamExt::chain(first, stream::once(second))))
    }

    /// Asks, and answers whether there was an answer, or that the host is busy.
    async fn ask(&self, asked: &Value) -> Result<bool> {
        let permit = Arc::clone(&self.connecting).acquire_owned().await?;
        let whole = asked.to_string();
        let request = Request::post(&self.url)
            .header("content-type", "application/json")
            .header("content-length", whole.len())
            .body(self.body(&whole, permit))?;
        let answer = self.client.request(request).await?;
        let status = answer.status();
        let body = answer.into_body().collect().await?.to_bytes();
        if status == StatusCode::SERVICE_UNAVAILABLE {
            let why = String::from_utf8_lossy(&body);
            ensure!(why.contains("the host has too many reviews to answer in time"), "{why}");
            return Ok(false);
        }
        ensure!(status == StatusCode::OK, "{status} {}", String::from_utf8_lossy(&body));
        let answer: Value = serde_json::from_slice(&body)?;
        let response = answer.get("response").context("no response")?;
        ensure!(text(response, "/uid") == text(asked, "/request/uid"), "{answer}");
        let labels = json!([{"op": "add", "path": "/metadata/labels", "value": {"gate": "yes"}}]);
        ensure!(allowed(response) && patch(response)? == labels, "{answer}");
        Ok(true)
    }
}

/// Lets this process, and the host it starts, have so many files open.
fn raise_open_files(files: u64) -> Result<()> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|current| current >= files) {
        return Ok(());
    }
    let raised = Rlimit { current: Some(files), maximum };
    setrlimit(Resource::Nofile, raised).with_context(|| {
        format!("{CROWD} connections need {files} open files, and no more than {maximum:?} are allowed (ulimit -Hn)")
    })
}

/// A client of this door that shares no connection with others.
fn apart(world_ca: &[u8], door: &Door) -> Result<Door> {
    Ok(Door { client: HttpClient::with_ca(door.client.base(), world_ca)? })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a12_three_thousand_reviews_in_flight_at_once_are_answered_and_the_host_stays_small() -> Result<()> {
    // The host takes half of what it may open for connections.
    raise_open_files(2 * CROWD as u64 + 1000)?;
    with_world(options(), async |world: Arc<World>| {
        let door = open(&world, &grant()).await?;
        let ca = super::bundle(&world).await?;
        let crowd = Crowd {
            client: Client::builder(TokioExecutor::new())
                .pool_max_idle_per_host(0)
                .build(trusting(ca.as_bytes(), None)?),
            // The longest the host waits: slow machines take long for so many handshakes.
            url: format!("{}/mutate/gatekeeper/0?timeout=60s", door.client.base()),
            connecting: Arc::new(Semaphore::new(CONNECTING)),
            arrived: watch::Sender::new(0),
        };
        let clients: Vec<_> = (0..CROWD)
            .map(|client| {
                let crowd = crowd.clone();
                tokio::spawn(async move {
                    let mut asked = review(&config_map("label"));
                    asked["request"]["uid"] = Value::from(format!("uid-{client}"));
                    crowd.ask(&asked).await.with_context(|| format!("client {client}"))
                })
            })
            .collect();
        let mut answered = 0;
        for client in clients {
            answered += usize::from(client.await??);
        }
        ensure!(*crowd.arrived.borrow() == CROWD, "they were not there at once");
        ensure!(answered > 0, "none was answered");
        ensure!(allowed(&door.gate("label").await?), "the host goes on");
        let most = world.host(async |host| host.memory_kib("VmHWM")).await?;
        ensure!(most < MOST_MEMORY_KIB, "{most} KiB");
        Ok(())
    })
    .await
}

/// What is said of a ConfigMap in this mode, whatever it is.
async fn send(door: &Door, mode: &str, timeout: &str) -> Result<Answer> {
    let (path, headers) = (format!("/mutate/gatekeeper/0?timeout={timeout}"), [("content-type", "application/json")]);
    let body = Bytes::from(review(&config_map(mode)).to_string());
    door.client.send(Method::POST, &path, &headers, body).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a12_reviews_of_a_busy_host_are_told_so_and_are_no_strike_against_the_plugin() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let door = Arc::new(open(&world, &grant()).await?);
        let ask = |timeout: &'static str| {
            let door = Arc::clone(&door);
            tokio::spawn(async move { send(&door, "loop", timeout).await })
        };
        // As many as are worked on at once, and each takes all the time it gets.
        let mut asked = Vec::new();
        let began = Instant::now();
        loop {
            // Those before may have got no further than their handshakes when their time was over.
            let waiting = asked.iter().filter(|one: &&JoinHandle<_>| !one.is_finished()).count();
            asked.extend((waiting..256).map(|_| ask("6s")));
            let answer = send(&door, "label", "500ms").await?;
            if answer.status == StatusCode::SERVICE_UNAVAILABLE {
                break;
            }
            ensure!(began.elapsed() < SOON, "the host is never busy: {}", answer.status);
        }
        // Of these some wait for most of their time, whenever the others end, and some do not live to see that.
        for timeout in ["1s", "5s", "6s", "7500ms", "9s"] {
            asked.extend((0..10).map(|_| ask(timeout)));
        }
        let (mut busy, mut late, mut slow) = (0, 0, 0);
        for one in asked {
            let answer = one.await??;
            if answer.status == StatusCode::SERVICE_UNAVAILABLE {
                ensure!(answer.text().contains("too many reviews"), "{}", answer.text());
                busy += 1;
                continue;
            }
            let message = text(&answer.json()?, "/response/status/message");
            ensure!(message.contains("plugin gatekeeper") && message.contains("too slow"), "{message}");
            if message.contains("the host is busy") {
                late += 1;
            } else {
                slow += 1;
            }
        }
        ensure!(busy > 0 && late > 0 && slow > 0, "{busy} refused, {late} late, {slow} slow");
        let traps = world.host(async |host| host.metric("oarlock_plugin_traps_total", &["\"deadline\""]).await).await?;
        ensure!(traps <= f64::from(slow), "{traps} strikes for {slow} that were too slow of themselves");
        ensure!(allowed(&door.gate("label").await?), "the host goes on");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b7_reviews_of_a_plugin_that_is_loading_keep_no_other_plugin_from_being_asked() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        // Its kind is not served: it waits for its watches.
        world.plugins.add("pod-network", "pod-network", &world.pod_network_grant()?)?;
        let door = Arc::new(open(&world, &grant()).await?);
        eventually(SOON, "the other one to wait", || async {
            let waiting = world.host(async |host| host.plugin("pod-network").await).await?;
            ensure!(waiting.to_string().contains("syncing"), "{waiting}");
            Ok(())
        })
        .await?;
        // More than are worked on at once.
        let mut waiting: Vec<_> = (0..300)
            .map(|_| {
                let door = Arc::clone(&door);
                tokio::spawn(async move {
                    let path = "/mutate/pod-network/0?timeout=5s";
                    let headers = [("content-type", "application/json")];
                    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "n"}});
                    door.client.send(Method::POST, path, &headers, Bytes::from(review(&pod).to_string())).await
                })
            })
            .collect();
        let answered = async || {
            // Also those that come late are waiting by then.
            let answer = send(&door, "label", "2s").await?;
            ensure!(answer.status == StatusCode::OK, "{} {}", answer.status, answer.text());
            anyhow::Ok(())
        };
        while !waiting.iter().all(tokio::task::JoinHandle::is_finished) {
            answered().await?;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let last = waiting.pop().context("none")?.await??;
        ensure!(last.status == StatusCode::SERVICE_UNAVAILABLE, "{} {}", last.status, last.text());
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_keep_idle_connections_keep_nobody_out() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        // So it may have half as many connections.
        world.limit_open_files(240);
        let door = open(&world, &grant()).await?;
        let ca = super::bundle(&world).await?;
        let mut idle = Vec::new();
        for number in 0..130 {
            let client = apart(ca.as_bytes(), &door)?;
            ensure!(allowed(&client.gate("label").await.with_context(|| format!("client {number}"))?), "refused");
            idle.push(client);
        }
        ensure!(allowed(&door.gate("label").await?), "the host goes on");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t8_clients_that_connect_and_ask_nothing_keep_nobody_out() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        // So it may have half as many connections.
        world.limit_open_files(240);
        let door = open(&world, &grant()).await?;
        let ca = super::bundle(&world).await?;
        let (connector, address) = (trusting(ca.as_bytes(), None)?, door.client.base().parse::<http::Uri>()?);
        let silent: Vec<_> = (0..140)
            .map(|_| {
                let connecting = connector.clone().oneshot(address.clone());
                tokio::spawn(async move {
                    // Some wait for their handshake until others were given up.
                    let _connected = connecting.await;
                    std::future::pending::<()>().await;
                })
            })
            .collect();
        let taken = async || world.host(async |host| host.open_files()).await;
        eventually(SOON, "all connections to be taken", || async {
            let open = taken().await?;
            ensure!(open >= 120, "{open} files are open");
            Ok(())
        })
        .await?;
        for number in 0..3 {
            ensure!(allowed(&apart(ca.as_bytes(), &door)?.gate("label").await?), "client {number}");
        }
        silent.iter().for_each(tokio::task::JoinHandle::abort);
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_stall_or_do_not_speak_tls_keep_nobody_from_being_answered() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let door = open(&world, &grant()).await?;
        let address = door.client.base().trim_start_matches("https://").to_owned();
        let mut silent = Vec::new();
        for _ in 0..50 {
            silent.push(TcpStream::connect(&address).await?);
        }
        let mut plain = TcpStream::connect(&address).await?;
        plain.write_all(b"POST /mutate/gatekeeper/0 HTTP/1.1\r\nhost: x\r\n\r\n").await?;
        let mut answered = Vec::new();
        // An alert or nothing; never an answer.
        let _ = tokio::time::timeout(Duration::from_secs(15), plain.read_to_end(&mut answered)).await;
        ensure!(!answered.starts_with(b"HTTP/1.1 200"), "{answered:?}");
        ensure!(allowed(&door.gate("label").await?), "the host goes on");
        drop(silent);
        Ok(())
    })
    .await
}
