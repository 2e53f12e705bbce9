//! Names of C: all begin with the kind and version, because C has one scope for all headers.

use crate::{
    model::{Model, Struct, Type},
    names::{Scope, snake},
};
use std::collections::{HashMap, HashSet};

/// Keywords of C and C++, and names that headers or compilers define as macros.
const KEYWORDS: &str = include_str!("keywords.txt");

/// What the names of a header begin with: `network_v1`. It is the type of the object too.
#[must_use]
pub fn c_prefix(kind: &str, version: &str) -> String {
    format!("{}_{}", snake(kind), snake(version))
}

/// What the header declares beside the types of the model, after the prefix.
const RESERVED: [&str; 13] = [
    "reader",
    "int_or_string",
    "has",
    "is",
    "is_null",
    "in_field",
    "in_list",
    "wrong",
    "string",
    "bool",
    "int32",
    "int64",
    "double",
];

pub(crate) struct Names {
    /// What every name begins with: `network_v1`.
    pub(crate) prefix: String,
    /// Of the structs of the model.
    pub(crate) structs: Vec<String>,
    /// Of its enums.
    pub(crate) enums: Vec<String>,
    /// Of the values of each enum; the first one means absent.
    pub(crate) constants: Vec<Vec<String>>,
    /// Of the fields of each struct.
    pub(crate) fields: Vec<Fields>,
    /// Lists and maps, those within others first.
    pub(crate) containers: Vec<Container>,
    /// Their names.
    by_type: HashMap<Type, String>,
}

pub(crate) struct Fields {
    pub(crate) fields: Vec<FieldName>,
    /// Of the fields outside the schema, where they are kept.
    pub(crate) other: Option<String>,
}

pub(crate) struct FieldName {
    pub(crate) name: String,
    /// Of the mark that the field is null, where it may be absent, too.
    pub(crate) null: Option<String>,
}

/// A list or map type.
pub(crate) struct Container {
    pub(crate) ty: Type,
    pub(crate) name: String,
}

impl Container {
    /// The type of its items.
    pub(crate) fn item(&self) -> &Type {
        match &self.ty {
            Type::List(item) | Type::Map(item) => item,
            other => other,
        }
    }
}

impl Names {
    pub(crate) fn of(model: &Model) -> Self {
        let prefix = c_prefix(&model.kind, &model.version);
        let mut taken = Functions::default();
        for name in RESERVED {
            taken.unique(&format!("{prefix}_{name}"));
        }
        let named = |name: &str| match name.strip_prefix(&model.kind) {
            Some("") => prefix.clone(),
            Some(rest) => format!("{prefix}_{}", snake(rest)),
            None => format!("{prefix}_{}", snake(name)),
        };
        let structs: Vec<String> = model.structs.iter().map(|one| taken.unique(&named(&one.name))).collect();
        let enums: Vec<String> = model.enums.iter().map(|one| taken.unique(&named(&one.name))).collect();
        let mut macros = Scope::with(&[]);
        for name in ["H", "API_VERSION", "KIND"] {
            macros.unique(&format!("{}_{name}", prefix.to_ascii_uppercase()));
        }
        let mut constants = Vec::new();
        for (one, name) in model.enums.iter().zip(&enums) {
            let mut made = vec![macros.unique(&format!("{}_ABSENT", name.to_ascii_uppercase()))];
            for value in &one.values {
                made.push(macros.unique(&format!("{name}_{}", snake(value)).to_ascii_uppercase()));
            }
            constants.push(made);
        }
        let fields = model.structs.iter().map(Fields::of).collect();
        let mut names =
            Self { prefix, structs, enums, constants, fields, containers: Vec::new(), by_type: HashMap::new() };
        for field in model.structs.iter().flat_map(|one| &one.fields) {
            names.collect(&mut taken, &field.ty);
        }
        names
    }

    /// The name of a list or map type.
    pub(crate) fn container(&self, ty: &Type) -> &str {
        self.by_type.get(&plain(ty)).map_or("", String::as_str)
    }

    fn collect(&mut self, taken: &mut Functions, ty: &Type) {
        let (Type::List(item) | Type::Map(item) | Type::Nullable(item)) = ty else { return };
        self.collect(taken, item);
        let ty = plain(ty);
        if !matches!(ty, Type::Nullable(_)) && !self.by_type.contains_key(&ty) {
            let name = taken.unique(&self.name_of(&ty));
            self.by_type.insert(ty.clone(), name.clone());
            self.containers.push(Container { ty, name });
        }
    }

    fn name_of(&self, ty: &Type) -> String {
        let basic = |name: &str| format!("{}_{name}", self.prefix);
        match ty {
            Type::Bool => basic("bool"),
            Type::Int32 => basic("int32"),
            Type::Int64 => basic("int64"),
            Type::Float => basic("double"),
            Type::String | Type::Bytes | Type::Time | Type::Constant(_) => basic("string"),
            Type::IntOrString | Type::Quantity => basic("int_or_string"),
            Type::Any => basic("value"),
            Type::List(item) => format!("{}_list", self.name_of(item)),
            Type::Map(item) => format!("{}_map", self.name_of(item)),
            Type::Nullable(inner) => format!("{}_or_null", self.name_of(inner)),
            Type::Struct(index) | Type::Recursive(index) => self.structs.get(*index).cloned().unwrap_or_default(),
            Type::Enum(index) => self.enums.get(*index).cloned().unwrap_or_default(),
        }
    }
}

/// The type with one spelling for what is the same in C.
fn plain(ty: &Type) -> Type {
    match ty {
        Type::List(item) => Type::List(Box::new(plain(item))),
        Type::Map(item) => Type::Map(Box::new(plain(item))),
        Type::Nullable(item) => Type::Nullable(Box::new(plain(item))),
        Type::Recursive(index) => Type::Struct(*index),
        Type::Bytes | Type::Time | Type::Constant(_) => Type::String,
        Type::Quantity => Type::IntOrString,
        other => other.clone(),
    }
}

impl Fields {
    fn of(one: &Struct) -> Self {
        let mut scope = Scope::default();
        let mut named = |json: &str| {
            let mut name = snake(json);
            if KEYWORDS.lines().any(|word| word == name) {
                name.push('_');
            }
            scope.unique(&name)
        };
        let names: Vec<String> = one.fields.iter().map(|field| named(&field.json)).collect();
        let fields = one
            .fields
            .iter()
            .zip(names)
            .map(|(field, name)| {
                let null = !field.required && field.ty.non_null().1;
                FieldName { null: null.then(|| named(&format!("{name}_is_null"))), name }
            })
            .collect();
        Self { fields, other: one.open.then(|| named("other")) }
    }
}

/// Names of types, with those of their functions.
#[derive(Default)]
struct Functions {
    names: Scope,
    all: HashSet<String>,
}

impl Functions {
    const ENDS: [&str; 7] = ["", "_read", "_to_json", "_write", "_parse", "_text", "_entry"];

    fn unique(&mut self, name: &str) -> String {
        let mut given = self.names.unique(name);
        while Self::ENDS.iter().any(|end| self.all.contains(&format!("{given}{end}"))) {
            given = self.names.unique(name);
        }
        self.all.extend(Self::ENDS.map(|end| format!("{given}{end}")));
        given
    }
}
