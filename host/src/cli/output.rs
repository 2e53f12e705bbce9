//! `-o`: the form of what a command shows.

use clap::ValueEnum;
use serde::Serialize;
use serde_json::Value;

/// The form of what a command shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Output {
    /// The table, without cuts
    Wide,
    /// One JSON document
    Json,
    /// One YAML document
    Yaml,
    /// Names only, as kubectl prints them
    Name,
}

impl Output {
    /// The document in this form; none: the command's own form.
    pub(super) fn document(output: Option<Self>, json: bool, document: &Value) -> anyhow::Result<Option<String>> {
        Ok(match if json { Some(Self::Json) } else { output } {
            Some(Self::Json) => Some(self::json(document)?),
            Some(Self::Yaml) => Some(yaml(document)?),
            Some(Self::Name) => Some(Self::names(document)?),
            Some(Self::Wide) | None => None,
        })
    }

    /// `plugin/NAME` of each plugin, or of the one that the document is about. A file whose plugin is unknown has none.
    fn names(document: &Value) -> anyhow::Result<String> {
        let name = |of: &Value| {
            let name = of.get("name").or_else(|| of.get("plugin")).and_then(Value::as_str);
            name.map(|name| format!("plugin/{name}"))
        };
        if let Some(plugins) = document.get("plugins").and_then(Value::as_array) {
            return Ok(plugins.iter().filter_map(name).collect::<Vec<_>>().join("\n"));
        }
        name(document).ok_or_else(|| anyhow::anyhow!("-o name is for plugins"))
    }
}

/// A document in JSON, for programs and for a terminal.
pub(super) fn json(document: &impl Serialize) -> anyhow::Result<String> {
    Ok(oarlock::text::json(&serde_json::to_string_pretty(document)?))
}

/// A document in YAML, without the line break at its end. In JSON, which is YAML, too, where a terminal must not get the text as it is, or the
/// writer would say something else.
pub(super) fn yaml(document: &impl Serialize) -> anyhow::Result<String> {
    let yaml = serde_saphyr::to_string(document)?;
    let yaml = yaml.trim_end();
    let same = serde_saphyr::from_str::<Value>(yaml)
        .is_ok_and(|back| serde_json::to_value(document).is_ok_and(|it| it == back));
    if same && oarlock::text::lines(yaml) == yaml { Ok(yaml.to_owned()) } else { json(document) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    /// Texts that YAML could read as something else, or a terminal as a command.
    const TEXTS: [&str; 28] = [
        "",
        " ",
        "yes",
        "No",
        "on",
        "null",
        "~",
        "true",
        "0x1f",
        "010",
        "1e3",
        ".5",
        "1_000",
        "-",
        "- a",
        "a: b",
        "a #b",
        "#",
        "*a",
        "&a",
        "!a",
        "a\n",
        "a\n\n  b\n",
        "\ta",
        "2026-01-31T12:00:00Z",
        "\u{1b}[2J",
        "safe\u{202e}exe",
        "\u{feff}ü👩‍💻",
    ];

    fn same_in_every_form(document: &Value) {
        for form in [Output::Json, Output::Yaml] {
            let shown = Output::document(Some(form), false, document).unwrap().unwrap();
            // As `say` prints it.
            let shown = oarlock::text::lines(shown.trim_end());
            let back: Option<Value> = match form {
                Output::Yaml => serde_saphyr::from_str(&shown).ok(),
                _ => serde_json::from_str(&shown).ok(),
            };
            assert_eq!(back.as_ref(), Some(document), "{form:?}: {shown}");
        }
    }

    #[test]
    fn json_and_yaml_say_the_same_of_any_text() {
        for text in TEXTS {
            same_in_every_form(&json!({"a": text, "list": [text, {"b": text}], (text): 1}));
            same_in_every_form(&json!([text]));
        }
        assert_eq!(yaml(&json!({"a": {"b": "c\nd\n"}, "e": ["f"]})).unwrap(), "a:\n  b: |\n    c\n    d\ne:\n- f");
        same_in_every_form(&json!({"n": [0, -1, 1.0, 0.1, 1e300, u64::MAX, i64::MIN], "e": [{}, [], null, true]}));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn json_and_yaml_say_the_same_of_random_texts(texts in proptest::collection::vec("\\PC{0,12}|[ \\n\\t:#'\"{}\\[\\]|>*&!%@`,?0-9a-f.-]{0,12}", 1..5)) {
            same_in_every_form(&json!({"texts": texts, (texts[0].clone()): {"in": texts[0]}}));
        }
    }

    #[test]
    fn names_are_those_of_plugins() {
        let plugins = json!({"plugins": [{"name": "a"}, {"file": "b.wasm"}, {"plugin": "c"}]});
        let names = |document: &Value| Output::document(Some(Output::Name), false, document);
        assert_eq!(names(&plugins).unwrap().unwrap(), "plugin/a\nplugin/c");
        assert_eq!(names(&json!({"name": "a"})).unwrap().unwrap(), "plugin/a");
        assert!(names(&json!([])).unwrap_err().to_string().contains("for plugins"));
    }
}
