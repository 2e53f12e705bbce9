//! The emulator's own endpoints, for tests that reach it over HTTP only.
//!
//! `GET|PUT|DELETE /_faults`, `GET|DELETE /_journal`, `GET|DELETE /_state`. They need no token, are not subject to faults, and are not in
//! the journal.

use http::StatusCode;
use serde_json::json;

use crate::answer::Answer;
use crate::fault::Fault;
use crate::server::Shared;

/// Answers a request whose path begins with `/_`.
pub(crate) fn answer(shared: &Shared, method: &str, path: &str, body: &[u8]) -> Answer {
    match (method, path) {
        ("GET", "/_faults") => Answer::ok(json!(shared.lock().plan.rules())),
        ("PUT", "/_faults") => match serde_json::from_slice::<Vec<Fault>>(body) {
            Ok(rules) => {
                shared.lock().plan.set(rules);
                Answer::no_content()
            }
            Err(error) => problem(StatusCode::BAD_REQUEST, &error.to_string()),
        },
        ("DELETE", "/_faults") => {
            shared.lock().plan.set(Vec::new());
            Answer::no_content()
        }
        ("GET", "/_journal") => Answer::ok(json!(shared.lock().journal.entries())),
        ("DELETE", "/_journal") => {
            shared.lock().journal.clear();
            Answer::no_content()
        }
        ("GET", "/_state") => {
            let inner = shared.lock();
            let all = |collection| inner.neutron.all(collection);
            Answer::ok(json!({
                "networks": all("networks"), "subnets": all("subnets"), "ports": all("ports"), "routers": all("routers"),
            }))
        }
        ("DELETE", "/_state") => {
            shared.lock().neutron.clear();
            Answer::no_content()
        }
        (_, "/_faults" | "/_journal" | "/_state") => problem(StatusCode::METHOD_NOT_ALLOWED, "method not allowed"),
        _ => problem(StatusCode::NOT_FOUND, "there are /_faults, /_journal and /_state"),
    }
}

fn problem(status: StatusCode, message: &str) -> Answer {
    Answer::new(status, json!({"error": message}))
}
