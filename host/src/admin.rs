//! The port for probes, Prometheus and people: `/livez`, `/readyz`, `/metrics`, `/plugins`.
//!
//! It has no authentication and shows no object and no secret; it is not meant to be reachable from outside the cluster. What
//! changes something is taken from this machine only (from within the Pod), and not from a browser.

mod liveness;
mod readiness;

pub use self::liveness::{Liveness, Pulse};
pub use self::readiness::{Condition, Readiness};

use std::fmt::{self, Write as _};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{ConnectInfo, Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use futures::future::BoxFuture;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::lifecycle::Action;
use crate::metrics::{Format, Metrics};

/// How long a shutdown waits for answers that are under way.
const DRAIN: Duration = Duration::from_secs(5);

const PATHS: [&str; 4] = ["/livez", "/metrics", "/plugins", "/readyz"];

/// The header that actions must carry. A page in a browser cannot set it without being asked first.
pub const ACTION_HEADER: &str = "x-oarlock-action";

/// Answers `/plugins`: everything there is to know about the plugins, in a form of the caller's choice.
pub type Plugins = Arc<dyn Fn() -> serde_json::Value + Send + Sync>;

/// Carries out an action; answers with a line for people, either way.
pub type Act = Arc<dyn Fn(Action) -> BoxFuture<'static, Result<String, String>> + Send + Sync>;

/// What the admin server shows.
#[derive(Clone)]
pub struct AdminState {
    /// Shown at `/metrics`.
    pub metrics: Metrics,
    /// Decides `/livez`.
    pub liveness: Liveness,
    /// Decides `/readyz`.
    pub readiness: Readiness,
    /// Shown at `/plugins`. Called on a runtime thread for each request: it must not block.
    pub plugins: Plugins,
    /// Carries out what is posted to `/plugins/NAME/…`.
    pub act: Act,
}

/// Why the admin server cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another process listens there.
    #[error("the admin address {addr} is in use; stop what listens there or choose another")]
    AddressInUse {
        /// The address asked for.
        addr: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The address cannot be listened on for another reason.
    #[error("cannot listen on the admin address {addr}")]
    Bind {
        /// The address asked for.
        addr: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The listener failed while it was serving.
    #[error("the admin server failed")]
    Serve(#[source] io::Error),
}

impl fmt::Debug for AdminState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdminState")
            .field("metrics", &self.metrics)
            .field("liveness", &self.liveness)
            .field("readiness", &self.readiness)
            .finish_non_exhaustive()
    }
}

/// The admin server without a socket.
///
/// | path | answer |
/// | --- | --- |
/// | `/livez` | 200, or 503 and one line for each loop that is stuck; `?verbose` lists all loops |
/// | `/readyz` | 200, or 503 and one line for each condition that is waited for; `?verbose` lists all conditions |
/// | `/metrics` | OpenMetrics text for clients that accept it, else Prometheus text |
/// | `/plugins` | JSON |
/// | POST `/plugins/NAME/confirm`, `/plugins/NAME/release-finalizers` | a line of text: 200, or 409 and why not; 403 for who is not on this machine |
/// | others | 404 and the paths there are |
pub fn router(state: AdminState) -> Router {
    Router::new()
        .route("/livez", get(livez))
        .route("/readyz", get(readyz))
        .route("/metrics", get(encode_metrics))
        .route("/plugins", get(async |State(state): State<AdminState>| Json((state.plugins)())))
        .route("/plugins/{name}/{action}", post(act))
        .fallback(async || (StatusCode::NOT_FOUND, format!("not found; there is:\n{}\n", PATHS.join("\n"))))
        .with_state(state)
}

/// Listens on `addr`; port 0 is any free port, which the listener then knows.
///
/// # Errors
///
/// [`Error::AddressInUse`] and [`Error::Bind`].
pub async fn bind(addr: SocketAddr) -> Result<TcpListener, Error> {
    TcpListener::bind(addr).await.map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => Error::AddressInUse { addr, source },
        _ => Error::Bind { addr, source },
    })
}

/// Serves until `shutdown` is cancelled, then finishes the answers that are under way, for at most five seconds.
///
/// * `listener` - from [`bind`].
///
/// # Errors
///
/// [`Error::Serve`] when the listener fails.
pub async fn serve(listener: TcpListener, state: AdminState, shutdown: CancellationToken) -> Result<(), Error> {
    let service = router(state).into_make_service_with_connect_info::<SocketAddr>();
    let server = axum::serve(listener, service).with_graceful_shutdown(shutdown.clone().cancelled_owned());
    let overdue = async {
        shutdown.cancelled().await;
        tokio::time::sleep(DRAIN).await;
    };
    tokio::select! {
        served = server.into_future() => served.map_err(Error::Serve),
        // A client does not read its answer; the process need not wait for it.
        () = overdue => Ok(()),
    }
}

async fn livez(State(state): State<AdminState>, RawQuery(query): RawQuery) -> Response {
    let loops = state.liveness.loops();
    let alive = loops.iter().all(|(_, _, stuck)| stuck.is_none());
    let verbose = is_verbose(query);
    let mut body = String::new();
    for (name, rounds, stuck) in &loops {
        // Writing to a string cannot fail.
        let _ = match stuck {
            Some(silent) => writeln!(body, "stuck: {name} has not come round for {} s", silent.as_secs()),
            None if verbose => writeln!(body, "[+] {name}: round {rounds}"),
            None => Ok(()),
        };
    }
    if alive {
        body.push_str("ok\n");
    }
    let status = if alive { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, body).into_response()
}

async fn readyz(State(state): State<AdminState>, RawQuery(query): RawQuery) -> Response {
    let conditions = state.readiness.conditions();
    let ready = conditions.iter().all(|(_, waiting)| waiting.is_none());
    let verbose = is_verbose(query);
    let mut body = String::new();
    for (name, waiting) in &conditions {
        // Writing to a string cannot fail.
        let _ = match waiting {
            Some(reason) if verbose => writeln!(body, "[-] {name}: {reason}"),
            Some(reason) => writeln!(body, "waiting for {name}: {reason}"),
            None if verbose => writeln!(body, "[+] {name}"),
            None => Ok(()),
        };
    }
    if ready {
        body.push_str("ok\n");
    }
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, body).into_response()
}

fn is_verbose(query: Option<String>) -> bool {
    query.is_some_and(|query| {
        query.split('&').any(|part| part == "verbose" || part.starts_with("verbose=") && part != "verbose=false")
    })
}

async fn act(
    State(state): State<AdminState>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    Path((name, action)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    let action = match action.as_str() {
        "confirm" => Action::Confirm(name),
        "release-finalizers" => Action::ReleaseFinalizers(name),
        _ => return (StatusCode::NOT_FOUND, format!("there is no action {action}\n")).into_response(),
    };
    if !peer.ip().to_canonical().is_loopback() {
        return (StatusCode::FORBIDDEN, "actions are taken from this machine only\n").into_response();
    }
    if !headers.contains_key(ACTION_HEADER) {
        return (StatusCode::FORBIDDEN, format!("actions need the header {ACTION_HEADER}\n")).into_response();
    }
    match (state.act)(action).await {
        Ok(done) => (StatusCode::OK, done + "\n").into_response(),
        Err(why) => (StatusCode::CONFLICT, why + "\n").into_response(),
    }
}

async fn encode_metrics(State(state): State<AdminState>, headers: HeaderMap) -> Response {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let format = Format::accepted(accept);
    match state.metrics.encode(format) {
        Ok(text) => ([(header::CONTENT_TYPE, format.content_type())], text).into_response(),
        Err(error) => {
            (StatusCode::INTERNAL_SERVER_ERROR, format!("cannot encode the metrics: {error}\n")).into_response()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;
    use tokio::task::JoinHandle;
    use tokio::time::timeout;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(20);

    struct Server {
        state: AdminState,
        addr: SocketAddr,
        liveness: Liveness,
        readiness: Readiness,
        metrics: Metrics,
        shutdown: CancellationToken,
        served: JoinHandle<Result<(), Error>>,
    }

    struct Answer {
        status: u16,
        head: String,
        body: String,
    }

    impl Server {
        async fn start() -> Self {
            Self::start_with(Arc::new(|| serde_json::json!([{ "name": "network", "state": "active" }]))).await
        }

        async fn start_with(plugins: Plugins) -> Self {
            let listener = bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
            let (addr, shutdown) = (listener.local_addr().unwrap(), CancellationToken::new());
            let (liveness, readiness, metrics) = (Liveness::default(), Readiness::default(), Metrics::new());
            let act: Act = Arc::new(|action| {
                Box::pin(async move {
                    match action {
                        Action::Confirm(name) => Ok(format!("{name} confirmed")),
                        Action::ReleaseFinalizers(name) => Err(format!("{name} is busy")),
                    }
                })
            });
            let state = AdminState {
                metrics: metrics.clone(),
                liveness: liveness.clone(),
                readiness: readiness.clone(),
                plugins,
                act,
            };
            let served = tokio::spawn(serve(listener, state.clone(), shutdown.clone()));
            Self { state, addr, liveness, readiness, metrics, shutdown, served }
        }

        async fn request(&self, method: &str, path: &str) -> Answer {
            self.request_with(method, path, "").await
        }

        async fn request_with(&self, method: &str, path: &str, headers: &str) -> Answer {
            let mut stream = TcpStream::connect(self.addr).await.unwrap();
            let request = format!("{method} {path} HTTP/1.1\r\nhost: admin\r\n{headers}connection: close\r\n\r\n");
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut answer = String::new();
            timeout(PATIENCE, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
            let (head, body) = answer.split_once("\r\n\r\n").unwrap();
            let status = head.split(' ').nth(1).unwrap().parse().unwrap();
            Answer { status, head: head.to_lowercase(), body: body.to_owned() }
        }

        async fn get(&self, path: &str) -> (u16, String) {
            let answer = self.request("GET", path).await;
            (answer.status, answer.body)
        }
    }

    #[tokio::test]
    async fn livez_answers_also_when_not_ready() {
        let server = Server::start().await;
        let _caches = server.readiness.condition("caches", "not synced");
        assert_eq!(server.get("/livez").await, (200, "ok\n".to_owned()));
    }

    #[tokio::test]
    async fn livez_tells_a_loop_that_is_stuck_from_one_that_ended() {
        let server = Server::start().await;
        let (first, second) = (server.liveness.watch("lifecycle"), server.liveness.watch("other"));
        first.beat();
        let both = "[+] lifecycle: round 2\n[+] other: round 1\nok\n".to_owned();
        assert_eq!(server.get("/livez?verbose").await, (200, both));
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(31)).await;
        tokio::time::resume();
        second.beat();
        let stuck = "stuck: lifecycle has not come round for 31 s\n".to_owned();
        assert_eq!(server.get("/livez").await, (503, stuck));
        first.beat();
        assert_eq!(server.get("/livez").await, (200, "ok\n".to_owned()));
        drop(first);
        assert_eq!(server.get("/livez?verbose").await, (200, "[+] other: round 2\nok\n".to_owned()));
    }

    #[tokio::test]
    async fn readyz_lists_what_it_waits_for_and_turns_ready_with_the_last_condition() {
        let server = Server::start().await;
        let caches = server.readiness.condition("caches", "networks not listed yet");
        let plugins = server.readiness.condition("plugins", "2 of 3 compiled");
        let both = "waiting for caches: networks not listed yet\nwaiting for plugins: 2 of 3 compiled\n";
        assert_eq!(server.get("/readyz").await, (503, both.to_owned()));
        caches.met();
        assert_eq!(server.get("/readyz").await, (503, "waiting for plugins: 2 of 3 compiled\n".to_owned()));
        let verbose = "[+] caches\n[-] plugins: 2 of 3 compiled\n";
        assert_eq!(server.get("/readyz?verbose").await, (503, verbose.to_owned()));
        plugins.met();
        assert_eq!(server.get("/readyz").await, (200, "ok\n".to_owned()));
        assert_eq!(server.get("/readyz?verbose=true").await, (200, "[+] caches\n[+] plugins\nok\n".to_owned()));
        caches.waiting("the watch is down");
        assert_eq!(server.get("/readyz").await, (503, "waiting for caches: the watch is down\n".to_owned()));
        caches.remove();
        assert_eq!(server.get("/readyz").await.0, 200);
    }

    #[tokio::test]
    async fn metrics_are_served_in_the_format_they_claim() {
        let server = Server::start().await;
        let _queue = server.metrics.queue("network");
        let openmetrics = "application/openmetrics-text; version=1.0.0";
        for (accept, format) in
            [(format!("accept: {openmetrics}\r\n"), openmetrics), (String::new(), "text/plain; version=0.0.4")]
        {
            let answer = server.request_with("GET", "/metrics", &accept).await;
            assert_eq!(answer.status, 200);
            assert!(answer.head.contains(&format!("content-type: {format}")), "{}", answer.head);
            assert!(answer.body.contains("workqueue_depth{name=\"network\"} 0\n"), "{}", answer.body);
            assert_eq!(answer.body.ends_with("# EOF\n"), format == openmetrics);
        }
    }

    #[tokio::test]
    async fn plugins_are_served_as_json() {
        let server = Server::start().await;
        let answer = server.request("GET", "/plugins").await;
        assert!(answer.head.contains("content-type: application/json"), "{}", answer.head);
        assert_eq!((answer.status, &*answer.body), (200, r#"[{"name":"network","state":"active"}]"#));
    }

    #[tokio::test]
    async fn actions_are_carried_out_for_those_who_say_so() {
        let server = Server::start().await;
        let ours = "x-oarlock-action: 1\r\n";
        let confirmed = server.request_with("POST", "/plugins/network/confirm", ours).await;
        assert_eq!((confirmed.status, &*confirmed.body), (200, "network confirmed\n"));
        let refused = server.request_with("POST", "/plugins/network/release-finalizers", ours).await;
        assert_eq!((refused.status, &*refused.body), (409, "network is busy\n"));
        assert_eq!(server.request_with("POST", "/plugins/network/explode", ours).await.status, 404);
        // As a form in a browser would send it.
        assert_eq!(server.request("POST", "/plugins/network/confirm").await.status, 403);
        assert_eq!(server.request_with("GET", "/plugins/network/confirm", ours).await.status, 405);
    }

    #[tokio::test]
    async fn actions_from_another_machine_are_refused() {
        use tower::ServiceExt as _;
        let server = Server::start().await;
        for (peer, status) in [("192.0.2.7:5000", 403), ("[::ffff:192.0.2.7]:5000", 403), ("[::1]:5000", 200)] {
            let peer: SocketAddr = peer.parse().unwrap();
            let request = axum::http::Request::post("/plugins/network/confirm")
                .header(ACTION_HEADER, "1")
                .extension(ConnectInfo(peer))
                .body(axum::body::Body::empty())
                .unwrap();
            let answer = router(server.state.clone()).oneshot(request).await.unwrap();
            assert_eq!(answer.status(), status, "{peer}");
        }
    }

    #[tokio::test]
    async fn an_unknown_path_is_answered_with_the_known_ones() {
        let server = Server::start().await;
        let (status, body) = server.get("/").await;
        assert_eq!((status, &*body), (404, "not found; there is:\n/livez\n/metrics\n/plugins\n/readyz\n"));
        for path in PATHS {
            assert_eq!(server.get(path).await.0, 200, "{path}");
        }
        assert_eq!(server.request("POST", "/plugins").await.status, 405);
    }

    #[tokio::test]
    async fn an_address_in_use_is_named_in_the_error() {
        let taken = bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
        let addr = taken.local_addr().unwrap();
        let error = bind(addr).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("the admin address {addr} is in use; stop what listens there or choose another")
        );
        assert!(error.source().is_some());
    }

    #[tokio::test]
    async fn an_address_that_is_not_ours_is_named_in_the_error() {
        // Reserved for documentation, so no machine has it.
        let addr = SocketAddr::from(([192, 0, 2, 1], 0));
        let error = bind(addr).await.unwrap_err();
        assert_eq!(error.to_string(), "cannot listen on the admin address 192.0.2.1:0");
    }

    #[tokio::test]
    async fn shutdown_ends_the_server_though_a_client_keeps_its_connection() {
        let server = Server::start().await;
        let mut idle = TcpStream::connect(server.addr).await.unwrap();
        idle.write_all(b"GET /livez HTTP/1.1\r\nhost: admin\r\n\r\n").await.unwrap();
        let mut first = [0; 15];
        timeout(PATIENCE, idle.read_exact(&mut first)).await.unwrap().unwrap();
        assert_eq!(&first, b"HTTP/1.1 200 OK");
        server.shutdown.cancel();
        timeout(PATIENCE, server.served).await.unwrap().unwrap().unwrap();
        assert!(TcpStream::connect(server.addr).await.is_err(), "the port is free again");
    }
    #[tokio::test]
    async fn shutdown_does_not_wait_for_a_client_that_does_not_read_its_answer() {
        // More than the buffers of a connection hold.
        let server = Server::start_with(Arc::new(|| "x".repeat(16 << 20).into())).await;
        let mut stuck = TcpStream::connect(server.addr).await.unwrap();
        stuck.write_all(b"GET /plugins HTTP/1.1\r\nhost: admin\r\n\r\n").await.unwrap();
        let mut first = [0; 15];
        timeout(PATIENCE, stuck.read_exact(&mut first)).await.unwrap().unwrap();
        tokio::time::pause();
        server.shutdown.cancel();
        timeout(PATIENCE, server.served).await.expect("the server ends").unwrap().unwrap();
    }
}
