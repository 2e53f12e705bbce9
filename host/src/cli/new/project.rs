//! Files of a new project: a pure function of the files that were compiled into the host.

use oarlock::grants::guess_plural;
use oarlock_manifest::Kind;
use oarlock_merge::schema::Schema;
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

/// The values of a template's placeholders.
#[derive(Clone, Debug)]
pub(super) struct Values {
    texts: [(&'static str, String); 10],
    /// Its kind is no built-in one: the project brings a definition.
    custom: bool,
}

impl Values {
    pub(super) fn new(name: &str, kind: &Kind) -> Self {
        let Kind { group, version, kind } = kind;
        let api_version = if group.is_empty() { version.clone() } else { format!("{group}/{version}") };
        let custom = Schema::builtin(group, version, kind).is_none();
        let apply = if custom { format!(" --apply {DEFINITION}") } else { String::new() };
        let definition = if custom {
            format!(
                "`{DEFINITION}` defines {kind} with a schema that takes everything: write yours into it. In a cluster, `kubectl apply -f {DEFINITION}` comes first."
            )
        } else {
            format!("{kind} is built into Kubernetes: it takes no definition.")
        };
        // The API server wants to know who approved groups of Kubernetes' own.
        let reserved = [".k8s.io", ".kubernetes.io"].iter().any(|end| group.ends_with(end));
        let annotations =
            if reserved { "\n  annotations:\n    api-approved.kubernetes.io: unapproved, for development" } else { "" };
        let texts = [
            ("name", name.to_owned()),
            ("name_snake", name.replace('-', "_")),
            ("group", group.clone()),
            ("version", version.clone()),
            ("kind", kind.clone()),
            ("api_version", api_version),
            ("plural", guess_plural(kind)),
            ("apply", apply),
            ("definition", definition),
            ("annotations", annotations.to_owned()),
        ];
        Self { texts, custom }
    }

    /// What `oarlock dev` is called with beside the plugins.
    pub(super) fn apply(&self) -> &str {
        self.texts.iter().find(|(known, _)| *known == "apply").map_or("", |(_, value)| value)
    }

    /// Replaces the placeholders of a text. Text in double braces that is no placeholder stays.
    fn fill(&self, text: &str) -> String {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
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
        filled
    }
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

fn is_label(text: &str) -> bool {
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

/// All files of a project in a language: the template with its placeholders replaced, and the SDK and the contract unchanged.
pub(super) fn files(sources: &[Source], language: &str, values: &Values) -> Vec<File> {
    let template = format!("templates/{language}/");
    let carried = carried(language);
    let mut files = Vec::new();
    if values.custom {
        let contents = values.fill(DEFINITION_TEMPLATE).into_bytes().into();
        files.push(File { path: DEFINITION.to_owned(), contents });
    }
    for &(path, contents) in sources {
        if let Some(path) = path.strip_prefix(&template) {
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
    files
}

/// The files of the repository that a project contains, and their paths in it.
fn carried(language: &str) -> Vec<(String, String)> {
    let places: &[(&str, &str)] = match language {
        // The crates refer to each other by relative paths.
        "rust" => &[
            ("guest-sdk/rust/", "sdk/guest-sdk/rust/"),
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

    fn values() -> Values {
        Values::new("my-greeter", &kind("apps/v1/Deployment").unwrap())
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
    fn placeholders_are_filled_in_once_and_other_braces_stay() {
        let text = "{{name}} {{name_snake}} {{group}} {{version}} {{kind}} {{api_version}} {{plural}}";
        assert_eq!(values().fill(text), "my-greeter my_greeter apps v1 Deployment apps/v1 deployments");
        let core = Values::new("a-2b", &kind("v1/Endpoints").unwrap());
        assert_eq!(core.fill("[{{group}}] {{api_version}} {{plural}} {{kind}}"), "[] v1 endpoints Endpoints");
        for same in ["", "{{other}}", "{{", "{{name", "{ {name}}", "}} {{ name }}", "format!(\"{{}}\")"] {
            assert_eq!(values().fill(same), same);
        }
        assert_eq!(values().fill("{{{kind}}}"), "{Deployment}");
        assert_eq!(values().fill("{{x {{kind}}"), "{{x Deployment");
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
        let files = files(sources, "python", &values());
        assert_eq!(paths(&files), ["app.py", "logo.bin", "sdk/oarlock/__init__.py", "wit/reconciler.wit"]);
        let contents: Vec<&[u8]> = files.iter().map(|file| &*file.contents).collect();
        assert_eq!(contents, [b"# my-greeter".as_slice(), b"\xff{{name}}", b"{{name}}", b""]);
    }

    #[test]
    fn every_language_there_is_makes_a_whole_project() {
        let languages = languages(SOURCES);
        assert!(languages.contains("rust"), "{languages:?}");
        for language in languages {
            let files = files(SOURCES, language, &values());
            let paths = paths(&files);
            for path in ["Makefile", "README.md", ".gitignore", "grant.yaml"] {
                assert!(paths.contains(&path), "{language} has no {path}");
            }
            assert!(paths.iter().any(|path| path.starts_with("cases/")), "{language} has no cases");
            assert!(paths.iter().any(|path| path.starts_with("sdk/")), "{language} has no SDK");
            assert!(paths.iter().any(|path| path.ends_with("wit/reconciler.wit")), "{language} has no contract");
            for file in files.iter().filter(|file| !file.path.starts_with("sdk/")) {
                let text = String::from_utf8_lossy(&file.contents);
                for (placeholder, _) in values().texts {
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
            let files = files(SOURCES, language, &values());
            let binary = files.iter().find(|file| file.path == path).expect(path);
            assert!(binary.contents.starts_with(b"\0asm"), "{path}");
        }
    }

    #[test]
    fn the_workspace_of_the_sdk_has_what_its_crates_inherit_as_the_repository_has_it() {
        let files = files(SOURCES, "rust", &values());
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
        for krate in ["guest-sdk/rust", "host/manifest", "host/merge"] {
            let manifest = text(&format!("sdk/{krate}/Cargo.toml"));
            for hints in manifest.lines().filter_map(|line| line.split_once(".workspace = true")) {
                let said = format!("{} = ", hints.0);
                assert!(workspace.lines().any(|line| line.starts_with(&said)), "{krate} inherits {}", hints.0);
            }
        }
    }
}
