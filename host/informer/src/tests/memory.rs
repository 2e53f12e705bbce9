//! Memory of caches, counted allocation by allocation: the same in every run.

use super::{counting, *};
use bytes::Bytes;
use futures::{StreamExt, channel::mpsc};
use http::{Request, Response};
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::Frame;
use kube::client::Body;
use serde_json::{Value, json};
use std::{convert::Infallible, io, sync::Mutex};

const PAGE: usize = 500;

/// Placeholder of the name and the version in the text of an object.
const NAME: &str = "@name@";
const VERSION: &str = "@version@";

/// About 1 KB, like many custom resources and ConfigMaps.
fn small() -> Value {
    json!({"apiVersion": server::GROUP_VERSION, "kind": "Network", "metadata": {
        "name": format!("network-{NAME}"), "namespace": "team-blue",
        "uid": format!("5f0c1c1a-7d3e-4a53-9b0e-000000{NAME}"), "resourceVersion": VERSION,
        "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": {"app.kubernetes.io/name": "network", "team": "blue"}},
        "spec": {"cidr": "10.0.0.0/24", "description": "x".repeat(660)}})
}

/// About 3 KB, a third of it managedFields; owned, with a finalizer and more labels.
fn typical() -> Value {
    let mut object = small();
    let fields: Value = (0..12).map(|i| (format!("f:field-{i}"), json!({".": {}, "f:value": {}}))).collect();
    let entry = |manager: &str| {
        json!({"manager": manager, "operation": "Update", "apiVersion": "v1",
        "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": fields}})
    };
    let metadata = &mut object["metadata"];
    metadata["managedFields"] = json!([entry("kubectl-client-side-apply"), entry("kube-controller-manager")]);
    metadata["labels"]["app.kubernetes.io/instance"] = json!(format!("instance-{NAME}"));
    metadata["labels"]["pod-template-hash"] = json!(NAME);
    metadata["finalizers"] = json!(["oarlock.dev/network"]);
    metadata["ownerReferences"] = json!([{"apiVersion": "apps/v1", "kind": "Deployment", "controller": true,
        "blockOwnerDeletion": true, "name": format!("deployment-{NAME}"),
        "uid": format!("aaaaaaaa-7d3e-4a53-9b0e-000000{NAME}")}]);
    object["status"] = json!({"conditions": [{"type": "Ready", "status": "True", "message": "x".repeat(400)}]});
    object
}

/// An API server with prepared responses, so that none of its own memory counts.
#[derive(Clone, Default)]
struct Prepared(Arc<Mutex<Answers>>);

#[derive(Default)]
struct Answers {
    pages: Vec<Bytes>,
    watch: Option<mpsc::UnboundedSender<Result<Frame<Bytes>, io::Error>>>,
    discovery: Bytes,
}

impl Prepared {
    /// Prepares `count` objects with versions from `version`; returns the bytes of one.
    fn prepare(&self, object: &Value, count: usize, version: usize) -> usize {
        let text = object.to_string();
        let one = |i: usize| text.replace(NAME, &format!("{i:06}")).replace(VERSION, &(version + i).to_string());
        let objects: Vec<String> = (0..count).map(one).collect();
        let version = version + count;
        let count = objects.len().div_ceil(PAGE);
        let page = |(at, items): (usize, &[String])| {
            let token = if at + 1 < count { (at + 1).to_string() } else { String::new() };
            let head = json!({"resourceVersion": version.to_string(), "continue": token});
            let kind = "NetworkList";
            let group_version = server::GROUP_VERSION;
            let items = items.join(",");
            Bytes::from(format!(
                r#"{{"kind":"{kind}","apiVersion":"{group_version}","metadata":{head},"items":[{items}]}}"#
            ))
        };
        let mut answers = self.0.lock().unwrap();
        answers.pages = objects.chunks(PAGE).enumerate().map(page).collect();
        let resource = json!({"name": "networks", "namespaced": true, "kind": "Network", "verbs": ["list", "watch"]});
        answers.discovery = json!({"kind": "APIResourceList", "groupVersion": server::GROUP_VERSION,
            "resources": [resource]})
        .to_string()
        .into();
        objects.iter().map(String::len).sum::<usize>() / objects.len()
    }

    fn client(&self) -> kube::Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let response = server.answer(&request);
            async move { Ok::<_, Infallible>(response) }
        });
        kube::Client::new(service, "default")
    }

    fn answer(&self, request: &Request<Body>) -> Response<UnsyncBoxBody<Bytes, io::Error>> {
        let mut answers = self.0.lock().unwrap();
        let query = request.uri().query().unwrap_or_default();
        let full = |bytes: &Bytes| {
            Response::new(Full::new(bytes.clone()).map_err(|never: Infallible| match never {}).boxed_unsync())
        };
        if !request.uri().path().ends_with("/networks") {
            return full(&answers.discovery);
        }
        if query.contains("watch=true") {
            let (sender, receiver) = mpsc::unbounded();
            answers.watch = Some(sender);
            return Response::new(StreamBody::new(receiver.map(|line: Result<_, _>| line)).boxed_unsync());
        }
        let page = query.split('&').find_map(|pair| pair.strip_prefix("continue="));
        full(&answers.pages[page.map_or(0, |page| page.parse().unwrap())])
    }

    /// Expires the watch, so that the reflector relists.
    fn expire(&self) {
        let line = Bytes::from_static(b"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410}}\n");
        self.0.lock().unwrap().watch.take().unwrap().unbounded_send(Ok(Frame::data(line))).unwrap();
    }

    fn watched(&self) -> bool {
        self.0.lock().unwrap().watch.is_some()
    }
}

/// Bytes per object.
#[derive(Debug)]
struct Figures {
    /// JSON as the server sends it.
    sent: usize,
    /// The store's own figure.
    told: usize,
    /// After the first list, and the peak until then.
    steady: usize,
    first_peak: usize,
    /// The peak during a list without changes, and during one in which everything has changed.
    relist_peak: usize,
    changed_peak: usize,
    /// After that list.
    after: usize,
}

async fn measure(count: usize, object: &Value) -> Figures {
    let server = Prepared::default();
    let sent = server.prepare(object, count, 1_000_000);
    let client = server.client();
    let informers = Informers::new(client.clone(), Discovery::new(client));
    let empty = counting::now();
    let each = |bytes: isize| usize::try_from(bytes - empty).unwrap() / count;
    counting::watch_peak();
    let subscription = informers.subscribe(WatchSpec::all(gvk()), Arc::new(|_| {}));
    let store = subscription.store().clone();
    let listed = async |lists: u64| {
        eventually("listed", || informers.stats()[0].lists == lists && server.watched()).await;
        assert_eq!(store.len(), count);
    };
    listed(1).await;
    let (steady, first_peak) = (each(counting::now()), each(counting::peak()));
    counting::watch_peak();
    server.expire();
    listed(2).await;
    let relist_peak = each(counting::peak());
    // Everything has changed meanwhile. Preparing the pages does not count.
    let before = counting::now();
    server.prepare(object, count, 2_000_000);
    let pages = counting::now() - before;
    counting::watch_peak();
    server.expire();
    listed(3).await;
    let (changed_peak, after) = (each(counting::peak() - pages), each(counting::now() - pages));
    Figures { sent, told: store.heap_bytes() / count, steady, first_peak, relist_peak, changed_peak, after }
}

fn within(figures: &Figures, of_steady: usize, of_sent: usize) {
    println!("{figures:?}");
    let percent = |part: usize, whole: usize| 100 * part / whole;
    for peak in [figures.first_peak, figures.relist_peak, figures.changed_peak] {
        assert!(percent(peak, figures.steady) <= of_steady, "{peak}: {figures:?}");
    }
    assert!(percent(figures.steady, figures.sent) <= of_sent, "{figures:?}");
    assert!((98..=102).contains(&percent(figures.after, figures.steady)), "it grows: {figures:?}");
    assert!((85..=115).contains(&percent(figures.told, figures.steady)), "the store misjudges itself: {figures:?}");
}

#[tokio::test(start_paused = true)]
async fn i19_a_list_of_small_objects_takes_little_more_memory_than_the_cache_and_that_little_more_than_the_json() {
    within(&measure(5_000, &small()).await, 130, 130);
}

#[tokio::test(start_paused = true)]
async fn i19_a_list_of_typical_objects_takes_little_more_memory_than_the_cache_and_that_less_than_the_json() {
    within(&measure(5_000, &typical()).await, 130, 90);
}
