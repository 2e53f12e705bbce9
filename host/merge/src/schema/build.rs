//! Builder for merge schemas.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Field, ListKey, ListKind, Patch, Scalar, Schema, TypeId, TypeSchema};

/// Makes a [`Schema`] type by type: elements first, then what holds them.
///
/// ```
/// use std::collections::BTreeMap;
/// use oarlock_merge::schema::{Field, ListKey, ListKind, Scalar, SchemaBuilder};
///
/// let mut b = SchemaBuilder::new();
/// let (text, any) = (b.scalar(Scalar::String), b.any());
/// let port = b.object(BTreeMap::from([("name".to_owned(), Field::new(text))]), Some(any), false);
/// let ports = b.list(ListKind::Map(vec![ListKey { name: "name".into(), default: None }]), port);
/// let spec = b.object(BTreeMap::from([("ports".to_owned(), Field::new(ports))]), None, false);
/// let root = b.document(BTreeMap::from([("spec".to_owned(), Field::new(spec))]), None);
/// let schema = b.build(root);
/// ```
#[derive(Debug, Default)]
pub struct SchemaBuilder {
    pub(super) types: Vec<TypeSchema>,
}

impl SchemaBuilder {
    /// An empty table.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a type.
    pub fn add(&mut self, ty: TypeSchema) -> TypeId {
        self.types.push(ty);
        TypeId(self.types.len() - 1)
    }

    /// Reserves a place for a type that is not known yet (recursion); see [`set`](Self::set).
    pub fn reserve(&mut self) -> TypeId {
        self.add(TypeSchema::Any)
    }

    /// Sets the type of a reserved place.
    pub fn set(&mut self, id: TypeId, ty: TypeSchema) {
        if let Some(place) = self.types.get_mut(id.0) {
            *place = ty;
        }
    }

    /// Untyped: maps merge key by key, lists are atomic.
    pub fn any(&mut self) -> TypeId {
        self.add(TypeSchema::Any)
    }

    /// A scalar.
    pub fn scalar(&mut self, scalar: Scalar) -> TypeId {
        self.add(TypeSchema::Scalar(scalar))
    }

    /// A list.
    pub fn list(&mut self, kind: ListKind, element: TypeId) -> TypeId {
        self.add(TypeSchema::List { kind, element })
    }

    /// A map with keys chosen by users.
    pub fn map(&mut self, element: TypeId, atomic: bool) -> TypeId {
        self.add(TypeSchema::Map { element, atomic })
    }

    /// An object; `rest` is the type of fields that are not declared, `None` refuses them.
    pub fn object(&mut self, fields: BTreeMap<String, Field>, rest: Option<TypeId>, atomic: bool) -> TypeId {
        self.add(TypeSchema::Struct { fields, rest, atomic })
    }

    /// A whole API object: [`object`](Self::object) with `apiVersion`, `kind` and `metadata` added.
    pub fn document(&mut self, mut fields: BTreeMap<String, Field>, rest: Option<TypeId>) -> TypeId {
        let text = self.scalar(Scalar::String);
        let meta = self.object_meta();
        for name in ["apiVersion", "kind"] {
            fields.insert(name.to_owned(), Field::new(text));
        }
        fields.insert("metadata".to_owned(), Field { present: true, ..Field::new(meta) });
        self.object(fields, rest, false)
    }

    /// The type of `metadata`: labels and annotations are granular maps, finalizers a set, owner references by uid.
    pub fn object_meta(&mut self) -> TypeId {
        let text = self.scalar(Scalar::String);
        let number = self.scalar(Scalar::Number);
        let other = self.scalar(Scalar::Any);
        let opaque = self.add(TypeSchema::AnyAtomic);
        let texts = self.map(text, false);
        let finalizers = self.list(ListKind::Set, text);
        let owner_fields = ["apiVersion", "kind", "name", "uid"].map(|name| (name.to_owned(), Field::new(text)));
        let mut owner_fields = BTreeMap::from(owner_fields);
        let bool = self.scalar(Scalar::Bool);
        for name in ["blockOwnerDeletion", "controller"] {
            owner_fields.insert(name.to_owned(), Field::new(bool));
        }
        let owner = self.object(owner_fields, None, true);
        let owners =
            self.list(ListKind::Map(vec![ListKey { name: "uid".to_owned(), default: Some(Value::from("")) }]), owner);
        let managed = self.list(ListKind::Atomic, opaque);
        let by = |key: &str| Patch { merge: true, merge_key: key.to_owned(), retain_keys: false };
        let mut fields = BTreeMap::new();
        for name in ["generateName", "name", "namespace", "resourceVersion", "selfLink", "uid"] {
            fields.insert(name.to_owned(), Field::new(text));
        }
        for name in ["creationTimestamp", "deletionTimestamp"] {
            fields.insert(name.to_owned(), Field::new(other));
        }
        for name in ["generation", "deletionGracePeriodSeconds"] {
            fields.insert(name.to_owned(), Field::new(number));
        }
        for name in ["labels", "annotations"] {
            fields.insert(name.to_owned(), Field::new(texts));
        }
        fields.insert("finalizers".to_owned(), Field { patch: by(""), ..Field::new(finalizers) });
        fields.insert("ownerReferences".to_owned(), Field { patch: by("uid"), ..Field::new(owners) });
        fields.insert("managedFields".to_owned(), Field::new(managed));
        self.object(fields, None, false)
    }

    /// The schema of documents of type `root`.
    #[must_use]
    pub fn build(self, root: TypeId) -> Schema {
        Schema { types: self.types.into(), root }
    }
}
