//! Inputs that cannot be used: one line that says what to do, and the exit status 2.

use super::{Told, check};
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{built_plugin, misfit_describing, repository_root, text_guest, text_manifest};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn inputs_that_cannot_be_used_are_one_line() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let bare = folder.path().join("bare.yaml");
    let text = fs::read_to_string(repository_root().join("tests/fixtures/check/crd.yaml"))?;
    let cut = text.find("    schema:").context("no schema")?;
    fs::write(&bare, text.get(..cut).context("no text")?)?;
    let nowhere = folder.path().join("nowhere.yaml");
    fs::write(&nowhere, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: nowhere}}")?;
    let shown = |path: &Path| path.display().to_string();
    let (bare, nowhere, output) = (shown(&bare), shown(&nowhere), shown(folder.path()));
    let whole = shown(&repository_root().join("tests/fixtures/check/crd.yaml"));
    let bounds = ["--cases", "1", "--output-dir", &output];
    let cases = [
        ("seeded", vec!["--crd", &whole, "--crd", &whole], "sites.check.oarlock.test\" already exists"),
        (
            "seeded",
            vec!["--crd", &whole, "--cluster", &nowhere],
            "--crd, --cluster: ConfigMap a: namespaces \"nowhere\" not found",
        ),
        ("seeded", vec!["--crd", &bare], "no schema with properties"),
        ("seeded", vec![], "nothing to draw objects of Site from: give a definition (--crd) or an object (--object)"),
        ("seeded", vec!["--crd", "/nowhere/crd.yaml"], "cannot read /nowhere/crd.yaml"),
    ];
    for (plugin, inputs, expected) in cases {
        let told = check(plugin, &[inputs.as_slice(), &bounds].concat()).await?;
        let lines = told.stderr.lines().count();
        ensure!(told.code == Some(2) && lines == 1 && told.stderr.contains(expected), "{}{}", told.stdout, told.stderr);
    }
    // Noticed before the first case, and not after the last one.
    let told = check("seeded", &["--crd", &whole, "--cases", "100000", "--output-dir", "/proc/nothing"]).await?;
    ensure!(told.code == Some(2) && told.stderr.contains("--output-dir: cannot write into /proc"), "{}", told.stderr);
    for more in [["--settle-seconds", "3"], ["--objects-of-kind", "Site"], ["--jobs", "2"]] {
        let told = check("seeded", &[["--crd", &whole].as_slice(), &more].concat()).await?;
        ensure!(told.code == Some(2) && told.stderr.contains("cannot be used with"), "{more:?}: {}", told.stderr);
    }
    Ok(())
}

/// Checks a plugin that reconciles ConfigMaps, for as long as a check lasts unless it is told otherwise.
///
/// * `labels`, `annotations` - of its ConfigMaps.
async fn of_config_maps(wasm: &[u8], labels: Value, annotations: Value) -> Result<Told> {
    let folder = tempfile::tempdir()?;
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (plugin, object, grant, findings) = (file("p.wasm"), file("object.yaml"), file("grant.yaml"), file("findings"));
    fs::write(&plugin, wasm)?;
    let metadata = json!({"name": "a", "namespace": "default", "labels": labels, "annotations": annotations});
    fs::write(&object, json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}).to_string())?;
    let verbs = ["get", "list", "watch", "create", "patch", "delete"];
    let granted = json!({
        "apiVersion": "oarlock.dev/v1alpha1", "kind": "PluginGrant", "limits": {"deadlineSeconds": 1},
        "permissions": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs}],
    });
    fs::write(&grant, granted.to_string())?;
    super::checked(&plugin, &["--object", &object, "--grant", &grant, "--output-dir", &findings]).await
}

fn is_one_line(told: &Told, expected: &str) -> Result<()> {
    let lines = told.stderr.lines().count();
    ensure!(told.code == Some(2) && lines == 1, "{expected}: {:?} {}{}", told.code, told.stdout, told.stderr);
    ensure!(told.stderr.contains(expected), "{expected}: {}", told.stderr);
    Ok(())
}

/// It never says what it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_that_never_describes_itself_is_one_line() -> Result<()> {
    let start = text_guest("start-loops", &text_manifest("text"))?;
    for (wasm, expected) in [
        (misfit_describing("!loop")?, "the plugin did not finish describe within its deadline of 5 s"),
        (misfit_describing("!grow")?, "the plugin needs more than its 64 MiB of memory in describe"),
        (misfit_describing("!trap")?, "the plugin trapped in describe"),
        (start, "the plugin did not finish its start within its deadline of 5 s"),
    ] {
        is_one_line(&of_config_maps(&wasm, json!({}), json!({})).await?, expected)?;
    }
    Ok(())
}

/// It answers for no object. Where it answers for some, that is a finding: the seeded `never-answers` and `hog`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_that_never_answers_is_one_line() -> Result<()> {
    let misfit = fs::read(built_plugin("misfit")?)?;
    let late = "plugin misfit did not answer for default/check-a within its deadline of 1 s";
    for (mode, expected) in [
        ("loop", late),
        ("loop-actual", late),
        ("loop-patch", late),
        ("grow", "the plugin needs more than its 64 MiB of memory in get-desired (limits.memoryMib)"),
        ("trap", "the plugin trapped in get-desired"),
        ("invalid-json", "the plugin answered get-desired with"),
    ] {
        let told = of_config_maps(&misfit, json!({"misfit": "true"}), json!({"misfit/mode": mode})).await?;
        is_one_line(&told, "oarlock: the plugin answers for none of 3 objects: ")?;
        is_one_line(&told, expected)?;
    }
    Ok(())
}
