//! `/recordings`: recorded reconciles of an object as cases.

use super::AdminState;
use super::page::refused_without_session;
use crate::api::ObjectKey;
use crate::controller::RecordQuery;
use axum::Json;
use axum::extract::{ConnectInfo, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use serde_json::Value;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::sync::Mutex;

/// Returns the recordings of an object: `{"recordings": [{"name", "case"}]}`, the newest first. Called on a thread that may block.
///
/// # Errors
///
/// A sentence for people: nothing is recorded.
pub type Recordings = Arc<dyn Fn(RecordQuery) -> Result<Value, String> + Send + Sync>;

/// One request at a time: an answer may take as much memory as all recordings.
static TURN: Mutex<()> = Mutex::const_new(());

#[derive(Deserialize)]
pub(super) struct Asked {
    plugin: Option<String>,
    kind: String,
    #[serde(default)]
    namespace: String,
    name: String,
    #[serde(default = "one")]
    last: usize,
}

fn one() -> usize {
    1
}

pub(super) async fn answer(
    State(state): State<AdminState>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    Query(asked): Query<Asked>,
) -> Response {
    if let Some(refused) = refused_without_session(&state, "requests for recordings", peer, &headers) {
        return refused;
    }
    let _turn = TURN.lock().await;
    let Asked { plugin, kind, namespace, name, last } = asked;
    let query = RecordQuery { plugin, kind, key: ObjectKey::new(namespace, name), last };
    match tokio::task::spawn_blocking(move || (state.recordings)(query)).await {
        Ok(Ok(found)) => Json(found).into_response(),
        Ok(Err(why)) => (StatusCode::NOT_FOUND, why + "\n").into_response(),
        Err(_panic) => (StatusCode::INTERNAL_SERVER_ERROR, "the host cannot write the recordings\n").into_response(),
    }
}
