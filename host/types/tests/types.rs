//! The types of this repository's definitions and of a difficult one: as recorded, compiled, and without loss for objects of the schema.
//!
//! `UPDATE_EXPECT=1` writes the recorded files.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail")]

use oarlock_types::{Error, Language, Model};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};
use std::{env, fs, path::Path};

#[expect(unreachable_pub, clippy::enum_variant_names, reason = "as users have it; the names are the API's")]
#[rustfmt::skip]
#[path = "golden/deployment.rs"]
mod deployment;
#[expect(unreachable_pub, reason = "as users have it")]
#[rustfmt::skip]
#[path = "golden/difficult.rs"]
mod difficult;
#[expect(unreachable_pub, reason = "as users have it")]
#[rustfmt::skip]
#[path = "golden/network.rs"]
mod network;

#[path = "support/inlined.rs"]
mod inlined;
#[path = "support/objects.rs"]
mod objects;

const DEFINITIONS: [(&str, &str); 2] =
    [("difficult", "tests/difficult.yaml"), ("network", "../../plugins/network/crd.yaml")];

/// What Deployment refers to in the OpenAPI document of a real API server, without descriptions.
fn components() -> Map<String, Value> {
    let document: Value = serde_json::from_str(include_str!("deployment.json")).unwrap();
    document["components"]["schemas"].as_object().unwrap().clone()
}

const ENDINGS: [(Language, &str); 5] = [
    (Language::Rust, "rs"),
    (Language::TypeScript, "ts"),
    (Language::Python, "py"),
    (Language::Go, "go"),
    (Language::C, "h"),
];

const DEPLOYMENT: &str = "io.k8s.api.apps.v1.Deployment";

fn definition(path: &str) -> Value {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    serde_saphyr::from_str(&text).unwrap()
}

#[test]
fn the_types_are_as_recorded() {
    let of_definition = |(name, path)| (name, Model::of_definition(&definition(path), None).unwrap());
    let components = components();
    let of_server = Model::of_schema("apps", "v1", "Deployment", &components[DEPLOYMENT], &components).unwrap();
    for (name, model) in DEFINITIONS.into_iter().map(of_definition).chain([("deployment", of_server)]) {
        for (language, ending) in ENDINGS {
            let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.{ending}"));
            let text = model.write(language);
            if env::var_os("UPDATE_EXPECT").is_some() {
                fs::write(&file, &text).unwrap();
            }
            assert_eq!(fs::read_to_string(&file).unwrap(), text, "{}: UPDATE_EXPECT=1 writes it", file.display());
        }
    }
}

fn objects_pass_through<T: DeserializeOwned + Serialize>(api_version: &str, kind: &str, schema: &Value) {
    let mut random = fastrand::Rng::with_seed(1);
    for _ in 0..1000 {
        let made = objects::whole(&mut random, api_version, kind, schema, 50);
        let read: T = serde_json::from_value(made.clone()).unwrap_or_else(|error| panic!("{error}: {made}"));
        assert_eq!(serde_json::to_value(&read).unwrap(), made);
    }
}

fn objects_of_a_definition_pass_through<T: DeserializeOwned + Serialize>(path: &str) {
    let definition = definition(path);
    let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    let api_version = format!("{}/v1", definition["spec"]["group"].as_str().unwrap());
    objects_pass_through::<T>(&api_version, definition["spec"]["names"]["kind"].as_str().unwrap(), schema);
}

#[test]
fn objects_of_the_schema_pass_through_the_types_of_rust() {
    objects_of_a_definition_pass_through::<difficult::Difficult>(DEFINITIONS[0].1);
    objects_of_a_definition_pass_through::<network::Network>(DEFINITIONS[1].1);
    let components = components();
    let schema = inlined::inlined(&components[DEPLOYMENT], &components);
    objects_pass_through::<deployment::Deployment>("apps/v1", "Deployment", &schema);
}

#[test]
fn null_is_kept_where_it_is_allowed_and_fields_outside_the_schema_are_dropped() {
    let object = json!({"apiVersion": "example.com/v1", "kind": "Difficult", "metadata": {"name": "a"},
        "spec": {"type": "t", "mode": "on", "limit": null, "port": null, "name": null, "typo": 1}});
    let read: difficult::Difficult = serde_json::from_value(object).unwrap();
    assert_eq!(
        serde_json::to_value(&read).unwrap()["spec"],
        json!({"type": "t", "mode": "on", "limit": null, "name": null})
    );
}

/// Go writes null for the empty list of a field that every object has: an EndpointSlice without endpoints, a Role without rules.
#[test]
fn null_of_a_required_list_of_kubernetes_own_kinds_is_an_empty_list() {
    let object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
        "spec": {"selector": {}, "template": {"spec": {"containers": null}}}});
    let read: deployment::Deployment = serde_json::from_value(object).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap()["spec"]["template"]["spec"]["containers"], json!([]));
    let absent = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
        "spec": {"selector": {}, "template": {"spec": {}}}});
    serde_json::from_value::<deployment::Deployment>(absent).unwrap_err();
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
    // One name for all of them.
    let alike: Map<String, Value> = (0xe000..0xf800_u32)
        .map(|letter| (char::from_u32(letter).unwrap().to_string(), json!({"type": "string"})))
        .collect();
    let model = of_schema(&json!({"properties": {"a": {"properties": alike}}}), &json!({})).unwrap();
    for language in Language::ALL {
        assert!(model.write(language).len() < 2_000_000);
    }
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
