//! Definitions of what the generators of the languages print: structural, and with the same objects accepted in every language.
//!
//! `schemas/*.json` are what ts-json-schema-generator 2.4, pydantic 2 and msgspec print of the sources beside them.
//! `UPDATE_EXPECT=1` writes the recorded files.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail")]

use oarlock_schema::Crd;
use oarlock_types::{Column, Definition, DefinitionError, Language, Model};
use schemars::{JsonSchema, generate::SchemaSettings, schema_for};
use serde_json::{Map, Value, json};
use std::{env, fs, path::Path};

#[path = "support/inlined.rs"]
mod inlined;
#[path = "support/objects.rs"]
mod objects;
#[path = "support/webapp.rs"]
mod webapp;

#[expect(unreachable_pub, clippy::enum_variant_names, reason = "as users have it; the names are the API's")]
#[rustfmt::skip]
#[path = "golden/schemars/deployment.rs"]
mod deployment;
#[expect(unreachable_pub, reason = "as users have it")]
#[rustfmt::skip]
#[path = "golden/schemars/difficult.rs"]
mod difficult;
#[expect(unreachable_pub, reason = "as users have it")]
#[rustfmt::skip]
#[path = "golden/schemars/network.rs"]
mod network;

fn here(path: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(path)
}

fn recorded(path: &str, text: &str) {
    if env::var_os("UPDATE_EXPECT").is_some() {
        fs::create_dir_all(here(path).parent().unwrap()).unwrap();
        fs::write(here(path), text).unwrap();
    }
    assert_eq!(fs::read_to_string(here(path)).unwrap(), text, "{path}: UPDATE_EXPECT=1 writes it");
}

fn definition() -> Definition {
    Definition {
        group: "example.com".to_owned(),
        version: "v1".to_owned(),
        kind: "WebApp".to_owned(),
        plural: "webapps".to_owned(),
        short_names: vec!["wa".to_owned()],
        ..Definition::default()
    }
}

fn of_schema(schema: &Value) -> Result<Value, DefinitionError> {
    definition().of_schema(schema)
}

/// The definition, which an API server accepts.
fn parsed(made: &Value) -> Crd {
    Crd::parse(made)
        .unwrap_or_else(|errors| panic!("{}\n{made:#}", errors.iter().map(|e| format!("{e}\n")).collect::<String>()))
}

/// The faults of an object, after the API server's defaults.
fn faults(crd: &Crd, object: &Value) -> String {
    let schema = &crd.versions[0].schema;
    let mut object = object.clone();
    let dropped = schema.prune(&mut object);
    schema.default(&mut object);
    let errors = schema.validate(&object, None);
    dropped
        .into_iter()
        .map(|path| format!("unknown field {path}"))
        .chain(errors.iter().map(ToString::to_string))
        .collect::<Vec<_>>()
        .join("; ")
}

fn languages() -> Vec<(&'static str, Value)> {
    let file =
        |name: &str| serde_json::from_str(&fs::read_to_string(here(&format!("schemas/{name}.json"))).unwrap()).unwrap();
    let rust = schema_for!(webapp::WebApp).to_value();
    vec![
        ("rust", rust),
        ("typescript", file("typescript")),
        ("pydantic", file("pydantic")),
        ("msgspec", file("msgspec")),
    ]
}

#[test]
fn the_definitions_of_every_language_are_as_recorded() {
    let columns = [("Image", ".spec.image"), ("Ready", ".status.ready"), ("Age", ".metadata.creationTimestamp")];
    let columns: Vec<Column> =
        columns.iter().map(|(name, path)| Column { name: (*name).to_owned(), path: (*path).to_owned() }).collect();
    for (language, schema) in languages() {
        let made = Definition { columns: columns.clone(), ..definition() }.of_schema(&schema).unwrap();
        parsed(&made);
        recorded(&format!("golden/webapp-{language}.yaml"), &serde_saphyr::to_string(&made).unwrap());
    }
}

#[test]
fn objects_are_accepted_and_refused_alike_in_every_language() {
    let good = [
        json!({"image": "a/b"}),
        json!({"image": "a/b", "replicas": 3, "strategy": "Recreate", "port": 80, "labels": {"a": "b"}}),
        json!({"image": "a/b", "strategy": null, "port": "http", "hosts": ["a", "b"], "extra": [1, {"a": null}]}),
        json!({"image": "a/b", "rules": [{"host": "h", "weight": 1}, {"host": "i", "weight": null}]}),
        json!({"image": "a/b", "backend": {"type": "http", "path": "/"}, "since": "2026-01-02T03:04:05Z"}),
        json!({"image": "a/b", "backend": {"type": "tcp", "port": 80}}),
    ];
    let bad = [
        (json!({}), "spec.image"),
        (json!({"image": ""}), "spec.image"),
        (json!({"image": "no registry"}), "an image has a registry"),
        (json!({"image": "a/b", "replicas": -1}), "spec.replicas"),
        (json!({"image": "a/b", "strategy": "Never"}), "spec.strategy"),
        (json!({"image": "a/b", "port": true}), "spec.port"),
        (json!({"image": "a/b", "port": 1.5}), "spec.port"),
        (json!({"image": "a/b", "labels": {"a": 1}}), "spec.labels.a"),
        (json!({"image": "a/b", "rules": [{}]}), "spec.rules[0].host"),
        (json!({"image": "a/b", "hosts": ["a", "a"]}), "spec.hosts[1]"),
        (json!({"image": "a/b", "backend": {"type": "udp"}}), "spec.backend"),
        (json!({"image": "a/b", "backend": {"type": "http", "port": 80}}), "spec.backend"),
        (json!({"image": "a/b", "typo": 1}), "unknown field spec.typo"),
    ];
    for (language, schema) in languages() {
        let crd = parsed(&of_schema(&schema).unwrap());
        let object = |spec: &Value| json!({"apiVersion": "example.com/v1", "kind": "WebApp", "metadata": {"name": "a"}, "spec": spec});
        for spec in &good {
            assert_eq!(faults(&crd, &object(spec)), "", "{language}: {spec}");
        }
        for (spec, part) in &bad {
            let found = faults(&crd, &object(spec));
            assert!(found.contains(part), "{language}: {spec}: {found:?}");
        }
        // What only some of the types have.
        for (spec, part) in [
            (json!({"image": "a/b", "mode": "dim"}), "spec.mode"),
            (json!({"image": "a/b", "pair": ["a"]}), "spec.pair"),
            (json!({"image": "a/b", "since": "today"}), "spec.since"),
        ] {
            let found = faults(&crd, &object(&spec));
            assert!(language == "msgspec" || found.contains(part), "{language}: {spec}: {found:?}");
        }
    }
}

/// Types of a definition become a definition again, which accepts what the first one accepts.
#[test]
fn a_definition_comes_back_from_its_types_and_accepts_the_same_objects() {
    fn comes_back<T: JsonSchema>(name: &str, model: &Model, schema: &Value) {
        let text = model
            .write(Language::Rust)
            .replace("Serialize, Deserialize)]", "Serialize, Deserialize, schemars::JsonSchema)]");
        recorded(&format!("golden/schemars/{name}.rs"), &text);
        let schema_of_types = SchemaSettings::default().into_generator().into_root_schema_for::<T>().to_value();
        let definition = of_schema(&schema_of_types).unwrap();
        if name != "deployment" {
            recorded(&format!("golden/schemars/{name}.yaml"), &serde_saphyr::to_string(&definition).unwrap());
        }
        let crd = parsed(&definition);
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..1000 {
            let made = objects::whole(&mut random, "example.com/v1", "WebApp", schema, 50);
            assert_eq!(faults(&crd, &made), "", "{made}");
        }
    }
    let file = |path: &str| -> Value { serde_saphyr::from_str(&fs::read_to_string(here(path)).unwrap()).unwrap() };
    let schema = |definition: &Value| definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone();
    let of = |definition: &Value| Model::of_definition(definition, None).unwrap();
    let (difficult, network) = (file("difficult.yaml"), file("../../../plugins/network/crd.yaml"));
    comes_back::<difficult::Difficult>("difficult", &of(&difficult), &schema(&difficult));
    comes_back::<network::Network>("network", &of(&network), &schema(&network));
    let document = file("deployment.json");
    let components = document["components"]["schemas"].as_object().unwrap();
    let deployment = &components["io.k8s.api.apps.v1.Deployment"];
    let model = Model::of_schema("apps", "v1", "Deployment", deployment, components).unwrap();
    comes_back::<deployment::Deployment>("deployment", &model, &inlined::inlined(deployment, components));
}

fn spec(spec: &Value, definitions: &Value) -> Result<Value, DefinitionError> {
    let schema =
        json!({"properties": {"spec": spec}, "$defs": definitions, "required": ["apiVersion", "spec", "status"]});
    let made = of_schema(&schema)?;
    parsed(&made);
    Ok(made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"].clone())
}

fn field(schema: &Value) -> Value {
    let spec =
        spec(&json!({"properties": {"a": schema}}), &json!({"A": {"type": "string", "description": "of A"}})).unwrap();
    spec["properties"]["a"].clone()
}

#[test]
fn keywords_become_what_kubernetes_has_for_them() {
    let open = json!({"x-kubernetes-preserve-unknown-fields": true, "nullable": true});
    let int_or_string = json!({"x-kubernetes-int-or-string": true});
    for (schema, wanted) in [
        (
            json!({"$ref": "#/$defs/A", "title": "x", "examples": ["y"]}),
            json!({"type": "string", "description": "of A"}),
        ),
        (json!({"allOf": [{"$ref": "#/$defs/A"}], "description": "b"}), json!({"type": "string", "description": "b"})),
        (
            json!({"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}], "default": null}),
            json!({"type": "string", "description": "of A", "nullable": true}),
        ),
        (
            json!({"type": ["integer", "null"], "format": "uint8"}),
            json!({"type": "integer", "nullable": true, "format": "int32", "minimum": 0, "maximum": 255}),
        ),
        (
            json!({"type": "integer", "format": "uint64", "minimum": 1}),
            json!({"type": "integer", "format": "int64", "minimum": 1}),
        ),
        (
            json!({"type": "number", "exclusiveMinimum": 0, "minimum": -1}),
            json!({"type": "number", "exclusiveMinimum": true, "minimum": 0}),
        ),
        (json!({"type": "string", "format": "duration"}), json!({"type": "string"})),
        (json!({"type": "string", "contentEncoding": "base64"}), json!({"type": "string", "format": "byte"})),
        (json!({"type": ["string", "null"], "enum": ["a", null]}), json!({"type": "string", "enum": ["a"]})),
        (json!({"const": "a"}), json!({"type": "string", "enum": ["a"]})),
        (json!({"enum": [1, 2]}), json!({"type": "integer", "enum": [1, 2]})),
        (
            json!({"oneOf": [{"const": "a", "description": "first"}, {"type": "string", "enum": ["b", "c"]}], "description": "Which."}),
            json!({"type": "string", "enum": ["a", "b", "c"], "description": "Which.\n- a: first"}),
        ),
        (json!(true), open.clone()),
        (json!({}), open.clone()),
        (json!({"type": ["number", "string"]}), int_or_string.clone()),
        (json!({"anyOf": [{"type": "integer"}, {"type": "string"}]}), int_or_string),
        (
            json!({"anyOf": [{"type": "string", "format": "ipv4"}, {"type": "string", "format": "ipv6"}]}),
            json!({"type": "string", "anyOf": [{"format": "ipv4"}, {"format": "ipv6"}]}),
        ),
        (
            json!({"type": "string", "maxLength": 9, "anyOf": [{"format": "ipv4"}, {"pattern": "x"}]}),
            json!({"type": "string", "anyOf": [{"format": "ipv4", "maxLength": 9}, {"pattern": "x", "maxLength": 9}]}),
        ),
        (json!({"anyOf": [{"enum": ["a"]}, {"type": "string"}]}), json!({"type": "string"})),
        (json!({"type": "object"}), json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})),
        (json!({"type": "object", "additionalProperties": false}), json!({"type": "object"})),
        (
            json!({"additionalProperties": {"type": "string"}}),
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
        ),
        (
            json!({"properties": {"b": {"type": "string"}, "c": false}, "additionalProperties": true, "required": ["c"]}),
            json!({"type": "object", "properties": {"b": {"type": "string"}}, "x-kubernetes-preserve-unknown-fields": true}),
        ),
        (
            json!({"type": "array", "uniqueItems": true, "items": {"type": "string"}}),
            json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}),
        ),
        (
            json!({"prefixItems": [{"type": "integer"}, {"type": "integer"}]}),
            json!({"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}),
        ),
    ] {
        assert_eq!(field(&schema), wanted, "{schema}");
    }
}

#[test]
fn variants_of_an_object_are_one_object_with_what_each_requires() {
    let string = json!({"type": "string"});
    let external = json!({"oneOf": [
        {"type": "object", "properties": {"a": string}, "required": ["a"], "additionalProperties": false},
        {"type": "object", "properties": {"b": string}, "required": ["b"], "additionalProperties": false},
    ]});
    assert_eq!(
        field(&external),
        json!({"type": "object", "properties": {"a": string, "b": string}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]})
    );
    let beside = json!({"type": "object", "properties": {"c": string}, "required": ["c"], "anyOf": [
        {"properties": {"t": {"const": "x"}, "a": string}, "required": ["t", "a"]},
        {"properties": {"t": {"const": "y"}}, "required": ["t"]},
    ]});
    assert_eq!(
        field(&beside),
        json!({"type": "object", "required": ["c"],
            "properties": {"a": string, "c": string, "t": {"type": "string", "enum": ["x", "y"]}},
            "anyOf": [{"required": ["a", "t"], "properties": {"t": {"enum": ["x"]}}}, {"required": ["t"], "properties": {"t": {"enum": ["y"]}}}]})
    );
    let parts = json!({"allOf": [{"properties": {"a": string}, "required": ["a"]}, {"properties": {"b": string}}]});
    assert_eq!(field(&parts), json!({"type": "object", "properties": {"a": string, "b": string}, "required": ["a"]}));
}

#[test]
fn rules_of_a_type_and_of_a_field_both_count() {
    let rule = |text: &str| json!({"rule": text});
    let definitions =
        json!({"A": {"type": "string", "maxLength": 9, "x-kubernetes-validations": [rule("self != 'a'")]}});
    let schema = json!({"properties": {"a": {"$ref": "#/$defs/A", "x-kubernetes-validations": [rule("self != 'b'")]}}});
    let made = spec(&schema, &definitions).unwrap();
    assert_eq!(made["properties"]["a"]["x-kubernetes-validations"], json!([rule("self != 'a'"), rule("self != 'b'")]));
}

#[test]
fn what_kubernetes_cannot_say_is_told_with_its_path_and_what_to_do() {
    let tree = json!({"Tree": {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}}});
    let string = json!({"type": "string"});
    for (schema, reason) in [
        (json!({"$ref": "#/$defs/Tree"}), "spec.a.children[]: the type Tree contains itself"),
        (json!({"$ref": "#/$defs/Other"}), "spec.a: $ref \"#/$defs/Other\" is not in the document"),
        (json!({"anyOf": [string, {"type": "object"}]}), "spec.a: the value is object or string, and"),
        (json!({"type": ["string", "boolean"]}), "spec.a: the value is boolean or string, and"),
        (json!({"type": "array", "items": {"enum": ["a", null]}}), "spec.a[]: null beside an enum is not part"),
        (json!({"type": "null"}), "spec.a: the value is always null"),
        (json!({"if": {"required": ["b"]}}), "spec.a: if is not part of structural schemas; write it as a CEL rule"),
        (json!({"not": {"type": "string"}}), "spec.a: not is not part"),
        (
            json!({"patternProperties": {"^x": string}}),
            "spec.a: patternProperties is not part of structural schemas; use additionalProperties",
        ),
        (json!({"properties": {"b": string}, "additionalProperties": string}), "put the map into a field of its own"),
        (
            json!({"type": "array", "prefixItems": [string, {"type": "integer"}]}),
            "spec.a: a tuple of different types is not part",
        ),
        (json!({"type": "array", "uniqueItems": true, "items": {"type": "object"}}), "x-kubernetes-list-map-keys"),
        (
            json!({"anyOf": [{"properties": {"b": string}}, {"properties": {"b": {"type": "integer"}}}]}),
            "spec.a: b has two different schemas",
        ),
    ] {
        let error = spec(&json!({"properties": {"a": schema}}), &tree).unwrap_err().to_string();
        assert!(error.contains(reason), "{schema}: {error}");
    }
    // What the error says to do.
    let open = json!({"Tree": {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/Tree"},
        "x-kubernetes-preserve-unknown-fields": true}}}});
    assert!(spec(&json!({"$ref": "#/$defs/Tree"}), &open).is_ok());
    let error = of_schema(&json!({"properties": {"image": string}})).unwrap_err().to_string();
    assert!(error.contains("it has only image; print the schema of the type of the whole object"), "{error}");
    for (definition, reason) in [
        (Definition { group: "Example".to_owned(), ..definition() }, "group is \"Example\""),
        (Definition { kind: "web_app".to_owned(), ..definition() }, "kind is \"web_app\""),
        (
            Definition { columns: vec![Column { name: "A".to_owned(), path: ".spec.b".to_owned() }], ..definition() },
            "column A: .spec.b: the schema has no such field",
        ),
    ] {
        let error = definition
            .of_schema(&json!({"properties": {"spec": {"properties": {"a": string}}}}))
            .unwrap_err()
            .to_string();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn schemas_that_grow_without_end_are_refused() {
    let text = json!({"type": "string", "description": "x".repeat(1000)});
    // Levels that each name the next one several times, by fields, by variants, and once: a chain.
    let levels = |count: usize, level: &dyn Fn(Value) -> Value| {
        let of = |nth: usize| level(json!({"$ref": format!("#/$defs/L{}", nth + 1)}));
        let mut all: Map<String, Value> = (0..count).map(|nth| (format!("L{nth}"), of(nth))).collect();
        all.insert(format!("L{count}"), text.clone());
        Value::from(all)
    };
    for (definitions, reason) in [
        (levels(40, &|next| json!({"properties": {"a": next, "b": next, "c": next}})), "more than 1500000 bytes"),
        (levels(40, &|next| json!({"anyOf": [next, next]})), "more than 1500000 bytes"),
        (
            levels(10, &|next| json!({"items": next, "type": "array", "description": "y".repeat(1_000_000)})),
            "more than 1500000 bytes",
        ),
        (levels(1000, &|next| next), "more than 256 levels"),
    ] {
        let error = spec(&json!({"$ref": "#/$defs/L0"}), &definitions).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
    let deep = (0..100).fold(json!({"type": "string"}), |inner, _| json!({"type": "array", "items": inner}));
    let error = spec(&json!({"properties": {"a": deep}}), &json!({})).unwrap_err().to_string();
    assert!(error.contains("more than 64 levels"), "{error}");
}
