//! The plugins while they run, as server-sent events: a snapshot, then each second what changed.
//!
//! One task computes the changes for all clients, and only while there is one. A client that reads too slowly loses its connection; its browser
//! opens another one and gets a snapshot.

use super::session::is_own_page;
use crate::admin::listener::CutOff;
use crate::admin::{AdminState, Plugins};
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use futures::stream;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore, broadcast, mpsc};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

/// Most clients.
const CLIENTS: usize = 16;

/// The interval of the changes.
const EVERY: Duration = Duration::from_secs(1);

/// Frames that a client may be behind.
const BEHIND: usize = 16;

/// A client that does not take a frame for so long is cut off.
const STALLED: Duration = Duration::from_secs(10);

/// Longest text of a row, in bytes.
const TEXT_BYTES: usize = 200;

/// The live view of the plugins. A clone shares it.
#[derive(Clone, Debug)]
pub struct Live(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    room: Arc<Semaphore>,
    frames: broadcast::Sender<Arc<str>>,
    current: Mutex<Current>,
}

/// The last state that was sent. Empty while there is no client.
#[derive(Debug, Default)]
struct Current {
    running: bool,
    rows: Rows,
}

/// The rows as JSON, by their ids.
type Rows = BTreeMap<String, String>;

impl Default for Live {
    fn default() -> Self {
        let inner = Inner {
            room: Arc::new(Semaphore::new(CLIENTS)),
            frames: broadcast::Sender::new(BEHIND),
            current: Mutex::default(),
        };
        Self(Arc::new(inner))
    }
}

impl Live {
    /// A snapshot, and the changes after it.
    async fn subscribe(&self, plugins: &Plugins) -> (Arc<str>, broadcast::Receiver<Arc<str>>) {
        let mut current = self.0.current.lock().await;
        if !current.running {
            current.rows = read(plugins).await;
            current.running = true;
            tokio::spawn(self.clone().run(Arc::clone(plugins)));
        }
        // Under the lock: the receiver gets exactly the changes of this snapshot.
        let new = self.0.frames.subscribe();
        let rows: Vec<&str> = current.rows.values().map(String::as_str).collect();
        (frame("plugins", &rows, &[]), new)
    }

    /// The number of clients that have a place.
    #[cfg(test)]
    pub(in crate::admin) fn clients(&self) -> usize {
        CLIENTS - self.0.room.available_permits()
    }

    async fn run(self, plugins: Plugins) {
        let mut ticks = tokio::time::interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks.tick().await;
        loop {
            ticks.tick().await;
            let mut current = self.0.current.lock().await;
            if self.0.frames.receiver_count() == 0 {
                *current = Current::default();
                return;
            }
            let rows = read(&plugins).await;
            let changed = rows.iter().filter(|(id, row)| current.rows.get(*id) != Some(row));
            let changed: Vec<&str> = changed.map(|(_, row)| row.as_str()).collect();
            let gone: Vec<&str> =
                current.rows.keys().filter(|id| !rows.contains_key(*id)).map(String::as_str).collect();
            let _ = self.0.frames.send(frame("changes", &changed, &gone));
            current.rows = rows;
        }
    }
}

/// One event.
fn frame(event: &str, rows: &[&str], gone: &[&str]) -> Arc<str> {
    let (at, gone, rows) = (jiff::Timestamp::now().as_millisecond(), json!(gone), rows.join(","));
    format!("event: {event}\nretry: 2000\ndata: {{\"at\":{at},\"gone\":{gone},\"rows\":[{rows}]}}\n\n").into()
}

/// Reads the rows on a thread that may block: of a thousand plugins it takes milliseconds.
async fn read(plugins: &Plugins) -> Rows {
    let plugins = Arc::clone(plugins);
    tokio::task::spawn_blocking(move || rows(&plugins())).await.unwrap_or_default()
}

/// The rows of the content of `/plugins`: names, states, versions and numbers, and no text that a plugin or a server wrote.
fn rows(plugins: &Value) -> Rows {
    let mut rows = Rows::new();
    for entry in plugins.get("plugins").and_then(Value::as_array).into_iter().flatten() {
        let mut row = Map::new();
        let text = |entry: &Value, field: &str| {
            entry.get(field).and_then(Value::as_str).map(|text| crate::quoted(text, TEXT_BYTES))
        };
        let (name, file) = (text(entry, "name"), text(entry, "file"));
        let mut id = name.clone().or_else(|| file.clone()).unwrap_or_default();
        if rows.contains_key(&id) {
            id = format!("{id} ({})", file.clone().unwrap_or_default());
        }
        row.insert("id".to_owned(), json!(id));
        for (field, value) in [("name", name), ("file", file)] {
            row.extend(value.map(|value| (field.to_owned(), json!(value))));
        }
        for field in ["state", "version", "digest"] {
            row.extend(text(entry, field).map(|text| (field.to_owned(), json!(text))));
        }
        for field in ["queueDepth", "reconciles", "errors", "p50Ms", "p99Ms", "onProbation"] {
            row.extend(entry.get(field).map(|value| (field.to_owned(), value.clone())));
        }
        for field in ["outOfSync", "pausedObjects"] {
            let number = entry.pointer(&format!("/{field}/objects"));
            row.extend(number.map(|number| (field.to_owned(), number.clone())));
        }
        let objects = entry.get("objects").and_then(Value::as_object);
        let objects = objects.map(|kinds| kinds.values().filter_map(Value::as_u64).sum::<u64>());
        row.extend(objects.map(|number| ("objects".to_owned(), json!(number))));
        let memory = ["instanceMemoryBytes", "warmMemoryBytes"];
        let memory: u64 = memory.iter().filter_map(|field| entry.get(*field)).filter_map(Value::as_u64).sum();
        row.insert("memoryBytes".to_owned(), json!(memory));
        if let Some(rollout) = entry.get("rollout") {
            let number = rollout.get("percent");
            let rollout = json!({"phase": text(rollout, "phase"), "percent": number, "version": text(rollout, "version"),
                "digest": text(rollout, "digest"), "config": entry.pointer("/next/config")});
            row.insert("rollout".to_owned(), rollout);
        }
        if let Some(next) = entry.get("next") {
            row.insert("next".to_owned(), json!({"state": text(next, "state"), "version": text(next, "version")}));
        }
        let standby = entry.pointer("/lease/held").and_then(Value::as_bool) == Some(false);
        row.extend(standby.then(|| ("standby".to_owned(), json!(true))));
        rows.insert(id, Value::Object(row).to_string());
    }
    rows
}

/// * `stop` - ends the response.
pub(super) async fn answer(
    State(state): State<AdminState>,
    headers: HeaderMap,
    cut_off: Option<Extension<CutOff>>,
    stop: CancellationToken,
) -> Response {
    if !is_own_page(&headers) {
        return (StatusCode::FORBIDDEN, "the plugins are not shown to a page of another origin\n").into_response();
    }
    let live = &state.page.live;
    let Ok(permit) = Arc::clone(&live.0.room).try_acquire_owned() else {
        let why = format!("{CLIENTS} pages are open already: close one\n");
        return (StatusCode::SERVICE_UNAVAILABLE, why).into_response();
    };
    let (first, new) = live.subscribe(&state.plugins).await;
    let (to, from) = mpsc::channel(1);
    tokio::spawn(forward(first, new, to, cut_off.map(|Extension(cut_off)| cut_off), stop, permit));
    let body = stream::unfold(from, async |mut from| {
        from.recv().await.map(|frame: Arc<str>| (Ok::<_, Infallible>(frame.to_string()), from))
    });
    ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(body)).into_response()
}

/// Passes frames on, until the client goes, stalls or is too far behind, or the host stops.
async fn forward(
    first: Arc<str>,
    mut new: broadcast::Receiver<Arc<str>>,
    to: mpsc::Sender<Arc<str>>,
    cut_off: Option<CutOff>,
    stop: CancellationToken,
    _permit: OwnedSemaphorePermit,
) {
    let mut next = Some(first);
    while let Some(frame) = next {
        match tokio::time::timeout(STALLED, to.send(frame)).await {
            Ok(Ok(())) => {}
            Ok(Err(_gone)) => return,
            Err(_stalled) => {
                if let Some(cut_off) = cut_off {
                    cut_off.0.cancel();
                }
                return;
            }
        }
        next = tokio::select! {
            () = stop.cancelled() => None,
            () = to.closed() => None,
            frame = new.recv() => frame.ok(),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_names_states_and_numbers_and_no_text_of_others() {
        let rows = rows(&json!({"plugins": [
            {"name": "a", "file": "a.wasm", "state": "active", "version": "1\u{202e}", "digest": "sha256:00", "queueDepth": 2,
             "reconciles": 7, "errors": 1, "p50Ms": 1.5, "p99Ms": null, "lastError": "canary", "reason": "canary",
             "warnings": ["canary"], "outOfSync": {"objects": 3, "some": ["canary"]}, "objects": {"v1.A": 2, "v1.B": 3},
             "instanceMemoryBytes": 10, "warmMemoryBytes": 5, "rollout": {"phase": "canary", "percent": 5, "examples": ["canary"]},
             "next": {"state": "failed", "reason": "canary", "config": "c1"}, "lease": {"held": false, "holder": "canary"}},
            {"name": "a", "file": "b.wasm", "state": "failed"}, {"file": "c.wasm", "state": "compiling"},
        ]}));
        assert_eq!(rows.keys().collect::<Vec<_>>(), ["a", "a (b.wasm)", "c.wasm"]);
        let row: Value = serde_json::from_str(&rows["a"]).unwrap();
        assert!(
            !rows.values().any(|row| row
                .replace("\"canary\",\"percent\"", "")
                .replace("\"phase\":\"canary\"", "")
                .contains("canary")),
            "{row}"
        );
        assert_eq!(row["version"], "1\\u{202e}");
        assert_eq!((&row["objects"], &row["outOfSync"], &row["memoryBytes"]), (&json!(5), &json!(3), &json!(15)));
        assert_eq!((&row["standby"], &row["rollout"]["percent"]), (&json!(true), &json!(5)));
        assert_eq!(row["rollout"]["config"], "c1");
    }
}
