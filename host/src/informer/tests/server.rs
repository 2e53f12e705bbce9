//! A scripted API server in this process: one custom kind, real list and watch semantics, faults on demand.

use crate::api::ObjectKey;
use bytes::Bytes;
use futures::{StreamExt, channel::mpsc};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::Frame;
use kube::client::Body;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, HashMap},
    convert::Infallible,
    io,
    sync::{Arc, Mutex, MutexGuard},
};

pub(super) const GROUP_VERSION: &str = "samplecrd.k8s.io/v1";

type ResponseBody = UnsyncBoxBody<Bytes, io::Error>;
type Line = Result<Frame<Bytes>, io::Error>;

/// A handle on the server; clones are the same server.
#[derive(Clone, Default)]
pub(super) struct Server(Arc<Mutex<World>>);

#[derive(Default)]
pub(super) struct World {
    /// Whether the kind is served, and whether in namespaces.
    served: Option<bool>,
    pub(super) objects: BTreeMap<String, Value>,
    version: u64,
    uids: u64,
    /// Every change: version, type, object.
    history: Vec<(u64, &'static str, Value)>,
    /// Watches from before this version are answered 410.
    compacted: u64,
    listed_at: u64,
    watchers: Vec<(String, mpsc::UnboundedSender<Line>)>,
    /// Events are kept back from watches: their connections hang.
    pub(super) black_hole: bool,
    /// Resumed watches are told everything again that happened since the last list.
    pub(super) repeats: bool,
    /// Answers 410 as an HTTP status, not as an event.
    pub(super) plain_gone: bool,
    /// Requests whose path starts so are forbidden.
    pub(super) forbidden: Option<String>,
    /// The next requests for further pages are answered 410.
    pub(super) expire_pages: usize,
    /// Items that lists contain besides the objects.
    pub(super) extra_items: Vec<Value>,
    /// `LIST`, `WATCH <version>` or `DISCOVER`, with the query of lists and watches.
    pub(super) requests: Vec<String>,
}

impl Server {
    pub(super) fn new() -> Self {
        let server = Self::default();
        server.world().version = 100;
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
            async move { Ok::<_, Infallible>(response) }
        });
        kube::Client::new(service, "default")
    }

    /// Installs (`Some(namespaced)`) or removes (`None`) the CustomResourceDefinition; objects of a removed one go.
    pub(super) fn serve(&self, namespaced: Option<bool>) {
        if namespaced.is_none() {
            let keys: Vec<String> = self.world().objects.keys().cloned().collect();
            keys.iter().for_each(|key| self.delete(key));
        }
        let mut world = self.world();
        world.served = namespaced;
        world.watchers.clear();
    }

    /// Creates or changes `namespace/name`; the answer is the object.
    pub(super) fn apply(&self, key: &str, labels: &Value) -> Value {
        let mut world = self.world();
        world.version += 1;
        let (namespace, name) = key.split_once('/').unwrap();
        let uid = match world.objects.get(key) {
            Some(object) => object["metadata"]["uid"].clone(),
            None => {
                world.uids += 1;
                json!(format!("uid-{}", world.uids))
            }
        };
        let object = json!({"apiVersion": GROUP_VERSION, "kind": "Network", "metadata": {
            "name": name, "namespace": namespace, "uid": uid, "labels": labels,
            "resourceVersion": world.version.to_string()}});
        let event = if world.objects.contains_key(key) { "MODIFIED" } else { "ADDED" };
        world.objects.insert(key.to_owned(), object.clone());
        world.record(event, &object);
        object
    }

    pub(super) fn delete(&self, key: &str) {
        let mut world = self.world();
        if let Some(mut object) = world.objects.remove(key) {
            world.version += 1;
            object["metadata"]["resourceVersion"] = json!(world.version.to_string());
            world.record("DELETED", &object);
        }
    }

    pub(super) fn deleted_since(&self, key: &ObjectKey, version: &str) -> bool {
        let version: u64 = version.parse().unwrap();
        let of = |object: &Value| {
            object["metadata"]["name"] == *key.name && object["metadata"]["namespace"] == *key.namespace
        };
        self.world().history.iter().any(|(at, event, object)| *at > version && *event == "DELETED" && of(object))
    }

    /// Sends one event to all open watches, whatever the objects are.
    pub(super) fn send(&self, event: &str, object: &Value) {
        self.send_text(&line(event, object));
    }

    pub(super) fn send_text(&self, line: &str) {
        self.world().send(line);
    }

    /// Ends all watches, as the server does at their timeout.
    pub(super) fn close_watches(&self) {
        self.world().watchers.clear();
    }

    /// Forgets the history, so that watches from before now are answered 410.
    pub(super) fn compact(&self) {
        let mut world = self.world();
        world.compacted = world.version;
    }

    pub(super) fn open_watches(&self) -> usize {
        let mut world = self.world();
        world.watchers.retain(|(_, sender)| !sender.is_closed());
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
        if path == format!("/apis/{GROUP_VERSION}") {
            world.requests.push("DISCOVER".to_owned());
            return world.discovery();
        }
        let Some(namespaced) = world.served else { return status(404, "NotFound") };
        let cluster_wide = format!("/apis/{GROUP_VERSION}/networks");
        let namespace = match path.strip_prefix(&format!("/apis/{GROUP_VERSION}/namespaces/")) {
            Some(rest) if namespaced => rest.strip_suffix("/networks").unwrap().to_owned(),
            None if path == cluster_wide => String::new(),
            _ => return status(404, "NotFound"),
        };
        if parameters.get("watch").is_some_and(|w| w == "true") {
            let from = parameters.get("resourceVersion").cloned().unwrap_or_default();
            world.requests.push(format!("WATCH {from} {query}"));
            world.watch(&namespace, from.parse().unwrap())
        } else {
            world.requests.push(format!("LIST {query}"));
            world.list(&namespace, &parameters)
        }
    }
}

impl World {
    /// Something else was written.
    pub(super) fn version_up(&mut self) {
        self.version += 1;
    }

    fn record(&mut self, event: &'static str, object: &Value) {
        self.history.push((self.version, event, object.clone()));
        if !self.black_hole {
            let namespace = object["metadata"]["namespace"].as_str().unwrap().to_owned();
            let line = line(event, object);
            self.watchers.retain(|(wanted, sender)| {
                !(wanted.is_empty() || *wanted == namespace) || sender.unbounded_send(frame(&line)).is_ok()
            });
        }
    }

    fn send(&mut self, line: &str) {
        self.watchers.retain(|(_, sender)| sender.unbounded_send(frame(line)).is_ok());
    }

    fn discovery(&self) -> Response<ResponseBody> {
        let Some(namespaced) = self.served else {
            return full(404, "404 page not found\n".to_owned());
        };
        let resource = |name: &str, verbs: Value| json!({"name": name, "singularName": "network", "namespaced": namespaced, "kind": "Network", "verbs": verbs});
        let resources = [resource("networks/status", json!(["get"])), resource("networks", json!(["list", "watch"]))];
        let list = json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": GROUP_VERSION,
            "resources": resources});
        full(200, list.to_string())
    }

    fn list(&mut self, namespace: &str, parameters: &HashMap<String, String>) -> Response<ResponseBody> {
        let first: usize = match parameters.get("continue") {
            Some(_) if self.expire_pages > 0 => {
                self.expire_pages -= 1;
                return status(410, "Expired");
            }
            Some(token) => token.parse().unwrap(),
            None => 0,
        };
        self.listed_at = self.version;
        let limit: usize = parameters.get("limit").map_or(usize::MAX, |limit| limit.parse().unwrap());
        let inside = |object: &&Value| namespace.is_empty() || object["metadata"]["namespace"] == namespace;
        let all: Vec<&Value> = self.objects.values().filter(inside).chain(&self.extra_items).collect();
        let page: Vec<&Value> = all.iter().copied().skip(first).take(limit).collect();
        let next = first + page.len();
        let token = if next < all.len() { next.to_string() } else { String::new() };
        let list = json!({"kind": "NetworkList", "apiVersion": GROUP_VERSION,
            "metadata": {"resourceVersion": self.version.to_string(), "continue": token}, "items": page});
        full(200, list.to_string())
    }

    fn watch(&mut self, namespace: &str, from: u64) -> Response<ResponseBody> {
        let expired =
            json!({"kind": "Status", "status": "Failure", "code": 410, "reason": "Expired", "message": "too old"});
        let (sender, receiver) = mpsc::unbounded();
        if from < self.compacted {
            if self.plain_gone {
                return status(410, "Expired");
            }
            sender.unbounded_send(frame(&line("ERROR", &expired))).unwrap();
        } else {
            let first = if self.repeats { self.listed_at } else { from };
            for (_, event, object) in self.history.iter().filter(|(version, ..)| *version > first) {
                if namespace.is_empty() || object["metadata"]["namespace"] == namespace {
                    sender.unbounded_send(frame(&line(event, object))).unwrap();
                }
            }
            self.watchers.push((namespace.to_owned(), sender));
        }
        Response::new(StreamBody::new(receiver.map(|line: Line| line)).boxed_unsync())
    }
}

/// API servers write the type first, and kube reads an object that comes before its type in another way.
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

fn full(code: u16, body: String) -> Response<ResponseBody> {
    let body = Full::new(Bytes::from(body)).map_err(|never: Infallible| match never {}).boxed_unsync();
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(code).unwrap();
    response
}
