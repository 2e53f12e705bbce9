//! The page at the admin address: its files, what it reads, and its sessions.
//!
//! Without a session the page shows what `/plugins` shows to everybody: names, states, versions and numbers of plugins. Objects, reasons, log
//! lines, versions, recordings and actions need a session (`oarlock ui`): a token in a header, from this machine, and from no other page.

mod assets;
mod data;
mod live;
mod session;

pub use live::Live;
pub use session::Sessions;
pub(super) use session::refused_without_session;

use super::AdminState;
use crate::controller::{ObjectQuery, RecordQuery};
use axum::Router;
use axum::http::{HeaderValue, header};
use axum::middleware;
use axum::response::Response;
use axum::routing::{get, post};
use serde_json::Value;
use std::fmt;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// What the page may load: its own files, and nothing inline. It may not be framed, and sends no form.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/// Headers of every answer of the page.
const HEADERS: [(&str, &str); 6] = [
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
];

/// Reads a page of the objects of a plugin. None: no version of it runs.
pub type ListObjects = Arc<dyn Fn(&str, ObjectQuery) -> Option<Value> + Send + Sync>;

/// Reads the versions of a plugin that are in memory. None: there are none.
pub type Versions = Arc<dyn Fn(&str) -> Option<Value> + Send + Sync>;

/// Reads the states of one recorded reconcile: the newest, or the one with a correlation id. None: there is none.
pub type States = Arc<dyn Fn(RecordQuery, Option<&str>) -> Option<Value> + Send + Sync>;

/// What the page shows. All functions are called on threads that may block.
#[derive(Clone)]
pub struct Page {
    /// The sessions.
    pub sessions: Sessions,
    /// The plugins while they run.
    pub live: Live,
    /// The objects of a plugin.
    pub list_objects: ListObjects,
    /// The versions of a plugin.
    pub versions: Versions,
    /// Desired and actual states.
    pub states: States,
}

impl fmt::Debug for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Page").field("sessions", &self.sessions).finish_non_exhaustive()
    }
}

/// | path | answer |
/// | --- | --- |
/// | `/`, `/page/FILE` | the files of the page, with an ETag |
/// | POST `/page/session` | JSON: `token` and `seconds`; for the clients that may take actions, and no browser |
/// | `/page/events` | server-sent events: the plugins, then what changes each second |
/// | `/page/plugins/NAME` | JSON: the plugin, as in `/plugins`; this and the rest need a session |
/// | `/page/plugins/NAME/objects?state=…&namespace=…&kind=…&search=…&after=…&limit=…` | JSON: a page of its objects, those with a problem first |
/// | `/page/plugins/NAME/versions` | JSON: `versions` in memory, and `revisions` that ran |
/// | `/page/plugins/NAME/log?object=…` | JSON: its last log `lines` |
/// | `/page/object?kind=…&namespace=…&name=…` | JSON, as `/explain` |
/// | `/page/states?plugin=…&kind=…&namespace=…&name=…&reconcile=…` | JSON: desired and actual state of a recorded reconcile |
pub(super) fn router(stop: &CancellationToken) -> Router<AdminState> {
    let stop = stop.clone();
    assets::routes()
        .route("/page/session", post(session::open))
        .route(
            "/page/events",
            get(async move |state, headers, cut_off| live::answer(state, headers, cut_off, stop).await),
        )
        .route("/page/plugins/{name}", get(data::plugin))
        .route("/page/plugins/{name}/objects", get(data::objects))
        .route("/page/plugins/{name}/versions", get(data::versions))
        .route("/page/plugins/{name}/log", get(data::log))
        .route("/page/object", get(data::object))
        .route("/page/states", get(data::states))
        .layer(middleware::map_response(protected))
}

/// Adds the headers that protect the page.
async fn protected(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}
