//! Types of a definition, and definitions of types.

use oarlock_types::{Definition, Language, Model};

/// Any JSON as a definition: each language is written, or the reason not to is one short line.
pub(crate) fn types(data: &[u8]) {
    let Ok(definition) = serde_json::from_slice(data) else { return };
    match Model::of_definition(&definition, None) {
        Ok(model) => {
            for language in Language::ALL {
                let text = model.write(language);
                assert!(
                    text.len() <= 100_000 + 2_000 * data.len(),
                    "{language:?}: {} bytes of {}",
                    text.len(),
                    data.len()
                );
                let hidden =
                    |letter: char| (letter.is_control() && !matches!(letter, '\n' | '\t')) || letter == '\u{202e}';
                assert!(!text.contains(hidden), "{language:?}: control characters");
            }
        }
        Err(error) => {
            is_short(&error.to_string());
        }
    }
}

/// Any JSON as the JSON Schema of an object: the definition is one that an API server takes, or the reason not to write it is one short line.
pub(crate) fn crd(data: &[u8]) {
    let Ok(schema) = serde_json::from_slice(data) else { return };
    let definition = Definition {
        group: "example.com".to_owned(),
        version: "v1".to_owned(),
        kind: "WebApp".to_owned(),
        plural: "webapps".to_owned(),
        ..Definition::default()
    };
    match definition.of_schema(&schema) {
        Ok(mut made) => {
            let bytes = made.to_string().len();
            assert!(bytes <= 6_000_000, "{bytes} bytes of {}", data.len());
            oarlock_schema::default_crd(&mut made);
            let errors = oarlock_schema::validate_crd(&made);
            // These are copied, and an API server refuses some of their values.
            let copied = ["x-kubernetes", "default", "pattern", "min", "max", "Min", "Max", "multipleOf"];
            let text = schema.to_string();
            assert!(errors.is_empty() || copied.iter().any(|part| text.contains(part)), "{errors:?}: {made}");
        }
        Err(error) => is_short(&error.to_string()),
    }
}

fn is_short(told: &str) {
    assert!(told.len() <= 1_000 && !told.contains(char::is_control), "{told}");
}
