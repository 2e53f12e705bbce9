//! One call: the object, and the mode that it is in.

use crate::guest::{core, parsed};
use crate::manifest;
use crate::modes::MODES;
use crate::reading::everything;
use oarlock_guest::raw::{Error, GroupVersionKind, ObjectKey, Request, cache, cluster, config};
use serde_json::{Value, json};

/// One call.
pub(crate) struct Reconcile {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) mode: String,
    argument: Option<usize>,
    /// The object, or its last state.
    pub(crate) object: Value,
    /// The object's `data.value`.
    pub(crate) value: Value,
    pub(crate) owner: Value,
}

impl Reconcile {
    pub(crate) fn of(request: &Request) -> Result<Self, Error> {
        let text = request.object.as_ref().or(request.last_seen.as_ref());
        let object: Value = text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let annotated = object.pointer("/metadata/annotations/misfit~1mode").and_then(Value::as_str).map(str::to_owned);
        let mode = annotated
            .or_else(|| manifest::mode(&object))
            .or_else(|| config::get("mode"))
            .unwrap_or_else(|| "ok".to_owned());
        let (mode, argument) = match mode.split_once(':') {
            Some((mode, argument)) => (mode.to_owned(), argument.parse().ok()),
            None => (mode, None),
        };
        if !MODES.contains(&mode.as_str()) {
            return Err(Error::Terminal(format!("misfit knows no mode {mode:?}")));
        }
        let ObjectKey { namespace, name } = request.key.clone();
        let GroupVersionKind { group, version, kind } = &request.kind;
        let api_version = if group.is_empty() { version.clone() } else { format!("{group}/{version}") };
        let owner =
            json!({"apiVersion": api_version, "kind": kind, "name": name, "uid": request.uid, "controller": true});
        let value = object.pointer("/data/value").cloned().unwrap_or_else(|| json!("none"));
        Ok(Self { namespace, name, mode, argument, object, value, owner })
    }

    pub(crate) fn count(&self, unless_told: usize) -> usize {
        self.argument.unwrap_or(unless_told)
    }

    pub(crate) fn key(&self, suffix: &str) -> ObjectKey {
        ObjectKey { namespace: self.namespace.clone(), name: format!("{}-{suffix}", self.name) }
    }

    pub(crate) fn object(&self, kind: &str, suffix: &str, data: &Value) -> Value {
        let ObjectKey { namespace, name } = self.key(suffix);
        json!({
            "apiVersion": "v1", "kind": kind, "data": data,
            "metadata": {
                "name": name, "namespace": namespace, "labels": {"misfit-child": "true"}, "ownerReferences": [self.owner],
            },
        })
    }

    /// How many writes of the mode `staged` are made.
    pub(crate) fn stage(&self) -> Result<usize, Error> {
        let child = cluster::get_applied(&core("ConfigMap"), &self.key("child"))?.map(|text| parsed(&text));
        if child.is_none_or(|child| child.pointer("/data/seen") != Some(&self.value)) {
            return Ok(0);
        }
        let options = everything(self.namespace.clone(), "misfit-child=true");
        let found = cluster::list_objects(&core("ConfigMap"), &options)?;
        let mut found = found.iter().map(|text| parsed(text));
        let name = json!(self.key("extra").name);
        Ok(match found.find(|object| object.pointer("/metadata/name") == Some(&name)) {
            None => 1,
            Some(extra) => {
                let label = extra.pointer("/metadata/labels/stage").and_then(Value::as_str);
                2 + label.and_then(|label| label.parse::<usize>().ok()).unwrap_or_default()
            }
        })
    }

    /// What a well-behaved misfit wants.
    pub(crate) fn child(&self) -> Value {
        let seen = match self.mode.as_str() {
            "never-settles" => json!((self.next_count() / self.count(1).max(1) as u64).to_string()),
            "wrong" => json!("wrong"),
            _ => self.value.clone(),
        };
        let mut data = json!({"seen": seen});
        if ["marked", "posts"].contains(&self.mode.as_str()) {
            data["marked"] = json!("true");
        }
        self.object("ConfigMap", "child", &data)
    }

    /// The same in another order of members each time.
    pub(crate) fn reordered(&self) -> String {
        let child = self.child();
        let mut members: Vec<_> = child.as_object().into_iter().flatten().collect();
        let turns = usize::try_from(self.next_count()).unwrap_or_default() % members.len().max(1);
        members.rotate_left(turns);
        let members: Vec<_> = members.into_iter().map(|(name, value)| format!("{}:  {value}", json!(name))).collect();
        format!("{{ {} }}", members.join(" , "))
    }

    /// A child that the API server adds to: types, ports, policies.
    pub(crate) fn service(&self) -> Value {
        let mut service = self.object("Service", "child", &json!({}));
        if let Some(fields) = service.as_object_mut() {
            fields.remove("data");
            fields.insert("spec".to_owned(), json!({"selector": {"app": "misfit"}, "ports": [{"port": 80}]}));
        }
        service
    }

    /// A child with a list in which other writers may have elements of their own.
    pub(crate) fn ports(&self) -> Value {
        let mut service = self.service();
        let ports = [json!({"name": "web", "port": 80}), json!({"name": "extra", "port": 9090, "targetPort": 7})];
        if let Some(spec) = service.pointer_mut("/spec").and_then(Value::as_object_mut) {
            spec.insert("ports".to_owned(), ports.iter().take(self.count(1)).cloned().collect());
        }
        service
    }

    /// What the host's cache holds for this object under a name; `value` when it holds nothing yet.
    pub(crate) fn once(&self, what: &str, value: &Value) -> Value {
        let key = format!("{what} {}/{}", self.namespace, self.name);
        if let Some(kept) = cache::get(&key).and_then(|bytes| serde_json::from_slice(&bytes).ok()) {
            return kept;
        }
        cache::set(&key, value.to_string().as_bytes(), 0);
        value.clone()
    }

    pub(crate) fn has(&self, what: &str) -> bool {
        cache::get(&format!("{what} {}/{}", self.namespace, self.name)).is_some()
    }

    /// An instance does not live long enough to count: the host's cache does.
    pub(crate) fn next_count(&self) -> u64 {
        let key = format!("counter {}/{}", self.namespace, self.name);
        let last = cache::get(&key).and_then(|bytes| String::from_utf8(bytes).ok()).and_then(|text| text.parse().ok());
        let next = last.unwrap_or(0_u64) + 1;
        cache::set(&key, next.to_string().as_bytes(), 0);
        next
    }
}
