//! Tests with bodies from a small encoder that uses the same table, and from kubectl (the kubectl tests).

use proptest::prelude::*;
use serde_json::json;

use super::*;

mod typed;

fn varint(mut number: u64, out: &mut Vec<u8>) {
    while number > 0x7f {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

fn bytes(number: u32, content: &[u8], out: &mut Vec<u8>) {
    varint(u64::from(number) << 3 | 2, out);
    varint(content.len() as u64, out);
    out.extend_from_slice(content);
}

fn number(at: u32, value: i64, out: &mut Vec<u8>) {
    varint(u64::from(at) << 3, out);
    varint(value.cast_unsigned(), out);
}

/// A message with these parts.
fn message(parts: &[(u32, &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    for (number, content) in parts {
        bytes(*number, content, &mut out);
    }
    out
}

fn envelope(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let type_meta = message(&[(1, api_version.as_bytes()), (2, kind.as_bytes())]);
    [MAGIC, &message(&[(1, &type_meta), (2, raw), (3, b""), (4, b"")])].concat()
}

/// A message with each field of the table, nested to this many further levels, with nonzero values.
fn full(name: &str, levels: usize, random: &mut fastrand::Rng) -> Vec<u8> {
    let mut out = Vec::new();
    for field in fields::message(name) {
        match (field.kind, field.shape) {
            (Kind::Int32 | Kind::Int64 | Kind::Bool, _) => number(field.number, 1, &mut out),
            (Kind::Double, _) => {
                varint(u64::from(field.number) << 3 | 1, &mut out);
                out.extend_from_slice(&1.5f64.to_le_bytes());
            }
            (kind, shape) => {
                let content = match kind {
                    Kind::Message("meta.v1.Time" | "meta.v1.MicroTime") => vec![8, 100],
                    Kind::Message("meta.v1.FieldsV1" | "runtime.RawExtension" | "apiextensions.v1.Json") => {
                        message(&[(1, b"{\"kind\":\"X\"}")])
                    }
                    Kind::Message(name) if levels > 0 => full(name, levels - 1, random),
                    Kind::Message(_) => Vec::new(),
                    _ => format!("v{}", random.u32(..1000)).into_bytes(),
                };
                if matches!(shape, Shape::Map) {
                    bytes(field.number, &message(&[(1, b"key"), (2, &content)]), &mut out);
                } else {
                    bytes(field.number, &content, &mut out);
                }
            }
        }
    }
    out
}

#[test]
fn a_body_becomes_the_json_of_its_object() {
    let metadata = message(&[(1, b"web"), (3, b""), (11, &message(&[(1, b"app"), (2, b"x")])), (8, b"")]);
    let port = message(&[(1, b"p"), (2, b"TCP"), (4, &[8, 1, 16, 0, 26, 4, b'h', b't', b't', b'p'])]);
    let mut port = port;
    number(3, 80, &mut port);
    number(5, 0, &mut port);
    let spec = message(&[(1, &port), (2, &message(&[(1, b"app"), (2, b"x")])), (3, b"")]);
    let object = object(&envelope("v1", "Service", &message(&[(1, &metadata), (2, &spec), (3, b"")]))).unwrap();
    assert_eq!(
        object,
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "labels": {"app": "x"}},
            "spec": {"ports": [{"name": "p", "protocol": "TCP", "port": 80, "targetPort": "http"}], "selector": {"app": "x"}},
            "status": {}})
    );
}

#[test]
fn zero_counts_where_go_has_a_pointer() {
    let mut spec = Vec::new();
    number(1, 0, &mut spec);
    number(5, 0, &mut spec);
    number(7, 0, &mut spec);
    let object = object(&envelope("apps/v1", "Deployment", &message(&[(2, &spec)]))).unwrap();
    assert_eq!(object["spec"], json!({"replicas": 0}));
}

#[test]
fn types_of_their_own_are_written_as_json_has_them() {
    let limits = message(&[(1, b"cpu"), (2, &message(&[(1, b"500m")]))]);
    let quota = object(&envelope("v1", "ResourceQuota", &message(&[(2, &message(&[(1, &limits)]))]))).unwrap();
    assert_eq!(quota["spec"], json!({"hard": {"cpu": "500m"}}));
    let secret = message(&[(2, &message(&[(1, b"k"), (2, &[0, 255])])), (3, b"Opaque")]);
    assert_eq!(object(&envelope("v1", "Secret", &secret)).unwrap()["data"], json!({"k": "AP8="}));
    let mut time = Vec::new();
    number(1, 1_700_000_000, &mut time);
    number(2, 123_456_789, &mut time);
    let lease =
        object(&envelope("coordination.k8s.io/v1", "Lease", &message(&[(2, &message(&[(3, &time)]))]))).unwrap();
    assert_eq!(lease["spec"], json!({"acquireTime": "2023-11-14T22:13:20.123456Z"}));
    let budget = message(&[(2, &message(&[(1, &[8, 0, 16, 2])]))]);
    assert_eq!(
        object(&envelope("policy/v1", "PodDisruptionBudget", &budget)).unwrap()["spec"],
        json!({"minAvailable": 2})
    );
    let pod = message(&[(2, &message(&[(1, &message(&[(1, b"v"), (2, &message(&[(2, b"")]))]))]))]);
    assert_eq!(
        object(&envelope("v1", "Pod", &pod)).unwrap()["spec"],
        json!({"volumes": [{"name": "v", "emptyDir": {}}]})
    );
    let json = [MAGIC, &message(&[(2, br#"{"a":1}"#), (4, b"application/json")])].concat();
    assert_eq!(object(&json).unwrap(), json!({"a": 1}));
}

/// The message of a kind.
fn message_of(resource: &crate::model::kinds::Resource) -> String {
    let package = if resource.group.is_empty() { "core" } else { resource.group.split('.').next().unwrap() };
    format!("{package}.{}.{}", resource.version, resource.kind)
}

#[test]
fn every_field_of_every_kind_is_one_of_its_json() {
    for resource in crate::model::kinds::builtins() {
        let (group, version, kind) = (&resource.group, &resource.version, &resource.kind);
        let name = message_of(&resource);
        if kind == "MutatingAdmissionPolicy" || kind == "MutatingAdmissionPolicyBinding" {
            // They are in v1 only since v1.36; the table's crate is generated from v1.35.
            continue;
        }
        let raw = full(&name, 6, &mut fastrand::Rng::with_seed(7));
        assert!(!raw.is_empty(), "{name} is not in the table");
        let object = object(&envelope(&resource.group_version(), kind, &raw)).unwrap_or_else(|e| panic!("{name}: {e}"));
        let unknown = typed::unknown(group, version, kind, &object);
        let mut unknown = unknown.unwrap_or_else(|e| panic!("{name}: {e:?}\n{object}"));
        // The server is of v1.36, the table of v1.35.
        unknown.retain(|path| !path.contains("workloadRef"));
        assert_eq!(unknown, Vec::<String>::new(), "{name}");
    }
}

#[test]
fn every_message_a_field_names_is_in_the_table() {
    for name in fields::names() {
        for field in fields::message(name) {
            if let Kind::Message(inner) = field.kind {
                assert!(fields::names().any(|n| n == inner), "{name}.{}: {inner}", field.name);
            }
        }
    }
}

#[test]
fn what_is_no_object_is_refused() {
    let refused = |body: &[u8]| object(body).unwrap_err().to_string();
    assert!(refused(b"{}").contains("expected prefix [107, 56, 115, 0]"));
    assert!(refused(&envelope("x.io/v1", "Net", b"")).contains("no kind \"Net\""));
    assert_eq!(refused(&envelope("v1", "Pod", &[10, 200])), "proto: unexpected EOF");
    assert_eq!(refused(&envelope("v1", "Pod", &[0, 1])), "proto: illegal tag");
    assert_eq!(refused(&envelope("v1", "Pod", &[11])), "proto: illegal wireType");
    assert_eq!(refused(&envelope("v1", "Pod", &[0xff; 11])), "proto: integer overflow");
    let deep = (0..200).fold(Vec::new(), |inner, _| message(&[(28, &inner)]));
    let crd = message(&[(2, &message(&[(7, &message(&[(4, &message(&[(1, &deep)]))]))]))]);
    let refused = refused(&envelope("apiextensions.k8s.io/v1", "CustomResourceDefinition", &crd));
    assert_eq!(refused, "proto: too deeply nested");
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(raw in prop::collection::vec(any::<u8>(), 0..300), plain in any::<bool>()) {
        let body = if plain { [MAGIC, &raw].concat() } else { envelope("v1", "Pod", &raw) };
        let _ = object(&body);
    }

    #[test]
    fn a_real_body_cut_short_or_changed_is_read_or_refused(kind in any::<prop::sample::Index>(), seed in any::<u64>(), cut in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let kinds = crate::model::kinds::builtins();
        let resource = kind.get(&kinds);
        let raw = full(&message_of(resource), 3, &mut fastrand::Rng::with_seed(seed));
        let mut body = envelope(&resource.group_version(), &resource.kind, &raw);
        let at = cut.index(body.len());
        let _ = object(&body[..at]);
        body[at] = byte;
        let _ = object(&body);
    }
}
