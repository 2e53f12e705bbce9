//! HTTP API of the fault rules: `/_oarlock/faults`.
//!
//! No path of Kubernetes begins with an underscore. Changes need the header `X-Oarlock-Faults`, which no web page can send to another
//! origin; RBAC applies as to any non-resource path.

use http::StatusCode;
use serde_json::json;

use super::{Fault, Faults, Rules};
use crate::{
    http::{request::Request, response::Response},
    model::status::{ApiError, Result},
};

/// The path of all rules; each rule is below it.
const PATH: &str = "/_oarlock/faults";
/// The header that changes need, with any value.
pub(crate) const HEADER: &str = "x-oarlock-faults";

/// The rest of a path below the rules: an id, or empty; `None` for other paths.
pub(crate) fn rest(path: &str) -> Option<&str> {
    let rest = path.strip_prefix(PATH)?;
    if rest.is_empty() { Some("") } else { rest.strip_prefix('/') }
}

/// Answers a request about the rules; `shown`: with the header.
pub(crate) fn answer(faults: &Faults<'_>, call: &Request, id: &str, shown: bool) -> Result<Response> {
    let changes = matches!(call.method.as_str(), "POST" | "DELETE");
    if changes && !shown {
        return Err(ApiError::forbidden("", "", "", &format!("changing fault rules takes the header {HEADER}")));
    }
    match (call.method.as_str(), id) {
        ("GET", "") => Ok(Response::json(&json!({"rules": faults.rules()}))),
        ("GET", id) => match faults.rules().into_iter().find(|r| r.rule.id == id) {
            Some(report) => Ok(Response::json(&json!(report))),
            None => Err(ApiError::not_found("", "faults", id)),
        },
        ("POST", "") => add(faults, call),
        ("DELETE", "") => {
            faults.clear();
            Ok(Response::json(&json!({"rules": []})))
        }
        ("DELETE", id) if faults.remove(id) => Ok(Response::json(&json!({"rules": faults.rules()}))),
        ("DELETE", id) => Err(ApiError::not_found("", "faults", id)),
        _ => Err(ApiError::method_not_allowed()),
    }
}

fn add(faults: &Faults<'_>, call: &Request) -> Result<Response> {
    let refused = |error: crate::model::error::Error| ApiError::bad_request(error.to_string());
    let rules = Rules::from_bytes(&call.body).map_err(refused)?;
    let kills = rules.iter().any(|r| matches!(r.fault, Fault::Crash { kill: Some(_) }));
    if kills && !faults.state.may_kill {
        let why = "rules that kill processes are taken over HTTP only by a server that was started to allow it \
                   (--faults-may-kill)";
        return Err(ApiError::forbidden("", "", "", why));
    }
    let ids = faults.add(rules).map_err(refused)?;
    Ok(Response::with(StatusCode::CREATED, &json!({"ids": ids})))
}
