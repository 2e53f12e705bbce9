//! Other people's clients and controllers with the embedded API server: they run as they are, also while it injects faults.

use anyhow::{Context, Result, ensure};
use http::Method;
use oarlock_tests::harness::{HttpClient, Process, SOON, eventually, oarlock_binary, repository_root};
use serde_json::{Value, json};
use std::{
    env,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};
use tokio::process::Command;

/// The tools are installed where no run before has done so.
const INSTALLED_WITHIN: Duration = Duration::from_secs(600);
/// Controllers wait longer from retry to retry.
const CONVERGED: Duration = Duration::from_secs(240);
const OBJECTS: usize = 20;

pub(crate) fn tools() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| repository_root().join("target"), PathBuf::from)
        .join("languages/clients")
}

/// Runs a script in a folder of the repository, with the program under test in OARLOCK_BIN; an error contains its output.
async fn run(folder: &str, script: &str) -> Result<()> {
    let mut shell = Command::new("sh");
    shell.args(["-euc", script]).current_dir(repository_root().join(folder)).stdin(Stdio::null()).kill_on_drop(true);
    shell.env("OARLOCK_BIN", oarlock_binary()?).env("TOOLS", tools()).env("PYTHONDONTWRITEBYTECODE", "1");
    let told = tokio::time::timeout(INSTALLED_WITHIN, shell.output()).await.context("still runs")??;
    let said = String::from_utf8_lossy(&told.stdout).into_owned() + &String::from_utf8_lossy(&told.stderr);
    ensure!(told.status.success(), "{folder}: {said}");
    Ok(())
}

/// Python with kopf, kr8s and the client of Kubernetes; installed by one test at a time, and only once.
const PYTHON: &str = "mkdir -p \"$TOOLS\"; requirements=$PWD/../../tests/clients/requirements.txt
    [ -f \"$requirements\" ] || requirements=$PWD/requirements.txt
    exec 9>\"$TOOLS/lock\"; flock 9
    if ! cmp -s \"$requirements\" \"$TOOLS/installed\"; then
      python3 -m venv \"$TOOLS/venv\"
      \"$TOOLS/venv/bin/pip\" install --quiet --require-hashes --requirement \"$requirements\"
      cp \"$requirements\" \"$TOOLS/installed\"
    fi; flock -u 9;";

/// Installs the tools for Python.
pub(crate) async fn install_python() -> Result<()> {
    run("tests/clients", PYTHON).await
}

#[tokio::test]
#[ignore = "minutes: make test-all"]
async fn the_package_for_pytest_passes_its_tests() -> Result<()> {
    // Installed as its users install it, so that pytest finds the fixture by itself.
    let install = "copy=$(mktemp -d); trap 'rm -rf \"$copy\"' EXIT; cp -r . \"$copy/package\"
        \"$TOOLS/venv/bin/pip\" install --quiet --no-deps --target \"$copy/installed\" \"$copy/package\"
        PYTHONPATH=$copy/installed \"$TOOLS/venv/bin/python\" -m pytest -q -p no:cacheprovider";
    run("testing/python", &format!("{PYTHON} {install}")).await
}

#[tokio::test]
#[ignore = "minutes: make test-all"]
async fn the_package_for_node_passes_its_tests() -> Result<()> {
    let script = "rm -rf \"$TOOLS/node\"; mkdir -p \"$TOOLS/node\"; cp -r index.* package*.json test \"$TOOLS/node\"
        cd \"$TOOLS/node\"; npm ci --silent --no-audit --no-fund; npm test";
    run("testing/node", script).await
}

/// A server, and a controller of others.
struct Foreign {
    folder: tempfile::TempDir,
    api: HttpClient,
    kubeconfig: String,
    _server: Process,
}

impl Foreign {
    async fn start(crd: &Path) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let kubeconfig = folder.path().join("kubeconfig").display().to_string();
        let tokens = folder.path().join("tokens").display().to_string();
        std::fs::write(&tokens, "t,controller,1,\"system:masters\"\n")?;
        let args = ["apiserver", "--port", "0", "--kubeconfig-out", &kubeconfig, "--token-file", &tokens];
        let server = Process::spawn("api", &oarlock_binary()?, &args, &[], &folder.path().join("api.log"), false)?;
        let url = server.line(SOON, "its URL", |line| line.text.starts_with("http://")).await?.text;
        // The controller alone has a name, by which faults find it.
        let config = std::fs::read_to_string(&kubeconfig)?;
        std::fs::write(&kubeconfig, config.replace("user: {}", "user: {token: t}"))?;
        let this = Self { folder, api: HttpClient::new(&url), kubeconfig, _server: server };
        let crd: Value = serde_saphyr::from_str(&std::fs::read_to_string(crd)?)?;
        this.send(Method::POST, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &crd).await?;
        Ok(this)
    }

    fn controller(&self, program: &Path, args: &[&str]) -> Result<Process> {
        let environment = [("KUBECONFIG", self.kubeconfig.clone()), ("PYTHONDONTWRITEBYTECODE", "1".to_owned())];
        Process::spawn("controller", program, args, &environment, &self.folder.path().join("controller.log"), false)
    }

    async fn send(&self, method: Method, path: &str, body: &Value) -> Result<Value> {
        let answer = self.api.json(method, path, &[], body).await?;
        ensure!(answer.status.is_success(), "{path}: {} {}", answer.status, answer.text());
        answer.json()
    }

    async fn items(&self, path: &str) -> Result<Vec<Value>> {
        let list = self.api.get(path).await?.json()?;
        Ok(list.get("items").and_then(Value::as_array).with_context(|| list.to_string())?.clone())
    }

    /// Watches that break and writes that fail, for the controller alone.
    ///
    /// * `more` - further rules.
    async fn faults(&self, more: &[Value]) -> Result<()> {
        let writes = json!({"user": "controller", "verbs": ["patch", "apply", "update", "create"]});
        let mut rules = vec![
            json!({"id": "broken-watches", "requests": {"user": "controller"}, "times": 6,
                "fault": {"closeWatch": {"afterEvents": 3, "cut": true}}}),
            json!({"id": "unavailable", "requests": writes, "probability": 0.2, "seed": 7, "times": 15,
                "fault": {"answer": {"code": 503}}}),
        ];
        rules.extend_from_slice(more);
        let header = [("x-oarlock-faults", "1")];
        let answer = self.api.json(Method::POST, "/_oarlock/faults", &header, &json!(rules)).await?;
        ensure!(answer.status == 201, "{}", answer.text());
        Ok(())
    }

    /// Every fault has struck.
    async fn faults_struck(&self) -> Result<()> {
        let told = self.api.get("/_oarlock/faults").await?.json()?;
        for rule in told.get("rules").and_then(Value::as_array).context("rules")? {
            let struck = rule.get("struck").and_then(Value::as_u64).with_context(|| rule.to_string())?;
            ensure!(struck > 0, "{rule}");
        }
        Ok(())
    }
}

fn text<'a>(object: &'a Value, path: &str) -> &'a str {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

fn is_observed(object: &Value) -> bool {
    let generation = object.pointer("/metadata/generation");
    generation.is_some() && object.pointer("/status/observedGeneration") == generation
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "minutes: make test-all"]
async fn an_operator_of_kopf_converges_under_faults() -> Result<()> {
    const GREETINGS: &str = "/apis/example.com/v1/namespaces/default/greetings";
    const MAPS: &str = "/api/v1/namespaces/default/configmaps";
    install_python().await?;
    let here = repository_root().join("tests/clients");
    let world = Foreign::start(&here.join("crd.yaml")).await?;
    world.faults(&[]).await?;
    let operator = here.join("operator.py").display().to_string();
    let args = ["run", "--standalone", "--namespace", "default", &operator];
    let kopf = world.controller(&tools().join("venv/bin/kopf"), &args)?;
    let greeting = |name: &str| json!({"apiVersion": "example.com/v1", "kind": "Greeting", "spec": {"name": name}});
    for i in 0..OBJECTS {
        let mut object = greeting("world");
        object["metadata"] = json!({"name": format!("g-{i}")});
        world.send(Method::POST, GREETINGS, &object).await?;
    }
    let converged = async |name: &str| {
        let found = world.items(GREETINGS).await?;
        let greeted =
            found.iter().filter(|g| text(g, "/status/text") == format!("Hello, {name}!") && is_observed(g)).count();
        ensure!(greeted == found.len(), "{greeted} of {}", found.len());
        let maps = world.items(MAPS).await?;
        let written = maps.iter().filter(|map| text(map, "/data/text") == format!("Hello, {name}!")).count();
        ensure!(written == found.len(), "{written} ConfigMaps of {}", found.len());
        Ok(())
    };
    eventually(CONVERGED, "every greeting", || converged("world")).await.with_context(|| kopf.tail())?;
    for i in 0..OBJECTS {
        let path = format!("{GREETINGS}/g-{i}");
        if i % 2 == 0 {
            world.send(Method::DELETE, &path, &Value::Null).await?;
        } else {
            let header = [("content-type", "application/merge-patch+json")];
            let body = json!({"spec": {"name": "moon"}}).to_string();
            let answer = world.api.send(Method::PATCH, &path, &header, body.into()).await?;
            ensure!(answer.status == 200, "{}", answer.text());
        }
    }
    eventually(CONVERGED, "goodbyes and the other greetings", async || {
        ensure!(world.items(GREETINGS).await?.len() == OBJECTS / 2, "finalizers hold greetings");
        let maps = world.items(MAPS).await?;
        let goodbyes = maps.iter().filter(|map| text(map, "/data/text") == "Goodbye, world.").count();
        ensure!(goodbyes == OBJECTS / 2, "{goodbyes} goodbyes");
        converged("moon").await
    })
    .await
    .with_context(|| kopf.tail())?;
    world.faults_struck().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_controller_of_kube_rs_converges_under_faults() -> Result<()> {
    const NETWORKS: &str = "/apis/samplecrd.k8s.io/v1/namespaces/default/networks";
    let world = Foreign::start(&repository_root().join("plugins/network/crd.yaml")).await?;
    let lost = json!({"id": "lost-answers", "requests": {"user": "controller", "verbs": ["apply"]}, "skip": 5, "times": 3,
        "fault": {"cut": {"afterEffect": true}}});
    world.faults(&[lost]).await?;
    let controller = world.controller(&oarlock_binary()?.with_file_name("native-controller"), &[])?;
    let network = |i: usize, third: usize| {
        json!({"apiVersion": "samplecrd.k8s.io/v1", "kind": "Network", "metadata": {"name": format!("n-{i}")},
            "spec": {"cidr": format!("10.{i}.{third}.0/24"), "gateway": format!("10.{i}.{third}.1")}})
    };
    for i in 0..OBJECTS {
        world.send(Method::POST, NETWORKS, &network(i, 0)).await?;
    }
    let converged = async |third: usize| {
        for found in world.items(NETWORKS).await? {
            let ours = text(&found, "/status/cidr") == text(&found, "/spec/cidr") && is_observed(&found);
            ensure!(ours && text(&found, "/spec/cidr").ends_with(&format!("{third}.0/24")), "{found}");
        }
        Ok(())
    };
    eventually(CONVERGED, "every status", || converged(0)).await.with_context(|| controller.tail())?;
    // The network of an object never changes: another one takes its name.
    for i in 0..OBJECTS {
        world.send(Method::DELETE, &format!("{NETWORKS}/n-{i}"), &Value::Null).await?;
        world.send(Method::POST, NETWORKS, &network(i, 1)).await?;
    }
    eventually(CONVERGED, "every new status", || converged(1)).await.with_context(|| controller.tail())?;
    world.faults_struck().await
}
