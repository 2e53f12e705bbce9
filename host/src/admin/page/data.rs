//! What the page reads with a session.

use super::session::refused_without_session;
use crate::admin::AdminState;
use crate::api::ObjectKey;
use crate::controller::{ObjectCursor, ObjectFilter, ObjectQuery, RecordQuery};
use crate::lifecycle::Action;
use crate::logging::recent::lines;
use axum::Json;
use axum::extract::{ConnectInfo, Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use std::net::SocketAddr;
use tokio::sync::Semaphore;

/// Requests that are answered at the same time; each may hold a thread, and the text of a recording. Others wait.
static TURNS: Semaphore = Semaphore::const_new(2);

/// Most log lines.
const LINES: usize = 200;

/// Objects of a page, if the request does not say it.
const OBJECTS: usize = 100;

/// Records of an object that are searched for a correlation id.
const RECORDS: usize = 100;

/// Answers a request of a page with a session, or says that there is nothing.
///
/// * `read` - runs on a thread that may block.
async fn answered(
    state: AdminState,
    peer: SocketAddr,
    headers: &HeaderMap,
    nothing: String,
    read: impl FnOnce(&AdminState) -> Option<Value> + Send + 'static,
) -> Response {
    if let Some(refused) = refused_without_session(&state, "requests for details", peer, headers) {
        return refused;
    }
    let Ok(_turn) = TURNS.acquire().await else { return StatusCode::SERVICE_UNAVAILABLE.into_response() };
    match tokio::task::spawn_blocking(move || read(&state)).await {
        Ok(Some(found)) => Json(found).into_response(),
        Ok(None) => (StatusCode::NOT_FOUND, format!("{}\n", crate::quoted(&nothing, 1024))).into_response(),
        Err(_panic) => (StatusCode::INTERNAL_SERVER_ERROR, "the host cannot answer\n").into_response(),
    }
}

type Peer = ConnectInfo<SocketAddr>;

/// The entry of a plugin in `/plugins`, found by name or file.
pub(super) async fn plugin(
    State(state): State<AdminState>,
    ConnectInfo(peer): Peer,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Response {
    answered(state, peer, &headers, format!("the host has no plugin {name}"), move |state| {
        let all = (state.plugins)();
        let entries = all.get("plugins")?.as_array()?;
        let is = |entry: &&Value, field: &str| entry.get(field).is_some_and(|value| *value == *name);
        let entry = entries
            .iter()
            .find(|entry| is(entry, "name"))
            .or_else(|| entries.iter().find(|entry| is(entry, "file")))?;
        Some(json!({"plugin": entry}))
    })
    .await
}

#[derive(Deserialize)]
pub(super) struct ObjectsAsked {
    #[serde(default)]
    state: ObjectFilter,
    namespace: Option<String>,
    kind: Option<String>,
    #[serde(default)]
    search: String,
    after: Option<String>,
    limit: Option<usize>,
}

pub(super) async fn objects(
    State(state): State<AdminState>,
    ConnectInfo(peer): Peer,
    Path(name): Path<String>,
    headers: HeaderMap,
    Query(asked): Query<ObjectsAsked>,
) -> Response {
    let some = |text: Option<String>| text.filter(|text| !text.is_empty());
    let after = some(asked.after);
    let cursor = after.as_deref().and_then(ObjectCursor::parse);
    if after.is_some() && cursor.is_none() {
        return (StatusCode::BAD_REQUEST, "after is not the text of a page before\n").into_response();
    }
    let query = ObjectQuery {
        state: asked.state,
        namespace: some(asked.namespace),
        kind: some(asked.kind),
        search: asked.search,
        after: cursor,
        limit: asked.limit.unwrap_or(OBJECTS),
    };
    answered(state, peer, &headers, format!("no version of plugin {name} runs"), move |state| {
        (state.page.list_objects)(&name, query)
    })
    .await
}

pub(super) async fn versions(
    State(state): State<AdminState>,
    ConnectInfo(peer): Peer,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Response {
    if let Some(refused) = refused_without_session(&state, "requests for details", peer, &headers) {
        return refused;
    }
    // A host without a folder of caches has none.
    let revisions = (state.act)(Action::History(name.clone())).await.unwrap_or_default();
    answered(state, peer, &headers, format!("the host has no version of plugin {name}"), move |state| {
        let mut revisions: Value = serde_json::from_str(&revisions).unwrap_or_default();
        for revision in revisions.as_array_mut().into_iter().flatten() {
            let config = revision.pointer_mut("/grant/config").and_then(Value::as_object_mut);
            config.into_iter().flat_map(|config| config.values_mut()).for_each(|value| *value = json!("(not shown)"));
        }
        let versions = (state.page.versions)(&name);
        let any = versions.is_some() || revisions.as_array().is_some_and(|all| !all.is_empty());
        any.then(|| json!({"versions": versions, "revisions": revisions}))
    })
    .await
}

#[derive(Deserialize)]
pub(super) struct LogAsked {
    /// `KIND NAMESPACE/NAME`
    object: Option<String>,
}

pub(super) async fn log(
    State(state): State<AdminState>,
    ConnectInfo(peer): Peer,
    Path(name): Path<String>,
    headers: HeaderMap,
    Query(asked): Query<LogAsked>,
) -> Response {
    answered(state, peer, &headers, String::new(), move |_| {
        let (kept, _) = lines().of(&name);
        let wanted = crate::admin::logs::Wanted::of(asked.object);
        let selected = kept.iter().filter(|line| wanted.selects(&name, line));
        let texts: Vec<Value> = selected.filter_map(|line| serde_json::from_str(&line.json).ok()).collect();
        let last: Vec<&Value> = texts.iter().skip(texts.len().saturating_sub(LINES)).collect();
        Some(json!({"lines": last}))
    })
    .await
}

#[derive(Deserialize)]
pub(super) struct ObjectAsked {
    plugin: Option<String>,
    kind: String,
    #[serde(default)]
    namespace: String,
    name: String,
    reconcile: Option<String>,
}

pub(super) async fn object(
    State(state): State<AdminState>,
    ConnectInfo(peer): Peer,
    headers: HeaderMap,
    Query(asked): Query<ObjectAsked>,
) -> Response {
    let ObjectAsked { kind, namespace, name, .. } = asked;
    let key = ObjectKey::new(namespace, name);
    let nothing = format!("no plugin of this host reconciles or reads {kind}, or wrote {key} lately");
    answered(state, peer, &headers, nothing, move |state| (state.explain)(&kind, &key)).await
}

pub(super) async fn states(
    State(state): State<AdminState>,
    ConnectInfo(peer): Peer,
    headers: HeaderMap,
    Query(asked): Query<ObjectAsked>,
) -> Response {
    let ObjectAsked { plugin, kind, namespace, name, reconcile } = asked;
    let query = RecordQuery { plugin, kind, key: ObjectKey::new(namespace, name), last: RECORDS };
    let nothing = format!("there is no such recording of {}", query.key);
    answered(state, peer, &headers, nothing, move |state| {
        let reconcile = reconcile.as_deref().filter(|id| !id.is_empty());
        (state.page.states)(query, reconcile)
    })
    .await
}
