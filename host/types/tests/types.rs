//! The types of this repository's definitions and of a difficult one: as recorded, compiled, and without loss for objects of the schema.
//!
//! `UPDATE_EXPECT=1` writes the recorded files.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail")]

use oarlock_types::{Error, Language, Model};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};
use std::{env, fs, path::Path};

#[expect(unreachable_pub, reason = "as users have it")]
#[rustfmt::skip]
#[path = "golden/difficult.rs"]
mod difficult;
#[expect(unreachable_pub, reason = "as users have it")]
#[rustfmt::skip]
#[path = "golden/network.rs"]
mod network;

const DEFINITIONS: [(&str, &str); 2] =
    [("difficult", "tests/difficult.yaml"), ("network", "../../plugins/network/crd.yaml")];

fn definition(path: &str) -> Value {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    serde_saphyr::from_str(&text).unwrap()
}

#[test]
fn the_types_are_as_recorded() {
    for (name, path) in DEFINITIONS {
        let model = Model::of_definition(&definition(path), None).unwrap();
        for (language, ending) in [(Language::Rust, "rs"), (Language::TypeScript, "ts"), (Language::Python, "py")] {
            let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.{ending}"));
            let text = model.write(language);
            if env::var_os("UPDATE_EXPECT").is_some() {
                fs::write(&file, &text).unwrap();
            }
            assert_eq!(fs::read_to_string(&file).unwrap(), text, "{}: UPDATE_EXPECT=1 writes it", file.display());
        }
    }
}

/// An object of a schema. Optional fields may be missing; only required ones may be null: elsewhere null and absent are one to the types.
fn object(random: &mut fastrand::Rng, schema: &Value) -> Value {
    if schema["x-kubernetes-int-or-string"] == true {
        return if random.bool() { json!(random.i64(..)) } else { json!("100m") };
    }
    if let Some(values) = schema["enum"].as_array().filter(|values| !values.is_empty()) {
        return random.choice(values).unwrap().clone();
    }
    match schema["type"].as_str() {
        Some("boolean") => json!(random.bool()),
        Some("integer") if schema["format"] == "int32" => json!(random.i32(..)),
        Some("integer") => json!(random.i64(..)),
        Some("number") => json!(random.f64()),
        Some("string") if schema["format"] == "date-time" => json!("2026-01-02T03:04:05.000Z"),
        Some("string") => json!(*random.choice(["", "a", "é\n\"", "*/"].iter()).unwrap()),
        Some("array") => (0..random.usize(..3)).map(|_| nullable(random, &schema["items"])).collect(),
        Some("object") => {
            let mut made = Map::new();
            for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                if schema["required"].as_array().is_some_and(|all| all.contains(&json!(name))) {
                    made.insert(name.clone(), nullable(random, property));
                } else if random.bool() {
                    made.insert(name.clone(), object(random, property));
                }
            }
            if schema["additionalProperties"].is_object() {
                for name in ["a", "b/c"] {
                    made.insert(name.to_owned(), nullable(random, &schema["additionalProperties"]));
                }
            } else if schema["x-kubernetes-preserve-unknown-fields"] == true {
                made.insert("unknown".to_owned(), json!({"a": [1, null]}));
            }
            Value::Object(made)
        }
        _ => [json!({"a": null}), json!(1), json!("x")][random.usize(..3)].clone(),
    }
}

fn nullable(random: &mut fastrand::Rng, schema: &Value) -> Value {
    if schema["nullable"] == true && random.bool() { Value::Null } else { object(random, schema) }
}

fn objects_pass_through<T: DeserializeOwned + Serialize>(path: &str) {
    let definition = definition(path);
    let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    let api_version = format!("{}/v1", definition["spec"]["group"].as_str().unwrap());
    let mut random = fastrand::Rng::with_seed(1);
    for _ in 0..1000 {
        let mut made = object(&mut random, schema);
        made["apiVersion"] = json!(api_version);
        made["kind"] = definition["spec"]["names"]["kind"].clone();
        made["metadata"] = json!({"name": "a", "labels": {"b": "c"}, "managedFields": [{"manager": "m"}]});
        let read: T = serde_json::from_value(made.clone()).unwrap_or_else(|error| panic!("{error}: {made}"));
        assert_eq!(serde_json::to_value(&read).unwrap(), made);
    }
}

#[test]
fn objects_of_the_schema_pass_through_the_types_of_rust() {
    objects_pass_through::<difficult::Difficult>(DEFINITIONS[0].1);
    objects_pass_through::<network::Network>(DEFINITIONS[1].1);
}

#[test]
fn null_of_an_optional_field_is_absent_and_fields_outside_the_schema_are_dropped() {
    let object = json!({"apiVersion": "example.com/v1", "kind": "Difficult", "metadata": {"name": "a"},
        "spec": {"type": "t", "mode": "on", "limit": null, "port": null, "typo": 1}});
    let read: difficult::Difficult = serde_json::from_value(object).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap()["spec"], json!({"type": "t", "mode": "on", "limit": null}));
}

fn of_schema(schema: &Value, components: &Value) -> Result<Model, Error> {
    Model::of_schema("example.com", "v1", "Thing", schema, components.as_object().unwrap())
}

#[test]
fn hostile_schemas_end_in_an_error_with_a_path() {
    let mut deep = json!({"type": "string"});
    for _ in 0..100 {
        deep = json!({"type": "object", "properties": {"a": deep}});
    }
    let told = of_schema(&deep, &json!({})).unwrap_err().to_string();
    assert!(told.contains("a.a.a") && told.contains("more than 64 levels"), "{told}");
    let many: Map<String, Value> =
        (0..60_000).map(|number| (format!("f{number}"), json!({"type": "string"}))).collect();
    let told = of_schema(&json!({"properties": many}), &json!({})).unwrap_err().to_string();
    assert!(told.contains("more than 50000 fields"), "{told}");
    let told = of_schema(&json!({"properties": {"a": {"$ref": "#/x/Gone"}}}), &json!({})).unwrap_err().to_string();
    assert_eq!(told, "a: the schema refers to \"#/x/Gone\", which the document does not contain");
    let chain = json!({"A": {"$ref": "A"}});
    assert!(matches!(of_schema(&json!({"properties": {"a": {"$ref": "A"}}}), &chain), Err(Error::Depth { .. })));
    let kind = Model::of_schema("", "v1", "A{}", &json!({}), &Map::new()).unwrap_err().to_string();
    assert!(kind.starts_with("kind is \"A{}\""), "{kind}");
}

#[test]
fn a_schema_that_contains_itself_is_one_type() {
    let components = json!({"io.example.Node": {"type": "object", "properties": {
        "next": {"$ref": "#/components/schemas/io.example.Node"},
        "all": {"type": "array", "items": {"allOf": [{"$ref": "io.example.Node"}]}}}}});
    let model = of_schema(&json!({"properties": {"spec": {"$ref": "io.example.Node"}}}), &components).unwrap();
    let text = model.write(Language::Rust);
    assert!(
        text.contains("pub next: Option<Box<Node>>,") && text.contains("pub all: Option<Vec<Box<Node>>>,"),
        "{text}"
    );
    assert!(model.write(Language::TypeScript).contains("all?: Node[];"));
}
