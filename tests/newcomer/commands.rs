//! Commands as a new user types them: into a pipe, with a port, from a project's folder.

use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{
    Cluster, Grant, PluginDir, Process, SOON, Shell, built_plugin, checkout, eventually, misfit_version, misfit_with,
    oarlock, oarlock_binary, repository_root,
};
use serde_json::json;
use std::{fs, path::Path, process::Stdio, time::Duration};

const LANGUAGES: [&str; 6] = ["c", "go", "js", "python", "rust", "ts"];

/// Runs a command whose output nobody reads.
async fn unread(args: &[&str], output: Stdio) -> Result<std::process::Output> {
    let mut command = tokio::process::Command::new(oarlock_binary()?);
    command.args(args).stdin(Stdio::null()).stdout(output).stderr(Stdio::piped()).kill_on_drop(true);
    Ok(tokio::time::timeout(Duration::from_secs(180), command.spawn()?.wait_with_output()).await??)
}

#[tokio::test]
async fn n8_a_closed_pipe_ends_no_command_with_a_panic() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let plugins = PluginDir::create(folder.path().join("plugins"))?;
    plugins.grant("misfit", &Grant::nothing().partial())?;
    plugins.place("misfit.wasm", &misfit_version("1", "")?)?;
    let (directory, file) = (plugins.path().display().to_string(), plugins.path().join("misfit.wasm"));
    let (file, project) = (file.display().to_string(), folder.path().join("project").display().to_string());
    for args in [
        vec!["grant", &file],
        vec!["inspect", &file, "--json"],
        vec!["rbac", &directory],
        vec!["new", "greeter", "--lang", "python", "--dir", &project],
        vec!["completion", "bash"],
        vec!["version"],
        vec!["--help"],
    ] {
        let (reader, writer) = std::io::pipe()?;
        drop(reader);
        let told = unread(&args, writer.into()).await?;
        let said = String::from_utf8_lossy(&told.stderr).into_owned();
        ensure!(told.status.success() && said.is_empty(), "{args:?}: {} {said}", told.status);
    }
    // What is lost for another reason is an error.
    let full = fs::OpenOptions::new().write(true).open("/dev/full")?;
    let told = unread(&["grant", &file], full.into()).await?;
    let said = String::from_utf8_lossy(&told.stderr).into_owned();
    ensure!(!told.status.success() && said.starts_with("oarlock: cannot write"), "{} {said}", told.status);
    Ok(())
}

#[tokio::test]
async fn n9_verbs_of_roles_can_be_asked_for_and_unknown_ones_are_refused() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let plugins = PluginDir::create(folder.path().join("plugins"))?;
    let rule = json!([{"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"],
        "verbs": ["bind", "escalate", "impersonate"]}]);
    let with_verbs = misfit_with("1", "", |manifest| {
        if let Some(fields) = manifest.as_object_mut() {
            fields.insert("permissions".to_owned(), rule.clone());
        }
    })?;
    plugins.place("misfit.wasm", &with_verbs)?;
    let file = plugins.path().join("misfit.wasm").display().to_string();
    let given = |verbs: &[&str]| {
        Grant::nothing().rule("", &["configmaps"], &["get", "list", "watch"]).rule(
            "rbac.authorization.k8s.io",
            &["clusterroles"],
            verbs,
        )
    };
    let told = async |grant: &Grant| {
        plugins.grant("misfit", grant)?;
        let told = oarlock(&["grant", &file, "--check"]).await?;
        let all = [told.stdout, told.stderr].concat();
        anyhow::Ok((told.status.success(), String::from_utf8_lossy(&all).into_owned()))
    };
    let (good, said) = told(&given(&["bind", "escalate", "impersonate"])).await?;
    ensure!(good, "{said}");
    let (good, said) = told(&given(&["bind"])).await?;
    ensure!(!good && said.contains("permissions: escalate, impersonate clusterroles"), "{said}");
    let (good, said) = told(&given(&["bind", "foo"])).await?;
    ensure!(!good && said.contains("\"foo\"") && said.contains("escalate") && said.contains("patch"), "{said}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n10_a_project_of_a_custom_resource_brings_its_definition() -> Result<()> {
    let folder = tempfile::tempdir()?;
    for (language, kind, custom) in LANGUAGES.iter().flat_map(|language| {
        [
            ("stage.example.com/v1beta1/Greeting", true),
            ("samplecrd.k8s.io/v1/Network", true),
            ("apps/v1/Deployment", false),
        ]
        .map(|(kind, custom)| (*language, kind, custom))
    }) {
        let project = folder.path().join(format!("{language}-{}", kind.replace('/', "-")));
        let dir = project.display().to_string();
        let told = oarlock(&["new", "greeter", "--lang", language, "--kind", kind, "--dir", &dir]).await?;
        ensure!(told.status.success(), "{language} {kind}: {told:?}");
        ensure!(project.join("crd.yaml").exists() == custom, "{language} {kind}");
        let grant = fs::read_to_string(project.join("grant.yaml"))?;
        ensure!(grant.contains("\ndefinitions: [") == custom, "{language} {kind}: {grant}");
    }
    let definition = |kind: &str| folder.path().join(format!("python-{kind}/crd.yaml")).display().to_string();
    let (greeting, network) =
        (definition("stage.example.com-v1beta1-Greeting"), definition("samplecrd.k8s.io-v1-Network"));
    let object = folder.path().join("object.yaml");
    fs::write(
        &object,
        "{apiVersion: stage.example.com/v1beta1, kind: Greeting, metadata: {name: a, namespace: default}, spec: {words: [x]}}",
    )?;
    let plugins = PluginDir::create(folder.path().join("plugins"))?;
    let (plugins, object) = (plugins.path().display().to_string(), object.display().to_string());
    let out = folder.path().join("kubeconfig").display().to_string();
    let mut args = vec!["dev", "--plugins", &plugins, "--kubeconfig-out", &out, "--admin-addr", "127.0.0.1:0"];
    args.extend(["--apply", &greeting, "--apply", &network, "--apply", &object]);
    let log = folder.path().join("dev.log");
    let mut dev = Process::spawn("oarlock dev", &oarlock_binary()?, &args, &[], &log, false)?;
    dev.line(SOON, "a Greeting", |line| line.text.contains("applied kind=Greeting")).await?;
    dev.terminate().await?;
    dev.wait(SOON).await?;
    Ok(())
}

#[tokio::test]
async fn n11_a_check_finds_the_grant_of_the_project() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let project = folder.path().join("project");
    fs::create_dir_all(project.join("build"))?;
    let file = project.join("build/deployment-network.wasm");
    fs::copy(built_plugin("deployment-network")?, &file)?;
    let shipped = repository_root().join("plugins/deployment-network/deployment-network.yaml");
    fs::copy(shipped, project.join("grant.yaml"))?;
    let check = async || {
        let told = oarlock(&["grant", &file.display().to_string(), "--check"]).await?;
        let all = [told.stdout, told.stderr].concat();
        anyhow::Ok((told.status.success(), String::from_utf8_lossy(&all).into_owned()))
    };
    let (good, said) = check().await?;
    ensure!(good && said.contains("project/grant.yaml grants everything that"), "{said}");
    // The one beside the file comes first: that is what a host would read.
    fs::write(file.with_extension("yaml"), "apiVersion: oarlock.dev/v1alpha1\nkind: PluginGrant\n")?;
    let (good, said) = check().await?;
    ensure!(!good && said.contains("deployment-network.yaml does not grant"), "{said}");
    fs::remove_file(file.with_extension("yaml"))?;
    fs::remove_file(project.join("grant.yaml"))?;
    let (good, said) = check().await?;
    ensure!(!good && said.contains("grant.yaml"), "{said}");
    Ok(())
}

/// The block of the README works in its order, and its second line fails without the first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n13_the_rbac_pipe_of_the_readme_works_on_a_fresh_cluster() -> Result<()> {
    let folder = tempfile::tempdir()?;
    checkout(folder.path())?;
    let cluster = Cluster::start(folder.path(), false).await?;
    let readme = fs::read_to_string(repository_root().join("README.md"))?;
    let mut blocks = readme.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let block = blocks.find(|block| block.contains("oarlock rbac")).context("the README shows no oarlock rbac")?;
    let shell = Shell {
        checkout: folder.path(),
        kubeconfig: cluster.kubeconfig(),
        commands: None,
        // It compiles the plugins.
        deadline: Duration::from_secs(360),
    };
    let [first, pipe] = block.lines().collect::<Vec<_>>()[..] else { anyhow::bail!("{block}") };
    let refused = shell.run(pipe).await.err().context("the namespace is not needed")?;
    ensure!(format!("{refused:#}").contains("oarlock-system"), "{refused:#}");
    shell.run(first).await?;
    let applied = shell.run(pipe).await?;
    ensure!(applied.lines().count() > 10 && applied.contains("serviceaccount/oarlock-network created"), "{applied}");
    Ok(())
}

#[tokio::test]
async fn n23_addresses_are_ports_urls_or_addresses() -> Result<()> {
    for (given, reason) in [
        ("1", "no host answers at 127.0.0.1:1 "),
        (":1", "no host answers at 127.0.0.1:1 "),
        ("http://127.0.0.1:1/", "no host answers at 127.0.0.1:1 "),
        ("localhost:1", "no host answers at 127.0.0.1:1 "),
        ("[::1]:1", "no host answers at [::1]:1 "),
        ("https://127.0.0.1:1", "expected ADDRESS:PORT or PORT"),
        ("nonsense", "expected ADDRESS:PORT or PORT, for example 127.0.0.1:9797 or 9797"),
        ("127.0.0.1", "expected ADDRESS:PORT or PORT"),
    ] {
        let told = oarlock(&["plugins", "--admin-addr", given]).await?;
        let said = String::from_utf8_lossy(&told.stderr).into_owned();
        ensure!(!told.status.success() && said.contains(reason), "{given}: {said}");
    }
    Ok(())
}

#[tokio::test]
async fn n23_the_directory_of_plugins_needs_no_flag() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let nowhere = folder.path().join("nowhere").display().to_string();
    let kubeconfig = folder.path().join("kubeconfig");
    fs::write(
        &kubeconfig,
        "{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}], \
         clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}], users: [{name: a, user: {}}]}",
    )?;
    let kubeconfig = kubeconfig.display().to_string();
    for args in [vec![nowhere.as_str()], vec!["--plugins", &nowhere]] {
        let told = oarlock(&[vec!["run", "--kubeconfig", &kubeconfig], args.clone()].concat()).await?;
        let said = String::from_utf8_lossy(&told.stderr).into_owned();
        ensure!(said.contains("cannot use the plugin directory") && said.contains(&nowhere), "{args:?}: {said}");
    }
    for (args, reason) in [(vec!["run"], "--plugins"), (vec!["run", "a", "--plugins", "b"], "one directory")] {
        let told = oarlock(&args).await?;
        let said = String::from_utf8_lossy(&told.stderr).into_owned();
        ensure!(!told.status.success() && said.contains(reason), "{args:?}: {said}");
    }
    let out = folder.path().join("out").display().to_string();
    let plugins = PluginDir::create(folder.path().join("plugins"))?.path().display().to_string();
    let args = ["dev", &plugins, "--kubeconfig-out", &out, "--admin-addr", "0"];
    let mut dev = Process::spawn("oarlock dev", &oarlock_binary()?, &args, &[], &folder.path().join("log"), false)?;
    eventually(SOON, "a kubeconfig", || async { Ok(fs::metadata(Path::new(&out)).map(drop)?) }).await?;
    dev.terminate().await?;
    dev.wait(SOON).await?;
    Ok(())
}

#[tokio::test]
async fn n23_completion_and_version_are_commands() -> Result<()> {
    for shell in ["bash", "zsh", "fish"] {
        let told = oarlock(&["completion", shell]).await?;
        let said = String::from_utf8(told.stdout)?;
        ensure!(
            told.status.success() && said.contains("oarlock") && said.contains("release-finalizers"),
            "{shell}: {said}"
        );
    }
    let told = oarlock(&["version"]).await?;
    let said = String::from_utf8(told.stdout)?;
    let contract = fs::read_to_string(repository_root().join("wit/reconciler.wit"))?;
    let package = contract.lines().find_map(|line| line.strip_prefix("package ")).context("no package")?;
    ensure!(told.status.success() && said.starts_with("oarlock "), "{said}");
    ensure!(said.contains(&format!("contract {}", package.trim_end_matches(';'))), "{said}");
    ensure!(String::from_utf8(oarlock(&["--version"]).await?.stdout)? == said, "--version differs from version");
    Ok(())
}

#[test]
fn n25_examples_can_be_applied_to_one_namespace() -> Result<()> {
    let mut names = Vec::new();
    for plugin in ["network", "pod-network", "envoy-injector"] {
        let text = fs::read_to_string(repository_root().join("plugins").join(plugin).join("example.yaml"))?;
        let mut kind = "";
        for line in text.lines() {
            kind = line.strip_prefix("kind: ").unwrap_or(kind);
            if let Some(name) = line.strip_prefix("  name: ") {
                names.push(format!("{kind} {name}"));
            }
        }
    }
    names.sort();
    let distinct: std::collections::BTreeSet<_> = names.iter().collect();
    ensure!(names.len() == distinct.len() && names.len() >= 4, "{names:?}");
    Ok(())
}

/// A file of the repository.
fn shipped(path: &str) -> Result<String> {
    fs::read_to_string(repository_root().join(path)).with_context(|| path.to_owned())
}

#[test]
fn n14_every_template_says_how_an_edited_field_is_taken_back() -> Result<()> {
    for language in LANGUAGES {
        ensure!(shipped(&format!("templates/{language}/README.md"))?.contains("`force` takes the field"), "{language}");
    }
    Ok(())
}

/// `build` makes the component and shows it, `unit` needs no WebAssembly, `test` does both and plays the cases, `install` builds first.
#[test]
fn n20_make_targets_mean_the_same_in_every_language() -> Result<()> {
    for project in ["templates", "plugins/namespace-baseline"] {
        for language in LANGUAGES {
            let mut rules = shipped(&format!("{project}/{language}/Makefile"))?;
            if rules.contains("include $(SDK)/plugin.mk") {
                rules += &shipped(&format!("guest-sdk/{language}/plugin.mk"))?;
            }
            let rule = |target: &str| {
                let found = rules.split("\n\n").filter_map(|part| {
                    part.split_once(&format!("{target}:"))
                        .filter(|(before, _)| before.is_empty() || before.ends_with('\n'))
                });
                found
                    .map(|(_, rule)| rule.to_owned())
                    .next()
                    .with_context(|| format!("{project}/{language} has no target {target}"))
            };
            let needs =
                |target: &str| Ok::<_, anyhow::Error>(rule(target)?.lines().next().unwrap_or_default().to_owned());
            let component = |needs: &str| needs.contains("wasm") || needs.contains("WASM");
            ensure!(component(&needs("build")?) && rule("build")?.contains(" inspect "), "{project}/{language}: build");
            ensure!(
                !component(&needs("unit")?.replace("WebAssembly", "")),
                "{project}/{language}: unit builds a component"
            );
            ensure!(component(&needs("install")?), "{project}/{language}: install does not build");
            let test = needs("test")?;
            ensure!(
                component(&test) && test.contains("unit") && rule("test")?.contains("--cases cases"),
                "{project}/{language}: {test}"
            );
            rule("clean")?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn n20_types_of_a_project_are_named_after_its_kind() -> Result<()> {
    let folder = tempfile::tempdir()?;
    for (language, file) in
        [("rust", "src/lib.rs"), ("python", "app.py"), ("go", "main.go"), ("ts", "src/reconciler.ts")]
    {
        let project = folder.path().join(language);
        let args = [
            "new",
            "team-space",
            "--lang",
            language,
            "--kind",
            "example.com/v1/Garden",
            "--dir",
            &project.display().to_string(),
        ];
        let told = oarlock(&args).await?;
        ensure!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
        let text = fs::read_to_string(project.join(file))?;
        ensure!(text.contains("GardenReconciler") || text.contains("api.Garden"), "{language}: {text}");
        ensure!(!text.contains("TeamSpace"), "{language}: {text}");
    }
    Ok(())
}

#[tokio::test]
async fn n20_a_case_without_an_expectation_is_no_success() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let plugins = PluginDir::create(folder.path().join("plugins"))?;
    plugins.place("misfit.wasm", &misfit_version("1", "")?)?;
    let file = plugins.path().join("misfit.wasm").display().to_string();
    let cases = folder.path().join("cases");
    fs::create_dir(&cases)?;
    let case = "request:\n  object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b, uid: u}}\n";
    fs::write(cases.join("empty.yaml"), case)?;
    let cases = cases.display().to_string();
    let told = oarlock(&["test", &file, "--cases", &cases]).await?;
    let said = String::from_utf8_lossy(&told.stdout).into_owned();
    ensure!(!told.status.success() && said.contains("FAILED   empty") && said.contains("expect is missing"), "{said}");
    // What --update writes is an expectation.
    ensure!(oarlock(&["test", &file, "--cases", &cases, "--update"]).await?.status.success(), "--update");
    ensure!(oarlock(&["test", &file, "--cases", &cases]).await?.status.success(), "after --update");
    Ok(())
}
