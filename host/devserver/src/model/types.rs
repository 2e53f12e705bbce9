//! Field types of built-in kinds: unknown fields are dropped and reported, values of a wrong type rejected, and values that Go omits are
//! omitted. The fields come from the protobuf table.

use serde_json::{Map, Value, json};

use crate::model::fields::{self, Field, Kind, Shape};

mod pointers;
mod scalars;

/// Why a value has the wrong type, in the words of the API server.
#[derive(Debug)]
pub(crate) struct WrongType {
    /// In a body: the message of its JSON decoder.
    pub(crate) decoding: String,
    /// In the result of a strategic merge: the message of its conversion.
    pub(crate) conversion: String,
}

impl WrongType {
    /// An error with the same message in both cases.
    fn plain(text: String) -> Self {
        Self { conversion: text.clone(), decoding: text }
    }
}

/// Fields newer than the table: they are accepted unchecked.
const NEWER: &[(&str, &str)] = &[
    ("core.v1.PodSpec", "schedulingGroup"),
    ("core.v1.PodStatus", "nodeAllocatableResourceClaimStatuses"),
    ("core.v1.ResourceHealth", "message"),
    ("core.v1.VolumeMountStatus", "volumeStatus"),
    ("resource.v1.Device", "nodeAllocatableResourceMappings"),
    ("resource.v1.DeviceAttribute", "bools"),
    ("resource.v1.DeviceAttribute", "ints"),
    ("resource.v1.DeviceAttribute", "strings"),
    ("resource.v1.DeviceAttribute", "versions"),
    ("storage.v1.CSIDriverSpec", "preventPodSchedulingIfMissing"),
    ("meta.v1.ListMeta", "shardInfo"),
];

/// Lists that Go writes even when empty.
const ALWAYS: &[&str] = &["verbs", "rules", "drivers", "versions", "limits", "containers"];

/// Removes unknown fields of a built-in kind and returns their paths; nulls and zeros are dropped as in Go.
///
/// Kinds without a type here are not changed.
///
/// # Errors
///
/// The fault of a value with a wrong type.
pub(crate) fn restrict(group: &str, version: &str, kind: &str, object: &mut Value) -> Result<Vec<String>, WrongType> {
    let api_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    let Some((name, _)) = fields::of_kind(&api_version, kind) else { return Ok(Vec::new()) };
    let mut walk = Walk::default();
    match object {
        Value::Object(map) => {
            // They may be absent in a request.
            map.insert("kind".to_owned(), kind.into());
            map.insert("apiVersion".to_owned(), api_version.into());
            walk.message(map, name);
        }
        other => walk.wrong(name, other, &format!("v1.{kind}"), "struct"),
    }
    walk.end()
}

/// [`restrict`] for the metadata of custom resources.
pub(crate) fn restrict_metadata(object: &mut Value) -> Result<Vec<String>, WrongType> {
    let mut walk = Walk::default();
    match object.get_mut("metadata") {
        None | Some(Value::Null) => {}
        Some(Value::Object(meta)) => walk.message(meta, "meta.v1.ObjectMeta"),
        Some(other) => walk.wrong("meta.v1.ObjectMeta", other, "v1.ObjectMeta", "struct"),
    }
    Ok(walk.end()?.into_iter().map(|path| format!("metadata.{path}")).collect())
}

/// One step into an object.
enum Step {
    Field(String),
    Index(usize),
    Key(String),
}

/// A traversal of an object by its fields.
#[derive(Default)]
struct Walk {
    path: Vec<Step>,
    unknown: Vec<String>,
    /// The first value of a wrong type.
    error: Option<WrongType>,
}

impl Walk {
    fn end(self) -> Result<Vec<String>, WrongType> {
        self.error.map_or(Ok(self.unknown), Err)
    }

    /// The path in the form of strict decoding.
    fn shown(&self) -> String {
        self.path.iter().fold(String::new(), |path, step| match step {
            Step::Index(i) => format!("{path}[{i}]"),
            Step::Field(name) | Step::Key(name) if path.is_empty() => name.clone(),
            Step::Field(name) | Step::Key(name) => format!("{path}.{name}"),
        })
    }

    /// Go reports only the field names, and the struct of the last one.
    fn wrong(&mut self, owner: &str, found: &Value, expected: &str, shape: &str) {
        let fields: Vec<&str> = self
            .path
            .iter()
            .filter_map(|s| match s {
                Step::Field(name) => Some(name.as_str()),
                Step::Index(_) | Step::Key(_) => None,
            })
            .collect();
        let (json, reflected) = scalars::kind(found);
        let json = match found {
            Value::Number(number) if expected.starts_with("int") => format!("number {number}"),
            _ => json.to_owned(),
        };
        let at = if fields.is_empty() {
            format!("value of type {expected}")
        } else {
            let owner = owner.rsplit('.').next().unwrap_or_default();
            format!("struct field {owner}.{} of type {expected}", fields.join("."))
        };
        let conversion = match shape {
            "scalar" => format!("unrecognized type: {expected}"),
            "struct" => format!("cannot restore struct from: {reflected}"),
            shape => format!("cannot restore {shape} from {reflected}"),
        };
        self.fail(WrongType { decoding: format!("json: cannot unmarshal {json} into Go {at}"), conversion });
    }

    fn fail(&mut self, error: WrongType) {
        self.error.get_or_insert(error);
    }

    fn message(&mut self, map: &mut Map<String, Value>, name: &'static str) {
        // A claim in a StatefulSet contains its kind, too.
        let top = self.path.is_empty() || name == "core.v1.PersistentVolumeClaim";
        map.retain(|key, member| {
            if top && matches!(key.as_str(), "kind" | "apiVersion") {
                return true;
            }
            self.path.push(Step::Field(key.clone()));
            let keep = match find(fields::message(name), key) {
                Some(field) => self.field(member, field, name),
                None if NEWER.contains(&(name, key)) => true,
                None => {
                    let path = self.shown();
                    self.unknown.push(path);
                    false
                }
            };
            self.path.pop();
            keep
        });
    }

    /// Whether the field is kept.
    fn field(&mut self, value: &mut Value, field: &Field, owner: &'static str) -> bool {
        if value.is_null() {
            return ALWAYS.contains(&field.name) && matches!(field.shape, Shape::Many);
        }
        match (field.shape, &mut *value) {
            (Shape::One, value) => {
                self.one(value, field.kind, owner);
                // A struct is never omitted.
                field.zero_counts
                    || matches!(field.kind, Kind::Message(_))
                    || !scalars::is_zero(value)
                    || pointers::is_pointer(owner, field.name)
            }
            (Shape::Many, Value::Array(list)) => {
                for (i, element) in list.iter_mut().enumerate() {
                    self.path.push(Step::Index(i));
                    self.element(element, field.kind, owner);
                    self.path.pop();
                }
                // An empty list means that no manager owns any field.
                !list.is_empty() || ALWAYS.contains(&field.name) || field.name == "managedFields"
            }
            (Shape::Map, Value::Object(map)) => {
                for (key, member) in map.iter_mut() {
                    self.path.push(Step::Key(key.clone()));
                    self.element(member, field.kind, owner);
                    self.path.pop();
                }
                !map.is_empty()
            }
            (shape, found) => {
                let (prefix, shape) =
                    if matches!(shape, Shape::Many) { ("[]", "slice") } else { ("map[string]", "map") };
                self.wrong(owner, found, &format!("{prefix}{}", go_type(field.kind)), shape);
                true
            }
        }
    }

    /// A list element or map value: null becomes zero there.
    fn element(&mut self, value: &mut Value, kind: Kind, owner: &'static str) {
        if value.is_null() {
            *value = match kind {
                Kind::Int32 | Kind::Int64 | Kind::Double => 0.into(),
                Kind::Bool => false.into(),
                Kind::Text | Kind::Bytes => "".into(),
                Kind::Message("api.resource.Quantity") => "0".into(),
                Kind::Message(name) if fields::is_special(name) => return,
                Kind::Message(_) => json!({}),
            };
        }
        self.one(value, kind, owner);
    }

    fn one(&mut self, value: &mut Value, kind: Kind, owner: &'static str) {
        let fits = match (kind, &*value) {
            (Kind::Int32, Value::Number(n)) => n.as_i64().is_some_and(|n| i32::try_from(n).is_ok()),
            (Kind::Int64, Value::Number(n)) => n.is_i64(),
            (Kind::Double, Value::Number(_))
            | (Kind::Bool, Value::Bool(_))
            | (Kind::Text | Kind::Bytes, Value::String(_)) => true,
            (Kind::Message(name), _) if fields::is_special(name) => return self.special(value, name),
            (Kind::Message(name), Value::Object(_)) => {
                if let Some(map) = value.as_object_mut() {
                    self.message(map, name);
                }
                return;
            }
            _ => false,
        };
        if !fits {
            let shape = if matches!(kind, Kind::Message(_)) { "struct" } else { "scalar" };
            self.wrong(owner, value, &go_type(kind), shape);
        } else if matches!(kind, Kind::Bytes)
            && let Err(why) = scalars::bytes(value)
        {
            self.fail(WrongType::plain(why));
        }
    }

    /// A type with a special JSON form.
    fn special(&mut self, value: &mut Value, name: &'static str) {
        let done = match name {
            "meta.v1.Time" => scalars::time(value, false),
            "meta.v1.MicroTime" => scalars::time(value, true),
            "api.resource.Quantity" => scalars::quantity(value),
            "util.intstr.IntOrString" => scalars::int_or_string(value),
            name if name.starts_with("apiextensions.v1.JsonSchemaProps") => {
                self.schemas(value);
                Ok(())
            }
            _ => Ok(()),
        };
        if let Err(why) = done {
            self.fail(WrongType::plain(why));
        }
    }

    /// A schema, or a permitted alternative: a flag, a list of schemas or of names.
    fn schemas(&mut self, value: &mut Value) {
        match value {
            Value::Object(map) => self.message(map, "apiextensions.v1.JSONSchemaProps"),
            Value::Array(list) => list.iter_mut().for_each(|element| self.schemas(element)),
            _ => {}
        }
    }
}

/// The field with this name, also in inlined messages.
fn find(fields: &'static [Field], name: &str) -> Option<&'static Field> {
    let embedded = |field: &'static Field| match field.kind {
        Kind::Message(inner) if field.is_embedded() => find(fields::message(inner), name),
        _ => None,
    };
    fields.iter().find(|f| f.name == name).or_else(|| fields.iter().find_map(embedded))
}

/// Go's name for a type.
fn go_type(kind: Kind) -> String {
    match kind {
        Kind::Int32 => "int32".to_owned(),
        Kind::Int64 => "int64".to_owned(),
        Kind::Bool => "bool".to_owned(),
        Kind::Double => "float64".to_owned(),
        Kind::Text => "string".to_owned(),
        Kind::Bytes => "[]uint8".to_owned(),
        Kind::Message(name) => name.split_once('.').map_or(name, |(_, rest)| rest).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn unknown_fields_are_named_and_dropped() {
        let mut object =
            json!({"metadata": {"name": "a", "bogus": 1, "labels": null}, "data": {"k": "v", "n": null}, "x": {}});
        let unknown = restrict("", "v1", "ConfigMap", &mut object).unwrap();
        assert_eq!(unknown, ["metadata.bogus", "x"]);
        assert_eq!(object["data"], json!({"k": "v", "n": ""}));
        assert_eq!(object["metadata"], json!({"name": "a"}));
    }

    #[test]
    fn base64_in_several_lines_is_stored_in_one() {
        let mut map =
            json!({"metadata": {"name": "a"}, "binaryData": {"k": "AGFz\nbQ0A\r\nAQA=\n"}, "data": {"k": "a\nb"}});
        restrict("", "v1", "ConfigMap", &mut map).unwrap();
        assert_eq!((&map["binaryData"]["k"], &map["data"]["k"]), (&json!("AGFzbQ0AAQA="), &json!("a\nb")));
        let mut secret = json!({"metadata": {"name": "a"}, "data": {"k": "AGFz\nbQ==\n"}});
        restrict("", "v1", "Secret", &mut secret).unwrap();
        assert_eq!(secret["data"]["k"], "AGFzbQ==");
        let mut hooks = json!({"metadata": {"name": "a"}, "webhooks": [{"name": "a.b.c", "admissionReviewVersions": ["v1"],
            "sideEffects": "None", "clientConfig": {"caBundle": "AGFz\nbQ==\n"}}]});
        restrict("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration", &mut hooks).unwrap();
        assert_eq!(hooks["webhooks"][0]["clientConfig"]["caBundle"], "AGFzbQ==");
        let mut bad = json!({"metadata": {"name": "a"}, "data": {"k": "AGFz bQ=="}});
        assert!(restrict("", "v1", "Secret", &mut bad).is_err());
    }

    #[test]
    fn wrong_types_are_refused() {
        let mut object = json!({"metadata": {"name": "a"}, "data": {"k": 1}});
        assert!(restrict("", "v1", "ConfigMap", &mut object).unwrap_err().decoding.contains("cannot unmarshal number"));
        let mut object = json!({"spec": {"replicas": "three"}});
        let error = restrict("apps", "v1", "Deployment", &mut object).unwrap_err();
        assert_eq!(error.conversion, "unrecognized type: int32");
    }

    #[test]
    fn an_empty_text_stays_where_it_is_a_pointer() {
        let mut object = json!({"spec": {"holderIdentity": "", "leaseDurationSeconds": 1}});
        restrict("coordination.k8s.io", "v1", "Lease", &mut object).unwrap();
        assert_eq!(object["spec"], json!({"holderIdentity": "", "leaseDurationSeconds": 1}));
        let mut object = json!({"spec": {"nodeName": "", "runtimeClassName": "", "containers": []}});
        restrict("", "v1", "Pod", &mut object).unwrap();
        assert_eq!(object["spec"], json!({"runtimeClassName": "", "containers": []}));
    }

    #[test]
    fn nothing_is_added() {
        let mut object = json!({"spec": {"template": {"spec": {}}}});
        restrict("apps", "v1", "Deployment", &mut object).unwrap();
        assert_eq!(object["spec"], json!({"template": {"spec": {}}}));
    }
}
