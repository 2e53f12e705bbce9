//! Files of a check: definitions, examples, and the cluster before the host starts.

use super::program::Program;
use super::source::text;
use anyhow::Context as _;
use base64::Engine as _;
use oarlock::plugin::{Attachments, Definition};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Shorter values of Secrets are found everywhere.
const SECRET_LENGTH: usize = 8;

/// The documents of YAML files.
///
/// # Errors
///
/// A file cannot be read, or is no YAML.
pub(super) fn documents(files: &[PathBuf]) -> anyhow::Result<Vec<Value>> {
    let mut all = Vec::new();
    for path in files {
        let shown = path.display();
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {shown}"))?;
        let options = serde_saphyr::options! { with_snippet: false };
        let documents: Vec<Value> = serde_saphyr::from_multiple_with_options(&text, options).map_err(|error| {
            let error = error.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
            anyhow::anyhow!("{shown}: {error}")
        })?;
        all.extend(documents.into_iter().filter(|document| !document.is_null()));
    }
    Ok(all)
}

/// The CustomResourceDefinitions of files.
///
/// # Errors
///
/// As in [`documents`]; a file has something else.
pub(super) fn definitions(files: &[PathBuf]) -> anyhow::Result<Vec<Value>> {
    let all = documents(files)?;
    for document in &all {
        let kind = text(document, "/kind");
        anyhow::ensure!(
            kind == "CustomResourceDefinition",
            "--crd: expected a CustomResourceDefinition, found {kind:?}"
        );
    }
    Ok(all)
}

/// The definitions in a plugin file. A file that is no plugin has none, and is refused when it is loaded.
pub(super) fn attached(file: &Path) -> Vec<Value> {
    let attachments = std::fs::read(file).ok().and_then(|wasm| Attachments::read(&wasm).ok()).unwrap_or_default();
    attachments.definitions.iter().map(Definition::document).collect()
}

/// The stubs in a description of services, as scenarios have them under `http`.
///
/// # Errors
///
/// `FILE:LINE:COLUMN: what is wrong`.
pub(super) fn services(file: &Path) -> anyhow::Result<Vec<Value>> {
    let checked = super::super::test::scenarios::services(file)?;
    anyhow::ensure!(!checked.is_empty(), "--services: {} describes no service", file.display());
    match documents(&[file.to_owned()])?.pop() {
        Some(Value::Array(stubs)) => Ok(stubs),
        _ => anyhow::bail!("--services: {} is no list", file.display()),
    }
}

/// The kinds of which objects are drawn: apiVersion and kind.
///
/// * `only` - kinds; empty: all.
///
/// # Errors
///
/// A kind of `only` is not there.
pub(super) fn kinds(
    definitions: &[Value],
    examples: &[Value],
    only: &[String],
) -> anyhow::Result<Vec<(String, String)>> {
    let mut kinds = Vec::new();
    for definition in definitions {
        let versions = definition.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten();
        let stored = |version: &&Value| version.get("storage").and_then(Value::as_bool).unwrap_or(false);
        let Some(version) = { versions }.find(stored) else { continue };
        let api_version = format!("{}/{}", text(definition, "/spec/group"), text(version, "/name"));
        kinds.push((api_version, text(definition, "/spec/names/kind").to_owned()));
    }
    for example in examples {
        let kind = (text(example, "/apiVersion").to_owned(), text(example, "/kind").to_owned());
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    if let Some(missing) = only.iter().find(|only| !kinds.iter().any(|(_, kind)| kind == *only)) {
        anyhow::bail!("--objects-of-kind: neither --crd nor --object has the kind {missing}");
    }
    kinds.retain(|(_, kind)| only.is_empty() || only.contains(kind));
    Ok(kinds)
}

/// The program of a finding.
///
/// # Errors
///
/// The file cannot be read, or has no steps.
pub(super) fn program(file: &Path) -> anyhow::Result<Program> {
    let documents = documents(&[file.to_owned()])?;
    let list = |name: &str| {
        let list = documents.first().and_then(|document| document.get(name)).and_then(Value::as_array);
        list.cloned().unwrap_or_default()
    };
    let program = Program { steps: list("steps"), teardown: list("teardown") };
    anyhow::ensure!(program.len() > 0, "--steps: {} has no steps", file.display());
    Ok(program)
}

/// The values of the Secrets among objects, each as it is, if it is a text, and as the API server returns it, in base64. Of a text that
/// ends with a line break or has several lines, a plugin may print the text without the break, or one line.
pub(super) fn secrets(objects: &[Value]) -> Vec<String> {
    let base64 = &base64::engine::general_purpose::STANDARD;
    let mut secrets = Vec::new();
    for object in objects.iter().filter(|object| text(object, "/kind") == "Secret") {
        let of =
            |field: &str| object.get(field).and_then(Value::as_object).into_iter().flatten().map(|(_, value)| value);
        for value in of("stringData").filter_map(Value::as_str) {
            secrets.extend(parts(value));
            secrets.push(base64.encode(value));
        }
        for value in of("data").filter_map(Value::as_str) {
            let decoded = base64.decode(value).ok().and_then(|bytes| String::from_utf8(bytes).ok());
            secrets.extend(decoded.iter().flat_map(|text| parts(text)));
            secrets.push(value.to_owned());
        }
    }
    secrets.retain(|secret| secret.len() >= SECRET_LENGTH);
    secrets
}

/// A text, the text without space around it, and its long lines, without those that begin and end a key.
fn parts(text: &str) -> Vec<String> {
    const LONG: usize = 16;
    let lines = text.trim().lines().map(str::trim).filter(|line| line.len() >= LONG && !line.starts_with("-----"));
    let mut parts = vec![text.to_owned(), text.trim().to_owned()];
    parts.extend(lines.map(str::to_owned));
    parts.dedup();
    parts
}

/// Checks that files can be written into a folder, which need not exist. Afterwards it is as before.
///
/// # Errors
///
/// They cannot.
pub(super) fn writable(folder: &Path) -> anyhow::Result<()> {
    let named = |path: &Path| if path.as_os_str().is_empty() { PathBuf::from(".") } else { path.to_owned() };
    let existing = folder.ancestors().map(named).find(|path| path.exists()).context("--output-dir: no such folder")?;
    let shown = existing.display();
    anyhow::ensure!(existing.is_dir(), "--output-dir: {shown} is no folder");
    let probe = existing.join(format!(".oarlock-check-{}", std::process::id()));
    std::fs::File::create_new(&probe).with_context(|| format!("--output-dir: cannot write into {shown}"))?;
    std::fs::remove_file(&probe).with_context(|| format!("--output-dir: cannot remove {}", probe.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_of_secrets_count_in_base64_as_well() {
        let secret = json!({"kind": "Secret", "stringData": {"a": "hunter2hunter2", "short": "x"}, "data": {"b": "aHVudGVyM2h1bnRlcjM=", "key": "/////////////w=="}});
        let expected =
            ["hunter2hunter2", "aHVudGVyMmh1bnRlcjI=", "hunter3hunter3", "aHVudGVyM2h1bnRlcjM=", "/////////////w=="];
        assert_eq!(secrets(&[secret]), expected);
    }

    #[test]
    fn a_secret_is_found_without_its_line_break_and_by_one_of_its_lines() {
        let key = "-----BEGIN KEY-----\nMHcCAQEEIIrYSSNQFaA2Hwf1\ntooshortline\n-----END KEY-----\n";
        let secret = json!({"kind": "Secret", "stringData": {"a": "hunter2hunter2\n", "key": key}});
        let found = secrets(&[secret]);
        for told in ["hunter2hunter2", "MHcCAQEEIIrYSSNQFaA2Hwf1"] {
            assert!(found.iter().any(|secret| secret == told), "{found:?}");
        }
        for everywhere in ["tooshortline", "-----END KEY-----"] {
            assert!(!found.iter().any(|secret| secret == everywhere), "{found:?}");
        }
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_seen_before() {
        let here = tempfile::tempdir().unwrap();
        writable(&here.path().join("a/b")).unwrap();
        writable(here.path()).unwrap();
        assert_eq!(std::fs::read_dir(here.path()).unwrap().count(), 0);
        std::fs::write(here.path().join("file"), "").unwrap();
        assert!(writable(&here.path().join("file")).unwrap_err().to_string().contains("is no folder"));
        assert!(writable(Path::new("/proc/nothing")).unwrap_err().to_string().contains("cannot write into /proc"));
    }
}
