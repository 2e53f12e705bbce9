//! A controller with one seeded bug for each mode of its configuration: what `oarlock check` must find.
//!
//! A Site has a ConfigMap `NAME-config` with its title and color, and one `NAME-N` for each of its replicas. With `service` in the
//! configuration it has a record with its title in that service, too.
//!
//! | mode | bug |
//! | --- | --- |
//! | `ok` | none |
//! | `keeps-removed` | a color that the Site no longer has stays |
//! | `creates-once` | changes of the title and the color are not seen |
//! | `leaves-replicas` | fewer replicas delete nothing |
//! | `orphans` | replicas have no owner, and stay when the Site goes |
//! | `always-writes` | each reconcile writes another value |
//! | `hot-loop` | each reconcile asks for the next one at once |
//! | `fights` | all Sites write one ConfigMap, `banner`, each with its own title |
//! | `stuck-deletion` | the deletion of a Site without replicas never ends |
//! | `panics` | panics at the largest number of replicas |
//! | `leaks` | an event has the value of a Secret |
//! | `logs` | a log line has the value of a Secret |
//! | `stale-status` | the status shows the first title that the Site ever had |
//! | `hog` | needs more memory than the grant allows at the largest number of replicas |
//! | `never-answers` | computes for ever where the color is green |
//! | `leaks-external` | the record of a Site stays when the Site goes |
//! | `creates-twice` | a crash between the creation of the record and the note of its id leads to a second record |
//! | `gives-up` | a read that the API server refuses for now counts as an error that no retry repairs |
//!
//! Guests in other languages have bugs of their own. `js/`:
//!
//! | mode | bug |
//! | --- | --- |
//! | `first-come` | the first Site that came leads, not the first by name |
//! | `no-way-back` | a Site that once had the largest number of replicas stays full |
//! | `stale-view` | a volume is deleted although the API server says that the Site has a color again |
//!
//! `go/`:
//!
//! | mode | bug |
//! | --- | --- |
//! | `half-done` | what is created second is never created if the first write alone was done |
//! | `misses-deletions` | only a host that sees a deletion deletes what the Site had |
//! | `false-status` | replicas that are gone count as ready |
//!
//! The kinds of bugs that papers name, and their modes: Sieve's (OSDI 2022) and Acto's (SOSP 2023), then others.
//!
//! | kind | mode | oracle |
//! | --- | --- | --- |
//! | stale state (Sieve) | `stale-view` (JavaScript) | `faults` |
//! | intermediate state (Sieve) | `half-done` (Go) | `faults` |
//! | unobserved state (Sieve) | `misses-deletions` (Go) | `leftovers` |
//! | state recovery (Acto) | `no-way-back` (JavaScript) | `last-state` |
//! | misoperation (Acto) | `panics` | `plugin-error` |
//! | missing finalizer | `orphans` | `leftovers` |
//! | hot loop | `hot-loop` | `loop` |
//! | false status | `false-status` (Go), `stale-status` | `last-state` |
//! | conflict loop | `fights` | `quiet` |
//! | stuck deletion | `stuck-deletion` | `deletion` |
//! | unhandled 429 | `gives-up` | `errors` |
//! | order dependence | `first-come` (JavaScript) | `last-state` |

mod service;

use oarlock_guest::{
    Context, Error, Kind, Manifest, Mapping, Observation, Outcome, Reconciler, Result, cache, cluster, config, export,
    info, kind, object_ref,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use service::{RECORD, Service};
use std::collections::BTreeMap;
use std::time::Duration;

/// As in the definition.
const MOST_REPLICAS: u32 = 4;

/// The ConfigMap for which Sites fight.
const BANNER: &str = "banner";

#[derive(Default)]
struct Seeded;

export!(Seeded);

#[derive(Deserialize)]
struct Site {
    spec: Spec,
    #[serde(default)]
    status: Value,
}

#[derive(Clone, Deserialize, Serialize)]
struct Spec {
    title: String,
    replicas: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    color: Option<String>,
}

/// Data by the name of the ConfigMap.
type State = BTreeMap<String, Value>;

impl Reconciler for Seeded {
    type Object = Site;
    type State = State;

    fn manifest() -> Manifest {
        let verbs = ["get", "list", "watch", "create", "patch", "delete"];
        Manifest::new("seeded", "1")
            .description("Has the bug that its configuration names")
            .primary(kind("check.oarlock.test/v1", "Site"))
            .watch(config_map(), Mapping::OwnerReference)
            .watch_with(kind("v1", "Secret"), Mapping::CacheOnly, |watch| watch.names.push("credentials".to_owned()))
            .permission("", "configmaps", &verbs)
            .permission("", "secrets", &["get", "list", "watch"])
            .config_property("mode", json!({"type": "string"}))
            .config_property("service", json!({"type": "string"}))
            .http_origin_from_config("service")
            .cleanup()
            .manage_status()
            .resync_seconds(3600)
    }

    fn desired(&self, cx: &Context<Site>) -> Result<Option<State>> {
        if cx.deleting() {
            return Ok(None);
        }
        let (spec, name) = (&cx.object()?.spec, cx.name());
        match mode().as_str() {
            "panics" if spec.replicas == MOST_REPLICAS => unreachable!("too many replicas"),
            "hog" if spec.replicas == MOST_REPLICAS => drop(std::hint::black_box(vec![1_u8; 1 << 30])),
            "never-answers" if spec.color.as_deref() == Some("green") => loop {
                std::hint::black_box(0);
            },
            _ => {}
        }
        let present = present(cx, &format!("{name}-config"))?;
        let mut config = json!({"title": spec.title});
        if let Some(color) = &spec.color {
            set(&mut config, "color", json!(color));
        }
        match (mode().as_str(), present) {
            ("keeps-removed", Some(present)) => {
                if let (None, Some(color)) = (&spec.color, present.get("color")) {
                    set(&mut config, "color", color.clone());
                }
            }
            ("creates-once", Some(present)) => config = present,
            ("always-writes", _) => set(&mut config, "run", json!(cx.correlation_id())),
            _ => {}
        }
        let mut state = State::from([(format!("{name}-config"), config)]);
        if Service::of(cx).is_some() {
            state.insert(RECORD.to_owned(), json!({"title": spec.title, "surplus": 0}));
        }
        state.extend((0..spec.replicas).map(|n| (format!("{name}-{n}"), json!({"site": name}))));
        if mode() == "fights" {
            state.insert(BANNER.to_owned(), json!({"title": spec.title}));
        }
        Ok(Some(state))
    }

    fn actual(&self, cx: &Context<Site>) -> Result<Observation<State>> {
        let (spec, name) = (&cx.object()?.spec, cx.name());
        let mut names = vec![format!("{name}-config")];
        let most = if mode() == "leaves-replicas" && !cx.deleting() { spec.replicas } else { MOST_REPLICAS };
        if !(mode() == "orphans" && cx.deleting()) {
            names.extend((0..most).map(|n| format!("{name}-{n}")));
        }
        if mode() == "fights" {
            names.push(BANNER.to_owned());
        }
        let mut state = State::new();
        for name in names {
            if let Some(data) = present(cx, &name)? {
                state.insert(name, data);
            }
        }
        if mode() == "gives-up" {
            let live = cluster::get_live::<Value>(&config_map(), cx.namespace(), &format!("{name}-config"));
            live.map_err(Error::terminal)?;
        }
        let service = Service::of(cx).filter(|_| !(mode() == "leaks-external" && cx.deleting()));
        if let Some(record) = service.as_ref().map(Service::state).transpose()?.flatten() {
            state.insert(RECORD.to_owned(), record);
        }
        if cx.deleting() {
            if mode() == "stuck-deletion" && spec.replicas == 0 {
                state.insert(name.to_owned(), Value::Null);
            }
            return Ok(Observation::of((!state.is_empty()).then_some(state)));
        }
        let mut title = spec.title.clone();
        if mode() == "stale-status" {
            let key = format!("title of {name}");
            match cache::get::<String>(&key) {
                Some(first) => title = first,
                None => cache::set(&key, &title, None),
            }
        }
        let mut status = json!({"title": title, "replicas": spec.replicas});
        if let Some(id) = service.as_ref().map(Service::id).transpose()?.flatten() {
            set(&mut status, "recordId", json!(id));
        }
        let observation = Observation::present(state).status(status);
        Ok(if mode() == "hot-loop" { observation.requeue_after(Duration::ZERO) } else { observation })
    }

    fn patch(&self, cx: &Context<Site>, desired: Option<State>, actual: Option<State>) -> Result<Outcome> {
        let (desired, actual) = (desired.unwrap_or_default(), actual.unwrap_or_default());
        let mut outcome = Outcome::new();
        if let (Some(service), true) = (Service::of(cx), desired.get(RECORD) != actual.get(RECORD)) {
            match desired.get(RECORD) {
                Some(_) => service.ensure(&cx.object()?.spec.title)?,
                None => service.remove()?,
            }
        }
        for (name, data) in desired.iter().filter(|(name, _)| *name != RECORD) {
            if actual.get(name) != Some(data) {
                outcome = outcome.apply(document(cx, name, data));
            }
        }
        for name in actual.keys().filter(|name| !desired.contains_key(*name)) {
            if name != cx.name() && name != RECORD {
                outcome = outcome.delete(object_ref(&config_map(), cx.namespace(), name));
            }
        }
        match mode().as_str() {
            "leaks" => outcome = outcome.event_normal("Connected", format!("connected with {}", token()?)),
            "logs" => info!("connecting with {}", token()?),
            _ => {}
        }
        Ok(outcome)
    }
}

fn mode() -> String {
    config::get("mode").unwrap_or_default()
}

/// The value of the Secret.
fn token() -> Result<String> {
    let secret: Option<Value> = cluster::get(&kind("v1", "Secret"), "default", "credentials")?;
    let token = secret.as_ref().and_then(|secret| secret.pointer("/data/token")?.as_str()).unwrap_or_default();
    Ok(decoded(token))
}

fn config_map() -> Kind {
    kind("v1", "ConfigMap")
}

/// The data of a ConfigMap, as it was applied.
fn present(cx: &Context<Site>, name: &str) -> Result<Option<Value>> {
    let found: Option<Value> = cluster::get_applied(&config_map(), cx.namespace(), name)?;
    Ok(found.map(|found| found.get("data").cloned().unwrap_or_else(|| json!({}))))
}

fn document(cx: &Context<Site>, name: &str, data: &Value) -> Value {
    let mut metadata = json!({"name": name, "namespace": cx.namespace()});
    if mode() != "orphans" || name.ends_with("-config") {
        set(&mut metadata, "ownerReferences", json!([cx.owner_reference()]));
    }
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
}

fn set(object: &mut Value, field: &str, value: Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.insert(field.to_owned(), value);
    }
}

/// Base64 with padding.
fn decoded(text: &str) -> String {
    const DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bits, mut count, mut bytes) = (0_usize, 0, Vec::new());
    for digit in text.chars().filter_map(|c| DIGITS.find(c)) {
        (bits, count) = ((bits << 6) | digit, count + 6);
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((bits >> count) & 0xff).unwrap_or_default());
        }
        bits &= 0xffff;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
