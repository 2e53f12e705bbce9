//! Files of a new project: a pure function of the files that were compiled into the host.

use super::resource::{Resource, types};
use super::values::Values;
use oarlock_manifest::Kind;
use oarlock_types::{Error, Model};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// A file of the repository: its path and its content.
pub(super) type Source = (&'static str, &'static [u8]);

/// Templates, SDKs and the contract.
pub(super) static SOURCES: &[Source] = include!(concat!(env!("OUT_DIR"), "/project_files.rs"));

/// The CustomResourceDefinition in a project of a custom resource.
const DEFINITION: &str = "crd.yaml";
const DEFINITION_TEMPLATE: &str = include_str!("crd.yaml");

/// Longest name of a plugin.
const NAME_CHARACTERS: usize = 40;

/// A file of the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct File {
    /// Path relative to the project's folder.
    pub(super) path: String,
    pub(super) contents: Cow<'static, [u8]>,
}

/// Validates a plugin's name. The name also becomes the name of types and modules, so it begins with a letter.
pub(super) fn name(text: &str) -> Result<String, String> {
    if text.len() <= NAME_CHARACTERS && is_label(text) && text.starts_with(|first: char| first.is_ascii_lowercase()) {
        return Ok(text.to_owned());
    }
    Err(format!(
        "a name is of a-z, 0-9 and -, begins with a letter, ends with a letter or digit, and has at most {NAME_CHARACTERS} characters"
    ))
}

/// `VERSION/KIND` or `GROUP/VERSION/KIND`.
pub(super) fn kind(text: &str) -> Result<Kind, String> {
    let parts: Vec<&str> = text.split('/').collect();
    let (group, version, kind) = match parts.as_slice() {
        [version, kind] => ("", *version, *kind),
        [group, version, kind] => (*group, *version, *kind),
        _ => return Err("expected VERSION/KIND or GROUP/VERSION/KIND: v1/ConfigMap, apps/v1/Deployment".to_owned()),
    };
    if parts.len() == 3 && !group.split('.').all(is_label) {
        return Err(format!("{group:?} is not an API group: names of a-z, 0-9 and -, joined by dots"));
    }
    if !(is_label(version) && version.starts_with('v')) {
        return Err(format!("{version:?} is not a version: v1, v1beta1"));
    }
    let letters = kind.chars().all(|letter| letter.is_ascii_alphanumeric());
    if !(letters && kind.starts_with(|first: char| first.is_ascii_uppercase())) {
        return Err(format!("{kind:?} is not a kind: ConfigMap, not configmaps"));
    }
    Ok(Kind { group: group.to_owned(), version: version.to_owned(), kind: kind.to_owned() })
}

pub(super) fn is_label(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 63
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// The languages with a template.
pub(super) fn languages(sources: &[Source]) -> BTreeSet<&'static str> {
    let template = |path: &'static str| Some(path.strip_prefix("templates/")?.split_once('/')?.0);
    sources.iter().filter_map(|(path, _)| template(path)).collect()
}

/// All files of a project in a language: the template with its placeholders replaced, the definition with its types, and the SDK and the
/// contract unchanged.
///
/// # Errors
///
/// No types can be made of the definition.
pub(super) fn files(
    sources: &[Source],
    language: &str,
    resource: &Resource,
    values: &Values,
) -> Result<Vec<File>, DefinitionError> {
    let template = format!("templates/{language}/");
    let carried = carried(language);
    let mut files = defined(language, resource, values)?;
    for &(path, contents) in sources {
        if let Some(path) = path.strip_prefix(&template) {
            // The API server of a scenario validates its object.
            if path.starts_with("scenarios/") && !resource.needs_no_fields() {
                continue;
            }
            let contents = match std::str::from_utf8(contents) {
                Ok(text) => values.fill(text).into_bytes().into(),
                Err(_binary) => contents.into(),
            };
            files.push(File { path: path.to_owned(), contents });
        }
        for (from, to) in &carried {
            // Tests of the host's crates read files elsewhere in the repository, and so are omitted.
            let below = path
                .strip_prefix(from.as_str())
                .filter(|below| !(from.starts_with("host/") && below.starts_with("tests/")));
            if let Some(below) = below {
                files.push(File { path: format!("{to}{below}"), contents: contents.into() });
            }
        }
    }
    Ok(files)
}

/// Why a definition gives no files.
#[derive(Debug, thiserror::Error)]
pub(super) enum DefinitionError {
    /// Its schema has no types.
    #[error(transparent)]
    Types(#[from] Error),
    /// A text that is no YAML, or does not become it.
    #[error("the definition is no YAML: {0}")]
    Yaml(String),
}

/// The files of a custom resource: its definition, its types, an object.
fn defined(language: &str, resource: &Resource, values: &Values) -> Result<Vec<File>, DefinitionError> {
    let Some(custom) = &resource.custom else { return Ok(Vec::new()) };
    let file = |path: &str, text: String| File { path: path.to_owned(), contents: text.into_bytes().into() };
    let text = custom.text.clone().unwrap_or_else(|| values.fill(DEFINITION_TEMPLATE));
    let mut files = Vec::new();
    if let Some((language, path)) = types(language) {
        let Kind { kind, version, .. } = &resource.kind;
        let documents: Vec<Value> =
            serde_saphyr::from_multiple(&text).map_err(|error| DefinitionError::Yaml(error.to_string()))?;
        let document = documents.first().unwrap_or(&Value::Null);
        files.push(file(path, Model::of_definition(document, Some(version))?.write(language)));
        let mut object = json!({
            "apiVersion": format!("{}/{version}", resource.kind.group), "kind": kind, "metadata": {"name": "example"},
        });
        if let Some(fields) = object.as_object_mut() {
            fields.extend(resource.example());
        }
        let object = serde_saphyr::to_string(&object).map_err(|error| DefinitionError::Yaml(error.to_string()))?;
        let note = "# What the schema requires. Patterns and rules of the definition are yours to follow.\n";
        files.push(file("example.yaml", format!("{note}{object}")));
    }
    files.insert(0, file(DEFINITION, text));
    Ok(files)
}

/// The files of the repository that a project contains, and their paths in it.
fn carried(language: &str) -> Vec<(String, String)> {
    let places: &[(&str, &str)] = match language {
        // The crates refer to each other by relative paths.
        "rust" => &[
            ("guest-sdk/rust/", "sdk/guest-sdk/rust/"),
            ("host/jsonpath/", "sdk/host/jsonpath/"),
            ("host/manifest/", "sdk/host/manifest/"),
            ("host/merge/", "sdk/host/merge/"),
            ("wit/", "sdk/wit/"),
        ],
        "js" | "ts" => &[("guest-sdk/js/", "sdk/"), ("wit/reconciler.wit", "wit/reconciler.wit")],
        _ => &[("wit/reconciler.wit", "wit/reconciler.wit")],
    };
    let mut places: Vec<_> = places.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect();
    if !matches!(language, "rust" | "js" | "ts") {
        places.push((format!("guest-sdk/{language}/"), "sdk/".to_owned()));
    }
    places
}

#[cfg(test)]
#[path = "../../../build.rs"]
#[expect(dead_code, reason = "all but its walk")]
mod build;

#[cfg(test)]
mod tests {
    use super::*;

    fn project(sources: &[Source], language: &str, kind_text: &str) -> Vec<File> {
        let resource = Resource::named(kind(kind_text).unwrap());
        files(sources, language, &resource, &Values::new("my-greeter", &resource, language)).unwrap()
    }

    fn paths(files: &[File]) -> Vec<&str> {
        files.iter().map(|file| file.path.as_str()).collect()
    }

    #[test]
    fn names_that_the_host_would_refuse_are_refused() {
        for good in ["a", "greeter", "my-greeter-2", &"a".repeat(40)] {
            assert_eq!(name(good).as_deref(), Ok(good));
        }
        for bad in ["", "Greeter", "my_greeter", "-a", "a-", "1a", "a.b", "a b", "ä", &"a".repeat(41)] {
            assert!(name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn kinds_are_of_the_core_group_or_of_a_named_one() {
        let told = |text: &str| kind(text).map(|kind| [kind.group, kind.version, kind.kind].join(" "));
        assert_eq!(told("v1/ConfigMap").as_deref(), Ok(" v1 ConfigMap"));
        assert_eq!(told("apps/v1/Deployment").as_deref(), Ok("apps v1 Deployment"));
        assert_eq!(told("samplecrd.k8s.io/v1beta1/Network").as_deref(), Ok("samplecrd.k8s.io v1beta1 Network"));
        for (bad, reason) in [
            ("ConfigMap", "expected VERSION/KIND"),
            ("a/b/c/d", "expected VERSION/KIND"),
            ("apps/v1", "is not a version"),
            ("/v1/ConfigMap", "\"\" is not an API group"),
            ("Apps/v1/Deployment", "\"Apps\" is not an API group"),
            ("apps/1/Deployment", "\"1\" is not a version"),
            ("apps/v1/deployments", "\"deployments\" is not a kind"),
            ("v1/", "\"\" is not a kind"),
        ] {
            assert!(kind(bad).unwrap_err().contains(reason), "{bad}: {:?}", kind(bad));
        }
    }

    #[test]
    fn a_project_is_its_template_its_sdk_and_the_contract() {
        let sources: &[Source] = &[
            ("templates/python/app.py", b"# {{name}}"),
            ("templates/python/logo.bin", b"\xff{{name}}"),
            ("templates/js/index.js", b""),
            ("guest-sdk/python/oarlock/__init__.py", b"{{name}}"),
            ("guest-sdk/js/index.js", b""),
            ("host/merge/Cargo.toml", b""),
            ("wit/grant.schema.json", b""),
            ("wit/reconciler.wit", b""),
        ];
        assert_eq!(languages(sources).into_iter().collect::<Vec<_>>(), ["js", "python"]);
        let files = project(sources, "python", "apps/v1/Deployment");
        assert_eq!(paths(&files), ["app.py", "logo.bin", "sdk/oarlock/__init__.py", "wit/reconciler.wit"]);
        let contents: Vec<&[u8]> = files.iter().map(|file| &*file.contents).collect();
        assert_eq!(contents, [b"# my-greeter".as_slice(), b"\xff{{name}}", b"{{name}}", b""]);
    }

    #[test]
    fn every_language_there_is_makes_a_whole_project() {
        let languages = languages(SOURCES);
        assert!(languages.contains("rust"), "{languages:?}");
        let kinds = ["apps/v1/Deployment", "example.com/v1/Park"];
        for (language, of) in languages.into_iter().flat_map(|language| kinds.map(|of| (language, of))) {
            let resource = Resource::named(kind(of).unwrap());
            let values = Values::new("my-greeter", &resource, language);
            assert_eq!(values.typed, resource.custom.is_some(), "{language} {of}");
            let files = project(SOURCES, language, of);
            let paths = paths(&files);
            for path in ["Makefile", "README.md", ".gitignore", "grant.yaml"] {
                assert!(paths.contains(&path), "{language} has no {path}");
            }
            assert!(paths.iter().any(|path| path.starts_with("cases/")), "{language} has no cases");
            assert!(paths.iter().any(|path| path.starts_with("sdk/")), "{language} has no SDK");
            assert!(paths.iter().any(|path| path.ends_with("wit/reconciler.wit")), "{language} has no contract");
            for file in files.iter().filter(|file| !file.path.starts_with("sdk/")) {
                let text = String::from_utf8_lossy(&file.contents);
                let sections = ["#types", "^types", "/types"];
                for placeholder in values.texts.iter().map(|(placeholder, _)| *placeholder).chain(sections) {
                    let placeholder = format!("{{{{{placeholder}}}}}");
                    assert!(!text.contains(&placeholder), "{language}: {} has {placeholder}", file.path);
                }
            }
            let mut once = paths.clone();
            once.sort_unstable();
            once.dedup();
            assert_eq!(once.len(), paths.len(), "{language} has a file twice");
        }
    }

    #[test]
    fn every_file_there_is_is_in_the_table() {
        let repository = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap();
        let walked = build::ROOTS.iter().flat_map(|root| build::walk(&repository.join(root)).unwrap());
        let there: Vec<String> =
            walked.map(|path| path.strip_prefix(&repository).unwrap().display().to_string()).collect();
        let listed: Vec<&str> = SOURCES.iter().map(|(path, _)| *path).collect();
        assert_eq!(listed, there, "cargo does not see new files: touch host/build.rs");
    }

    #[test]
    fn an_sdk_is_whole_with_what_is_compiled_already() {
        // Without the component type, no component can be built.
        for (language, path) in [
            ("c", "sdk/gen/plugin_component_type.o"),
            ("go", "sdk/internal/link/component-type.bin"),
            ("go", "sdk/internal/link/preview1.bin"),
        ] {
            let files = project(SOURCES, language, "apps/v1/Deployment");
            let binary = files.iter().find(|file| file.path == path).expect(path);
            assert!(binary.contents.starts_with(b"\0asm"), "{path}");
        }
    }

    #[test]
    fn the_workspace_of_the_sdk_has_what_its_crates_inherit_as_the_repository_has_it() {
        let files = project(SOURCES, "rust", "apps/v1/Deployment");
        let text = |path: &str| {
            let file = files.iter().find(|file| file.path == path).expect(path);
            String::from_utf8(file.contents.to_vec()).unwrap()
        };
        let workspace = text("sdk/Cargo.toml");
        let repository = include_str!("../../../../Cargo.toml");
        let is_version =
            |line: &&str| line.contains(" = ") && !line.contains("path = ") && !line.starts_with("members");
        for line in workspace.lines().filter(is_version) {
            assert!(repository.lines().any(|known| known == line), "the repository does not say: {line}");
        }
        for krate in ["guest-sdk/rust", "host/jsonpath", "host/manifest", "host/merge"] {
            let manifest = text(&format!("sdk/{krate}/Cargo.toml"));
            for hints in manifest.lines().filter_map(|line| line.split_once(".workspace = true")) {
                let said = format!("{} = ", hints.0);
                assert!(workspace.lines().any(|line| line.starts_with(&said)), "{krate} inherits {}", hints.0);
            }
        }
    }
}
