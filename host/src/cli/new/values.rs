//! The values of a template's placeholders and sections.

use super::resource::{Resource, types};
use oarlock_types::c_prefix;
use serde_json::Value;

/// What a template's texts are filled with.
#[derive(Clone, Debug)]
pub(super) struct Values {
    pub(super) texts: Vec<(&'static str, String)>,
    /// Whether the project has types of a definition: the section `types`.
    pub(super) typed: bool,
}

impl Values {
    pub(super) fn new(name: &str, resource: &Resource, language: &str) -> Self {
        let group = &resource.kind.group;
        let (version, kind) = (&resource.kind.version, &resource.kind.kind);
        let api_version = if group.is_empty() { version.clone() } else { format!("{group}/{version}") };
        let types = types(language).filter(|_| resource.custom.is_some());
        // The API server wants to know who approved groups of Kubernetes' own.
        let reserved = [".k8s.io", ".kubernetes.io"].iter().any(|end| group.ends_with(end));
        let annotations =
            if reserved { "\n  annotations:\n    api-approved.kubernetes.io: unapproved, for development" } else { "" };
        let object_type = match (types, language) {
            (Some(_), "c") => c_prefix(kind, version),
            (Some(_), _) => format!("api.{kind}"),
            (None, "ts") => format!("{kind}Object"),
            (None, _) => "dict".to_owned(),
        };
        let typed = types.is_some();
        let example = resource.example();
        let pairs = |language: &Literals| {
            example.iter().map(|(name, value)| format!(", {}", language.pair(name, value))).collect::<String>()
        };
        let lines = example.iter().map(|(name, value)| format!("    {}\n", YAML.pair(name, value))).collect();
        let namespace_json = if resource.namespaced { r#", "namespace": "default""# } else { "" };
        let texts = vec![
            ("name", name.to_owned()),
            ("name_snake", name.replace('-', "_")),
            ("group", group.clone()),
            ("version", version.clone()),
            ("kind", kind.clone()),
            ("api_version", api_version),
            ("plural", resource.plural.clone()),
            ("definition", explained(resource, types.map(|(_, file)| file))),
            ("annotations", annotations.to_owned()),
            ("object_type", object_type),
            ("check_types", if typed { "check-types " } else { "" }.to_owned()),
            ("phony", if typed { " types check-types" } else { "" }.to_owned()),
            ("namespace", if resource.namespaced { ", namespace: default" } else { "" }.to_owned()),
            ("namespace_json", namespace_json.to_owned()),
            ("namespace_c", in_c(namespace_json)),
            ("namespace_js", if resource.namespaced { r#", namespace: "default""# } else { "" }.to_owned()),
            ("fields", pairs(&YAML)),
            ("fields_json", pairs(&JSON)),
            ("fields_python", pairs(&PYTHON)),
            ("fields_go", pairs(&GO)),
            ("fields_c", in_c(&pairs(&JSON))),
            ("fields_yaml", lines),
        ];
        Self { texts, typed }
    }

    /// Replaces the placeholders of a text, and keeps or drops its sections: the lines between `{{#types}}`, or `{{^types}}` for their
    /// absence, and `{{/types}}`. Text in double braces that is neither stays.
    pub(super) fn fill(&self, text: &str) -> String {
        let mut kept = true;
        let mut filled = String::with_capacity(text.len());
        for line in text.split_inclusive('\n') {
            match line.trim() {
                "{{#types}}" => kept = self.typed,
                "{{^types}}" => kept = !self.typed,
                "{{/types}}" => kept = true,
                _ if kept => self.fill_line(line, &mut filled),
                _ => {}
            }
        }
        filled
    }

    fn fill_line(&self, line: &str, filled: &mut String) {
        let mut rest = line;
        while let Some((before, after)) = rest.split_once("{{") {
            filled.push_str(before);
            let named = after.split_once("}}").and_then(|(name, behind)| {
                self.texts.iter().find(|(known, _)| *known == name).map(|(_, value)| (value, behind))
            });
            rest = match named {
                Some((value, behind)) => {
                    filled.push_str(value);
                    behind
                }
                None => {
                    // One brace only: `{{{kind}}` is a brace and a placeholder.
                    filled.push('{');
                    rest.get(before.len() + 1..).unwrap_or_default()
                }
            };
        }
        filled.push_str(rest);
    }
}

/// A sentence about the definition.
fn explained(resource: &Resource, types: Option<&str>) -> String {
    let kind = &resource.kind.kind;
    let Some(custom) = &resource.custom else {
        return format!("{kind} is built into Kubernetes: it takes no definition.");
    };
    let mut text = match custom.text {
        Some(_) => format!("`crd.yaml` defines {kind}."),
        None => {
            format!("`crd.yaml` defines {kind} with a schema that takes everything: write yours into it.")
        }
    };
    if let Some(file) = types {
        text.push_str(&format!(" After a change, `make types` writes `{file}`; until then `make test` fails."));
    }
    text.push_str(
        " `make build` attaches it to the plugin file, and a host installs and upgrades it: `grant.yaml` allows that.",
    );
    text
}

/// How a language writes a value.
struct Literals {
    null: &'static str,
    booleans: (&'static str, &'static str),
    /// Whether the name of a field needs no quotes where it is a word.
    words: bool,
    /// The types before the braces of a list and of an object, and what encloses a list.
    types: (&'static str, &'static str),
    list: (char, char),
}

const JSON: Literals =
    Literals { null: "null", booleans: ("false", "true"), words: false, types: ("", ""), list: ('[', ']') };
const PYTHON: Literals = Literals { null: "None", booleans: ("False", "True"), ..JSON };
const GO: Literals = Literals { null: "nil", types: ("[]any", "oarlock.Object"), list: ('{', '}'), ..JSON };
/// YAML in one line, and JavaScript.
const YAML: Literals = Literals { words: true, ..JSON };

impl Literals {
    fn pair(&self, name: &str, value: &Value) -> String {
        let is_word = self.words
            && name.chars().all(|letter| letter.is_ascii_alphanumeric())
            && name.starts_with(|first: char| first.is_ascii_alphabetic())
            // YAML takes these for booleans.
            && !["y", "n", "yes", "no", "on", "off", "true", "false", "null"].contains(&&*name.to_ascii_lowercase());
        let name = if is_word { name.to_owned() } else { Value::from(name).to_string() };
        format!("{name}: {}", self.value(value))
    }

    fn value(&self, value: &Value) -> String {
        match value {
            Value::Null => self.null.to_owned(),
            Value::Bool(value) => if *value { self.booleans.1 } else { self.booleans.0 }.to_owned(),
            Value::Array(values) => {
                let values = values.iter().map(|value| self.value(value)).collect::<Vec<_>>().join(", ");
                format!("{}{}{values}{}", self.types.0, self.list.0, self.list.1)
            }
            Value::Object(fields) => {
                let pairs: Vec<String> = fields.iter().map(|(name, value)| self.pair(name, value)).collect();
                format!("{}{{{}}}", self.types.1, pairs.join(", "))
            }
            // Strings of JSON are strings everywhere.
            other => other.to_string(),
        }
    }
}

/// JSON as a part of a literal in C, which `json_make` reads: in single quotes where that needs no escapes.
fn in_c(json: &str) -> String {
    // Three characters may be a trigraph of C11.
    let text = if json.contains(['\'', '\\']) {
        json.replace('\\', "\\\\").replace('"', "\\\"")
    } else {
        json.replace('"', "'")
    };
    text.replace('?', "\\?")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::new::project::kind;

    fn values(name: &str, kind_text: &str) -> Values {
        Values::new(name, &Resource::named(kind(kind_text).unwrap()), "python")
    }

    #[test]
    fn placeholders_are_filled_in_once_and_other_braces_stay() {
        let text = "{{name}} {{name_snake}} {{group}} {{version}} {{kind}} {{api_version}} {{plural}}";
        let deployment = values("my-greeter", "apps/v1/Deployment");
        assert_eq!(deployment.fill(text), "my-greeter my_greeter apps v1 Deployment apps/v1 deployments");
        let core = values("a-2b", "v1/Endpoints");
        assert_eq!(core.fill("[{{group}}] {{api_version}} {{plural}} {{kind}}"), "[] v1 endpoints Endpoints");
        for same in ["", "{{other}}", "{{", "{{name", "{ {name}}", "}} {{ name }}", "format!(\"{{}}\")"] {
            assert_eq!(deployment.fill(same), same);
        }
        assert_eq!(deployment.fill("{{{kind}}}"), "{Deployment}");
        assert_eq!(deployment.fill("{{x {{kind}}"), "{{x Deployment");
    }

    #[test]
    fn a_section_is_of_projects_with_types_or_of_those_without() {
        let text =
            "a\n{{#types}}\nwith {{object_type}}\n{{/types}}\n{{^types}}\nwithout {{object_type}}\n{{/types}}\nb\n";
        assert_eq!(values("x", "apps/v1/Deployment").fill(text), "a\nwithout dict\nb\n");
        assert_eq!(values("x", "example.com/v1/Park").fill(text), "a\nwith api.Park\nb\n");
    }

    #[test]
    fn an_example_is_a_literal_of_its_language() {
        let value = serde_json::json!({"a": [true, false, null], "on": {"c-d": "\"\n"}, "e": 1.5});
        assert_eq!(PYTHON.value(&value), r#"{"a": [True, False, None], "e": 1.5, "on": {"c-d": "\"\n"}}"#);
        assert_eq!(
            GO.value(&value),
            r#"oarlock.Object{"a": []any{true, false, nil}, "e": 1.5, "on": oarlock.Object{"c-d": "\"\n"}}"#
        );
        assert_eq!(
            in_c(&JSON.value(&value)),
            r#"{\"a\": [true, false, null], \"e\": 1.5, \"on\": {\"c-d\": \"\\\"\\n\"}}"#
        );
        assert_eq!(in_c(r#"{"a": "??/"}"#), r"{'a': '\?\?/'}");
        assert_eq!(JSON.value(&value), r#"{"a": [true, false, null], "e": 1.5, "on": {"c-d": "\"\n"}}"#);
        assert_eq!(YAML.value(&value), r#"{a: [true, false, null], e: 1.5, "on": {"c-d": "\"\n"}}"#);
    }
}
