//! `oarlock dev --watch`: a save is built, swapped and tested; what fails is shown, and the last version goes on.
//!
//! The first tier has a project whose compiler is `cp`. The second has a project of `oarlock new` in each language with its
//! real compiler.

mod terminal;

use anyhow::{Context, Result, ensure};
use kube::config::{KubeConfigOptions, Kubeconfig};
use oarlock_tests::harness::{
    Process, SOON, eventually, misfit_version, oarlock, oarlock_binary, repository_root, tested_languages, text,
};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs};

/// A compiler of a language, also when it compiles every dependency first.
const BUILT: Duration = Duration::from_secs(900);

/// The grant of a project.
const GRANT: &str = "apiVersion: oarlock.dev/v1alpha1\nkind: PluginGrant\npermissions: [{apiGroups: [\"\"], resources: [configmaps], \
                     verbs: [get, list, watch, create, patch, delete]}]\n";

/// An object of all plugins here: the misfit asks for its label.
const OBJECT: &str =
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default, labels: {misfit: 'true'}}}";

/// `make install` of a project whose source is the number of a version. It fails for the source `broken`. Two at once leave a file. A
/// build lasts as long as the file `hold` exists beside the project.
const MAKEFILE: &str = "install:
\t@flock -n -E 77 ../lock sh -ec 'grep -q broken source && { echo \"error: broken is no version\"; exit 1; }; \\
\t  sleep 0.3; while [ -e ../hold ]; do sleep 0.02; done; cp grant.yaml $(DIR)/misfit.yaml; cp \"../versions/$$(cat source)\" $(DIR)/misfit.wasm' \\
\t  || { test $$? != 77 || touch ../overlap; exit 1; }
";

/// A host that watches a project.
struct Watched {
    folder: tempfile::TempDir,
    dev: Process,
}

impl Watched {
    /// * `project` - the project's folder.
    async fn start(folder: tempfile::TempDir, project: &Path, environment: &[(&str, String)]) -> Result<Self> {
        let object = folder.path().join("object.yaml");
        fs::write(&object, OBJECT)?;
        let kubeconfig = folder.path().join("kubeconfig").display().to_string();
        let (project, object) = (project.display().to_string(), object.display().to_string());
        let args = [
            "dev",
            "--watch",
            &project,
            "--kubeconfig-out",
            &kubeconfig,
            "--admin-addr",
            "127.0.0.1:0",
            "--apply",
            &object,
        ];
        let log = folder.path().join("dev.log");
        let dev = Process::spawn("oarlock dev", &oarlock_binary()?, &args, environment, &log, false)?;
        Ok(Self { folder, dev })
    }

    /// Waits for a line after the first `known` lines of its kind.
    async fn line(&self, deadline: Duration, part: &str, known: usize) -> Result<String> {
        eventually(deadline, part, async || {
            let lines = self.dev.lines();
            let mut found = lines.iter().filter(|line| line.text.contains(part)).skip(known);
            found.next().map(|line| line.text.clone()).with_context(|| self.dev.tail())
        })
        .await
    }

    fn count(&self, part: &str) -> usize {
        self.dev.lines().iter().filter(|line| line.text.contains(part)).count()
    }

    /// The API server, once it answers.
    async fn client(&self) -> Result<kube::Client> {
        let config = Kubeconfig::read_from(self.folder.path().join("kubeconfig"))?;
        let config = kube::Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await?;
        Ok(kube::Client::try_from(config)?)
    }

    /// Waits until an annotation of the ConfigMap has a value.
    async fn annotated(&self, deadline: Duration, wanted: &str) -> Result<()> {
        eventually(deadline, wanted, async || {
            let path = "/api/v1/namespaces/default/configmaps/a";
            let object: Value = self.client().await?.request(http::Request::get(path).body(Vec::new())?).await?;
            let found = text(&object, "/metadata/annotations/example.com~1greeting");
            ensure!(found == wanted, "{found:?}: {}", self.dev.tail());
            Ok(())
        })
        .await
    }

    async fn end(mut self) -> Result<()> {
        self.dev.terminate().await?;
        let status = self.dev.wait(SOON).await?;
        ensure!(status.code() == Some(0), "{status}: {}", self.dev.tail());
        Ok(())
    }
}

/// A project whose compiler is `cp`, with some versions.
fn copied_project(folder: &Path) -> Result<PathBuf> {
    let project = folder.join("project");
    fs::create_dir_all(folder.join("versions"))?;
    fs::create_dir_all(project.join("cases"))?;
    for version in 1..=9 {
        fs::write(folder.join(format!("versions/{version}")), misfit_version(&version.to_string(), "")?)?;
    }
    fs::write(project.join("Makefile"), MAKEFILE)?;
    fs::write(project.join("grant.yaml"), GRANT)?;
    fs::write(project.join("source"), "1")?;
    // What no version does.
    let object =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n", "uid": "u"}});
    let case = json!({"request": {"object": object}, "expect": {"desired": "something else"}});
    fs::write(project.join("cases/other.yaml"), case.to_string())?;
    Ok(project)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_save_is_swapped_and_a_failed_build_leaves_the_last_version_at_work() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let project = copied_project(folder.path())?;
    let watched = Watched::start(folder, &project, &[]).await?;
    let first = watched.line(SOON, "after the save, of which the build", 0).await?;
    ensure!(first.contains("misfit 1 reconciled ConfigMap default/a"), "{first}");
    // A case that fails is shown with its difference, and stops no swap.
    watched.line(SOON, "cases that fail, without an earlier result:", 0).await?;
    watched.line(SOON, "FAILED   other", 0).await?;
    watched.line(SOON, "something else", 0).await?;
    fs::write(project.join("source"), "broken")?;
    watched.line(SOON, "build failed", 0).await?;
    watched.line(SOON, "error: broken is no version", 0).await?;
    let client = watched.client().await?;
    let path = "/api/v1/namespaces/default/configmaps";
    let object =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b", "labels": {"misfit": "true"}}});
    client.request::<Value>(http::Request::post(path).body(object.to_string().into_bytes())?).await?;
    let plugin = async || {
        let log = watched.line(SOON, "admin server listening", 0).await?;
        let address = log.split("admin_addr=").nth(1).context("no address")?.trim().to_owned();
        let told = oarlock(&["plugins", "--json", "--admin-addr", &address]).await?;
        let all: Value = serde_json::from_slice(&told.stdout)?;
        all.pointer("/plugins/0").cloned().context("no plugin")
    };
    eventually(SOON, "the last version at work", async || {
        let plugin = plugin().await?;
        ensure!(
            text(&plugin, "/version") == "1" && plugin.pointer("/objects/v1, Kind=ConfigMap") == Some(&json!(2)),
            "{plugin}"
        );
        Ok(())
    })
    .await?;
    fs::write(project.join("source"), "2")?;
    let second = watched.line(SOON, "after the save, of which the build", 1).await?;
    ensure!(second.contains("misfit 2 reconciled"), "{second}");
    watched.end().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_burst_of_saves_the_last_one_runs_and_builds_never_overlap() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let project = copied_project(folder.path())?;
    let watched = Watched::start(folder, &project, &[]).await?;
    watched.line(SOON, "misfit 1 reconciled", 0).await?;
    let hold = watched.folder.path().join("hold");
    fs::write(&hold, "")?;
    for version in 2..=9 {
        let builds = watched.count("building");
        fs::write(project.join("source"), version.to_string())?;
        // Into the middle of the build of the save before.
        watched.line(SOON, "building", builds).await?;
    }
    fs::remove_file(&hold)?;
    watched.line(SOON, "misfit 9 reconciled", 0).await?;
    for version in 2..=8 {
        ensure!(watched.count(&format!("misfit {version} reconciled")) == 0, "{version}: {}", watched.dev.tail());
    }
    ensure!(!watched.folder.path().join("overlap").exists(), "two builds at once");
    watched.end().await
}

/// A version breaks one of two cases; the other one failed before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cases_that_a_save_breaks_come_first_and_those_that_failed_before_are_told_as_such() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let project = copied_project(folder.path())?;
    fs::write(folder.path().join("versions/2"), misfit_version("2", "wrong")?)?;
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "u", "controller": true});
    let child = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"seen": "none"},
        "metadata": {"name": "a-child", "namespace": "n", "labels": {"misfit-child": "true"}, "ownerReferences": [owner]}});
    let object =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n", "uid": "u"}});
    let case = json!({"request": {"object": object}, "expect": {"desired": child}});
    fs::write(project.join("cases/right.yaml"), case.to_string())?;
    let watched = Watched::start(folder, &project, &[]).await?;
    // What is printed about cases and has one of these texts.
    let told = || -> Vec<String> {
        let texts = ["cases ", "FAILED "];
        let lines = watched.dev.lines().into_iter().map(|line| line.text);
        lines.filter(|line| texts.iter().any(|text| line.starts_with(text))).collect()
    };
    let first = ["cases that fail, without an earlier result:", "FAILED   other"];
    let broken = ["cases broken by this version:", "FAILED   right", "cases that failed before:", "FAILED   other"];
    let mended = ["cases that failed before:", "FAILED   other"];
    let mut expected: Vec<&str> = Vec::new();
    for (saved, shown) in [(None, &first[..]), (Some("2"), &broken), (Some("1"), &mended), (Some("2"), &broken)] {
        if let Some(version) = saved {
            fs::write(project.join("source"), version)?;
        }
        expected.extend(shown);
        eventually(SOON, "the cases", async || {
            ensure!(told() == expected, "{:?}, not {expected:?}: {}", told(), watched.dev.tail());
            Ok(())
        })
        .await?;
    }
    watched.end().await
}

/// make goes by times, and what the first build makes is younger than the save that came while it ran.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_save_at_the_end_of_a_build_is_built() -> Result<()> {
    const SAVED_MEANWHILE: &str = "install: built
\t@cp grant.yaml $(DIR)/misfit.yaml; cp built $(DIR)/misfit.wasm
built: source
\t@cp \"../versions/$$(cat source)\" built; test ! -e ../next || mv ../next source; sleep 0.01; touch built
";
    let folder = tempfile::tempdir()?;
    let project = copied_project(folder.path())?;
    fs::write(project.join("Makefile"), SAVED_MEANWHILE)?;
    fs::write(project.join(".gitignore"), "built\n")?;
    fs::write(folder.path().join("next"), "2")?;
    let watched = Watched::start(folder, &project, &[]).await?;
    watched.line(SOON, "misfit 2 reconciled", 0).await?;
    watched.end().await
}

#[tokio::test]
async fn a_folder_that_is_no_project_is_told() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let dir = folder.path().display().to_string();
    let out = folder.path().join("kubeconfig").display().to_string();
    let told = oarlock(&["dev", "--watch", &dir, "--kubeconfig-out", &out]).await?;
    let said = String::from_utf8_lossy(&told.stderr).into_owned();
    ensure!(!told.status.success() && said.contains("is no project of oarlock new: it has no Makefile"), "{said}");
    Ok(())
}

/// A project of `oarlock new`, and what is done with it.
struct Edited {
    language: &'static str,
    /// The file with the reconciler.
    source: &'static str,
    /// Where the greeting is put together.
    greeting: &'static str,
    /// Code that does not compile, and what the compiler says about it.
    broken: &'static str,
    said: &'static str,
}

const EDITED: [Edited; 6] = [
    Edited {
        language: "rust",
        source: "src/lib.rs",
        greeting: "{word}, {}",
        broken: "fn broken() { nonsense() }",
        said: "cannot find function `nonsense` in this scope",
    },
    Edited {
        language: "js",
        source: "src/reconciler.js",
        greeting: "${word}, ${cx.name}",
        broken: "export const = 1;",
        said: "src/reconciler.js:",
    },
    Edited {
        language: "ts",
        source: "src/reconciler.ts",
        greeting: "${word}, ${cx.name}",
        broken: "export const broken: number = \"nonsense\";",
        said: "Type 'string' is not assignable to type 'number'",
    },
    Edited {
        language: "python",
        source: "app.py",
        greeting: "{word}, {cx.name}",
        broken: "import nonsense",
        said: "No module named 'nonsense'",
    },
    Edited {
        language: "c",
        source: "src/reconciler.c",
        greeting: "%s, %s",
        broken: "void broken(void) { nonsense(); }",
        said: "undeclared function 'nonsense'",
    },
    Edited {
        language: "go",
        source: "main.go",
        greeting: "word + \", \" + cx.Name()",
        broken: "func broken() { nonsense() }",
        said: "undefined: nonsense",
    },
];

/// The compilers of the other tests: what they have fetched and compiled stays in the target folder.
fn tools(language: &str) -> Result<Vec<(&'static str, String)>> {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository_root().join("target"), PathBuf::from);
    let mut environment = vec![
        ("CARGO_TARGET_DIR", target.join("projects").display().to_string()),
        ("VENV", target.join("languages").join(language).display().to_string()),
        ("npm_config_prefer_offline", "true".to_owned()),
    ];
    let standard_library = fs::read_to_string(target.join("wasm.env")).unwrap_or_default();
    for line in standard_library.lines() {
        if let Some(flags) = line.strip_prefix("export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS=") {
            environment.push(("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", flags.to_owned()));
        }
    }
    Ok(environment)
}

/// Saves another greeting, code that does not compile, and the first greeting again.
async fn a_save_is_the_next_reconcile(edited: &Edited) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let project = folder.path().join("greeter");
    let dir = project.display().to_string();
    let told = oarlock(&["new", "greeter", "--lang", edited.language, "--dir", &dir]).await?;
    ensure!(told.status.success(), "{told:?}");
    let watched = Watched::start(folder, &project, &tools(edited.language)?).await?;
    watched.annotated(BUILT, "Hello, a").await?;
    watched.line(BUILT, "cases: 3 passed", 0).await?;
    let file = project.join(edited.source);
    let source = fs::read_to_string(&file)?;
    let replaced = source.replacen(edited.greeting, &edited.greeting.replace(", ", ", dear "), 1);
    ensure!(source != replaced, "{source}");
    fs::write(&file, &replaced)?;
    watched.annotated(BUILT, "Hello, dear a").await?;
    let told = watched.line(BUILT, "after the save, of which the build", 1).await?;
    ensure!(told.contains("reconciled ConfigMap default/a"), "{told}");
    watched.line(BUILT, "cases broken by this version", 0).await?;
    watched.line(SOON, "FAILED", 0).await?;
    fs::write(&file, format!("{replaced}\n{}\n", edited.broken))?;
    watched.line(BUILT, edited.said, 0).await?;
    fs::write(&file, &source)?;
    watched.annotated(BUILT, "Hello, a").await?;
    watched.end().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "minutes: make test-all"]
async fn a_save_in_a_project_in_each_language_is_the_next_reconcile() -> Result<()> {
    for language in tested_languages(&EDITED.each_ref().map(|edited| edited.language)) {
        let edited = EDITED.iter().find(|edited| edited.language == language).context("no project")?;
        a_save_is_the_next_reconcile(edited).await.context(language)?;
    }
    Ok(())
}
