//! Structural schemas: the rules for OpenAPI schemas of custom resources.
//!
//! # Source
//!
//! apiextensions-apiserver `pkg/apiserver/schema/validation.go` and `pkg/apis/apiextensions/validation`.

use regex::Regex;
use serde_json::{Map, Value};

use super::{list, rules, text};
use crate::{
    cel, defaults,
    error::FieldError,
    node::{MAX_DEPTH, Node},
    prune,
    validate::{Base, validate_value},
};

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
/// Keywords of JSON Schema that a structural schema must not use.
const UNSUPPORTED: [&str; 8] =
    ["$ref", "definitions", "dependencies", "patternProperties", "additionalItems", "id", "$schema", "deprecated"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Field,
    Item,
}

/// Checks a whole `openAPIV3Schema`, rules included.
///
/// * `at` - its path in the definition.
/// * `is_stored` - whether the stored object already has this schema.
pub(super) fn check_schema(schema: &Value, at: &str, is_stored: bool, errors: &mut Vec<FieldError>) {
    let before = errors.len();
    let mut checker = Checker { errors };
    checker.structural(schema, at, Level::Root, false, 0);
    let is_broken = errors.len() > before;
    rules::check(schema, at, rules::Checks { is_broken, is_stored }, errors);
}

pub(super) struct Checker<'a> {
    pub(super) errors: &'a mut Vec<FieldError>,
}

pub(super) fn flag(schema: &Value, key: &str) -> bool {
    schema.get(key).and_then(Value::as_bool).unwrap_or(false)
}

pub(super) fn object<'a>(schema: &'a Value, key: &str) -> Option<&'a Map<String, Value>> {
    schema.get(key).and_then(Value::as_object)
}

impl Checker<'_> {
    pub(super) fn forbid(&mut self, field: &str, detail: &str) {
        self.errors.push(FieldError::forbidden(field, detail));
    }

    pub(super) fn invalid(&mut self, field: &str, value: &Value, detail: &str) {
        self.errors.push(FieldError::invalid(field, value, detail));
    }

    pub(super) fn require(&mut self, field: &str, detail: &str) {
        self.errors.push(FieldError::required(field, detail));
    }

    fn structural(&mut self, schema: &Value, at: &str, level: Level, in_embedded: bool, depth: usize) {
        if depth > MAX_DEPTH {
            self.forbid(at, "nested too deeply");
            return;
        }
        self.keywords(schema, at);
        self.types(schema, at, level);
        self.extensions(schema, at, level);
        if level == Level::Root || in_embedded {
            self.metadata(schema, at);
        }
        let embedded = flag(schema, "x-kubernetes-embedded-resource");
        if let Some(properties) = object(schema, "properties") {
            for (name, child) in properties {
                let at = format!("{at}.properties[{name}]");
                self.structural(child, &at, Level::Field, embedded, depth + 1);
            }
        }
        match schema.get("additionalProperties") {
            Some(child) if child.is_object() => {
                let at = format!("{at}.additionalProperties");
                self.structural(child, &at, Level::Field, false, depth + 1);
            }
            _ => {}
        }
        match schema.get("items") {
            Some(items) if items.is_object() => {
                self.structural(items, &format!("{at}.items"), Level::Item, false, depth + 1);
            }
            Some(Value::Array(_)) => {
                self.forbid(&format!("{at}.items"), "items must be a schema object and not an array");
            }
            _ if text(schema, "type") == "array" => self.require(&format!("{at}.items"), "must be specified"),
            _ => {}
        }
        for quantor in ["allOf", "anyOf", "oneOf"] {
            for (i, child) in list(schema, quantor).iter().enumerate() {
                self.nested(schema, child, at, &format!("{at}.{quantor}[{i}]"), depth + 1);
            }
        }
        if let Some(not) = schema.get("not").filter(|n| n.is_object()) {
            self.nested(schema, not, at, &format!("{at}.not"), depth + 1);
        }
        self.default_value(schema, at, level);
    }

    /// Checks of single keywords.
    fn keywords(&mut self, schema: &Value, at: &str) {
        for key in UNSUPPORTED.iter().filter(|key| schema.get(**key).is_some()) {
            self.forbid(&format!("{at}.{key}"), &format!("{key} is not supported"));
        }
        if flag(schema, "uniqueItems") {
            let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            self.forbid(&format!("{at}.uniqueItems"), detail);
        }
        let more = schema.get("additionalProperties").is_some_and(|a| *a != Value::Bool(true));
        if more && object(schema, "properties").is_some_and(|p| !p.is_empty()) {
            let detail = "additionalProperties and properties are mutual exclusive";
            self.forbid(&format!("{at}.additionalProperties"), detail);
        }
        if let Some(pattern) = schema.get("pattern").and_then(Value::as_str)
            && let Err(error) = Regex::new(pattern)
        {
            let detail = format!("must be a valid regular expression, but isn't: {error}");
            self.invalid(&format!("{at}.pattern"), &pattern.into(), &detail);
        }
        let counts = ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"].into_iter();
        for key in counts.filter(|key| schema.get(*key).is_some_and(|v| v.as_i64().is_some_and(|n| n < 0))) {
            let value = schema.get(key).unwrap_or(&Value::Null);
            self.invalid(&format!("{at}.{key}"), value, "must be greater than or equal to 0");
        }
    }

    fn types(&mut self, schema: &Value, at: &str, level: Level) {
        let ty = text(schema, "type");
        let field = format!("{at}.type");
        let int_or_string = flag(schema, "x-kubernetes-int-or-string");
        let preserve = flag(schema, "x-kubernetes-preserve-unknown-fields");
        // The value is described by other means, so it is not open by mistake.
        let said = schema.get("x-kubernetes-preserve-unknown-fields").is_some() || schema.get("$ref").is_some();
        if ty == "null" {
            self.forbid(&field, "type cannot be set to null, use nullable as an alternative");
        }
        if !ty.is_empty() && !TYPES.contains(&ty.as_str()) {
            let supported = TYPES.map(str::to_owned);
            self.errors.push(FieldError::not_supported(&field, &ty.as_str().into(), &supported));
        }
        if ty.is_empty() {
            if level == Level::Root {
                self.require(&field, "must not be empty at the root");
            } else if !int_or_string && !said && !flag(schema, "x-kubernetes-embedded-resource") {
                let what = if level == Level::Item { "array items" } else { "object fields" };
                self.require(&field, &format!("must not be empty for specified {what}"));
            }
        } else if level == Level::Root && ty != "object" {
            self.invalid(&field, &ty.as_str().into(), "must be object at the root");
        }
        if preserve && int_or_string {
            let at = format!("{at}.x-kubernetes-preserve-unknown-fields");
            self.invalid(&at, &Value::Bool(true), "must be false if x-kubernetes-int-or-string is true");
        }
        if schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
            let field = format!("{at}.x-kubernetes-preserve-unknown-fields");
            self.invalid(&field, &Value::Bool(false), "must be true or undefined");
        }
        if level == Level::Root && schema.get("additionalProperties").is_some_and(|a| !a.is_null()) {
            self.forbid(&format!("{at}.additionalProperties"), "must not be used at the root");
        }
        if level == Level::Root && flag(schema, "nullable") {
            self.forbid(&format!("{at}.nullable"), "nullable cannot be true at the root");
        }
    }

    /// Requires a type for `extension`.
    pub(super) fn require_type(&mut self, at: &str, found: &str, needed: &str, extension: &str) {
        let is = if extension == "x-kubernetes-embedded-resource" { "true" } else { "specified" };
        let detail = format!("must be {needed} if {extension} is {is}");
        let field = format!("{at}.type");
        if found.is_empty() {
            self.require(&field, &detail);
        } else if found != needed {
            self.invalid(&field, &found.into(), &detail);
        }
    }

    /// `x-kubernetes-*`.
    fn extensions(&mut self, schema: &Value, at: &str, level: Level) {
        let ty = text(schema, "type");
        if flag(schema, "x-kubernetes-embedded-resource") {
            let name = "x-kubernetes-embedded-resource";
            if level == Level::Root {
                self.forbid(&format!("{at}.{name}"), "must not be used at the root");
            }
            self.require_type(at, &ty, "object", name);
            if schema.get("additionalProperties").is_some() {
                let detail = "must not be used if x-kubernetes-embedded-resource is set";
                self.forbid(&format!("{at}.additionalProperties"), detail);
            }
            if flag(schema, "x-kubernetes-int-or-string") {
                let detail = "must be false if x-kubernetes-int-or-string is true";
                self.invalid(&format!("{at}.{name}"), &Value::Bool(true), detail);
            }
            let has_properties = object(schema, "properties").is_some_and(|p| !p.is_empty());
            if !has_properties && !flag(schema, "x-kubernetes-preserve-unknown-fields") {
                let detail = "must not be empty if x-kubernetes-embedded-resource is true without \
                              x-kubernetes-preserve-unknown-fields";
                self.require(&format!("{at}.properties"), detail);
            }
        }
        let map_type = text(schema, "x-kubernetes-map-type");
        if !map_type.is_empty() {
            let field = format!("{at}.x-kubernetes-map-type");
            let supported = ["atomic", "granular"].map(str::to_owned);
            if !supported.contains(&map_type) {
                self.errors.push(FieldError::not_supported(&field, &map_type.as_str().into(), &supported));
            }
            self.require_type(at, &ty, "object", "x-kubernetes-map-type");
        }
        self.list_type(schema, at);
    }

    /// A schema may restrict only the name in `metadata`.
    fn metadata(&mut self, schema: &Value, at: &str) {
        let Some(properties) = object(schema, "properties") else { return };
        for key in ["apiVersion", "kind"] {
            if let Some(ty) = properties.get(key).map(|p| text(p, "type")).filter(|ty| ty != "string") {
                self.invalid(&format!("{at}.properties[{key}].type"), &ty.into(), "must be string");
            }
        }
        let Some(metadata) = properties.get("metadata") else { return };
        let at = format!("{at}.properties[metadata]");
        let ty = text(metadata, "type");
        if ty != "object" {
            self.invalid(&format!("{at}.type"), &ty.into(), "must be object");
        }
        let names_only = object(metadata, "properties")
            .is_none_or(|p| p.keys().all(|key| matches!(key.as_str(), "name" | "generateName")));
        let allowed = ["type", "properties", "description"];
        let keywords_only = metadata.as_object().is_none_or(|m| m.keys().all(|k| allowed.contains(&k.as_str())));
        if !names_only || !keywords_only {
            let detail = "must not specify anything other than name and generateName, but metadata is implicitly \
                          specified";
            self.forbid(&at, detail);
        }
    }

    /// Inside `allOf`, `anyOf`, `oneOf` and `not`, a schema may only restrict values of fields that are declared outside.
    fn nested(&mut self, outer: &Value, schema: &Value, outer_at: &str, at: &str, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        let int_or_string = flag(outer, "x-kubernetes-int-or-string");
        let declared = |key: &str| schema.get(key).is_some_and(|v| !v.is_null() && *v != Value::Bool(false));
        for (key, must) in [
            ("type", "empty"),
            ("title", "empty"),
            ("description", "empty"),
            ("default", "undefined"),
            ("externalDocs", "undefined"),
            ("additionalProperties", "undefined"),
            ("nullable", "false"),
            ("x-kubernetes-list-map-keys", "empty"),
            ("x-kubernetes-list-type", "undefined"),
            ("x-kubernetes-map-type", "undefined"),
            ("x-kubernetes-validations", "empty"),
        ] {
            let type_of_int_or_string = key == "type" && int_or_string;
            if declared(key) && !type_of_int_or_string {
                self.forbid(&format!("{at}.{key}"), &format!("must be {must} to be structural"));
            }
        }
        for key in
            ["x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string"]
        {
            if declared(key) {
                self.forbid(&format!("{at}.{key}"), "must be false to be structural");
            }
        }
        self.keywords(schema, at);
        if let Some(properties) = object(schema, "properties") {
            if properties.contains_key("metadata") {
                self.forbid(&format!("{at}.properties[metadata]"), "must not be specified in a nested context");
            }
            for (name, child) in properties {
                let outer_property = object(outer, "properties").and_then(|p| p.get(name));
                let known = outer_property.or_else(|| outer.get("additionalProperties").filter(|a| a.is_object()));
                if let Some(known) = known {
                    let below = format!("{outer_at}.properties[{name}]");
                    self.nested(known, child, &below, &format!("{at}.properties[{name}]"), depth + 1);
                } else {
                    let detail = format!("because it is defined in {at}.properties[{name}]");
                    self.require(&format!("{outer_at}.properties[{name}]"), &detail);
                }
            }
        }
        if let Some(items) = schema.get("items").filter(|i| i.is_object()) {
            match outer.get("items").filter(|i| i.is_object()) {
                Some(known) => {
                    self.nested(known, items, &format!("{outer_at}.items"), &format!("{at}.items"), depth + 1);
                }
                None => self.require(&format!("{outer_at}.items"), &format!("because it is defined in {at}.items")),
            }
        }
        for quantor in ["allOf", "anyOf", "oneOf"] {
            for (i, child) in list(schema, quantor).iter().enumerate() {
                self.nested(outer, child, outer_at, &format!("{at}.{quantor}[{i}]"), depth + 1);
            }
        }
        if let Some(not) = schema.get("not").filter(|n| n.is_object()) {
            self.nested(outer, not, outer_at, &format!("{at}.not"), depth + 1);
        }
    }

    fn default_value(&mut self, schema: &Value, at: &str, level: Level) {
        let Some(default) = schema.get("default") else { return };
        let field = format!("{at}.default");
        if level == Level::Root {
            self.forbid(&field, "must not be set at the root");
            return;
        }
        let node = Node::parse(schema);
        let mut value = default.clone();
        if !prune::prune_value(&node, &mut value, "").is_empty() {
            self.invalid(&field, default, "must not have unknown fields");
        }
        defaults::default_object(&node, &mut value);
        let mut errors = validate_value(&node, &value, None, Base(&field));
        if errors.is_empty() {
            errors = cel::check_rules_at(&node, &cel::Rules::compile(&node), &value, None, &field);
        }
        self.errors.extend(errors);
    }
}
