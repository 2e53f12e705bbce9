//! OpenAPI documents of custom resources, at `/openapi/v2` and `/openapi/v3`, for `kubectl explain` and client libraries.

mod meta;

use serde_json::{Map, Value, json};

use self::meta::meta_schemas;
use crate::crd::{Crd, Version};

/// The form of the document: OpenAPI 2 or 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    V2,
    V3,
}

impl Form {
    fn reference(self, name: &str) -> Value {
        let prefix = if self == Self::V2 { "#/definitions/" } else { "#/components/schemas/" };
        json!({"$ref": format!("{prefix}{name}")})
    }

    /// A reference with a description, which a bare reference cannot have.
    fn described(self, name: &str, description: &str) -> Value {
        match self {
            Self::V2 => {
                let mut schema = self.reference(name);
                merge(&mut schema, &json!({"description": description}));
                schema
            }
            Self::V3 => json!({"description": description, "allOf": [self.reference(name)]}),
        }
    }
}

/// The part of `version` of `crd` in the document of its group and version at `/openapi/v3/apis/<group>/<version>`.
///
/// `{"paths": {…}, "components": {"schemas": {…}}}`: the kind and its list with the GVK extension, the operations
/// on them, and the metadata types they refer to, so that the fragment is complete.
///
/// # Source
///
/// apiextensions-apiserver `pkg/controller/openapi/builder/builder.go`.
#[must_use]
pub fn openapi_v3(crd: &Crd, version: &Version) -> Value {
    let mut schemas = schemas(crd, version, Form::V3);
    for (name, schema) in meta_schemas() {
        schemas.insert(name, with_references(schema, Form::V3));
    }
    json!({"paths": paths(crd, version, Form::V3), "components": {"schemas": schemas}})
}

/// The part of `version` of `crd` in the document at `/openapi/v2`: `{"paths": {…}, "definitions": {…}}`.
///
/// It contains only the parts of a schema that OpenAPI 2 can express. It omits `oneOf`, `anyOf`, `not` and `nullable`, and everything
/// below a field that keeps unknown fields or may be null.
///
/// # Source
///
/// apiextensions-apiserver `pkg/controller/openapi/v2/conversion.go`.
#[must_use]
pub fn openapi_v2(crd: &Crd, version: &Version) -> Value {
    let mut schemas = schemas(crd, version, Form::V2);
    for (name, schema) in meta_schemas() {
        schemas.insert(name, with_references(schema, Form::V2));
    }
    json!({"paths": paths(crd, version, Form::V2), "definitions": schemas})
}

fn with_references(mut schema: Value, form: Form) -> Value {
    fn walk(value: &mut Value, form: Form) {
        match value {
            Value::Object(object) => {
                if let Some(name) = object.remove("$type").as_ref().and_then(Value::as_str) {
                    if let Value::Object(reference) = form.reference(name) {
                        object.extend(reference);
                    }
                    if form == Form::V3 && object.len() > 1 {
                        // Beside a reference other keywords are ignored, so it moves into an allOf.
                        if let Some(reference) = object.remove("$ref") {
                            object.insert("allOf".to_owned(), json!([{"$ref": reference}]));
                        }
                    }
                }
                object.values_mut().for_each(|v| walk(v, form));
            }
            Value::Array(items) => items.iter_mut().for_each(|v| walk(v, form)),
            _ => {}
        }
    }
    walk(&mut schema, form);
    schema
}

fn merge(target: &mut Value, extra: &Value) {
    if let (Some(target), Some(extra)) = (target.as_object_mut(), extra.as_object()) {
        target.extend(extra.iter().map(|(k, v)| (k.clone(), v.clone())));
    }
}

/// `example.com`, `v1`, `Kind` as `com.example.v1.Kind`.
fn model_name(group: &str, version: &str, kind: &str) -> String {
    let reversed: Vec<&str> = group.rsplit('.').collect();
    format!("{}.{version}.{kind}", reversed.join("."))
}

fn gvk(crd: &Crd, version: &Version, kind: &str) -> Value {
    json!({"group": crd.group, "version": version.name, "kind": kind})
}

const API_VERSION: &str = "APIVersion defines the versioned schema of this representation of an object. Servers should \
     convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: \
     https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources";
const KIND: &str = "Kind is a string value representing the REST resource this object represents. Servers may infer \
     this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: \
     https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";
const METADATA: &str = "Standard object's metadata. More info: \
     https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

fn schemas(crd: &Crd, version: &Version, form: Form) -> Map<String, Value> {
    let name = model_name(&crd.group, &version.name, &crd.names.kind);
    let list_name = model_name(&crd.group, &version.name, &crd.names.list_kind);
    let mut schema = convert(&version.openapi, form);
    if let Some(object) = schema.as_object_mut() {
        // A root that keeps unknown fields may have lost its properties in the older form; the type stays.
        object.entry("type").or_insert_with(|| "object".into());
        let properties = object.entry("properties").or_insert_with(|| json!({}));
        merge(
            properties,
            &json!({
                "apiVersion": {"type": "string", "description": API_VERSION},
                "kind": {"type": "string", "description": KIND},
                "metadata": form.described(meta::OBJECT_META, METADATA),
            }),
        );
        object.insert("x-kubernetes-group-version-kind".to_owned(), json!([gvk(crd, version, &crd.names.kind)]));
    }
    let list = json!({
        "type": "object",
        "description": format!("{} is a list of {}", crd.names.list_kind, crd.names.kind),
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string", "description": API_VERSION},
            "kind": {"type": "string", "description": KIND},
            "metadata": form.described(meta::LIST_META, METADATA),
            "items": {
                "type": "array",
                "description": format!("List of {}. More info: \
                    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md",
                    crd.names.plural),
                "items": form.reference(&name),
            },
        },
        "x-kubernetes-group-version-kind": [gvk(crd, version, &crd.names.list_kind)],
    });
    Map::from_iter([(name, schema), (list_name, list)])
}

/// A schema in the form of the document.
fn convert(schema: &Value, form: Form) -> Value {
    let Some(object) = schema.as_object() else { return schema.clone() };
    let flag = |key: &str| object.get(key) == Some(&Value::Bool(true));
    let opaque = form == Form::V2 && (flag("x-kubernetes-preserve-unknown-fields") || flag("nullable"));
    let mut out = Map::new();
    for (key, value) in object {
        let converted = match key.as_str() {
            "oneOf" | "anyOf" | "not" | "nullable" | "default" if form == Form::V2 => continue,
            "properties" | "additionalProperties" | "items" | "required" if opaque => continue,
            "type" if form == Form::V2 && flag("nullable") => continue,
            "properties" => value
                .as_object()
                .map(|properties| properties.iter().map(|(k, v)| (k.clone(), convert(v, form))).collect())
                .unwrap_or_default(),
            "items" | "additionalProperties" | "not" => convert(value, form),
            "allOf" | "anyOf" | "oneOf" => value.as_array().into_iter().flatten().map(|v| convert(v, form)).collect(),
            _ => value.clone(),
        };
        out.insert(key.clone(), converted);
    }
    if flag("x-kubernetes-embedded-resource") && !opaque {
        let properties = out.entry("properties").or_insert_with(|| json!({}));
        merge(
            properties,
            &json!({
                "apiVersion": {"type": "string", "description": API_VERSION},
                "kind": {"type": "string", "description": KIND},
                "metadata": form.described(meta::OBJECT_META, METADATA),
            }),
        );
    }
    Value::Object(out)
}

/// The operations on a resource, from which `kubectl` finds kinds and a server's features.
fn paths(crd: &Crd, version: &Version, form: Form) -> Map<String, Value> {
    let root = format!("/apis/{}/{}", crd.group, version.name);
    let resource = &crd.names.plural;
    let mut paths = Map::new();
    let scoped = if crd.namespaced {
        format!("{root}/namespaces/{{namespace}}/{resource}")
    } else {
        format!("{root}/{resource}")
    };
    let operations = Operations { crd, version, form };
    if crd.namespaced {
        paths.insert(format!("{root}/{resource}"), operations.all(&[("get", "list")], false));
    }
    let collection = [("get", "list"), ("post", "post"), ("delete", "deletecollection")];
    paths.insert(scoped.clone(), operations.all(&collection, crd.namespaced));
    let item = [("get", "get"), ("put", "put"), ("patch", "patch"), ("delete", "delete")];
    paths.insert(format!("{scoped}/{{name}}"), operations.all(&item, crd.namespaced));
    let part = [("get", "get"), ("put", "put"), ("patch", "patch")];
    if version.status {
        paths.insert(format!("{scoped}/{{name}}/status"), operations.all(&part, crd.namespaced));
    }
    paths
}

struct Operations<'a> {
    crd: &'a Crd,
    version: &'a Version,
    form: Form,
}

impl Operations<'_> {
    fn all(&self, verbs: &[(&str, &str)], namespaced: bool) -> Value {
        let mut path: Map<String, Value> =
            verbs.iter().map(|(method, action)| ((*method).to_owned(), self.one(method, action))).collect();
        let mut parameters = Vec::new();
        if namespaced {
            parameters.push(self.parameter("namespace", "path", "string"));
        }
        if verbs.iter().any(|(method, _)| *method == "put") {
            parameters.push(self.parameter("name", "path", "string"));
        }
        path.insert("parameters".to_owned(), parameters.into());
        Value::Object(path)
    }

    fn parameter(&self, name: &str, place: &str, ty: &str) -> Value {
        let mut parameter = json!({"name": name, "in": place});
        if self.form == Form::V2 {
            merge(&mut parameter, &json!({"type": ty, "uniqueItems": true}));
        } else {
            merge(&mut parameter, &json!({"schema": {"type": ty, "uniqueItems": true}}));
        }
        if place == "path" {
            merge(&mut parameter, &json!({"required": true}));
        }
        parameter
    }

    fn one(&self, method: &str, action: &str) -> Value {
        let query: &[(&str, &str)] = match method {
            "get" if action == "list" => {
                &[("fieldSelector", "string"), ("labelSelector", "string"), ("limit", "integer"), ("watch", "boolean")]
            }
            "get" => &[("resourceVersion", "string")],
            "patch" => {
                &[("dryRun", "string"), ("fieldManager", "string"), ("fieldValidation", "string"), ("force", "boolean")]
            }
            "post" | "put" => &[("dryRun", "string"), ("fieldManager", "string"), ("fieldValidation", "string")],
            _ => &[("dryRun", "string"), ("gracePeriodSeconds", "integer"), ("propagationPolicy", "string")],
        };
        let kind = if action == "list" { &self.crd.names.list_kind } else { &self.crd.names.kind };
        let answer = self.form.reference(&model_name(&self.crd.group, &self.version.name, kind));
        let answer = match self.form {
            Form::V2 => json!({"description": "OK", "schema": answer}),
            Form::V3 => json!({"description": "OK", "content": {"application/json": {"schema": answer}}}),
        };
        json!({
            "operationId": format!("{action}{}", self.crd.names.kind),
            "parameters": query.iter().map(|(name, ty)| self.parameter(name, "query", ty)).collect::<Vec<_>>(),
            "responses": {"200": answer},
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": gvk(self.crd, self.version, &self.crd.names.kind),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crd() -> Crd {
        let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "a": {"type": "string", "nullable": true}, "b": {"x-kubernetes-int-or-string": true},
            "c": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                "properties": {"d": {"type": "string"}}}},
            "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}}});
        Crd::parse(&json!({"metadata": {"name": "nets.sample.example.com"}, "spec": {"group": "sample.example.com",
            "scope": "Namespaced", "names": {"plural": "nets", "kind": "Net"}, "versions": [{"name": "v1",
            "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}, "subresources": {"status": {}}}]}}))
        .unwrap()
    }

    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(object) => {
                found.extend(object.get("$ref").and_then(Value::as_str).map(str::to_owned));
                object.values().for_each(|v| references(v, found));
            }
            Value::Array(items) => items.iter().for_each(|v| references(v, found)),
            _ => {}
        }
    }

    #[test]
    fn every_reference_leads_somewhere() {
        let crd = crd();
        for document in [openapi_v3(&crd, &crd.versions[0]), openapi_v2(&crd, &crd.versions[0])] {
            let mut found = Vec::new();
            references(&document, &mut found);
            assert!(found.len() > 5);
            for reference in found {
                let pointer = reference.strip_prefix('#').unwrap();
                assert!(document.pointer(pointer).is_some(), "{reference}");
            }
        }
    }

    #[test]
    fn kubectl_finds_the_kind_by_its_path() {
        let crd = crd();
        let document = openapi_v3(&crd, &crd.versions[0]);
        let path = &document["paths"]["/apis/sample.example.com/v1/namespaces/{namespace}/nets"];
        let gvk = json!({"group": "sample.example.com", "version": "v1", "kind": "Net"});
        assert_eq!(path["get"]["x-kubernetes-group-version-kind"], gvk);
        let schema = &document["components"]["schemas"]["com.example.sample.v1.Net"];
        assert_eq!(schema["x-kubernetes-group-version-kind"], json!([gvk]));
        assert_eq!(schema["properties"]["spec"]["properties"]["a"]["nullable"], true);
        let item = &document["paths"]["/apis/sample.example.com/v1/namespaces/{namespace}/nets/{name}"]["patch"];
        assert!(item["parameters"].as_array().unwrap().iter().any(|p| p["name"] == "fieldValidation"));
    }

    #[test]
    fn the_older_document_has_only_what_it_can_say() {
        let crd = crd();
        let document = openapi_v2(&crd, &crd.versions[0]);
        let spec = &document["definitions"]["com.example.sample.v1.Net"]["properties"]["spec"];
        assert_eq!(
            *spec,
            json!({"type": "object", "properties": {"a": {}, "b": {"x-kubernetes-int-or-string": true},
                "c": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}})
        );
    }
}
