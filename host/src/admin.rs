//! Admin server for probes, Prometheus and people: `/livez`, `/readyz`, `/metrics`, `/plugins`, `/recordings`, `/explain`, and the page at `/`.
//!
//! The server has no authentication and shows no secrets; it should not be reachable from outside the cluster. It accepts actions, and shows
//! objects in recordings, only to this machine (within the Pod), and in a browser only to its own page with a session. So it refuses pages of
//! another origin, and pages whose host name an attacker resolved to this machine (DNS rebinding).

mod browser;
mod explain;
mod listener;
mod liveness;
mod logs;
pub mod page;
mod plan;
mod readiness;
mod recordings;

pub use self::explain::Explain;
pub use self::liveness::{Liveness, Pulse};
pub use self::readiness::{Condition, Readiness};
pub use self::recordings::Recordings;

use axum::extract::{ConnectInfo, Path, Query, RawQuery, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use futures::future::BoxFuture;
use serde::Deserialize;
use std::fmt::{self, Write as _};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::api::ObjectKey;
use crate::lifecycle::{Action, GoBack, WaitingVersion};
use crate::metrics::{Format, Metrics};

const PATHS: [&str; 5] = ["/", "/livez", "/metrics", "/plugins", "/readyz"];

/// The actions that the page may take with a session.
const PAGE_ACTIONS: [&str; 5] = ["abort", "pause", "promote", "reconcile", "resume"];

/// The header that actions require. A page in a browser cannot set it without a preflight request.
pub const ACTION_HEADER: &str = "x-oarlock-action";

/// Returns the content of `/plugins`: the complete state of the plugins, in the caller's format.
pub type Plugins = Arc<dyn Fn() -> serde_json::Value + Send + Sync>;

/// Carries out an action; returns a line for people for success and failure.
pub type Act = Arc<dyn Fn(Action) -> BoxFuture<'static, Result<String, String>> + Send + Sync>;

/// The state behind the admin server.
#[derive(Clone)]
pub struct AdminState {
    /// Content of `/metrics`.
    pub metrics: Metrics,
    /// Decides about `/livez`.
    pub liveness: Liveness,
    /// Decides about `/readyz`.
    pub readiness: Readiness,
    /// Content of `/plugins`. Called on a runtime thread for each request: it must not block.
    pub plugins: Plugins,
    /// Carries out requests to `/plugins/NAME/…`.
    pub act: Act,
    /// Content of `/recordings`.
    pub recordings: Recordings,
    /// Answers `/explain`.
    pub explain: Explain,
    /// What the page shows.
    pub page: page::Page,
}

/// Why the admin server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another process uses the address.
    #[error("the admin address {addr} is in use; stop what listens there or choose another")]
    AddressInUse {
        /// The requested address.
        addr: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The address is unusable for another reason.
    #[error("cannot listen on the admin address {addr}")]
    Bind {
        /// The requested address.
        addr: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
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
/// | `/readyz` | 200, or 503 and one line for each unmet condition; `?verbose` lists all conditions |
/// | `/metrics` | OpenMetrics text for clients that accept it, else Prometheus text |
/// | `/plugins` | JSON |
/// | POST `/plugins/NAME/confirm`, `…/approve?plan=ID`, `…/promote`, `…/abort`, `…/undo`, `…/history`, `…/release-finalizers` | a line of text: 200, or 409 and why not; 403 for other machines and for browsers |
/// | POST `…/promote?digest=SHA256&config=SHA256`, `…/abort?digest=SHA256&config=SHA256` | the same, and 409 if another candidate is rolled out. Without `config`, any configuration is meant |
/// | POST `/plugins/NAME/pause`, `…/resume`, `…/reconcile?kind=KIND&namespace=…&name=…` | as for the other actions; without an object, all objects of the plugin are reconciled |
/// | POST `/plugins/NAME/plan` with a component | JSON, as for the other actions |
/// | GET `/plugins/NAME/logs?follow=true&object=NS/NAME` | the last log lines about a plugin, and those to come; for the clients that may take actions |
/// | `/recordings?kind=KIND&namespace=…&name=…&plugin=…&last=N` | JSON: `recordings`, each with `name` and `case`; 403 for other machines and for browsers |
/// | `/explain?kind=KIND&namespace=…&name=…` | JSON: `plugins`, what each has to do with the object, and `writes`, the reconciles that wrote it; for the clients that may take actions |
/// | `/`, `/page/…` | the page ([`page`]) |
/// | others | 404 and the paths there are |
///
/// A request from this machine with a host name that is not this machine's own gets 403, except for `/livez` and `/readyz`.
///
/// * `stop` - ends responses that follow log lines.
fn router(state: AdminState, stop: &CancellationToken) -> Router {
    Router::new()
        .route("/metrics", get(encode_metrics))
        .route("/plugins", get(async |State(state): State<AdminState>| Json((state.plugins)())))
        .route("/plugins/{name}/plan", plan::route())
        .route("/plugins/{name}/reconcile", post(reconcile))
        .route("/plugins/{name}/logs", logs::route(stop.clone()))
        .route("/plugins/{name}/{action}", post(act))
        .route("/recordings", get(recordings::answer))
        .route("/explain", get(explain::answer))
        .merge(page::router(stop))
        .layer(middleware::from_fn(browser::refuse_rebound))
        .route("/livez", get(livez))
        .route("/readyz", get(readyz))
        .fallback(async || (StatusCode::NOT_FOUND, format!("not found; there is:\n{}\n", PATHS.join("\n"))))
        .with_state(state)
}

/// Listens on `addr`; port 0 chooses a free port, which the listener then reports.
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

/// Serves until `shutdown` is cancelled, then finishes the responses in flight, for at most five seconds.
///
/// A client has ten seconds for the head of a request. There are at most 64 connections; a further one replaces the one that has waited
/// longest for its client.
///
/// * `listener` - from [`bind`].
pub async fn serve(listener: TcpListener, state: AdminState, shutdown: CancellationToken) {
    listener::serve(listener, router(state, &shutdown), shutdown).await;
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
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let refused = if PAGE_ACTIONS.contains(&&*action) {
        page::refused_without_session(&state, "actions", peer, &headers)
    } else {
        refused("actions", peer, &headers)
    };
    if let Some(refused) = refused {
        return refused;
    }
    let seen = seen(&name, query.as_deref().unwrap_or_default());
    let plan = query.as_deref().and_then(|query| query.strip_prefix("plan=")).map(str::to_owned);
    let action = match action.as_str() {
        "confirm" => Action::Confirm(name),
        "approve" => Action::Approve(name, plan),
        "promote" => about(seen, Action::Promote(name)),
        "abort" => about(seen, Action::Abort(name, "aborted by hand".to_owned())),
        "release-finalizers" => Action::ReleaseFinalizers(name),
        "history" => Action::History(name),
        "pause" => Action::Pause(name),
        "resume" => Action::Resume(name),
        "undo" => match revision(query.as_deref()) {
            Ok(to) => Action::GoBack(name, to),
            Err(why) => return (StatusCode::BAD_REQUEST, why + "\n").into_response(),
        },
        _ => return (StatusCode::NOT_FOUND, format!("there is no action {action}\n")).into_response(),
    };
    carry_out(&state, action).await
}

/// An object by its kind as for kubectl, and its name.
#[derive(Deserialize)]
struct ObjectQuery {
    kind: String,
    #[serde(default)]
    namespace: String,
    name: String,
}

impl ObjectQuery {
    fn into_parts(self) -> (String, ObjectKey) {
        (self.kind, ObjectKey::new(self.namespace, self.name))
    }
}

/// Without a query, all objects of the plugin are reconciled.
async fn reconcile(
    State(state): State<AdminState>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let object = match query.filter(|query| !query.is_empty()).map(|_| Query::<ObjectQuery>::try_from_uri(&uri)) {
        None => None,
        Some(Ok(Query(object))) => Some(object.into_parts()),
        Some(Err(error)) => return (StatusCode::BAD_REQUEST, format!("{error}\n")).into_response(),
    };
    if let Some(refused) = page::refused_without_session(&state, "actions", peer, &headers) {
        return refused;
    }
    carry_out(&state, Action::Reconcile(name, object)).await
}

/// Carries out an action of a client that may take it.
async fn carry_out(state: &AdminState, action: Action) -> Response {
    match (state.act)(action).await {
        Ok(done) => (StatusCode::OK, done + "\n").into_response(),
        Err(why) => (StatusCode::CONFLICT, why + "\n").into_response(),
    }
}

/// The answer to another machine and to a web page.
///
/// * `what` - in the plural.
fn refused(what: &str, peer: SocketAddr, headers: &HeaderMap) -> Option<Response> {
    let why = if !peer.ip().to_canonical().is_loopback() {
        format!("{what} are taken from this machine only\n")
    } else if headers.contains_key(header::ORIGIN) {
        format!("{what} are not taken from a web page\n")
    } else if !headers.contains_key(ACTION_HEADER) {
        format!("{what} need the header {ACTION_HEADER}\n")
    } else {
        return None;
    };
    Some((StatusCode::FORBIDDEN, why).into_response())
}

/// The candidate that a person saw, if the query names it.
fn seen(plugin: &str, query: &str) -> Option<WaitingVersion> {
    let text = |wanted: &str| {
        let mut fields = url::form_urlencoded::parse(query.as_bytes());
        fields.find(|(field, _)| field == wanted).map(|(_, text)| text.into_owned())
    };
    Some(WaitingVersion { plugin: plugin.to_owned(), digest: text("digest")?, config: text("config") })
}

/// The action, for no other version than the one that a person saw.
fn about(seen: Option<WaitingVersion>, action: Action) -> Action {
    match seen {
        Some(version) => Action::About(version, Box::new(action)),
        None => action,
    }
}

/// The revision that a query names.
fn revision(query: Option<&str>) -> Result<GoBack, String> {
    match query.filter(|query| !query.is_empty()) {
        None => Ok(GoBack::Last),
        Some(query) => match query.strip_prefix("revision=").and_then(|number| number.parse().ok()) {
            Some(number) => Ok(GoBack::Revision(number)),
            None => Err("the query is not revision=NUMBER".to_owned()),
        },
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
    use std::time::Duration;

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
        served: JoinHandle<()>,
    }

    struct AdminResponse {
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
                        other => Err(format!("{other:?}")),
                    }
                })
            });
            let state = AdminState {
                metrics: metrics.clone(),
                liveness: liveness.clone(),
                readiness: readiness.clone(),
                plugins,
                act,
                explain: Arc::new(|kind, key| {
                    (kind == "Network").then(|| serde_json::json!({"object": key.to_string()}))
                }),
                page: page::Page {
                    sessions: page::Sessions::default(),
                    live: page::Live::default(),
                    list_objects: Arc::new(|plugin, _| {
                        (plugin == "network").then(|| serde_json::json!({"objects": []}))
                    }),
                    versions: Arc::new(|_| None),
                    states: Arc::new(|_, _| None),
                },
                recordings: Arc::new(|query| {
                    Ok(serde_json::json!({"recordings": [{"name": query.key.to_string(), "case": query.kind}]}))
                }),
            };
            let served = tokio::spawn(serve(listener, state.clone(), shutdown.clone()));
            Self { state, addr, liveness, readiness, metrics, shutdown, served }
        }

        async fn request(&self, method: &str, path: &str) -> AdminResponse {
            self.request_with(method, path, "").await
        }

        async fn request_with(&self, method: &str, path: &str, headers: &str) -> AdminResponse {
            let mut stream = TcpStream::connect(self.addr).await.unwrap();
            let request = format!("{method} {path} HTTP/1.1\r\n{headers}connection: close\r\n\r\n");
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut answer = String::new();
            timeout(PATIENCE, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
            let (head, body) = answer.split_once("\r\n\r\n").unwrap();
            let status = head.split(' ').nth(1).unwrap().parse().unwrap();
            AdminResponse { status, head: head.to_lowercase(), body: body.to_owned() }
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
        // As a browser form would send it.
        assert_eq!(server.request("POST", "/plugins/network/confirm").await.status, 403);
        assert_eq!(server.request_with("GET", "/plugins/network/confirm", ours).await.status, 405);
    }

    #[tokio::test]
    async fn only_the_candidate_that_a_person_saw_is_promoted_or_aborted() {
        let server = Server::start().await;
        let said = async |path: &str| {
            let answer = server.request_with("POST", path, "x-oarlock-action: 1\r\n").await;
            assert_eq!(answer.status, 409, "the actions of this server fail");
            answer.body
        };
        for action in ["promote", "abort"] {
            let any = said(&format!("/plugins/network/{action}")).await.to_lowercase();
            assert!(any.starts_with(&format!("{action}(\"network\"")), "{any}");
            for (query, config) in [("", "none"), ("&config=c%2B1", "some(\"c+1\")")] {
                let one = said(&format!("/plugins/network/{action}?digest=sha256%3A33{query}")).await.to_lowercase();
                let version = format!("{{ plugin: \"network\", digest: \"sha256:33\", config: {config} }}");
                assert!(one.starts_with(&format!("about(waitingversion {version}, {action}(\"network\"")), "{one}");
            }
        }
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
            let answer = router(server.state.clone(), &server.shutdown).oneshot(request).await.unwrap();
            assert_eq!(answer.status(), status, "{peer}");
        }
    }

    #[tokio::test]
    async fn t9_recordings_contain_objects_and_stay_on_this_machine() {
        let server = Server::start().await;
        let (path, ours) = ("/recordings?kind=Network&namespace=n&name=a", "x-oarlock-action: 1\r\n");
        let answer = server.request_with("GET", path, ours).await;
        assert_eq!((answer.status, &*answer.body), (200, r#"{"recordings":[{"case":"Network","name":"n/a"}]}"#));
        assert_eq!(server.request("GET", path).await.status, 403);
        assert_eq!(server.request_with("GET", path, &format!("{ours}origin: null\r\n")).await.status, 403);
        assert_eq!(server.request_with("GET", path, &format!("{ours}host: evil.example\r\n")).await.status, 403);
        let incomplete = server.request_with("GET", "/recordings?kind=Network", ours).await;
        assert!(incomplete.status == 400 && incomplete.body.contains("name"), "{}", incomplete.body);
    }

    #[tokio::test]
    async fn t9_a_session_is_for_this_machine_and_for_the_page_of_this_server() {
        use tower::ServiceExt as _;
        let server = Server::start().await;
        let opened = server.request_with("POST", "/page/session", "x-oarlock-action: 1\r\n").await;
        let answer: serde_json::Value = serde_json::from_str(&opened.body).unwrap();
        let bearer = format!("Bearer {}", answer["token"].as_str().unwrap());
        assert_eq!(answer["seconds"], 12 * 3600);
        for (peer, origin, token, status) in [
            ("127.0.0.1:5000", None, &*bearer, 200),
            ("[::1]:5000", Some("http://localhost:9797"), &bearer, 200),
            ("[::ffff:127.0.0.1]:5000", None, &bearer, 200),
            ("192.0.2.7:5000", None, &bearer, 403),
            ("[::ffff:192.0.2.7]:5000", Some("http://localhost:9797"), &bearer, 403),
            ("127.0.0.1:5000", Some("http://localhost:9798"), &bearer, 403),
            ("127.0.0.1:5000", None, "Bearer other", 401),
            ("127.0.0.1:5000", None, "Basic b3RoZXI6", 401),
        ] {
            let mut request = axum::http::Request::get("/page/plugins/network/objects")
                .header("authorization", token)
                .header("host", "localhost:9797")
                .extension(ConnectInfo(peer.parse::<SocketAddr>().unwrap()));
            if let Some(origin) = origin {
                request = request.header("origin", origin);
            }
            let request = request.body(axum::body::Body::empty()).unwrap();
            let answer = router(server.state.clone(), &server.shutdown).oneshot(request).await.unwrap();
            assert_eq!(answer.status(), status, "{peer} {origin:?} {token}");
        }
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(12 * 3600)).await;
        tokio::time::resume();
        let late =
            server.request_with("GET", "/page/plugins/network/objects", &format!("authorization: {bearer}\r\n")).await;
        assert_eq!((late.status, late.body.contains("run oarlock ui again")), (401, true));
    }

    #[tokio::test]
    async fn a_page_that_reads_nothing_is_cut_off_and_makes_room() {
        // More each second than a client's buffers take in a few.
        let turn = std::sync::atomic::AtomicU64::new(0);
        let server = Server::start_with(Arc::new(move || {
            let version = format!("{:0>200}", turn.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
            let row =
                |row: usize| serde_json::json!({"name": format!("p{row}"), "version": version, "digest": version});
            serde_json::json!({"plugins": (0..4000).map(row).collect::<Vec<_>>()})
        }))
        .await;
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        let mut stalled = socket.connect(server.addr).await.unwrap();
        stalled.write_all(b"GET /page/events HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
        let mut first = [0; 15];
        timeout(PATIENCE, stalled.read_exact(&mut first)).await.unwrap().unwrap();
        assert_eq!(&first, b"HTTP/1.1 200 OK");
        assert_eq!(server.state.page.live.clients(), 1);
        // The clock runs ahead whenever everything waits, as it does for this client.
        tokio::time::pause();
        let gone = async {
            while server.state.page.live.clients() > 0 {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        };
        timeout(Duration::from_secs(3600), gone).await.expect("it makes room");
        tokio::time::resume();
        // What the buffers hold comes, and then the end.
        let mut part = vec![0; 1 << 20];
        let ended = async { while matches!(stalled.read(&mut part).await, Ok(1..)) {} };
        timeout(PATIENCE, ended).await.expect("it is cut off");
    }

    #[tokio::test]
    async fn an_unknown_path_is_answered_with_the_known_ones() {
        let server = Server::start().await;
        let (status, body) = server.get("/nowhere").await;
        assert_eq!((status, &*body), (404, "not found; there is:\n/\n/livez\n/metrics\n/plugins\n/readyz\n"));
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
        // Reserved for documentation, so no machine has this address.
        let addr = SocketAddr::from(([192, 0, 2, 1], 0));
        let error = bind(addr).await.unwrap_err();
        assert_eq!(error.to_string(), "cannot listen on the admin address 192.0.2.1:0");
    }

    #[tokio::test]
    async fn shutdown_ends_the_server_though_a_client_keeps_its_connection() {
        let server = Server::start().await;
        let mut idle = TcpStream::connect(server.addr).await.unwrap();
        idle.write_all(b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
        let mut first = [0; 15];
        timeout(PATIENCE, idle.read_exact(&mut first)).await.unwrap().unwrap();
        assert_eq!(&first, b"HTTP/1.1 200 OK");
        server.shutdown.cancel();
        timeout(PATIENCE, server.served).await.unwrap().unwrap();
        assert!(TcpStream::connect(server.addr).await.is_err(), "the port is free again");
    }
    #[tokio::test]
    async fn shutdown_does_not_wait_for_a_client_that_does_not_read_its_answer() {
        // More than the buffers of a connection can hold.
        let server = Server::start_with(Arc::new(|| "x".repeat(16 << 20).into())).await;
        let mut stuck = TcpStream::connect(server.addr).await.unwrap();
        stuck.write_all(b"GET /plugins HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
        let mut first = [0; 15];
        timeout(PATIENCE, stuck.read_exact(&mut first)).await.unwrap().unwrap();
        tokio::time::pause();
        server.shutdown.cancel();
        timeout(PATIENCE, server.served).await.expect("the server ends").unwrap();
    }

    /// An attacker's host name that resolves to 127.0.0.1 makes its page same-origin: only the `Host` header distinguishes it.
    #[tokio::test]
    async fn t9_a_page_under_a_name_that_was_made_to_mean_this_machine_neither_reads_nor_acts() {
        let server = Server::start().await;
        let ours = "x-oarlock-action: 1\r\n";
        for (host, status) in [
            ("evil.example:9797", 403),
            ("127.0.0.1.evil.example", 403),
            ("localhost.evil.example", 403),
            ("", 403),
            ("localhost:9797", 200),
            ("LOCALHOST", 200),
            ("127.0.0.1:9797", 200),
            ("[::1]:9797", 200),
            ("10.0.0.7:9797", 200),
        ] {
            let head = format!("host: {host}\r\n");
            assert_eq!(server.request_with("GET", "/plugins", &head).await.status, status, "{host}");
            assert_eq!(server.request_with("GET", "/metrics", &head).await.status, status, "{host}");
            let acted = server.request_with("POST", "/plugins/network/confirm", &format!("{head}{ours}")).await;
            assert_eq!(acted.status, status, "{host}");
            // Probes reveal nothing, and a kubelet may use any name.
            assert_eq!(server.request_with("GET", "/livez", &head).await.status, 200, "{host}");
        }
        let two = format!("host: localhost\r\nhost: evil.example\r\n{ours}");
        assert_ne!(server.request_with("POST", "/plugins/network/confirm", &two).await.status, 200);
    }

    #[tokio::test]
    async fn t9_actions_are_not_taken_from_a_web_page_of_whatever_origin() {
        let server = Server::start().await;
        for origin in ["http://evil.example", "null", "http://localhost:9797"] {
            let head = format!("host: localhost:9797\r\norigin: {origin}\r\nx-oarlock-action: 1\r\n");
            let answer = server.request_with("POST", "/plugins/network/confirm", &head).await;
            assert_eq!((answer.status, &*answer.body), (403, "actions are not taken from a web page\n"), "{origin}");
        }
    }

    #[tokio::test]
    async fn t8_clients_that_send_half_a_request_do_not_keep_probes_from_being_answered() {
        let server = Server::start().await;
        let mut stalled = Vec::new();
        for _ in 0..listener::CONNECTIONS + 100 {
            let mut stream = TcpStream::connect(server.addr).await.unwrap();
            // The first connections are closed while others arrive.
            let _ = stream.write_all(b"GET /plugins HTTP/1.1\r\nhost: local").await;
            stalled.push(stream);
        }
        // Before the stalled ones are cut off for their own silence.
        let live = timeout(listener::HEAD / 2, server.get("/livez")).await;
        assert_eq!(live, Ok((200, "ok\n".to_owned())));
        // The connections that waited longest made room.
        let mut first = stalled.swap_remove(0);
        let ended = timeout(PATIENCE, first.read(&mut [0; 1])).await.expect("it is cut off");
        assert!(matches!(ended, Ok(0) | Err(_)), "{ended:?}");
    }

    #[tokio::test]
    async fn t8_clients_that_do_not_read_their_answers_make_room() {
        let server = Server::start_with(Arc::new(|| "x".repeat(2 << 20).into())).await;
        let mut stalled = Vec::new();
        for _ in 0..listener::CONNECTIONS + 10 {
            let socket = tokio::net::TcpSocket::new_v4().unwrap();
            socket.set_recv_buffer_size(4096).unwrap();
            let mut stream = socket.connect(server.addr).await.unwrap();
            let _ = stream.write_all(b"GET /plugins HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
            stalled.push(stream);
        }
        // Before the stalled ones are cut off for their own silence.
        let live = timeout(listener::HEAD / 2, server.get("/livez")).await;
        assert_eq!(live, Ok((200, "ok\n".to_owned())));
    }

    #[tokio::test]
    async fn t8_a_client_has_ten_seconds_for_a_head() {
        let server = Server::start().await;
        let mut stream = TcpStream::connect(server.addr).await.unwrap();
        stream.write_all(b"GET /livez HTTP/1.1\r\n").await.unwrap();
        // Requests that were sent are read first.
        assert_eq!(server.get("/livez").await.0, 200);
        tokio::time::pause();
        let mut answer = String::new();
        timeout(PATIENCE, stream.read_to_string(&mut answer)).await.expect("it ends").unwrap();
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408"), "{answer}");
    }
}
