//! `docs/reference/manifest.md`, `mappings.md` and `grant.md`, from the JSON Schemas of the two documents.

use super::{cell, code, head, hold};
use anyhow::{Context, Result, ensure};
use oarlock_manifest::Mapping;
use oarlock_tests::harness::repository_root;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::fs;

fn schema(name: &str) -> Result<Value> {
    let path = repository_root().join("wit").join(name);
    Ok(serde_json::from_str(&fs::read_to_string(&path).with_context(|| path.display().to_string())?)?)
}

fn text<'a>(of: &'a Value, field: &str) -> &'a str {
    of.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// The type of a field, with a link to the table of its fields.
fn kind(of: &Value) -> String {
    if let Some(name) = text(of, "$ref").strip_prefix("#/$defs/") {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    let named = match of.get("type") {
        Some(Value::Array(types)) => types.first().and_then(Value::as_str).unwrap_or_default(),
        Some(Value::String(name)) => name,
        _ => return "any JSON".to_owned(),
    };
    match (named, of.get("items"), of.get("additionalProperties")) {
        ("array", Some(items), _) => format!("list of {}", kind(items)),
        ("object", _, Some(values @ Value::Object(_))) => format!("map of text to {}", kind(values)),
        ("string", ..) => "text".to_owned(),
        (other, ..) => other.to_owned(),
    }
}

/// The default of a field; those of an object are in its own table.
fn default(of: &Value, required: bool) -> String {
    match of.get("default") {
        _ if required => "required".to_owned(),
        Some(Value::Object(_)) | None => String::new(),
        Some(Value::Array(items)) if items.is_empty() => String::new(),
        Some(Value::String(text)) if text.is_empty() => "empty".to_owned(),
        Some(value) => code(&value.to_string()),
    }
}

/// The fields of an object, a row each.
fn fields(of: &Value, out: &mut String) -> Result<()> {
    let none = Map::new();
    let properties = of.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let required = of.get("required").and_then(Value::as_array);
    writeln!(out, "| field | type | default | meaning |\n| --- | --- | --- | --- |")?;
    for (name, field) in properties {
        let required = required.is_some_and(|names| names.iter().any(|one| one == name));
        let meaning = cell(text(field, "description"));
        writeln!(out, "| `{name}` | {} | {} | {meaning} |", kind(field), default(field, required))?;
    }
    out.push('\n');
    Ok(())
}

/// One choice of a type.
struct Choice {
    name: String,
    /// Its fields and their meaning.
    others: Vec<(String, String)>,
    meaning: String,
}

fn choices(of: &[Value]) -> Result<Vec<Choice>> {
    let mut found = Vec::new();
    for choice in of {
        let properties = choice.get("properties").and_then(Value::as_object).context("a choice without fields")?;
        let name = properties.get("type").map(|field| text(field, "const")).unwrap_or_default();
        let others = properties.iter().filter(|(name, _)| *name != "type");
        let others = others.map(|(name, field)| (name.clone(), cell(text(field, "description")))).collect();
        found.push(Choice { name: name.to_owned(), others, meaning: cell(text(choice, "description")) });
    }
    Ok(found)
}

/// A schema as tables: the document, then each type of its fields.
fn tables(schema: &Value, out: &mut String) -> Result<()> {
    writeln!(out, "## {}\n\n{}\n", text(schema, "title"), text(schema, "description"))?;
    fields(schema, out)?;
    for (name, definition) in schema.get("$defs").and_then(Value::as_object).context("no types")? {
        let description = text(definition, "description").replace('\n', " ");
        writeln!(out, "## {name}\n\n{description}\n")?;
        match definition.get("oneOf").and_then(Value::as_array) {
            None => fields(definition, out)?,
            Some(_) => writeln!(out, "[mappings.md](mappings.md) has each of them.\n")?,
        }
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    Ok(())
}

#[test]
fn the_page_on_manifests_is_what_the_schema_says() -> Result<()> {
    let source = "wit/manifest.schema.json";
    let readers = "For authors of plugins. After this page you can look up every field of a manifest.";
    let mut out = head("The manifest", readers, source);
    out.push_str(
        "A plugin returns its manifest from `describe`, as JSON. The SDKs have a type for it.\n\
         [manifest.schema.json](../../wit/manifest.schema.json) is the JSON Schema; unknown fields are refused.\n\n",
    );
    tables(&schema("manifest.schema.json")?, &mut out)?;
    hold("docs/reference/manifest.md", source, &out)
}

#[test]
fn the_page_on_grants_is_what_the_schema_says() -> Result<()> {
    let source = "wit/grant.schema.json";
    let readers =
        "For operators. After this page you can look up every field of a grant, and every limit with its default.";
    let mut out = head("The grant", readers, source);
    out.push_str(
        "The grant of `network.wasm` is the file `network.yaml` beside it. `oarlock grant FILE.wasm` prints one that gives everything the\n\
         plugin asks for. [grant.schema.json](../../wit/grant.schema.json) is the JSON Schema; unknown fields are refused.\n\n",
    );
    tables(&schema("grant.schema.json")?, &mut out)?;
    hold("docs/reference/grant.md", source, &out)
}

#[test]
fn the_page_on_mappings_is_what_the_schema_says() -> Result<()> {
    let source = "wit/manifest.schema.json";
    let readers =
        "For authors of plugins. After this page you can choose the mapping of a watch, and write it in a manifest.";
    let mut out = head("Mappings", readers, source);
    out.push_str(
        "A watch has a mapping, `mapTo`. When an object of the watch changes, the mapping selects the primaries to reconcile. When a reference\n\
         moves, the old and the new primary are reconciled. [writing-plugins.md](../writing-plugins.md#watches-and-mappings) says which mapping\n\
         works between cluster-scoped and namespaced kinds.\n\n\
         | `type` | selects | example |\n| --- | --- | --- |\n",
    );
    let schema = schema("manifest.schema.json")?;
    let mapping = schema.pointer("/$defs/Mapping/oneOf").and_then(Value::as_array).context("no mappings")?;
    let mut further = String::new();
    for Choice { name, others, meaning } in choices(mapping)? {
        let mut example = json!({"type": name});
        for (field, described) in others {
            let value = if field == "pointer" { "/spec/networkRef/name" } else { "example.com/owner" };
            example[&field] = json!(value);
            writeln!(further, "| `{name}` | `{field}` | {described} |")?;
        }
        // What is shown is what the host takes.
        let parsed: Mapping = serde_json::from_value(example.clone())?;
        ensure!(serde_json::to_value(parsed)? == example, "{example}");
        writeln!(out, "| `{name}` | {meaning} | `{example}` |")?;
    }
    writeln!(out, "\nFurther fields:\n\n| `type` | field | meaning |\n| --- | --- | --- |\n{further}")?;
    out.push_str(
        "A watch has a mapping and selectors of its own ([manifest.md](manifest.md#watch)). Its `primary` names the kind of the keys, when the\n\
         plugin has several.\n",
    );
    hold("docs/reference/mappings.md", source, &out)
}
