//! Known fields of a CustomResourceDefinition, to find misspelt ones.

use serde_json::{Map, Value};

const SCHEMA_TEXT: &[&str] = &[
    "$ref",
    "$schema",
    "id",
    "description",
    "type",
    "format",
    "title",
    "default",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "uniqueItems",
    "multipleOf",
    "enum",
    "maxProperties",
    "minProperties",
    "required",
    "nullable",
    "externalDocs",
    "example",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
];
const RULE: &[&str] = &["rule", "message", "messageExpression", "reason", "fieldPath", "optionalOldSelf"];

/// Removes the unknown fields of a CustomResourceDefinition and returns their paths in order.
///
/// A server warns of these, or rejects them with `fieldValidation=Strict`. Metadata and status are not checked.
pub fn prune_crd(crd: &mut Value) -> Vec<String> {
    let mut removed = Vec::new();
    keep(crd, "", &["apiVersion", "kind", "metadata", "spec", "status"], &mut removed);
    if let Some(spec) = crd.get_mut("spec") {
        let known = ["group", "names", "scope", "versions", "conversion", "preserveUnknownFields"];
        keep(spec, "spec", &known, &mut removed);
        if let Some(names) = spec.get_mut("names") {
            let known = ["plural", "singular", "shortNames", "kind", "listKind", "categories"];
            keep(names, "spec.names", &known, &mut removed);
        }
        if let Some(conversion) = spec.get_mut("conversion") {
            keep(conversion, "spec.conversion", &["strategy", "webhook"], &mut removed);
        }
        if let Some(versions) = spec.get_mut("versions").and_then(Value::as_array_mut) {
            for (i, version) in versions.iter_mut().enumerate() {
                prune_version(version, &format!("spec.versions[{i}]"), &mut removed);
            }
        }
    }
    removed.sort();
    removed
}

fn prune_version(version: &mut Value, at: &str, removed: &mut Vec<String>) {
    let known = [
        "name",
        "served",
        "storage",
        "deprecated",
        "deprecationWarning",
        "schema",
        "subresources",
        "additionalPrinterColumns",
        "selectableFields",
    ];
    keep(version, at, &known, removed);
    if let Some(schema) = version.get_mut("schema") {
        let at = format!("{at}.schema");
        keep(schema, &at, &["openAPIV3Schema"], removed);
        if let Some(root) = schema.get_mut("openAPIV3Schema") {
            prune_schema(root, &format!("{at}.openAPIV3Schema"), removed);
        }
    }
    if let Some(subresources) = version.get_mut("subresources") {
        let at = format!("{at}.subresources");
        keep(subresources, &at, &["status", "scale"], removed);
        if let Some(scale) = subresources.get_mut("scale") {
            let known = ["specReplicasPath", "statusReplicasPath", "labelSelectorPath"];
            keep(scale, &format!("{at}.scale"), &known, removed);
        }
    }
    let column = ["name", "type", "format", "description", "priority", "jsonPath"];
    for (key, known) in [("additionalPrinterColumns", &column[..]), ("selectableFields", &["jsonPath"][..])] {
        if let Some(elements) = version.get_mut(key).and_then(Value::as_array_mut) {
            for (i, element) in elements.iter_mut().enumerate() {
                keep(element, &format!("{at}.{key}[{i}]"), known, removed);
            }
        }
    }
}

fn prune_schema(schema: &mut Value, at: &str, removed: &mut Vec<String>) {
    let Some(object) = schema.as_object_mut() else { return };
    let mut unknown = Vec::new();
    for (key, child) in object.iter_mut() {
        let at = format!("{at}.{key}");
        match key.as_str() {
            "properties" | "patternProperties" | "definitions" | "dependencies" => {
                each(child, &at, removed);
            }
            "items" | "not" | "additionalProperties" | "additionalItems" => prune_schema(child, &at, removed),
            "allOf" | "anyOf" | "oneOf" => {
                for (i, child) in child.as_array_mut().into_iter().flatten().enumerate() {
                    prune_schema(child, &format!("{at}[{i}]"), removed);
                }
            }
            "x-kubernetes-validations" => {
                for (i, rule) in child.as_array_mut().into_iter().flatten().enumerate() {
                    keep(rule, &format!("{at}[{i}]"), RULE, removed);
                }
            }
            known if SCHEMA_TEXT.contains(&known) => {}
            _ => unknown.push((key.clone(), at)),
        }
    }
    for (key, at) in unknown {
        object.remove(&key);
        removed.push(at);
    }
}

fn each(children: &mut Value, at: &str, removed: &mut Vec<String>) {
    for (name, child) in children.as_object_mut().into_iter().flat_map(Map::iter_mut) {
        prune_schema(child, &format!("{at}.{name}"), removed);
    }
}

fn keep(value: &mut Value, at: &str, known: &[&str], removed: &mut Vec<String>) {
    if let Some(object) = value.as_object_mut() {
        object.retain(|key, _| {
            let keep = known.contains(&key.as_str());
            if !keep {
                removed.push(if at.is_empty() { key.clone() } else { format!("{at}.{key}") });
            }
            keep
        });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn misspelt_fields_are_found_at_every_level() {
        let mut crd = json!({"spec": {"grop": "x", "versions": [{"name": "v1", "schema": {"openAPIV3Schema": {
            "type": "object", "propertis": {}, "properties": {"propertis": {"type": "string", "maxLenght": 1,
            "x-kubernetes-validations": [{"rule": "true", "mesage": "m"}]}}}}}]}});
        let root = "spec.versions[0].schema.openAPIV3Schema";
        assert_eq!(
            prune_crd(&mut crd),
            [
                "spec.grop".to_owned(),
                format!("{root}.properties.propertis.maxLenght"),
                format!("{root}.properties.propertis.x-kubernetes-validations[0].mesage"),
                format!("{root}.propertis"),
            ]
        );
        assert!(prune_crd(&mut crd).is_empty());
    }
}
