//! Merge schemas of built-in kinds, read from `tables/builtin.types` on first use.
//!
//! One line is one type: its name, `!` if it is atomic, `@group/version/Kind` if it is a kind, then `field:type`. A type
//! is `s` (string), `n` (number), `b` (bool), `q` (any scalar), `X` (opaque) or a name, behind `[]` (atomic list), `[=]`
//! (set), `[key,key=default]` (list by key), `{}` (map) or `{!}` (atomic map). After it: `!` always present, `~key`
//! strategic merge by key, `^` retain keys.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock};

use serde_json::Value;

use super::{Field, ListKey, ListKind, Patch, Scalar, Schema, SchemaBuilder, TypeId, TypeSchema};

static TABLE: LazyLock<Table> = LazyLock::new(|| Table::parse(include_str!("../../tables/builtin.types")));

struct Table {
    types: Arc<[TypeSchema]>,
    kinds: HashMap<&'static str, TypeId>,
}

pub(super) fn find(group: &str, version: &str, kind: &str) -> Option<Schema> {
    let root = TABLE.kinds.get(format!("{group}/{version}/{kind}").as_str())?;
    Some(Schema { types: Arc::clone(&TABLE.types), root: *root })
}

struct Parser {
    builder: SchemaBuilder,
    names: HashMap<&'static str, TypeId>,
}

impl Table {
    fn parse(text: &'static str) -> Self {
        let mut builder = SchemaBuilder::new();
        let mut names = HashMap::new();
        for (name, scalar) in [("s", Scalar::String), ("n", Scalar::Number), ("b", Scalar::Bool), ("q", Scalar::Any)] {
            names.insert(name, builder.scalar(scalar));
        }
        names.insert("X", builder.add(TypeSchema::AnyAtomic));
        let mut parser = Parser { builder, names };
        let mut kinds = HashMap::new();
        for line in text.lines().filter(|l| !l.is_empty() && !l.starts_with('#')) {
            let mut words = line.split(' ');
            let head = words.next().unwrap_or_default();
            let (name, kind) = head.split_once('@').map_or((head, None), |(name, kind)| (name, Some(kind)));
            let id = parser.named(name.trim_end_matches('!'));
            let mut fields: BTreeMap<String, Field> = words.filter_map(|word| parser.field(word)).collect();
            if let Some(kind) = kind {
                kinds.insert(kind, id);
                let text = parser.named("s");
                for name in ["apiVersion", "kind"] {
                    fields.insert(name.to_owned(), Field::new(text));
                }
            }
            parser.builder.set(id, TypeSchema::Struct { fields, rest: None, atomic: name.ends_with('!') });
        }
        Self { types: parser.builder.types.into(), kinds }
    }
}

impl Parser {
    fn named(&mut self, name: &'static str) -> TypeId {
        if let Some(id) = self.names.get(name) {
            return *id;
        }
        let id = self.builder.reserve();
        self.names.insert(name, id);
        id
    }

    fn field(&mut self, word: &'static str) -> Option<(String, Field)> {
        let (name, rest) = word.split_once(':')?;
        let (rest, retain_keys) = rest.strip_suffix('^').map_or((rest, false), |rest| (rest, true));
        let (rest, merge_key) = rest.split_once('~').map_or((rest, None), |(rest, key)| (rest, Some(key)));
        let (spelled, present) = rest.strip_suffix('!').map_or((rest, false), |rest| (rest, true));
        let merge = merge_key.is_some();
        let patch = Patch { merge, merge_key: merge_key.unwrap_or_default().to_owned(), retain_keys };
        Some((name.to_owned(), Field { ty: self.spelled(spelled), patch, present }))
    }

    fn spelled(&mut self, text: &'static str) -> TypeId {
        if let Some((keys, element)) = text.strip_prefix('[').and_then(|t| t.split_once(']')) {
            let element = self.spelled(element);
            let kind = match keys {
                "" => ListKind::Atomic,
                "=" => ListKind::Set,
                keys => ListKind::Map(keys.split(',').map(list_key).collect()),
            };
            self.builder.list(kind, element)
        } else if let Some((mode, element)) = text.strip_prefix('{').and_then(|t| t.split_once('}')) {
            let element = self.spelled(element);
            self.builder.map(element, mode == "!")
        } else {
            self.named(text)
        }
    }
}

fn list_key(text: &str) -> ListKey {
    let (name, default) = text.split_once('=').map_or((text, None), |(name, default)| (name, Some(default)));
    // Required fields of the API types default to the zero value, so an element may lack its key.
    let zero = || if matches!(name, "containerPort" | "port") { Value::from(0) } else { Value::from("") };
    ListKey { name: name.to_owned(), default: Some(default.map_or_else(zero, Value::from)) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Atom, TypeRef};
    use super::*;

    fn at<'s>(schema: &'s Schema, path: &str) -> TypeRef<'s> {
        path.split('.').fold(schema.root(), |ty, name| if name == "*" { ty.element() } else { ty.field(name) })
    }

    #[test]
    fn every_type_named_in_the_table_is_described_in_it() {
        let text = include_str!("../../tables/builtin.types");
        let described: Vec<&str> =
            text.lines().filter_map(|l| l.split([' ', '@', '!']).next()).filter(|n| n.contains('/')).collect();
        for (position, ty) in TABLE.types.iter().enumerate() {
            assert!(!matches!(ty, TypeSchema::Any), "type {position} is used and never described");
        }
        assert!(described.len() > 200);
    }

    #[test]
    fn every_field_that_must_merge_by_key_names_one() {
        let by_key = TABLE.types.iter().filter_map(|ty| match ty {
            TypeSchema::Struct { fields, .. } => Some(fields.iter().filter(|(_, f)| f.patch.merge)),
            _ => None,
        });
        let mut count = 0;
        for (name, field) in by_key.flatten() {
            count += 1;
            let scalars = matches!(name.as_str(), "finalizers" | "podCIDRs");
            assert_eq!(field.patch.merge_key.is_empty(), scalars, "{name}");
        }
        assert!(count > 40, "{count}");
    }

    #[test]
    fn pods_inside_every_workload_follow_the_same_rules() {
        for (group, kind, pod) in [
            ("", "Pod", "spec"),
            ("apps", "Deployment", "spec.template.spec"),
            ("apps", "StatefulSet", "spec.template.spec"),
            ("apps", "DaemonSet", "spec.template.spec"),
            ("apps", "ReplicaSet", "spec.template.spec"),
            ("batch", "Job", "spec.template.spec"),
            ("batch", "CronJob", "spec.jobTemplate.spec.template.spec"),
            ("", "ReplicationController", "spec.template.spec"),
        ] {
            let schema = find(group, "v1", kind).unwrap_or_else(|| unreachable!("{kind}"));
            let spec = at(&schema, pod);
            let containers = spec.declared("containers").map(|f| f.patch.merge_key.clone());
            assert_eq!(containers.as_deref(), Some("name"), "{kind}");
            assert!(spec.declared("volumes").is_some_and(|f| f.patch.retain_keys), "{kind}");
            assert!(spec.declared("tolerations").is_some_and(|f| !f.patch.merge), "{kind}");
            let ports = at(&schema, &format!("{pod}.containers.*.ports"));
            let Atom::List { kind: ListKind::Map(keys), .. } = ports.atom(None) else { unreachable!("{kind}") };
            let names: Vec<_> = keys.iter().map(|k| (k.name.as_str(), k.default.clone())).collect();
            assert_eq!(names, [("containerPort", Some(json!(0))), ("protocol", Some(json!("TCP")))], "{kind}");
        }
    }

    #[test]
    fn kinds_the_server_does_not_serve_are_unknown() {
        assert!(find("", "v1", "Network").is_none());
        assert!(find("apps", "v2", "Deployment").is_none());
    }
}
