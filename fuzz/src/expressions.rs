//! Small languages: selectors, JSONPath, CEL.

use crate::lines;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use oarlock::api::Selector;
use oarlock_jsonpath::JsonPath;
use oarlock_schema::{Condition, validate_crd};
use serde_json::{Map, Value, json};

/// A selector, one as JSON, and labels as JSON.
pub(crate) fn selectors(data: &[u8]) {
    let Some([text, structured, labels]) = lines(data) else { return };
    let labels: Map<String, Value> = serde_json::from_str(labels).unwrap_or_default();
    let label = |key: &str| labels.get(key).and_then(Value::as_str);
    let structured: Option<LabelSelector> = serde_json::from_str(structured).ok();
    if let Ok(selector) = text.parse::<Selector>() {
        let printed = selector.to_string();
        let again: Selector = printed.parse().expect("what is printed is a selector");
        assert_eq!(again, selector, "{printed}");
        assert_eq!(again.matches(label), selector.matches(label), "{printed}");
    }
    let structured = structured.and_then(|structured| serde_json::to_value(structured).ok());
    let other = json!({"matchLabels": {"a": "b"}});
    let _ = oarlock::grants::both_selectors(structured.as_ref(), Some(&other));
}

/// A path, and a document.
pub(crate) fn jsonpath(data: &[u8]) {
    let Some([path, document]) = lines(data) else { return };
    let Ok(path) = JsonPath::parse(path) else { return };
    let document: Value = serde_json::from_str(document).unwrap_or_default();
    let found = path.find(&document);
    assert_eq!(path.first(&document), found.first().copied());
}

/// An expression, the schema of its `self`, and a value.
pub(crate) fn cel(data: &[u8]) {
    let Some([rule, schema, value]) = lines(data) else { return };
    let value: Value = serde_json::from_str(value).unwrap_or_default();
    if let Ok(condition) = Condition::parse(rule) {
        let _ = condition.uses("self");
        let _ = condition.holds(&[("self", &value), ("object", &value)]);
    }
    let Ok(Value::Object(mut schema)) = serde_json::from_str(schema) else { return };
    schema.insert("x-kubernetes-validations".to_owned(), json!([{"rule": rule, "messageExpression": rule}]));
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema":
                {"type": "object", "properties": {"spec": schema}}}}],
        },
    });
    let faults = validate_crd(&crd);
    assert_eq!(faults.is_empty(), oarlock_schema::Crd::parse(&crd).is_ok());
    if let Ok(crd) = oarlock_schema::Crd::parse(&crd)
        && let Some(version) = crd.versions.first()
    {
        let object = json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": value});
        let _ = version.schema.validate(&object, None);
    }
}
