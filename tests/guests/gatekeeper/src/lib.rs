//! A guest that answers admission, well or badly, as the annotation `gate` of the object under review asks.
//!
//! | rule | what is under review |
//! | --- | --- |
//! | 0 | ConfigMaps that are made, changed or deleted; they may be changed |
//! | 1 | Secrets that are made; refused where they are not as they should be |
//!
//! What should be is the label `gate` with what the file says: 16 bytes behind the marker `gatekeeper-says:`, which a test can write
//! over. It is the version as well, so that a swap costs no build.

use oarlock_guest::{
    AdmissionRule, Context, Error, Manifest, Mapping, Observation, Outcome, PatchType, Reconciler, Result, cluster,
    export, kind, object_ref,
};
use serde_json::{Value, json};

static SAYS: [u8; 32] = *b"gatekeeper-says:yes             ";

/// What stands there as the component was loaded, not as it was compiled.
fn says() -> String {
    let bytes = std::hint::black_box(&SAYS);
    String::from_utf8_lossy(bytes).trim_start_matches("gatekeeper-says:").trim().to_owned()
}

#[derive(Default)]
struct Gatekeeper;

export!(Gatekeeper);

fn rule(operations: &[&str], resource: &str, validate: bool) -> AdmissionRule {
    AdmissionRule {
        operations: operations.iter().map(|&operation| operation.to_owned()).collect(),
        api_groups: vec![String::new()],
        api_versions: vec!["v1".to_owned()],
        resources: vec![resource.to_owned()],
        validate,
        scope: None,
        namespace_selector: None,
        object_selector: None,
        match_conditions: None,
        side_effects: Some("None".to_owned()),
        match_policy: None,
        reinvocation_policy: None,
        failure_policy: None,
        timeout_seconds: Some(5),
    }
}

impl Reconciler for Gatekeeper {
    type Object = Value;
    type State = Value;

    fn manifest() -> Manifest {
        Manifest::new("gatekeeper", &says())
            .description("Answers admission, well or badly")
            .watch_with(kind("v1", "ConfigMap"), Mapping::CacheOnly, |watch| {
                watch.names.push("gate-settings".to_owned())
            })
            .admission(rule(&["CREATE", "UPDATE", "DELETE"], "configmaps", false))
            .admission(rule(&["CREATE"], "secrets", true))
    }

    fn desired(&self, cx: &Context<Value>) -> Result<Option<Value>> {
        let review = cx.review()?.ok_or_else(|| Error::terminal("only asked at admission"))?;
        let operation = text(review, "/operation");
        match mode(cx.object()?) {
            "deny" => {
                return Err(Error::Denied { code: 418, reason: "Teapot".to_owned(), message: "not today".to_owned() });
            }
            "terminal" => return Err(Error::terminal("this can never be")),
            "transient" => return Err(Error::transient("the world is away")),
            "trap" => unreachable!("as asked"),
            "loop" => loop {
                std::hint::black_box(0);
            },
            "grow" => {
                let mut all: Vec<Vec<u8>> = Vec::new();
                loop {
                    all.push(vec![1; 1 << 20]);
                    std::hint::black_box(&all);
                }
            }
            "protected" if operation == "DELETE" => return Err(Error::denied("it must stay")),
            "who" => {
                return Err(Error::denied(format!("{operation} by {}", text(review, "/userInfo/username"))));
            }
            "settings" => {
                let settings: Option<Value> = cluster::get(&kind("v1", "ConfigMap"), cx.namespace(), "gate-settings")?;
                let settings = settings.ok_or_else(|| Error::transient("there are no settings"))?;
                return Ok(Some(settings.pointer("/data/says").cloned().unwrap_or_default()));
            }
            _ => {}
        }
        if operation == "DELETE" {
            return Ok(Some(label(cx.object()?)));
        }
        Ok(Some(says().into()))
    }

    fn actual(&self, cx: &Context<Value>) -> Result<Observation<Value>> {
        let object = cx.object()?;
        if mode(object) == "pass" {
            return Ok(Observation::of(Some(says().into())));
        }
        // As an initializer it is not done before its own name, the first of those that were pending, is off the list.
        let own =
            cx.review()?.map(|review| review.pointer("/pending/0").cloned().unwrap_or_default()).unwrap_or_default();
        let waiting = pending(object).iter().any(|one| one.get("name") == Some(&own));
        Ok(Observation::of(Some(if waiting { json!({"initializes": own}) } else { label(object) })))
    }

    fn patch(&self, cx: &Context<Value>, desired: Option<Value>, _: Option<Value>) -> Result<Outcome> {
        let object = cx.object()?;
        let key = cx.key();
        let mut labels = json!({"metadata": {"labels": {"gate": desired}}});
        let rest = pending(object).get(1..).map(<[Value]>::to_vec).unwrap_or_default();
        if !pending(object).is_empty() && mode(object) != "keep" {
            let left = if rest.is_empty() { Value::Null } else { json!({"pending": rest}) };
            if let Some(metadata) = labels.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.insert("initializers".to_owned(), left);
            }
        }
        let merge = |patch: Value| Outcome::new().patch(None, PatchType::MergePatch, patch);
        Ok(match mode(object) {
            "warn" => Outcome::new().warning("careful").event_normal("Seen", "it was looked at"),
            "json" => {
                let labels = json!([{"op": "add", "path": "/metadata/labels", "value": {"gate": desired}}]);
                Outcome::new().patch(None, PatchType::JsonPatch, labels)
            }
            "strategic" => Outcome::new().patch(None, PatchType::StrategicMergePatch, labels),
            "twice" => {
                merge(labels).patch(None, PatchType::MergePatch, json!({"data": {"twice": "yes"}})).warning("twice")
            }
            "named" => {
                let target = object_ref(cx.kind(), &key.namespace, &key.name);
                Outcome::new().patch(Some(target), PatchType::MergePatch, labels)
            }
            "other" => {
                let target = object_ref(cx.kind(), &key.namespace, "another");
                Outcome::new().patch(Some(target), PatchType::MergePatch, labels)
            }
            "create" => Outcome::new().create(json!({"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "x", "namespace": key.namespace}})),
            "delete" => Outcome::new().delete(object_ref(cx.kind(), &key.namespace, &key.name)),
            "rename" => merge(json!({"metadata": {"name": "somebody-else"}})),
            "nowhere" => {
                Outcome::new().patch(None, PatchType::JsonPatch, json!([{"op": "remove", "path": "/spec/nothing"}]))
            }
            "half" => merge(json!({"data": {"half": "done"}})),
            "unfit" => merge(json!({"metadata": {"labels": {"gate": desired, "unfit": "no label value!"}}})),
            _ => merge(labels),
        })
    }
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn mode(object: &Value) -> &str {
    text(object, "/metadata/annotations/gate")
}

fn label(object: &Value) -> Value {
    object.pointer("/metadata/labels/gate").cloned().unwrap_or_default()
}

fn pending(object: &Value) -> Vec<Value> {
    object.pointer("/metadata/initializers/pending").and_then(Value::as_array).cloned().unwrap_or_default()
}
