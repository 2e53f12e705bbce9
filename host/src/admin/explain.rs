//! `/explain`: why an object is as it is.

use super::page::refused_without_session;
use super::{AdminState, ObjectQuery};
use crate::api::ObjectKey;
use axum::Json;
use axum::extract::{ConnectInfo, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde_json::Value;
use std::net::SocketAddr;
use std::sync::Arc;

/// What the plugins have to do with an object: by its kind as for kubectl, and its name. None: nothing. Called on a thread that may block.
pub type Explain = Arc<dyn Fn(&str, &ObjectKey) -> Option<Value> + Send + Sync>;

/// Reads of plugins may name anything, so the answer is for this machine only, as actions are.
pub(super) async fn answer(
    State(state): State<AdminState>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    Query(object): Query<ObjectQuery>,
) -> Response {
    if let Some(refused) = refused_without_session(&state, "requests to explain an object", peer, &headers) {
        return refused;
    }
    let (kind, key) = object.into_parts();
    let named = kind.trim_end_matches('.');
    let nothing = format!(
        "no plugin of this host reconciles or reads {named}, or wrote {key} lately; oarlock plugins lists the files that failed\n"
    );
    match tokio::task::spawn_blocking(move || (state.explain)(&kind, &key)).await {
        Ok(Some(found)) => Json(found).into_response(),
        Ok(None) => (StatusCode::NOT_FOUND, nothing).into_response(),
        Err(_panic) => (StatusCode::INTERNAL_SERVER_ERROR, "the host cannot explain the object\n").into_response(),
    }
}
