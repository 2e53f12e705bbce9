//! From a schema to the model.

use crate::{
    error::Error,
    meta::object_meta,
    model::{Enum, Field, Model, Struct, Type},
    names::{Scope, is_identifier, pascal},
    unions,
};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Deepest nesting that is followed. An API server rejects deeper schemas by their size.
const MAX_DEPTH: usize = 64;
/// Most fields of all types together.
const MAX_FIELDS: usize = 50_000;
/// Most characters of a default in a comment.
const LONGEST_DEFAULT: usize = 80;
/// Names that the languages' files use themselves.
const TAKEN: &[&str] = &[
    "Any",
    "Array",
    "Boolean",
    "BTreeMap",
    "Box",
    "Clone",
    "Copy",
    "Debug",
    "Default",
    "Deserialize",
    "Eq",
    "False",
    "Hash",
    "IntOrString",
    "Literal",
    "Map",
    "None",
    "NotRequired",
    "Nullable",
    "Number",
    "Object",
    "Option",
    "PartialEq",
    "Quantity",
    "Record",
    "Required",
    "Self",
    "Serialize",
    "Some",
    "String",
    "Time",
    "True",
    "TypedDict",
    "Value",
    "Vec",
];

impl Model {
    /// The types of a CustomResourceDefinition.
    ///
    /// * `version` - one of its versions; none: the one that is stored.
    ///
    /// # Errors
    ///
    /// The document is no definition, has no such version, or has a schema beyond the limits.
    pub fn of_definition(crd: &Value, version: Option<&str>) -> Result<Self, Error> {
        let text = |path: &str| crd.pointer(path).and_then(Value::as_str).unwrap_or_default();
        if (text("/apiVersion"), text("/kind")) != ("apiextensions.k8s.io/v1", "CustomResourceDefinition") {
            let found = match (text("/apiVersion"), text("/kind")) {
                ("", _) | (_, "") => "has no apiVersion or no kind".to_owned(),
                (version, kind) => short(&format!("{version} {kind}")),
            };
            return Err(Error::NotADefinition { found });
        }
        let name = short(text("/metadata/name"));
        let versions = crd.pointer("/spec/versions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let named = |one: &Value| one.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let stored = |one: &&Value| one.get("storage").and_then(Value::as_bool) == Some(true);
        let found = match version {
            Some(version) => versions.iter().find(|one| named(one) == version),
            None => versions.iter().find(stored).or(versions.first()),
        };
        let found = found.ok_or_else(|| Error::NoVersion {
            crd: name.clone(),
            version: version.unwrap_or_default().to_owned(),
            known: short(&versions.iter().map(named).collect::<Vec<_>>().join(", ")),
        })?;
        let schema = found
            .pointer("/schema/openAPIV3Schema")
            .filter(|schema| schema.is_object())
            .ok_or_else(|| Error::NoSchema { crd: name, version: short(&named(found)) })?;
        Self::of_schema(text("/spec/group"), &named(found), text("/spec/names/kind"), schema, &Map::new())
    }

    /// The types of a kind with this schema.
    ///
    /// * `components` - the schemas that a `$ref` names by its last segment: `components.schemas` of an OpenAPI document.
    ///
    /// # Errors
    ///
    /// The schema is beyond the limits, refers to a schema that is not there, or a name is not one of Kubernetes.
    pub fn of_schema(
        group: &str,
        version: &str,
        kind: &str,
        schema: &Value,
        components: &Map<String, Value>,
    ) -> Result<Self, Error> {
        let dns = |text: &str| {
            text.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-.".contains(letter))
        };
        let check = |field, value: &str, expected, holds: bool| {
            if holds { Ok(()) } else { Err(Error::Name { field, value: short(value), expected }) }
        };
        check("group", group, "API group", dns(group) && group.len() <= 253)?;
        check("version", version, "version: v1, v1beta1", dns(version) && !version.is_empty() && version.len() <= 63)?;
        let is_kind = is_identifier(kind) && !kind.contains('_') && kind.len() <= 63;
        check("kind", kind, "kind: letters and digits, such as ConfigMap", is_kind)?;
        let is_own = |(name, one): (&String, &Value)| name.starts_with("io.k8s.api.") && std::ptr::eq(one, schema);
        let of_kubernetes = components.iter().any(is_own);
        let mut builder = Builder { components, of_kubernetes, ..Builder::new() };
        builder.root(group, version, kind, schema)?;
        let Builder { structs, enums, .. } = builder;
        Ok(Self { group: group.to_owned(), version: version.to_owned(), kind: kind.to_owned(), structs, enums })
    }
}

/// A text of the input, short enough for a message.
pub(crate) fn short(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(100).collect()
}

struct Builder<'a> {
    components: &'a Map<String, Value>,
    /// Whether the kind is one of Kubernetes' own, whose objects Go writes. The API server lets no null into an object of a definition.
    of_kubernetes: bool,
    structs: Vec<Struct>,
    enums: Vec<Enum>,
    fields: usize,
    names: Scope,
    /// Types of components; those that are being built contain themselves.
    known: HashMap<String, Known>,
}

#[derive(Clone)]
enum Known {
    Building(usize),
    Built(Type),
}

/// Where a schema is.
#[derive(Clone, Copy)]
struct At<'a> {
    path: &'a str,
    /// The name that a struct or an enum here gets.
    name: &'a str,
    depth: usize,
}

impl<'a> Builder<'a> {
    fn new() -> Self {
        static NONE: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
        let names = Scope::with(TAKEN);
        Builder {
            components: &NONE,
            of_kubernetes: false,
            structs: Vec::new(),
            enums: Vec::new(),
            fields: 0,
            names,
            known: HashMap::new(),
        }
    }

    /// The object itself: its type, its metadata, and what the schema says of the rest.
    fn root(&mut self, group: &str, version: &str, kind: &str, schema: &Value) -> Result<(), Error> {
        let api_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
        let index = self.reserve(kind);
        let at = At { path: "", name: kind, depth: 0 };
        let mut made = self.object(schema, at)?;
        made.fields.retain(|field| !matches!(field.json.as_str(), "apiVersion" | "kind" | "metadata"));
        let metadata = self.value(&object_meta(), At { path: "metadata", name: "ObjectMeta", depth: 1 })?;
        let field = |json: &str, doc: &str, ty| Field {
            json: json.to_owned(),
            doc: doc.to_owned(),
            required: true,
            null_is_empty: false,
            ty,
        };
        made.fields.splice(
            0..0,
            [
                field("apiVersion", "", Type::Constant(api_version)),
                field("kind", "", Type::Constant(kind.to_owned())),
                field("metadata", "", metadata),
            ],
        );
        self.place(index, made);
        Ok(())
    }

    /// Gives a struct its name and index before its fields are known, so that it stands before what it contains.
    fn reserve(&mut self, name: &str) -> usize {
        let name = self.names.unique(name);
        self.structs.push(Struct { name, ..Struct::default() });
        self.structs.len() - 1
    }

    fn place(&mut self, index: usize, made: Struct) {
        if let Some(place) = self.structs.get_mut(index) {
            *place = Struct { name: std::mem::take(&mut place.name), ..made };
        }
    }

    /// The struct of a schema with properties, without its name.
    fn object(&mut self, schema: &Value, at: At<'_>) -> Result<Struct, Error> {
        let properties = schema.get("properties").and_then(Value::as_object);
        let required: Vec<&str> = list(schema, "required").iter().filter_map(Value::as_str).collect();
        let mut fields = Vec::new();
        // In the order of their names, whichever order the map keeps.
        for (json, property) in properties.into_iter().flatten().collect::<BTreeMap<_, _>>() {
            self.fields += 1;
            let path = if at.path.is_empty() { json.clone() } else { format!("{}.{json}", at.path) };
            if self.fields > MAX_FIELDS {
                return Err(Error::Size { path: short(&path), limit: MAX_FIELDS });
            }
            if at.path.is_empty() && json == "metadata" {
                continue;
            }
            let name = format!("{}{}", at.name, pascal(json));
            let ty = self.value(property, At { path: &path, name: &name, depth: at.depth + 1 })?;
            let required = required.contains(&json.as_str());
            let null_is_empty = self.of_kubernetes && required && matches!(ty, Type::List(_) | Type::Map(_));
            fields.push(Field { json: json.clone(), doc: field_doc(property), required, null_is_empty, ty });
        }
        let open = flag(schema, "x-kubernetes-preserve-unknown-fields")
            || flag(schema, "x-kubernetes-embedded-resource")
            || schema.get("additionalProperties").is_some_and(|more| more.is_object() || more == &json!(true));
        Ok(Struct { name: String::new(), doc: struct_doc(schema), fields, open })
    }

    /// The type of a value.
    fn value(&mut self, schema: &Value, at: At<'_>) -> Result<Type, Error> {
        if at.depth > MAX_DEPTH {
            return Err(Error::Depth { path: short(at.path), limit: MAX_DEPTH });
        }
        let ty = self.non_null(schema, at)?;
        Ok(if flag(schema, "nullable") && !matches!(ty, Type::Any | Type::Nullable(_)) {
            Type::Nullable(Box::new(ty))
        } else {
            ty
        })
    }

    fn non_null(&mut self, schema: &Value, at: At<'_>) -> Result<Type, Error> {
        if let Some(reference) = reference(schema) {
            return self.component(reference, at);
        }
        let format = text(schema, "format");
        if flag(schema, "x-kubernetes-int-or-string") || format == "int-or-string" || takes_int_or_string(schema) {
            return Ok(if is_quantity(schema) { Type::Quantity } else { Type::IntOrString });
        }
        let properties = schema.get("properties").and_then(Value::as_object).is_some_and(|all| !all.is_empty());
        match text(schema, "type") {
            "boolean" => Ok(Type::Bool),
            "integer" => Ok(if format == "int32" { Type::Int32 } else { Type::Int64 }),
            "number" => Ok(Type::Float),
            "string" => Ok(self.string(schema, format, at)),
            "array" => {
                let path = format!("{}[]", at.path);
                let item = schema.get("items").unwrap_or(&Value::Null);
                let item = self.value(item, At { path: &path, depth: at.depth + 1, ..at })?;
                Ok(Type::List(Box::new(item)))
            }
            "object" | "" if properties => {
                let index = self.reserve(at.name);
                let made = self.object(schema, at)?;
                self.place(index, made);
                Ok(Type::Struct(index))
            }
            "object" => match schema.get("additionalProperties") {
                Some(more) if more.is_object() => {
                    let path = format!("{}[*]", at.path);
                    let value = self.value(more, At { path: &path, depth: at.depth + 1, ..at })?;
                    Ok(Type::Map(Box::new(value)))
                }
                _ => Ok(Type::Map(Box::new(Type::Any))),
            },
            _ => Ok(Type::Any),
        }
    }

    fn string(&mut self, schema: &Value, format: &str, at: At<'_>) -> Type {
        let mut values: Vec<String> = Vec::new();
        let mut seen = HashSet::new();
        // controller-gen puts two of them into `allOf`, where a type and a field have one.
        let mut enums = std::iter::once(schema).chain(list(schema, "allOf")).map(|part| list(part, "enum"));
        let first = enums.find(|values| !values.is_empty()).unwrap_or_default();
        let rest: Vec<&[Value]> = enums.filter(|values| !values.is_empty()).collect();
        let allowed = first.iter().filter(|value| rest.iter().all(|values| values.contains(value)));
        for value in allowed.filter_map(Value::as_str) {
            if seen.insert(value) {
                values.push(value.to_owned());
            }
        }
        // `enum: []` allows nothing to some validators and everything to others; the API server ignores it.
        if !values.is_empty() {
            let name = self.names.unique(at.name);
            self.enums.push(Enum { name, doc: text(schema, "description").to_owned(), values });
            return Type::Enum(self.enums.len() - 1);
        }
        match format {
            "date-time" => Type::Time,
            "byte" => Type::Bytes,
            _ => Type::String,
        }
    }

    fn component(&mut self, reference: &str, at: At<'_>) -> Result<Type, Error> {
        let name = reference.rsplit('/').next().unwrap_or_default();
        match self.known.get(name) {
            Some(Known::Built(ty)) => return Ok(ty.clone()),
            Some(Known::Building(index)) => return Ok(Type::Recursive(*index)),
            None => {}
        }
        let components = self.components;
        let missing = || Error::Reference { path: short(at.path), reference: short(reference) };
        let schema = components.get(name).ok_or_else(missing)?;
        // `io.k8s.api.core.v1.Container`: what is shared is named once, not after the place where it is first used.
        let short_name = pascal(name.rsplit('.').next().unwrap_or_default());
        let at = At { path: at.path, name: &short_name, depth: at.depth + 1 };
        let is_object = schema.get("properties").and_then(Value::as_object).is_some_and(|all| !all.is_empty());
        let ty = if short_name == "Quantity" {
            Type::Quantity
        } else if is_object {
            let index = self.reserve(&short_name);
            self.known.insert(name.to_owned(), Known::Building(index));
            let made = self.object(schema, at)?;
            self.place(index, made);
            Type::Struct(index)
        } else {
            // A chain of references ends at the greatest depth.
            self.value(schema, at)?
        };
        self.known.insert(name.to_owned(), Known::Built(ty.clone()));
        Ok(ty)
    }
}

fn flag(schema: &Value, key: &str) -> bool {
    schema.get(key).and_then(Value::as_bool).unwrap_or(false)
}

fn text<'v>(schema: &'v Value, key: &str) -> &'v str {
    schema.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn list<'v>(schema: &'v Value, key: &str) -> &'v [Value] {
    schema.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// `$ref`, alone or as the only member of `allOf`, as API servers write it beside a description.
fn reference(schema: &Value) -> Option<&str> {
    let alone = |schema: &'_ Value| schema.get("$ref").is_some();
    match list(schema, "allOf") {
        [only] if alone(only) => only.get("$ref")?.as_str(),
        _ => schema.get("$ref")?.as_str(),
    }
}

/// `anyOf` or `oneOf` of an integer and a string, without a type beside it.
fn takes_int_or_string(schema: &Value) -> bool {
    let types = |key| list(schema, key).iter().map(|one| text(one, "type")).collect::<Vec<_>>();
    text(schema, "type").is_empty()
        && ["anyOf", "oneOf"]
            .iter()
            .any(|key| matches!(types(key).as_slice(), ["integer", "string"] | ["string", "integer"]))
}

/// controller-gen and API servers mark quantities with this pattern.
fn is_quantity(schema: &Value) -> bool {
    let patterns = std::iter::once(schema).chain(list(schema, "allOf")).map(|part| text(part, "pattern"));
    patterns.into_iter().any(|pattern| pattern.starts_with(r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"))
        || text(schema, "format") == "quantity"
}

fn field_doc(schema: &Value) -> String {
    let mut doc = text(schema, "description").trim().to_owned();
    let default = schema.get("default").map(Value::to_string).filter(|default| default.len() <= LONGEST_DEFAULT);
    if let Some(default) = default.filter(|default| default != "{}") {
        doc.push_str(&format!("\nDefault: {default}."));
    }
    doc
}

/// The description, and the unions.
fn struct_doc(schema: &Value) -> String {
    let mut doc = text(schema, "description").trim().to_owned();
    for rule in unions::rules(schema) {
        doc.push_str(&format!("\n{rule}"));
    }
    doc
}
