//! CEL types for the type check: names, assignability, type parameters.
//!
//! # Source
//!
//! cel-go `checker/types.go` and `common/types/types.go`.

use std::{collections::HashMap, fmt, rc::Rc};

/// A type of CEL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Dyn,
    /// The type of an expression with a fault; it fits everywhere, so that one fault is reported once.
    Error,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Timestamp,
    Duration,
    /// A type parameter of a function, or an unknown type.
    Param(Rc<str>),
    List(Rc<Self>),
    Map(Rc<(Self, Self)>),
    /// An object of a schema by its path, or a type of a library.
    Struct(Rc<str>),
    /// An abstract type, such as `optional_type` or `net.IP`.
    Opaque(Rc<str>, Vec<Self>),
    /// The type of a type.
    Meta(Option<Rc<Self>>),
}

/// The name of the type of optional values.
const OPTIONAL: &str = "optional_type";

impl Type {
    pub(super) fn list(element: Self) -> Self {
        Self::List(Rc::new(element))
    }

    pub(super) fn map(key: Self, value: Self) -> Self {
        Self::Map(Rc::new((key, value)))
    }

    pub(super) fn optional(inner: Self) -> Self {
        Self::Opaque(OPTIONAL.into(), vec![inner])
    }

    /// The type inside an optional; `None` for all other types.
    pub(super) fn inside_optional(&self) -> Option<&Self> {
        match self {
            Self::Opaque(name, inner) if &**name == OPTIONAL => inner.first(),
            _ => None,
        }
    }

    /// Whether values have a fixed size.
    pub(super) fn is_scalar(&self) -> bool {
        match self {
            Self::Bool | Self::Double | Self::Duration | Self::Int | Self::Timestamp | Self::Uint => true,
            other => other.inside_optional().is_some_and(Self::is_scalar),
        }
    }

    pub(super) fn is_dyn_or_error(&self) -> bool {
        matches!(self, Self::Dyn | Self::Error)
    }

    /// The first parameter: of a list its elements, of a map its keys.
    pub(super) fn first_parameter(&self) -> Option<&Self> {
        match self {
            Self::List(element) => Some(element),
            Self::Map(entry) => Some(&entry.0),
            Self::Opaque(_, inner) => inner.first(),
            Self::Meta(inner) => inner.as_deref(),
            _ => None,
        }
    }

    fn parameters(&self) -> Vec<&Self> {
        match self {
            Self::List(element) => vec![element],
            Self::Map(entry) => vec![&entry.0, &entry.1],
            Self::Opaque(_, inner) => inner.iter().collect(),
            Self::Meta(inner) => inner.iter().map(|t| &**t).collect(),
            _ => Vec::new(),
        }
    }

    fn is_nullable(&self) -> bool {
        matches!(self, Self::Opaque(..) | Self::Struct(_) | Self::Duration | Self::Timestamp | Self::Null | Self::Dyn)
    }

    /// Whether `other` fits, ignoring type parameters.
    fn accepts(&self, other: &Self) -> bool {
        self == other
            || *self == Self::Dyn
            || (std::mem::discriminant(self) == std::mem::discriminant(other)
                && self.name() == other.name()
                && self.parameters().len() == other.parameters().len()
                && !self.parameters().is_empty()
                && self.parameters().iter().zip(other.parameters()).all(|(a, b)| a.accepts(b)))
    }

    /// The name without parameters.
    fn name(&self) -> &str {
        match self {
            Self::Dyn => "dyn",
            Self::Error => "!error!",
            Self::Null => "null",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Timestamp => "timestamp",
            Self::Duration => "duration",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Meta(_) => "type",
            Self::Param(name) | Self::Struct(name) | Self::Opaque(name, _) => name,
        }
    }

    /// Parses a type from the table of functions; names in angle brackets are parameters.
    pub(super) fn parse(text: &str) -> Self {
        let text = text.trim();
        if let Some(parameter) = text.strip_prefix('<') {
            return Self::Param(parameter.trim_end_matches('>').into());
        }
        if let Some((name, rest)) = text.split_once('(') {
            let inner = rest.strip_suffix(')').unwrap_or(rest);
            return match name {
                "list" => Self::list(Self::parse(inner)),
                "map" => {
                    let (key, value) = inner.split_once(',').unwrap_or((inner, "dyn"));
                    Self::map(Self::parse(key), Self::parse(value))
                }
                "type" => Self::Meta(Some(Rc::new(Self::parse(inner)))),
                _ => Self::Opaque(name.into(), vec![Self::parse(inner)]),
            };
        }
        match text {
            "dyn" => Self::Dyn,
            "null" => Self::Null,
            "bool" => Self::Bool,
            "int" => Self::Int,
            "uint" => Self::Uint,
            "double" => Self::Double,
            "string" => Self::String,
            "bytes" => Self::Bytes,
            "timestamp" => Self::Timestamp,
            "duration" => Self::Duration,
            "type" => Self::Meta(None),
            "net.IP" | "net.CIDR" => Self::Opaque(text.into(), Vec::new()),
            name => Self::Struct(name.into()),
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        let inner: Vec<String> = self.parameters().iter().map(ToString::to_string).collect();
        if inner.is_empty() { Ok(()) } else { write!(f, "({})", inner.join(", ")) }
    }
}

/// The types of type parameters.
#[derive(Clone, Debug, Default)]
pub(super) struct Substitutions(HashMap<Rc<str>, Type>);

impl Substitutions {
    /// Sets a parameter permanently.
    pub(super) fn set(&mut self, parameter: &str, to: Type) {
        self.0.insert(parameter.into(), to);
    }

    /// Whether `a` is assignable to `b`; if so, the resulting type parameters are kept.
    pub(super) fn assignable(&mut self, a: &Type, b: &Type) -> bool {
        self.all_assignable(std::slice::from_ref(a), std::slice::from_ref(b))
    }

    /// As [`Self::assignable`], for all arguments of a call.
    pub(super) fn all_assignable(&mut self, given: &[Type], wanted: &[Type]) -> bool {
        let mut tried = self.clone();
        let fits = given.len() == wanted.len() && given.iter().zip(wanted).all(|(a, b)| tried.unify(a, b));
        if fits {
            *self = tried;
        }
        fits
    }

    fn unify(&mut self, a: &Type, b: &Type) -> bool {
        if let Type::Param(name) = b {
            let (valid, known) = self.substitute_for(a, b, name);
            if valid || known {
                return valid;
            }
        }
        if let Type::Param(name) = a {
            return self.substitute_for(b, a, name).0;
        }
        if a.is_dyn_or_error() || b.is_dyn_or_error() {
            return true;
        }
        match (a, b) {
            (Type::Null, other) | (other, Type::Null) => other.is_nullable(),
            (Type::Meta(_), _) => matches!(b, Type::Meta(_)),
            (Type::List(_) | Type::Map(_) | Type::Opaque(..), _) => {
                let (inner, other) = (a.parameters(), b.parameters());
                std::mem::discriminant(a) == std::mem::discriminant(b)
                    && a.name() == b.name()
                    && inner.len() == other.len()
                    && inner.iter().zip(other).all(|(a, b)| self.unify(a, b))
            }
            _ => b.accepts(a),
        }
    }

    /// Whether `ty` can replace `parameter`, and whether `parameter` had a type before.
    fn substitute_for(&mut self, ty: &Type, parameter: &Type, name: &Rc<str>) -> (bool, bool) {
        if ty == parameter {
            return (true, true);
        }
        if let Some(present) = self.0.get(name).cloned() {
            if *ty == present {
                return (true, true);
            }
            if self.unify(ty, &present) {
                let general = most_general(ty.clone(), present);
                if self.absent(parameter, &general) {
                    self.0.insert(Rc::clone(name), general);
                }
                return (true, true);
            }
            return (false, true);
        }
        if self.absent(parameter, ty) {
            self.0.insert(Rc::clone(name), ty.clone());
            return (true, false);
        }
        (false, false)
    }

    /// Whether `parameter` does not occur in `within`.
    fn absent(&self, parameter: &Type, within: &Type) -> bool {
        if parameter == within {
            return false;
        }
        match within {
            Type::Param(name) => self.0.get(name).is_none_or(|present| self.absent(parameter, present)),
            other => other.parameters().iter().all(|inner| self.absent(parameter, inner)),
        }
    }

    /// The type with all known parameters replaced; unknown ones become dyn if `to_dyn`.
    pub(super) fn apply(&self, ty: &Type, to_dyn: bool) -> Type {
        let again = |inner: &Type| self.apply(inner, to_dyn);
        match ty {
            Type::Param(name) => match self.0.get(name) {
                Some(present) => self.apply(present, to_dyn),
                None if to_dyn => Type::Dyn,
                None => ty.clone(),
            },
            Type::List(element) => Type::list(again(element)),
            Type::Map(entry) => Type::map(again(&entry.0), again(&entry.1)),
            Type::Opaque(name, inner) => Type::Opaque(Rc::clone(name), inner.iter().map(again).collect()),
            Type::Meta(Some(inner)) => Type::Meta(Some(Rc::new(again(inner)))),
            other => other.clone(),
        }
    }
}

/// The wider of two types that fit each other.
pub(super) fn most_general(a: Type, b: Type) -> Type {
    if equal_or_wider(&a, &b) { a } else { b }
}

fn equal_or_wider(a: &Type, b: &Type) -> bool {
    if matches!(a, Type::Dyn | Type::Param(_)) {
        return true;
    }
    if matches!(b, Type::Dyn | Type::Param(_)) || std::mem::discriminant(a) != std::mem::discriminant(b) {
        return false;
    }
    match a {
        Type::Meta(_) => true,
        Type::List(_) | Type::Map(_) | Type::Opaque(..) => {
            a.name() == b.name()
                && a.parameters().len() == b.parameters().len()
                && a.parameters().iter().zip(b.parameters()).all(|(a, b)| equal_or_wider(a, b))
        }
        _ => a == b,
    }
}
