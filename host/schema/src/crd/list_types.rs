//! `x-kubernetes-list-type`: the requirements of sets and maps.

use serde_json::Value;

use super::{
    list,
    structural::{Checker, flag, object},
    text,
};
use crate::error::FieldError;

impl Checker<'_> {
    pub(super) fn list_type(&mut self, schema: &Value, at: &str) {
        let list_type = text(schema, "x-kubernetes-list-type");
        let keys = list(schema, "x-kubernetes-list-map-keys");
        let keys_field = format!("{at}.x-kubernetes-list-map-keys");
        if list_type.is_empty() {
            if !keys.is_empty() {
                let field = format!("{at}.x-kubernetes-list-type");
                self.require(&field, "must be map if x-kubernetes-list-map-keys is non-empty");
            }
            return;
        }
        let supported = ["atomic", "map", "set"].map(str::to_owned);
        let field = format!("{at}.x-kubernetes-list-type");
        if !supported.contains(&list_type) {
            self.errors.push(FieldError::not_supported(&field, &list_type.as_str().into(), &supported));
        }
        let ty = text(schema, "type");
        self.require_type(at, &ty, "array", "x-kubernetes-list-type");
        let items = schema.get("items").unwrap_or(&Value::Null);
        let items_type = text(items, "type");
        if list_type == "set" {
            let atomic = match items_type.as_str() {
                "object" => text(items, "x-kubernetes-map-type") == "atomic",
                "array" => matches!(text(items, "x-kubernetes-list-type").as_str(), "" | "atomic"),
                _ => true,
            };
            if !atomic {
                let key = if items_type == "object" { "map" } else { "list" };
                let field = format!("{at}.items.x-kubernetes-{key}-type");
                let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
                self.invalid(&field, &text(items, &format!("x-kubernetes-{key}-type")).into(), detail);
            }
        }
        if list_type != "map" {
            if !keys.is_empty() {
                let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
                self.invalid(&field, &list_type.as_str().into(), detail);
            }
            return;
        }
        if keys.is_empty() {
            self.require(&keys_field, "must not be empty if x-kubernetes-list-type is map");
        }
        if items_type != "object" {
            let detail = "must be object if parent array's x-kubernetes-list-type is map";
            self.invalid(&format!("{at}.items.type"), &items_type.as_str().into(), detail);
        }
        if flag(items, "nullable") {
            self.forbid(&format!("{at}.items.nullable"), "cannot be nullable when x-kubernetes-list-type is map");
        }
        if items_type == "object" {
            self.map_keys(keys, items, at);
        }
    }

    fn map_keys(&mut self, keys: &[Value], items: &Value, at: &str) {
        for (i, key) in keys.iter().enumerate() {
            let name = key.as_str().unwrap_or_default();
            let field = format!("{at}.x-kubernetes-list-map-keys");
            let all = Value::Array(keys.to_vec());
            if keys.iter().take(i).any(|k| k == key) {
                self.invalid(&field, &all, "must not contain duplicate entries");
            }
            let Some(property) = object(items, "properties").and_then(|p| p.get(name)) else {
                self.invalid(&field, &all, "entries must all be names of item properties");
                continue;
            };
            let at = format!("{at}.items.properties[{name}]");
            if matches!(text(property, "type").as_str(), "array" | "object") {
                let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                self.invalid(&format!("{at}.type"), &text(items, "type").into(), detail);
            }
            let required = list(items, "required").contains(key);
            if !required && property.get("default").is_none() {
                let detail = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a \
                              required property";
                self.require(&format!("{at}.default"), detail);
            }
            if flag(property, "nullable") {
                let detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
                self.forbid(&format!("{at}.nullable"), detail);
            }
        }
    }
}
