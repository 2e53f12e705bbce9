//! Subresources: status, scale, binding, eviction, finalize, token.

use std::sync::Arc;

use http::StatusCode;
use serde_json::{Value, json};

use crate::{
    handlers::{patch, resource_request::ResourceRequest, reviews},
    http::{
        body,
        decode::{self, Expected},
        encode, negotiate,
        query::WriteOptions,
        response::Response,
    },
    model::{
        selector,
        status::{ApiError, Cause, Result},
        time,
    },
    resources::{
        deletion::DeleteOptions,
        managed::{self, Writer},
        write::Failure,
    },
    store::{ATTEMPTS, Object},
};

impl ResourceRequest<'_> {
    pub(super) async fn subresource(&self) -> Result<Response> {
        let name = self.path.subresource.as_str();
        let verb = match self.call.method.as_str() {
            "GET" => "get",
            "POST" => "create",
            "PUT" => "update",
            "PATCH" => "patch",
            "DELETE" => "delete",
            _ => return Err(ApiError::method_not_allowed()),
        };
        let known = self.resource.subresource(name).is_some_and(|s| s.verbs.contains(&verb));
        let scoped = !self.resource.namespaced || !self.path.namespace.is_empty();
        if !known || !scoped {
            return Err(ApiError::method_not_allowed());
        }
        match (name, verb) {
            ("scale", verb) => self.scale(verb).await,
            ("binding", _) => self.bind().await,
            ("eviction", _) => self.evict().await,
            ("token", _) => reviews::token(self).await,
            ("finalize", _) => self.finalize().await,
            ("attach" | "exec" | "log" | "portforward" | "proxy", _) => self.connect(),
            (_, "get") => self.get().await,
            (_, "update") => self.replace().await,
            _ => self.patch().await,
        }
    }

    /// `PUT namespaces/{name}/finalize` sets `spec.finalizers`.
    async fn finalize(&self) -> Result<Response> {
        let options = WriteOptions::parse(&self.call.query, "UpdateOptions")?;
        let body = decode::decode(self.call, Expected::of(&self.resource), options.field_validation)?;
        let finalizers = body.object.pointer("/spec/finalizers").cloned().unwrap_or_else(|| json!([]));
        let write = self.write(&options);
        for _ in 0..ATTEMPTS {
            let old = self.api.store.find(&self.resource, &self.key())?;
            self.check_version(&body.object, &old)?;
            let mut new = old.value.clone();
            if let Some(map) = new.as_object_mut()
                && let Some(spec) = map.entry("spec").or_insert_with(|| json!({})).as_object_mut()
            {
                spec.insert("finalizers".to_owned(), finalizers.clone());
            }
            match write.update(&old, new).await {
                Ok(stored) => return self.reply(StatusCode::OK, &stored, Vec::new()),
                Err(Failure::Refused(error)) => return Err(error),
                Err(Failure::Retry) => {}
            }
        }
        Err(write.modified())
    }

    async fn bind(&self) -> Result<Response> {
        let options = WriteOptions::parse(&self.call.query, "CreateOptions")?;
        let expected = Expected { group: "", version: "v1", kind: "Binding", custom: None };
        let body = decode::decode(self.call, expected, options.field_validation)?;
        let binding = self.admitted(("", "v1", "Binding"), (body.object, None), &options).await?;
        self.same_name(&binding, "Binding")?;
        let node = binding.pointer("/target/name").and_then(Value::as_str).unwrap_or_default().to_owned();
        if node.is_empty() {
            let cause = Cause::required("target.name", "");
            return Err(ApiError::invalid("", "Binding", &self.path.name, &[cause]));
        }
        let resource_store = self.api.store.of(&self.resource);
        for _ in 0..ATTEMPTS {
            let old = self.api.store.find(&self.resource, &self.key())?;
            let text = |p: &str| old.value.pointer(p).and_then(Value::as_str).unwrap_or_default();
            let conflict = |why: &str| ApiError::conflict("", "pods/binding", &self.path.name, why);
            if !text("/metadata/deletionTimestamp").is_empty() {
                return Err(conflict(&format!(
                    "pod {} is being deleted, cannot be assigned to a host",
                    self.path.name
                )));
            }
            if !text("/spec/nodeName").is_empty() {
                let taken = text("/spec/nodeName");
                return Err(conflict(&format!("pod {} is already assigned to node \"{taken}\"", self.path.name)));
            }
            let new = bound(&old, &node);
            if options.dry_run || resource_store.update(&self.key(), old.revision, new).is_ok() {
                let status =
                    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
                return Ok(Response::with(StatusCode::CREATED, &status));
            }
        }
        Err(ApiError::modified("", "pods", &self.path.name))
    }

    /// An object about a pod must have the pod's name.
    fn same_name(&self, object: &Value, kind: &str) -> Result<()> {
        if object.pointer("/metadata/name").and_then(Value::as_str) == Some(self.path.name.as_str()) {
            return Ok(());
        }
        Err(ApiError::bad_request(format!("name in URL does not match name in {kind} object")))
    }

    async fn evict(&self) -> Result<Response> {
        let body = decode::parse(self.call, "Eviction")?;
        let write = WriteOptions::parse(&self.call.query, "CreateOptions")?;
        let eviction = self.admitted(("policy", "v1", "Eviction"), (body.value, None), &write).await?;
        self.same_name(&eviction, "Eviction")?;
        let options = DeleteOptions::parse(&self.call.query, eviction.get("deleteOptions"))?;
        self.api.controllers.delete(&self.resource, &self.key(), &options)?;
        let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
        Ok(Response::with(StatusCode::CREATED, &status))
    }

    fn scale_paths(&self) -> (Vec<String>, Vec<String>, Option<Vec<String>>) {
        let path = |names: [&str; 2]| names.map(str::to_owned).to_vec();
        match self.resource.custom.as_ref().and_then(|c| c.scale.clone()) {
            Some(scale) => (scale.spec_replicas, scale.status_replicas, scale.label_selector),
            None => (path(["spec", "replicas"]), path(["status", "replicas"]), None),
        }
    }

    fn scale_of(&self, object: &Object) -> Value {
        let (spec, status, selector) = self.scale_paths();
        let meta = |key: &str| object.value.pointer("/metadata").and_then(|m| m.get(key)).cloned().unwrap_or_default();
        let mut metadata = json!({"name": meta("name"), "uid": meta("uid"), "creationTimestamp": meta("creationTimestamp"),
            "resourceVersion": object.revision.to_string()});
        if let (Value::Object(map), true) = (&mut metadata, self.resource.namespaced) {
            map.insert("namespace".to_owned(), meta("namespace"));
        }
        let number = |path: &[String]| at(&object.value, path).and_then(Value::as_i64);
        let mut shown = json!({"replicas": number(&status).unwrap_or(0)});
        let selector = match selector {
            Some(path) => at(&object.value, &path).and_then(Value::as_str).map(str::to_owned),
            None if self.resource.custom.is_none() => Some(selector::to_text(object.value.pointer("/spec/selector"))),
            None => None,
        };
        if let (Value::Object(map), Some(text)) = (&mut shown, selector.filter(|t| !t.is_empty())) {
            map.insert("selector".to_owned(), text.into());
        }
        let wanted = match number(&spec) {
            Some(0) | None => json!({}),
            Some(n) => json!({"replicas": n}),
        };
        json!({"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": wanted, "status": shown})
    }

    async fn scale(&self, verb: &str) -> Result<Response> {
        let format = negotiate::format(&self.call.accept, false)?;
        let answer = |object: &Object| -> Result<Response> {
            if let Some(custom) = self.resource.custom.as_ref().and_then(|c| c.scale.as_ref())
                && at(&object.value, &custom.spec_replicas).is_none()
            {
                let path = &custom.spec_replicas_path;
                return Err(ApiError::internal_error(&format!("the spec replicas field \"{path}\" does not exist")));
            }
            Ok(Response::ready(StatusCode::OK, format, encode::bytes(&self.scale_of(object), format)?))
        };
        if verb == "get" {
            return answer(&*self.find().await?);
        }
        let options =
            WriteOptions::parse(&self.call.query, if verb == "patch" { "PatchOptions" } else { "UpdateOptions" })?;
        let apply = verb == "patch" && patch::Kind::of(&self.call.content_type, false)? == patch::Kind::Apply;
        if verb == "patch" {
            let kind = patch::Kind::of(&self.call.content_type, false)?;
            patch::check_options(kind, &self.call.query)?;
        }
        let mut write = self.write(&options);
        write.steps.tracked = apply;
        for _ in 0..ATTEMPTS {
            let old = self.find().await?;
            let scale = if verb == "patch" {
                patch::scale(&self.call.content_type, &self.call.body, &self.scale_of(&old))?
            } else {
                let expected = Expected { group: "autoscaling", version: "v1", kind: "Scale", custom: None };
                let scale = decode::decode(self.call, expected, options.field_validation)?.object;
                if scale.pointer("/metadata/name").and_then(Value::as_str).is_none_or(str::is_empty) {
                    return Err(patch::nameless(&self.path.name));
                }
                scale
            };
            let before = self.scale_of(&old);
            let kind = ("autoscaling", "v1", "Scale");
            let scale = self.admitted(kind, (scale, Some(&before)), &options).await?;
            let mut new = self.scaled(&scale, &old)?;
            if apply && self.resource.custom.is_some() {
                return Err(ApiError::internal(format!(
                    "failed to convert new object (/{}; autoscaling/v1, Kind=Scale) to proper version: request to convert CR to an \
                     invalid group/version: autoscaling/v1",
                    self.path.name
                )));
            }
            if apply {
                new = self.applied_scale(&scale, &old, &options, &write.steps.writer)?;
            }
            match write.update_unreviewed(&old, new).await {
                Ok(stored) => return answer(&stored),
                Err(Failure::Refused(error)) => return Err(error),
                Err(Failure::Retry) => {}
            }
        }
        Err(write.modified())
    }

    /// The object with the replicas of an applied Scale: the applier owns only that field.
    fn applied_scale(&self, scale: &Value, old: &Object, options: &WriteOptions, writer: &Writer) -> Result<Value> {
        let current = encode::value(&self.resource, old);
        let mut applied = json!({"metadata": {"name": self.path.name}});
        self.resource.stamp(&mut applied);
        let replicas = scale.pointer("/spec/replicas").cloned().unwrap_or_else(|| 0.into());
        set(&mut applied, &self.scale_paths().0, replicas);
        let rules = managed::rules(&self.resource, writer);
        oarlock_merge::apply::apply(Some(&current), &applied, &rules, options.force).map_err(|e| patch::apply_error(&e))
    }

    /// The object with the replicas of a Scale.
    fn scaled(&self, scale: &Value, old: &Arc<Object>) -> Result<Value> {
        let name = scale.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        if !name.is_empty() && name != self.path.name {
            return Err(ApiError::bad_request(format!(
                "the name of the object ({name}) does not match the name on the URL ({})",
                self.path.name
            )));
        }
        let version = scale.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default();
        if !matches!(version, "" | "0") && version.parse() != Ok(old.revision) {
            return Err(ApiError::modified(&self.resource.group, &self.resource.plural, &self.path.name));
        }
        let given = scale.pointer("/spec/replicas").filter(|r| !r.is_null());
        if let Some(wrong) = given.filter(|r| !r.is_i64()) {
            let why = format!(
                "json: cannot unmarshal {} into Go struct field ScaleSpec.spec.replicas of type int32",
                body::json_type(wrong)
            );
            return Err(ApiError::invalid_patch(&scale.to_string(), &why));
        }
        let replicas = given.and_then(Value::as_i64).unwrap_or(0);
        if replicas < 0
            && let Some(custom) = self.resource.custom.as_ref().and_then(|c| c.scale.as_ref())
        {
            let detail = "should be a non-negative integer";
            let cause = Cause::invalid(custom.spec_replicas_path.clone(), &json!(replicas), detail);
            return Err(ApiError::invalid(&self.resource.group, &self.resource.kind, &self.path.name, &[cause]));
        }
        if replicas < 0 {
            let cause = Cause::invalid("spec.replicas", &json!(replicas), "must be greater than or equal to 0");
            return Err(ApiError::invalid("autoscaling", "Scale", &self.path.name, &[cause]));
        }
        let mut new = old.value.clone();
        set(&mut new, &self.scale_paths().0, replicas.into());
        Ok(new)
    }
}

fn bound(old: &Object, node: &str) -> Value {
    let mut new = old.value.clone();
    if let Some(spec) = new.pointer_mut("/spec").and_then(Value::as_object_mut) {
        spec.insert("nodeName".to_owned(), node.into());
    }
    let condition =
        json!({"type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": time::now()});
    if let Some(status) = new.pointer_mut("/status").and_then(Value::as_object_mut) {
        let list = status.entry("conditions").or_insert_with(|| json!([]));
        if let Some(list) = list.as_array_mut() {
            list.retain(|c| c.get("type").and_then(Value::as_str) != Some("PodScheduled"));
            list.push(condition);
        }
    }
    new
}

fn at<'a>(value: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(value, |v, key| v.get(key))
}

fn set(value: &mut Value, path: &[String], leaf: Value) {
    let Some((first, rest)) = path.split_first() else {
        *value = leaf;
        return;
    };
    if !value.is_object() {
        *value = json!({});
    }
    if let Some(map) = value.as_object_mut() {
        set(map.entry(first.clone()).or_insert(Value::Null), rest, leaf);
    }
}
