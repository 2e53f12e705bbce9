//! The action `plan`: compares a component with the version of a plugin that runs.

use super::{AdminState, carry_out, refused};
use crate::lifecycle::{Action, PreviewRequest};
use crate::oci::LAYER_BYTES;
use axum::extract::{ConnectInfo, Path, RawQuery, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, post};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// Deadline for the component.
const UPLOAD: Duration = Duration::from_secs(60);

/// The time limit of the comparisons without another one, and the longest.
const LIMIT: Duration = Duration::from_secs(300);
const LONGEST: u64 = 3600;

/// The route: one plan at a time, because each holds a component and compares all objects.
pub(super) fn route() -> MethodRouter<AdminState> {
    let one = Arc::new(Semaphore::new(1));
    post(
        async move |State(state): State<AdminState>,
                    peer: ConnectInfo<SocketAddr>,
                    Path(name): Path<String>,
                    RawQuery(query),
                    request: Request| {
            let ConnectInfo(peer) = peer;
            let (parts, body) = request.into_parts();
            if let Some(refused) = refused("actions", peer, &parts.headers) {
                return refused;
            }
            let mut wanted = match wanted(query.as_deref().unwrap_or_default()) {
                Ok(wanted) => wanted,
                Err(why) => return told(StatusCode::BAD_REQUEST, &why),
            };
            let Ok(_one) = one.try_acquire() else {
                return told(StatusCode::CONFLICT, "the host makes another plan: try again later");
            };
            let most = usize::try_from(LAYER_BYTES).unwrap_or(usize::MAX);
            let wasm = match tokio::time::timeout(UPLOAD, axum::body::to_bytes(body, most)).await {
                Ok(Ok(wasm)) => wasm,
                Ok(Err(error)) => {
                    let why = format!("the component, of at most {LAYER_BYTES} bytes, did not come: {error}");
                    return told(StatusCode::PAYLOAD_TOO_LARGE, &why);
                }
                Err(_) => return told(StatusCode::REQUEST_TIMEOUT, "the component did not come in time"),
            };
            wanted.wasm = Some(wasm).filter(|wasm| !wasm.is_empty());
            carry_out(&state, Action::Plan(name, Box::new(wanted))).await
        },
    )
}

fn told(status: StatusCode, why: &str) -> Response {
    (status, format!("{why}\n")).into_response()
}

/// Reads the query: `config` (a JSON object of texts), `namespace`, `kind` (repeatable), `selector`, `seconds`.
fn wanted(query: &str) -> Result<PreviewRequest, String> {
    let mut wanted = PreviewRequest { limit: LIMIT, ..PreviewRequest::default() };
    for (field, value) in url::form_urlencoded::parse(query.as_bytes()) {
        match &*field {
            "config" => {
                let config = serde_json::from_str(&value);
                wanted.config = Some(config.map_err(|error| format!("config is no JSON object of texts: {error}"))?);
            }
            "namespace" => wanted.namespace = Some(value.into_owned()),
            "kind" => wanted.kinds.push(value.into_owned()),
            "selector" => wanted.selector = Some(value.into_owned()),
            "seconds" => {
                let seconds = value.parse().ok().filter(|seconds| (1..=LONGEST).contains(seconds));
                let seconds = seconds.ok_or_else(|| format!("seconds is not a number from 1 to {LONGEST}"))?;
                wanted.limit = Duration::from_secs(seconds);
            }
            other => {
                let other = crate::shorten(other, 100);
                return Err(format!("the query has {other:?}; it may have config, namespace, kind, selector, seconds"));
            }
        }
    }
    Ok(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_has_known_fields_with_values_in_their_limits() {
        let all = wanted("config=%7B%22a%22%3A%22b%22%7D&namespace=n&kind=A&kind=b&selector=x%3Dy&seconds=7").unwrap();
        assert_eq!(all.config.unwrap().into_iter().collect::<Vec<_>>(), [("a".to_owned(), "b".to_owned())]);
        assert_eq!(
            (all.namespace.as_deref(), all.kinds.join(" "), all.limit.as_secs()),
            (Some("n"), "A b".to_owned(), 7)
        );
        assert_eq!(all.selector.as_deref(), Some("x=y"));
        for bad in ["config=7", "config=%7B%22a%22%3A1%7D", "seconds=0", "seconds=3601", "seconds=x", "force=1"] {
            assert!(wanted(bad).is_err(), "{bad}");
        }
    }
}
