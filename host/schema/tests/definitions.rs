//! Rejected definitions, beyond the recorded ones.

use oarlock_schema::{Crd, invalid_status, validate_crd, validate_crd_update};
use serde_json::{Value, json};

fn definition(schema: &Value) -> Value {
    json!({"metadata": {"name": "nets.example.com"}, "spec": {"group": "example.com", "scope": "Namespaced",
        "names": {"plural": "nets", "singular": "net", "kind": "Net", "listKind": "NetList"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}})
}

/// Errors of a definition whose field `x` has this schema; `~` stands for the path of `x`.
fn errors(x: &Value) -> Vec<String> {
    let at = "spec.validation.openAPIV3Schema.properties[x]";
    let definition = definition(&json!({"type": "object", "properties": {"x": x}}));
    validate_crd(&definition).iter().map(|e| e.to_string().replace(at, "~")).collect()
}

#[test]
fn structural_schemas_are_accepted() {
    for x in [
        json!({"type": "string", "pattern": "^a+$", "enum": ["a"], "default": "a"}),
        json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}),
        json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}}}}),
        json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]}),
        json!({"x-kubernetes-preserve-unknown-fields": true}),
        json!({"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}),
        json!({"type": "object", "additionalProperties": {"type": "integer"}, "default": {"a": 1}}),
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "allOf": [{"properties": {"a": {"maxLength": 1}}}]}),
    ] {
        assert_eq!(errors(&x), Vec::<String>::new(), "{x}");
    }
}

#[test]
fn other_schemas_are_refused() {
    let undefined = "must be undefined to be structural";
    for (x, expect) in [
        (json!({"type": "array"}), "~.items: Required value: must be specified".to_owned()),
        (json!({"type": "array", "items": {}}), "~.items.type: Required value: must not be empty for specified array items".into()),
        (json!({"type": "text"}), "~.type: Unsupported value: \"text\": supported values: \"array\", \"boolean\", \"integer\", \"number\", \"object\", \"string\"".into()),
        (json!({"type": "string", "pattern": "("}), "~.pattern: Invalid value: \"(\": must be a valid regular expression".into()),
        (json!({"type": "string", "uniqueItems": true}), "~.uniqueItems: Forbidden: uniqueItems cannot be set to true".into()),
        (json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}}), "~.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive".into()),
        (json!({"type": "string", "default": 1}), "~.default: Invalid value: \"integer\":  in body must be of type string: \"integer\"".into()),
        (json!({"type": "object", "properties": {"a": {"type": "string"}}, "default": {"b": 1}}), "~.default: Invalid value: {\"b\":1}: must not have unknown fields".into()),
        (json!({"type": "string", "anyOf": [{"default": 1}]}), format!("~.anyOf[0].default: Forbidden: {undefined}")),
        (json!({"type": "string", "not": {"type": "string"}}), "~.not.type: Forbidden: must be empty to be structural".into()),
        (json!({"type": "object", "oneOf": [{"properties": {"a": {"minLength": 1}}}]}), "~.properties[a]: Required value: because it is defined in ~.oneOf[0].properties[a]".into()),
        (json!({"type": "string", "x-kubernetes-list-type": "set"}), "~.type: Invalid value: \"string\": must be array if x-kubernetes-list-type is specified".into()),
        (json!({"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "map"}), "~.x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map".into()),
        (json!({"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}), "~.x-kubernetes-list-map-keys: Invalid value: [\"k\"]: entries must all be names of item properties".into()),
        (json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "properties": {"k": {"type": "string"}}}}), "~.items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property".into()),
        (json!({"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "set"}), "~.items.x-kubernetes-map-type: Invalid value: \"\": must be atomic as item of a list with x-kubernetes-list-type=set".into()),
        (json!({"type": "object", "x-kubernetes-embedded-resource": true}), "~.properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields".into()),
        (json!({"type": "string", "x-kubernetes-map-type": "atomic"}), "~.type: Invalid value: \"string\": must be object if x-kubernetes-map-type is specified".into()),
        (json!({"type": "string", "$ref": "#/x"}), "~.$ref: Forbidden: $ref is not supported".into()),
    ] {
        let found = errors(&x);
        assert!(found.iter().any(|e| e.starts_with(&expect)), "{x}\nwants {expect}\nfound {found:#?}");
    }
}

#[test]
fn rules_are_checked_when_they_are_written() {
    for (rule, expect) in [
        (json!({"rule": " "}), ".rule: Required value: rule is not specified"),
        (
            json!({"rule": "self.a =="}),
            ".rule: Invalid value: {\"Rule\":\"self.a ==\",\"Message\":\"\",\"MessageExpression\":\"\",\"Reason\":null,\"FieldPath\":\"\",\"OptionalOldSelf\":null}: compilation failed: ERROR: ",
        ),
        (
            json!({"rule": "self.b == 'x'"}),
            ".rule: Invalid value: {\"Rule\":\"self.b == 'x'\",\"Message\":\"\",\"MessageExpression\":\"\",\"Reason\":null,\"FieldPath\":\"\",\"OptionalOldSelf\":null}: compilation failed: ERROR: <input>:1:5: undefined field 'b'\n | self.b == 'x'\n | ....^",
        ),
        (
            json!({"rule": "self.a"}),
            ".rule: Invalid value: {\"Rule\":\"self.a\",\"Message\":\"\",\"MessageExpression\":\"\",\"Reason\":null,\"FieldPath\":\"\",\"OptionalOldSelf\":null}: cel expression must evaluate to a bool",
        ),
        (
            json!({"rule": "true", "messageExpression": "1"}),
            ".messageExpression: Invalid value: {\"Rule\":\"true\",\"Message\":\"\",\"MessageExpression\":\"1\",\"Reason\":null,\"FieldPath\":\"\",\"OptionalOldSelf\":null}: messageExpression must evaluate to a string",
        ),
        (
            json!({"rule": "true", "reason": "Because"}),
            ".reason: Unsupported value: \"Because\": supported values: \"FieldValueDuplicate\", \"FieldValueForbidden\", \"FieldValueInvalid\", \"FieldValueRequired\"",
        ),
        (json!({"rule": "true", "fieldPath": ".b"}), ".fieldPath: Invalid value: \".b\": must be a valid path"),
        (
            json!({"rule": "true", "optionalOldSelf": true}),
            ".optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule",
        ),
        (
            json!({"rule": "true\n", "message": "a\nb"}),
            ".message: Invalid value: \"a\\nb\": must not contain line breaks",
        ),
    ] {
        let found = errors(&json!({"type": "object", "properties": {"a": {"type": "string", "maxLength": 9}},
            "x-kubernetes-validations": [rule]}));
        let expect = format!("~.x-kubernetes-validations[0]{expect}");
        assert!(found.iter().any(|e| e.starts_with(&expect)), "{rule}\nwants {expect}\nfound {found:#?}");
    }
}

#[test]
fn several_versions_name_their_own_schemas() {
    let mut two = definition(&json!({"type": "object", "properties": {"x": {}}}));
    two["spec"]["versions"] = json!([
        {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}},
        {"name": "v2", "served": true, "storage": false,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"x": {}}}}},
    ]);
    let errors = validate_crd(&two);
    let fields: Vec<&str> = errors.iter().map(|e| e.field.as_str()).collect();
    assert_eq!(fields, ["spec.versions[1].schema.openAPIV3Schema.properties[x].type"]);
}

#[test]
fn a_version_that_holds_objects_cannot_go() {
    let schema = json!({"type": "object"});
    let mut old = definition(&schema);
    old["status"] = json!({"storedVersions": ["v1"]});
    let mut new = definition(&schema);
    new["spec"]["versions"][0]["name"] = "v2".into();
    let found: Vec<String> = validate_crd_update(&new, &old).iter().map(ToString::to_string).collect();
    assert_eq!(found, ["status.storedVersions[0]: Invalid value: \"v1\": missing from spec.versions"]);
}

#[test]
fn a_refusal_is_a_status() {
    let Err(errors) = Crd::parse(&json!({"metadata": {"name": "x"}, "spec": {"scope": "Cluster"}})) else {
        panic!("accepted")
    };
    let status = invalid_status("apiextensions.k8s.io", "CustomResourceDefinition", "x", &errors);
    assert_eq!(status["code"], 422);
    let message = status["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("CustomResourceDefinition.apiextensions.k8s.io \"x\" is invalid: ["), "{message}");
    assert!(message.contains("spec.group: Required value"), "{message}");
}
