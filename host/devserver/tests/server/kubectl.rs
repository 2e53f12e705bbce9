//! kubectl's everyday verbs: one file per family and one test per verb, with exact comparison of the output.
//!
//! Skipped, with a message, where kubectl is missing.

use std::{path::Path, process::Stdio};

use tokio::process::Command;

use crate::Server;

mod access;
mod apply;
mod create;
mod delete;
mod discover;
mod get;
mod modify;
mod workloads;

/// kubectl with a server and a home of its own; documents are files in its working directory.
struct Kubectl {
    server: Server,
    dir: tempfile::TempDir,
}

impl Kubectl {
    async fn start() -> Option<Self> {
        Self::of(Server::start).await
    }

    async fn of<F: Future<Output = Server>>(start: impl FnOnce() -> F) -> Option<Self> {
        if !Path::new("/usr/bin/kubectl").exists() {
            eprintln!("skipped: there is no /usr/bin/kubectl");
            return None;
        }
        let this = Self { server: start().await, dir: tempfile::tempdir().unwrap() };
        this.file("config", &this.server.running.kubeconfig());
        Some(this)
    }

    fn file(&self, name: &str, text: &str) {
        std::fs::write(self.dir.path().join(name), text).unwrap();
    }

    /// A shell command line without the leading kubectl.
    fn command(&self, line: &str) -> Command {
        let mut command = Command::new("sh");
        // Without a shell in between, the killed process is kubectl.
        let exec = if line.contains('|') { "" } else { "exec " };
        command.args(["-c", &format!("{exec}/usr/bin/kubectl {line}")]).current_dir(self.dir.path());
        command.env("KUBECONFIG", self.dir.path().join("config"));
        command.env("HOME", self.dir.path()).env("KUBE_EDITOR", "sed -i s/before/after/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        command
    }

    /// Runs a command line, with a document on standard input; returns its output or its error, without log lines.
    async fn try_run(&self, line: &str, input: &str) -> Result<String, String> {
        let mut child = self.command(line).spawn().unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).await.unwrap();
        let output = child.wait_with_output().await.unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        if output.status.success() { Ok(text(output.stdout)) } else { Err(unlogged(&text(output.stderr))) }
    }

    async fn run(&self, line: &str) -> String {
        self.pipe(line, "").await
    }

    async fn pipe(&self, line: &str, input: &str) -> String {
        self.try_run(line, input).await.unwrap_or_else(|e| panic!("kubectl {line}: {e}"))
    }

    /// Asserts the exact output of each command; the number of spaces does not count.
    async fn prints(&self, commands: &[(&str, &str)]) {
        for (line, expected) in commands {
            let output = self.run(line).await;
            assert_eq!(words(&output), words(expected), "kubectl {line} printed\n{output}");
        }
    }

    /// Asserts that a command fails with exactly this message.
    async fn fails(&self, commands: &[(&str, &str)]) {
        for (line, expected) in commands {
            match self.try_run(line, "").await {
                Ok(output) => panic!("kubectl {line} went well:\n{output}"),
                Err(error) => assert_eq!(words(&error), words(expected), "kubectl {line} said\n{error}"),
            }
        }
    }
}

/// kubectl's error without the log lines of its libraries, which depend on timing.
fn unlogged(text: &str) -> String {
    let is_log = |line: &str| {
        let date = line.strip_prefix(['I', 'W', 'E']).and_then(|rest| rest.split(' ').next());
        date.is_some_and(|date| date.len() == 4 && date.bytes().all(|b| b.is_ascii_digit()))
    };
    text.split_inclusive('\n').filter(|line| !is_log(line)).collect()
}

/// The lines of a text with single spaces, and ages of some seconds as `<age>`.
fn words(text: &str) -> Vec<String> {
    let is_age =
        |word: &str| word.strip_suffix('s').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    let word = |word| if is_age(word) { "<age>" } else { word };
    let lines = text.lines().map(|line| line.split_whitespace().map(word).collect::<Vec<_>>().join(" "));
    lines.filter(|line| !line.is_empty()).collect()
}

const DEPLOYMENT: &str = r#"{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": 2,
    "selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "c", "image": "before:1"}]}}}}"#;

#[tokio::test]
async fn custom_resources_are_first_class() {
    let Some(k) = Kubectl::start().await else { return };
    let crd = r#"{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "nets.x.io"},
        "spec": {"group": "x.io", "scope": "Namespaced", "names": {"plural": "nets", "kind": "Net", "shortNames": ["nt"]},
        "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
            "additionalPrinterColumns": [{"name": "CIDR", "type": "string", "jsonPath": ".spec.cidr"}],
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": {"type": "object", "properties": {"cidr": {"type": "string", "description": "the range"}}},
                "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}}]}}"#;
    k.pipe("apply -f -", crd).await;
    k.run("wait --for=condition=Established crd/nets.x.io --timeout=10s").await;
    let net = r#"{"apiVersion": "x.io/v1", "kind": "Net", "metadata": {"name": "n"}, "spec": {"cidr": "before"}}"#;
    assert_eq!(k.pipe("apply -f -", net).await, "net.x.io/n created\n");
    assert!(k.run("get nt").await.contains("before"));
    assert!(k.run("explain net.spec.cidr").await.contains("the range"));
    k.prints(&[
        (
            "explain net.spec",
            "GROUP: x.io\nKIND: Net\nVERSION: v1\nFIELD: spec <Object>\nDESCRIPTION:\n<empty>\nFIELDS:\ncidr <string>\nthe range",
        ),
        ("explain net --recursive | tail -n 5", "uid <string>\nspec <Object>\ncidr <string>\nstatus <Object>"),
    ])
    .await;
    k.run("edit net n").await;
    k.run(r#"patch net n --type=merge --subresource=status -p '{"status":{"conditions":[{"type":"Ready","status":"True"}]}}'"#).await;
    k.run("wait --for=condition=Ready net/n --timeout=10s").await;
    assert!(k.run("describe net n").await.contains("after"));
    let wrong = net.replace("cidr", "cdr");
    assert!(k.try_run("apply -f -", &wrong).await.unwrap_err().contains("unknown field"));
    k.run("delete crd nets.x.io").await;
    assert!(k.try_run("get nets", "").await.is_err());
}

#[tokio::test]
async fn users_of_kubectl_are_held_to_rbac() {
    let Some(k) = Kubectl::start().await else { return };
    let binding = r#"{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "b"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "ServiceAccount", "name": "robot", "namespace": "default"}]}"#;
    k.pipe("apply -f -", binding).await;
    k.pipe("apply -f -", DEPLOYMENT).await;
    let robot = "--as=system:serviceaccount:default:robot";
    assert!(k.run(&format!("get deploy {robot}")).await.contains("web"));
    let refused = k.try_run(&format!("get deploy {robot} -n kube-system"), "").await.unwrap_err();
    assert_eq!(
        refused,
        "Error from server (Forbidden): deployments.apps is forbidden: User \"system:serviceaccount:default:robot\" cannot \
         list resource \"deployments\" in API group \"apps\" in the namespace \"kube-system\"\n"
    );
    let refused = k.try_run(&format!("delete deploy web {robot}"), "").await.unwrap_err();
    assert!(refused.contains("cannot delete resource \"deployments\""), "{refused}");
    let edited = DEPLOYMENT.replace("before", "other");
    assert!(
        k.try_run(&format!("apply --server-side -f - {robot}"), &edited).await.unwrap_err().contains("cannot patch")
    );
    assert!(
        k.pipe(&format!("apply --server-side --force-conflicts -f - {robot} --as-group=system:masters"), &edited)
            .await
            .contains("applied")
    );
}
