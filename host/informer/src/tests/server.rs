//! A scripted API server in this process: one custom kind, real list and watch semantics, faults on demand.

use bytes::Bytes;
use futures::{StreamExt, channel::mpsc};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::Frame;
use kube::client::Body;
use oarlock_api::ObjectKey;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, HashMap},
    convert::Infallible,
    io,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

pub(super) const GROUP: &str = "samplecrd.k8s.io";
pub(super) const GROUP_VERSION: &str = "samplecrd.k8s.io/v1";

/// The version of the kind, a namespace or empty, and whether the request selects only objects with the label `app=web`.
#[derive(Clone, Default)]
pub(super) struct Selection {
    pub(super) version: String,
    pub(super) namespace: String,
    pub(super) web: bool,
}

/// One change: the object before and after it.
#[derive(Clone)]
pub(super) struct Change {
    pub(super) version: u64,
    pub(super) before: Option<Value>,
    pub(super) after: Option<Value>,
}

struct Watcher {
    selection: Selection,
    /// No change up to this version is sent, even if it has not been reached yet.
    from: u64,
    sender: mpsc::UnboundedSender<Line>,
    /// The watch neither sends anything nor ends.
    stalled: bool,
}

type ResponseBody = UnsyncBoxBody<Bytes, io::Error>;
type Line = Result<Frame<Bytes>, io::Error>;

/// A handle on the server; clones are the same server.
#[derive(Clone, Default)]
pub(super) struct Server(Arc<Mutex<World>>);

#[derive(Default)]
pub(super) struct World {
    /// Whether the kind is served, and whether in namespaces.
    pub(super) served: Option<bool>,
    /// The version it is served in.
    pub(super) served_version: &'static str,
    pub(super) objects: BTreeMap<String, Value>,
    version: u64,
    uids: u64,
    /// Sorted by version.
    pub(super) history: Vec<Change>,
    /// Watches from earlier versions get 410.
    compacted: u64,
    listed_at: u64,
    watchers: Vec<Watcher>,
    /// Watches get no events: their connections hang.
    pub(super) black_hole: bool,
    /// Resumed watches get all events since the last list again.
    pub(super) repeats: bool,
    /// Sends 410 as an HTTP status, not as an event.
    pub(super) plain_gone: bool,
    /// Requests with this path prefix are forbidden.
    pub(super) forbidden: Option<String>,
    /// Lists and watches get 429 with a Retry-After of this many seconds.
    pub(super) overloaded: Option<u32>,
    /// Responses are computed at once and arrive this much later.
    pub(super) delay: Duration,
    /// The state that this server shows, if not the newest: it lags behind.
    pub(super) lag: Option<u64>,
    /// Watches get 500.
    pub(super) unwatchable: bool,
    /// Watches end as soon as they are open.
    pub(super) closing: bool,
    /// The first event of each watch is an ERROR with this code.
    pub(super) error: Option<u16>,
    /// Watches bring nothing and do not end: a proxy keeps back what the server sends.
    pub(super) buffering: bool,
    /// The next requests for further pages get 410, and then this server lags as far behind.
    pub(super) expire_pages: usize,
    pub(super) lag_after_expiry: Option<u64>,
    /// Items that lists contain beside the objects.
    pub(super) extra_items: Vec<Value>,
    /// `LIST`, `CHECK` (a list of one object), `WATCH <version>` or `DISCOVER`, with the query of lists and watches.
    pub(super) requests: Vec<String>,
}

impl Server {
    pub(super) fn new() -> Self {
        let server = Self::default();
        server.world().version = 100;
        server.world().served_version = "v1";
        server.serve(Some(true));
        server
    }

    pub(super) fn world(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap()
    }

    pub(super) fn client(&self) -> kube::Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let response = server.answer(&request);
            let delay = server.world().delay;
            async move {
                if !delay.is_zero() {
                    tokio::time::sleep(delay).await;
                }
                Ok::<_, Infallible>(response)
            }
        });
        kube::Client::new(service, "default")
    }

    /// Installs (`Some(namespaced)`) or removes (`None`) the CustomResourceDefinition; its removal deletes the objects.
    pub(super) fn serve(&self, namespaced: Option<bool>) {
        if namespaced.is_none() {
            let keys: Vec<String> = self.world().objects.keys().cloned().collect();
            keys.iter().for_each(|key| self.delete(key));
        }
        let mut world = self.world();
        world.served = namespaced;
        world.watchers.clear();
    }

    /// Creates or changes `namespace/name`; returns the object.
    pub(super) fn apply(&self, key: &str, labels: &Value) -> Value {
        self.put(key, |object| object["metadata"]["labels"] = labels.clone())
    }

    /// The same, with any change.
    pub(super) fn put(&self, key: &str, edit: impl FnOnce(&mut Value)) -> Value {
        let mut world = self.world();
        let uid = world.objects.get(key).map(|object| object["metadata"]["uid"].clone());
        world.write(key, uid, edit)
    }

    /// Deletes and creates the object again in one change, so that no client can see its absence.
    pub(super) fn replace(&self, key: &str) -> Value {
        self.world().write(key, None, |_| ())
    }

    pub(super) fn delete(&self, key: &str) {
        let mut world = self.world();
        if let Some(object) = world.objects.remove(key) {
            world.version += 1;
            world.record(Some(object), None);
        }
    }

    pub(super) fn deleted_since(&self, key: &ObjectKey, version: &str) -> bool {
        let version: u64 = version.parse().unwrap();
        self.world().history.iter().any(|change| change.version > version && change.ends(key))
    }

    /// Sends one event to all open watches, regardless of the objects.
    pub(super) fn send(&self, event: &str, object: &Value) {
        self.send_text(&line(event, object));
    }

    /// Sends a bookmark of `version` to the watches that have received everything up to it.
    pub(super) fn bookmark(&self, version: &str) {
        let object = json!({"kind": "Network", "metadata": {"resourceVersion": version}});
        let mut world = self.world();
        if !world.black_hole {
            world.watchers.retain(|watcher| {
                watcher.stalled || watcher.sender.unbounded_send(frame(&line("BOOKMARK", &object))).is_ok()
            });
        }
    }

    pub(super) fn send_text(&self, line: &str) {
        self.world().send(line);
    }

    /// Ends all watches, as the server does at their timeout.
    pub(super) fn close_watches(&self) {
        self.world().watchers.clear();
    }

    /// The open watches get no events any more.
    pub(super) fn stall_watches(&self) {
        self.world().watchers.iter_mut().for_each(|watcher| watcher.stalled = true);
    }

    /// Restores an older state; later changes never happened.
    pub(super) fn rewind(&self, version: u64) {
        let mut world = self.world();
        world.objects = world.objects_at(version);
        world.history.retain(|change| change.version <= version);
        world.version = version;
        world.watchers.clear();
    }

    pub(super) fn version(&self) -> u64 {
        self.world().version()
    }

    /// Forgets the history, so that watches from earlier versions get 410.
    pub(super) fn compact(&self) {
        let mut world = self.world();
        world.compacted = world.version;
    }

    pub(super) fn open_watches(&self) -> usize {
        let mut world = self.world();
        world.watchers.retain(|watcher| !watcher.sender.is_closed());
        world.watchers.len()
    }

    pub(super) fn requests(&self, kind: &str) -> Vec<String> {
        self.world().requests.iter().filter(|r| r.starts_with(kind)).cloned().collect()
    }

    fn answer(&self, request: &Request<Body>) -> Response<ResponseBody> {
        let path = request.uri().path().to_owned();
        let query = request.uri().query().unwrap_or_default().to_owned();
        let parameters: HashMap<String, String> = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let mut world = self.world();
        if world.forbidden.as_ref().is_some_and(|prefix| path.starts_with(prefix)) {
            return status(403, "Forbidden");
        }
        let root = format!("/apis/{GROUP}/{}", world.served_version);
        if !path.contains("/networks") {
            world.requests.push("DISCOVER".to_owned());
            return if path == root { world.discovery() } else { full(404, "404 page not found\n".to_owned()) };
        }
        let Some(namespaced) = world.served else { return status(404, "NotFound") };
        let cluster_wide = format!("{root}/networks");
        let namespace = match path.strip_prefix(&format!("{root}/namespaces/")) {
            Some(rest) if namespaced => rest.strip_suffix("/networks").unwrap().to_owned(),
            None if path == cluster_wide => String::new(),
            _ => return status(404, "NotFound"),
        };
        let web = parameters.get("labelSelector").is_some_and(|selector| selector == "app=web");
        let selection = Selection { version: world.served_version.to_owned(), namespace, web };
        let watch = parameters.get("watch").is_some_and(|w| w == "true");
        let from = parameters.get("resourceVersion").cloned().unwrap_or_default();
        let one = parameters.get("limit").is_some_and(|limit| limit == "1");
        let kind = if one { "CHECK" } else { "LIST" };
        world.requests.push(if watch { format!("WATCH {from} {query}") } else { format!("{kind} {query}") });
        if let Some(seconds) = world.overloaded {
            return overloaded(seconds);
        }
        if watch { world.watch(selection, from.parse().unwrap()) } else { world.list(&selection, &parameters) }
    }
}

impl Selection {
    pub(super) fn selects(&self, object: &Value) -> bool {
        let metadata = &object["metadata"];
        (self.namespace.is_empty() || metadata["namespace"] == self.namespace)
            && (!self.web || metadata["labels"]["app"] == "web")
    }

    /// The event of `change`, if it concerns the selection.
    fn event(&self, change: &Change) -> Option<String> {
        let [before, after] = [&change.before, &change.after].map(|object| object.as_ref().filter(|o| self.selects(o)));
        Some(match (before, after) {
            (None, Some(object)) => line("ADDED", object),
            (Some(_), Some(object)) => line("MODIFIED", object),
            (Some(last), None) => {
                let mut last = last.clone();
                last["metadata"]["resourceVersion"] = json!(change.version.to_string());
                line("DELETED", &last)
            }
            (None, None) => return None,
        })
    }
}

impl Change {
    pub(super) fn about(&self, key: &ObjectKey) -> bool {
        let object = self.after.as_ref().or(self.before.as_ref()).unwrap();
        object["metadata"]["name"] == *key.name && object["metadata"]["namespace"] == *key.namespace
    }

    fn ends(&self, key: &ObjectKey) -> bool {
        self.after.is_none() && self.about(key)
    }
}

impl World {
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// Another write raises the version.
    pub(super) fn version_up(&mut self) {
        self.version += 1;
    }

    fn write(&mut self, key: &str, uid: Option<Value>, edit: impl FnOnce(&mut Value)) -> Value {
        self.version += 1;
        let (namespace, name) = key.split_once('/').unwrap();
        let uid = uid.unwrap_or_else(|| {
            self.uids += 1;
            json!(format!("uid-{}", self.uids))
        });
        let mut object = json!({"apiVersion": format!("{GROUP}/{}", self.served_version), "kind": "Network", "metadata": {
            "name": name, "namespace": namespace, "uid": uid, "labels": {},
            "resourceVersion": self.version.to_string()}});
        edit(&mut object);
        let before = self.objects.insert(key.to_owned(), object.clone());
        self.record(before, Some(object.clone()));
        object
    }

    fn record(&mut self, before: Option<Value>, after: Option<Value>) {
        let change = Change { version: self.version, before, after };
        if !self.black_hole && self.lag.is_none() {
            self.watchers.retain(|watcher| {
                let told = !watcher.stalled && change.version > watcher.from;
                let event = watcher.selection.event(&change).filter(|_| told);
                event.is_none_or(|line| watcher.sender.unbounded_send(frame(&line)).is_ok())
            });
        }
        self.history.push(change);
    }

    fn send(&mut self, line: &str) {
        self.watchers.retain(|watcher| watcher.sender.unbounded_send(frame(line)).is_ok());
    }

    fn discovery(&self) -> Response<ResponseBody> {
        let Some(namespaced) = self.served else {
            return full(404, "404 page not found\n".to_owned());
        };
        let resource = |name: &str, verbs: Value| json!({"name": name, "singularName": "network", "namespaced": namespaced, "kind": "Network", "verbs": verbs});
        let resources = [resource("networks/status", json!(["get"])), resource("networks", json!(["list", "watch"]))];
        let list = json!({"kind": "APIResourceList", "apiVersion": "v1",
            "groupVersion": format!("{GROUP}/{}", self.served_version), "resources": resources});
        full(200, list.to_string())
    }

    pub(super) fn change_at(&self, version: u64) -> Option<&Change> {
        self.history.binary_search_by_key(&version, |change| change.version).ok().map(|at| &self.history[at])
    }

    /// The objects when `version` was the newest.
    fn objects_at(&self, version: u64) -> BTreeMap<String, Value> {
        let mut objects = BTreeMap::new();
        for change in self.history.iter().filter(|change| change.version <= version) {
            let of = change.after.as_ref().or(change.before.as_ref()).unwrap();
            let [namespace, name] = ["namespace", "name"].map(|field| of["metadata"][field].as_str().unwrap());
            let key = format!("{namespace}/{name}");
            match &change.after {
                Some(object) => objects.insert(key, object.clone()),
                None => objects.remove(&key),
            };
        }
        objects
    }

    fn list(&mut self, selection: &Selection, parameters: &HashMap<String, String>) -> Response<ResponseBody> {
        // The list shows the state of its first page.
        let (version, first) = match parameters.get("continue") {
            Some(_) if self.expire_pages > 0 => {
                self.expire_pages -= 1;
                self.lag = self.lag.or(self.lag_after_expiry.take());
                return status(410, "Expired");
            }
            Some(token) => {
                let (version, first) = token.split_once('-').unwrap();
                (version.parse().unwrap(), first.parse().unwrap())
            }
            None => (self.lag.unwrap_or(self.version), 0),
        };
        if version < self.compacted && first > 0 {
            return status(410, "Expired");
        }
        self.listed_at = version;
        let limit: usize = parameters.get("limit").map_or(usize::MAX, |limit| limit.parse().unwrap());
        // Some tests insert objects without a write.
        let objects = if version == self.version { self.objects.clone() } else { self.objects_at(version) };
        let selected = objects.values().filter(|object| selection.selects(object));
        let all: Vec<&Value> = selected.chain(&self.extra_items).collect();
        let page: Vec<&Value> = all.iter().copied().skip(first).take(limit).collect();
        let next = first + page.len();
        let token = if next < all.len() { format!("{version}-{next}") } else { String::new() };
        let list = json!({"kind": "NetworkList", "apiVersion": GROUP_VERSION,
            "metadata": {"resourceVersion": version.to_string(), "continue": token}, "items": page});
        full(200, list.to_string())
    }

    fn watch(&mut self, selection: Selection, from: u64) -> Response<ResponseBody> {
        let expired =
            json!({"kind": "Status", "status": "Failure", "code": 410, "reason": "Expired", "message": "too old"});
        if self.unwatchable {
            return status(500, "InternalError");
        }
        let (sender, receiver) = mpsc::unbounded();
        if from < self.compacted {
            if self.plain_gone {
                return status(410, "Expired");
            }
            sender.unbounded_send(frame(&line("ERROR", &expired))).unwrap();
        } else if let Some(code) = self.error {
            let error = json!({"kind": "Status", "status": "Failure", "code": code, "message": "scripted error"});
            sender.unbounded_send(frame(&line("ERROR", &error))).unwrap();
        } else if self.buffering {
            self.watchers.push(Watcher { selection, from, sender, stalled: true });
        } else if !self.closing {
            let first = if self.repeats { self.listed_at.min(from) } else { from };
            let last = self.lag.unwrap_or(self.version);
            for change in self.history.iter().filter(|change| change.version > first && change.version <= last) {
                if let Some(line) = selection.event(change) {
                    sender.unbounded_send(frame(&line)).unwrap();
                }
            }
            // A server that lags behind sends no further events on this watch, only on a later one.
            self.watchers.push(Watcher { selection, from, sender, stalled: self.lag.is_some() });
        }
        Response::new(StreamBody::new(receiver.map(|line: Line| line)).boxed_unsync())
    }
}

/// API servers write the type first; kube parses an object before its type in another way.
fn line(event: &str, object: &Value) -> String {
    format!("{{\"type\":\"{event}\",\"object\":{object}}}")
}

fn frame(line: &str) -> Line {
    Ok(Frame::data(Bytes::from(format!("{line}\n"))))
}

fn status(code: u16, reason: &str) -> Response<ResponseBody> {
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
        "message": format!("scripted {reason}")});
    full(code, status.to_string())
}

fn overloaded(seconds: u32) -> Response<ResponseBody> {
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 429,
        "reason": "TooManyRequests", "message": "scripted storm", "details": {"retryAfterSeconds": seconds}});
    let mut response = full(429, status.to_string());
    response.headers_mut().insert("retry-after", seconds.into());
    response
}

fn full(code: u16, body: String) -> Response<ResponseBody> {
    let body = Full::new(Bytes::from(body)).map_err(|never: Infallible| match never {}).boxed_unsync();
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(code).unwrap();
    response
}
