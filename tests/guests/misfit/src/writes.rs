//! The mode `writes`: a random program of writes. The object's value and the version decide which children the object has, what they
//! contain, what the status shows, and whether a deletion is held up. So another version writes something else.
//!
//! A value that begins with `turn` is for tests that need every kind of write: versions with an odd number want all children and hold
//! deletions up, the others want no child but one, and let go.

use crate::guest::{anything, apply, core, parsed};
use crate::manifest;
use crate::reconcile::Reconcile;
use oarlock_guest::raw::{
    Change, DeleteChange, Error, GroupVersionKind, ObjectKey, ObjectRef, Observation, Outcome, PatchChange, PatchType,
    Propagation, Request, cluster,
};
use serde_json::{Map, Value, json};

/// The kinds of children: a built-in one, a custom one, and a cluster-scoped one.
const KINDS: [&str; 3] = ["ConfigMap", "Gadget", "Rack"];

/// Children of each kind.
const EACH: u64 = 2;

/// The annotation that the program gives its own object.
const MARK: &str = "misfit/mark";

/// The child that is always wanted and never deleted, because versions give it a finalizer and take it away again.
const KEPT: &str = "gadget0";

/// A child that an object may have.
struct Child {
    /// Names the child within the object, and seeds its content.
    id: String,
    target: ObjectRef,
}

impl Reconcile {
    /// What the program wants.
    pub(crate) fn writes(&self) -> Value {
        let wanted = self.children().into_iter().filter_map(|child| {
            let document = self.document(&child)?;
            Some((child.id, document))
        });
        let mark = match self.drawn("mark") % 4 {
            0 => Value::Null,
            mark => json!(format!("m{mark}")),
        };
        json!({"children": Map::from_iter(wanted), "mark": mark})
    }

    /// What there is.
    pub(crate) fn written(&self, request: &Request) -> Result<Observation, Error> {
        let ends = request.deleting || request.object.is_none();
        if request.deleting && request.object.is_some() && self.holds() {
            return Err(Error::Terminal("misfit holds on as told".to_owned()));
        }
        let mut found = Map::new();
        for child in self.children().into_iter().filter(|child| !ends || child.id != KEPT) {
            if let Some(text) = cluster::get_applied(&child.target.kind, &child.target.key)? {
                found.insert(child.id, parsed(&text));
            }
        }
        // The request is older than the last patch.
        let now = cluster::get_object(&request.kind, &request.key)?.map(|text| parsed(&text)).unwrap_or_default();
        let mark = now.get("metadata").and_then(|metadata| metadata.get("annotations")?.get(MARK));
        let state = if ends && found.is_empty() { None } else { Some(json!({"children": found, "mark": mark})) };
        let status = if request.kind.group.is_empty() { None } else { self.status() };
        Ok(Observation {
            state: state.map(|state| state.to_string()),
            status: status.map(|status| status.to_string()),
            requeue_after_ms: None,
        })
    }

    /// The changes from what there is to what is wanted.
    pub(crate) fn write(&self, request: &Request, desired: Option<&str>, actual: Option<&str>) -> Outcome {
        let [desired, actual] = [desired, actual].map(|text| text.map(parsed).unwrap_or_default());
        let of = |state: &Value, id: &str| state.get("children").and_then(|children| children.get(id)).cloned();
        let mut changes = Vec::new();
        for child in self.children() {
            match (of(&desired, &child.id), of(&actual, &child.id)) {
                (wanted, found) if wanted == found => {}
                (Some(wanted), _) => changes.push(apply(&wanted)),
                (None, _) => changes.push(Change::Delete(DeleteChange {
                    target: child.target,
                    propagation: Propagation::Background,
                    precondition: anything(),
                })),
            }
        }
        if !desired.is_null() && desired.get("mark") != actual.get("mark") {
            changes.push(Change::Patch(PatchChange {
                target: Some(ObjectRef { kind: request.kind.clone(), key: request.key.clone() }),
                patch_type: PatchType::MergePatch,
                patch: json!({"metadata": {"annotations": {MARK: desired.get("mark")}}}).to_string(),
                subresource: String::new(),
                precondition: anything(),
            }));
        }
        Outcome { changes, events: vec![], warnings: vec![], requeue_after_ms: None }
    }

    fn children(&self) -> Vec<Child> {
        let namespace = self.object.pointer("/data/namespace").and_then(Value::as_str).unwrap_or(&self.namespace);
        let each = KINDS.into_iter().flat_map(|kind| (0..EACH).map(move |number| (kind, number)));
        each.map(|(kind, number)| {
            let namespace = if kind == "Rack" { "" } else { namespace }.to_owned();
            let id = format!("{}{number}", kind.to_lowercase());
            let key = ObjectKey { namespace, name: format!("{}-{id}", self.prefix()) };
            Child { id, target: ObjectRef { kind: self::kind(kind), key } }
        })
        .collect()
    }

    /// Begins the names of the children: objects of two kinds may have one name.
    fn prefix(&self) -> String {
        let kind = self.owner.get("kind").and_then(Value::as_str).unwrap_or_default();
        format!("{}-{}", self.name, kind.to_lowercase())
    }

    /// The child as it is wanted; none: there should be none.
    fn document(&self, child: &Child) -> Option<Value> {
        let draw = self.drawn(&child.id);
        let wanted = if self.turns() { self.is_odd() } else { !draw.is_multiple_of(3) } || child.id == KEPT;
        let ObjectRef { kind, key } = &child.target;
        let mut metadata = json!({"name": key.name, "labels": {"misfit-child": "true"}});
        if !key.namespace.is_empty() {
            metadata["namespace"] = json!(key.namespace);
        }
        let finalized = if self.turns() { self.is_odd() } else { draw.is_multiple_of(2) };
        if child.id == KEPT && finalized {
            metadata["finalizers"] = json!(["plan.oarlock.test/kept"]);
        }
        let (part, content) = match kind.group.as_str() {
            "" => ("data", self.data(&child.id)),
            _ => ("spec", self.spec(&child.id)),
        };
        let api_version =
            if kind.group.is_empty() { kind.version.clone() } else { format!("{}/{}", kind.group, kind.version) };
        wanted.then(|| json!({"apiVersion": api_version, "kind": kind.kind, "metadata": metadata, part: content}))
    }

    fn data(&self, id: &str) -> Value {
        let fields = ["a", "b/c", "d~e"].into_iter().filter_map(|field| {
            let draw = self.drawn(&format!("{id} {field}"));
            (!draw.is_multiple_of(3)).then(|| (field.replace(['/', '~'], "."), json!(format!("{}", draw / 3 % 3))))
        });
        Value::Object(fields.collect())
    }

    fn spec(&self, id: &str) -> Value {
        let mut spec = json!({"size": self.drawn(&format!("{id} size")) % 3});
        let some = |of: &str, most: u64| {
            (0..most).filter(|item| !self.drawn(&format!("{id} {of} {item}")).is_multiple_of(3)).collect::<Vec<_>>()
        };
        let tags: Vec<_> = some("tag", 3).iter().map(|tag| format!("t{tag}")).collect();
        let port =
            |name: &u64| json!({"name": format!("p{name}"), "port": 80 + self.drawn(&format!("{id} port {name}")) % 2});
        let ports: Vec<_> = some("has port", 3).iter().map(port).collect();
        if !tags.is_empty() {
            spec["tags"] = json!(tags);
        }
        if !ports.is_empty() {
            spec["ports"] = json!(ports);
        }
        spec
    }

    fn status(&self) -> Option<Value> {
        let draw = self.drawn("status");
        let mut status = json!({"size": draw / 5 % 3});
        if (draw / 15).is_multiple_of(2) {
            status["phase"] = json!(format!("phase {}", draw / 30 % 2));
        }
        (!draw.is_multiple_of(5)).then_some(status)
    }

    fn holds(&self) -> bool {
        if self.turns() { self.is_odd() } else { self.drawn("hold").is_multiple_of(2) }
    }

    fn turns(&self) -> bool {
        self.value.as_str().is_some_and(|value| value.starts_with("turn"))
    }

    fn is_odd(&self) -> bool {
        manifest::version().parse::<u64>().is_ok_and(|version| !version.is_multiple_of(2))
    }

    /// A random number for a part of this object in this version.
    fn drawn(&self, part: &str) -> u64 {
        let version = manifest::version();
        let mut digest = 0xcbf2_9ce4_8422_2325_u64;
        for text in [self.value.as_str().unwrap_or_default(), &self.prefix(), &version, part] {
            for byte in text.bytes().chain([0]) {
                digest = (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
        // The lowest bits of FNV-1a are those of the last bytes.
        (digest ^ (digest >> 29)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16
    }
}

fn kind(kind: &str) -> GroupVersionKind {
    if kind == "ConfigMap" {
        return core(kind);
    }
    let [group, version, kind] = ["plan.oarlock.test", "v1", kind].map(str::to_owned);
    GroupVersionKind { group, version, kind }
}
