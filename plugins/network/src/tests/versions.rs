//! Conversion between v1 and v2 loses nothing, whatever an object of the schema has.

use super::{example, network};
use crate::NetworkReconciler;
use crate::versions::{V1, V2};
use oarlock_guest::Converter as _;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn convert(object: Value, version: &str) -> Value {
    NetworkReconciler::convert(object, version).unwrap()
}

/// Values of a schema. Validation rules and patterns do not count: objects that were stored under other rules are converted too.
fn values(schema: &Value) -> BoxedStrategy<Value> {
    match schema["type"].as_str().unwrap() {
        "string" => match schema["enum"].as_array() {
            Some(values) => proptest::sample::select(values.clone()).boxed(),
            None => prop_oneof![Just("default".to_owned()), "[a-z0-9./\"é]{0,8}"].prop_map(Value::from).boxed(),
        },
        "integer" => any::<i64>().prop_map(Value::from).boxed(),
        "array" => {
            let least = usize::try_from(schema["minItems"].as_u64().unwrap_or(0)).unwrap();
            prop::collection::vec(values(&schema["items"]), least..4).prop_map(Value::from).boxed()
        }
        "object" => {
            let required = schema["required"].as_array().cloned().unwrap_or_default();
            let field = |(name, schema): (&String, &Value)| {
                let (name, always) = (name.clone(), required.contains(&json!(name)));
                let value = if always {
                    values(schema).prop_map(Some).boxed()
                } else {
                    prop::option::of(values(schema)).boxed()
                };
                value.prop_map(move |value| value.map(|value| (name.clone(), value))).boxed()
            };
            let fields: Vec<_> = schema["properties"].as_object().into_iter().flatten().map(field).collect();
            fields.prop_map(|fields| fields.into_iter().flatten().collect::<Map<_, _>>().into()).boxed()
        }
        other => panic!("{other}"),
    }
}

/// Networks of a version's schema in the definition.
fn networks(version: &str) -> BoxedStrategy<Value> {
    let definition: Value = serde_saphyr::from_str(include_str!("../../crd-v2.yaml")).unwrap();
    let versions = definition["spec"]["versions"].as_array().unwrap().clone();
    let found = versions.into_iter().find(|found| version.ends_with(found["name"].as_str().unwrap())).unwrap();
    let mut schema = found["schema"]["openAPIV3Schema"].clone();
    for field in ["apiVersion", "kind", "metadata"] {
        schema["properties"].as_object_mut().unwrap().remove(field);
    }
    let annotations = prop::option::of(prop::collection::btree_map("[a-z]{1,4}", "[a-z]{0,4}", 1..3));
    let version = version.to_owned();
    (values(&schema), annotations)
        .prop_map(move |(mut object, annotations)| {
            object["apiVersion"] = version.clone().into();
            object["kind"] = "Network".into();
            object["metadata"] = json!({"name": "n", "namespace": "shop", "uid": "u"});
            if let Some(annotations) = annotations {
                object["metadata"]["annotations"] = json!(annotations);
            }
            object
        })
        .boxed()
}

proptest! {
    #[test]
    fn a_v1_network_comes_back_from_v2(object in networks(V1)) {
        prop_assert_eq!(convert(convert(object.clone(), V2), V1), object);
    }

    #[test]
    fn a_v2_network_comes_back_from_v1(object in networks(V2)) {
        prop_assert_eq!(convert(convert(object.clone(), V1), V2), object);
    }

    /// What v1 lacks stays when a v1 client changes what v1 has.
    #[test]
    fn a_change_by_a_v1_client_changes_that_field_alone(object in networks(V2), gateway in "[0-9.]{1,8}") {
        let mut as_v1 = convert(object.clone(), V1);
        as_v1["spec"]["gateway"] = gateway.clone().into();
        let mut expected = object;
        expected["spec"]["subnets"][0]["gateway"] = gateway.into();
        prop_assert_eq!(convert(as_v1, V2), expected);
    }

    /// The fields of v1 are those of the first subnet, and nothing of v2 is left in the spec.
    #[test]
    fn v1_shows_the_first_subnet(object in networks(V2)) {
        let first = &object["spec"]["subnets"][0];
        let expected = json!({"cidr": first["cidr"], "gateway": first["gateway"]});
        prop_assert_eq!(&convert(object.clone(), V1)["spec"], &expected);
    }
}

#[test]
fn an_annotation_that_a_user_broke_is_named() {
    for (text, part) in [
        ("{", "annotation samplecrd.k8s.io/v2-spec is not JSON"),
        ("[]", "annotation samplecrd.k8s.io/v2-spec is not a JSON object, remove it"),
        (r#"{"more": {}}"#, "annotation samplecrd.k8s.io/v2-spec: more is not a list, remove it"),
    ] {
        let mut object = network("10.0.0.0/24", "10.0.0.1");
        object["metadata"]["annotations"] = json!({"samplecrd.k8s.io/v2-spec": text});
        let said = NetworkReconciler::convert(object.clone(), V2).unwrap_err();
        assert!(said.starts_with(part), "{said}");
        // The plugin says the same, and sends nothing.
        let (mut runner, neutron) = example();
        runner.set_object(object);
        super::assert_terminal(&runner.reconcile(), part);
        assert_eq!(neutron.writes(), 0);
    }
}

#[test]
fn what_has_no_counterpart_is_an_error() {
    let without = json!({"apiVersion": V2, "kind": "Network", "metadata": {}, "spec": {"subnets": []}});
    let said = NetworkReconciler::convert(without, V1).unwrap_err();
    assert_eq!(said, "spec.subnets is empty, and v1 has exactly one subnet");
    let said = NetworkReconciler::convert(network("10.0.0.0/24", "10.0.0.1"), "samplecrd.k8s.io/v3").unwrap_err();
    assert_eq!(said, "Network has no conversion from samplecrd.k8s.io/v1 to samplecrd.k8s.io/v3");
    // An object that was stored before its schema required a spec.
    let bare = json!({"apiVersion": V1, "kind": "Network", "metadata": {"name": "n"}});
    assert_eq!(convert(convert(bare.clone(), V2), V1), bare);
}
