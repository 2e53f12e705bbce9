//! kubectl's everyday verbs. Skipped, with a line that says so, where there is no kubectl.

use std::{path::Path, process::Stdio};

use tokio::process::Command;

use crate::Server;

struct Kubectl {
    server: Server,
    dir: tempfile::TempDir,
}

impl Kubectl {
    async fn start() -> Option<Self> {
        if !Path::new("/usr/bin/kubectl").exists() {
            eprintln!("skipped: there is no /usr/bin/kubectl");
            return None;
        }
        let this = Self { server: Server::start().await, dir: tempfile::tempdir().unwrap() };
        std::fs::write(this.dir.path().join("config"), this.server.running.kubeconfig()).unwrap();
        Some(this)
    }

    /// Runs a command line, with a document on standard input; its output or its complaint.
    async fn try_run(&self, line: &str, input: &str) -> Result<String, String> {
        let mut command = Command::new("/usr/bin/kubectl");
        command.args(line.split_whitespace()).env("KUBECONFIG", self.dir.path().join("config"));
        command.env("HOME", self.dir.path()).env("KUBE_EDITOR", "sed -i s/before/after/");
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = pipes.spawn().unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).await.unwrap();
        let output = child.wait_with_output().await.unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
    }

    async fn run(&self, line: &str) -> String {
        self.try_run(line, "").await.unwrap_or_else(|e| panic!("kubectl {line}: {e}"))
    }

    async fn pipe(&self, line: &str, input: &str) -> String {
        self.try_run(line, input).await.unwrap_or_else(|e| panic!("kubectl {line}: {e}"))
    }
}

const DEPLOYMENT: &str = r#"{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": 2,
    "selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "c", "image": "before:1"}]}}}}"#;

#[tokio::test]
async fn everyday_verbs_work() {
    let Some(k) = Kubectl::start().await else { return };
    assert!(k.run("version").await.contains("Server Version: v1.36"));
    assert!(k.run("api-resources").await.contains("deployments"));
    assert_eq!(k.pipe("apply -f -", DEPLOYMENT).await, "deployment.apps/web created\n");
    assert_eq!(k.pipe("apply -f -", DEPLOYMENT).await, "deployment.apps/web unchanged\n");
    let changed = DEPLOYMENT.replace("\"replicas\": 2", "\"replicas\": 3");
    assert_eq!(k.pipe("apply -f -", &changed).await, "deployment.apps/web configured\n");
    assert_eq!(k.pipe("apply --server-side -f -", &changed).await, "deployment.apps/web serverside-applied\n");
    assert_eq!(k.run("edit deployment web").await, "deployment.apps/web edited\n");
    assert_eq!(k.run("get deploy web -o jsonpath={.spec.template.spec.containers[0].image}").await, "after:1");
    assert!(k.run("get deploy").await.contains("0/3"));
    k.run("scale deploy web --replicas=5").await;
    k.run("label deploy web a=b").await;
    assert!(k.run("describe deploy web").await.contains("5 desired"));
    k.run("expose deploy web --port=80").await;
    assert!(k.run("get svc -l a=b").await.contains("80/TCP"));
    assert!(k.run("delete deploy web --wait").await.contains("deleted"));
    assert!(k.try_run("get deploy web", "").await.unwrap_err().contains("NotFound"));
}

#[tokio::test]
async fn things_created_from_files_arrive() {
    let Some(k) = Kubectl::start().await else { return };
    let object = |kind: &str, more: &str| {
        format!("{{\"apiVersion\": \"v1\", \"kind\": \"{kind}\", \"metadata\": {{\"name\": \"n\"}}{more}}}")
    };
    k.pipe("create -f -", &object("Namespace", "")).await;
    k.pipe("create -n n -f -", &object("ConfigMap", ", \"data\": {\"a\": \"b\"}")).await;
    assert_eq!(k.run("get cm n -n n -o jsonpath={.data.a}").await, "b");
    k.pipe("create -n n -f -", &object("Secret", ", \"stringData\": {\"a\": \"b\"}")).await;
    assert_eq!(k.run("get secret n -n n -o jsonpath={.data.a}").await, "Yg==");
    // The generators of `kubectl create` send protobuf, which is not understood: told so, and nothing is made.
    let refused = k.try_run("create configmap c -n n --from-literal=a=b", "").await.unwrap_err();
    assert!(refused.contains("application/json"), "{refused}");
    assert!(k.try_run("get cm c -n n", "").await.is_err());
    k.run("delete namespace n").await;
    assert!(k.try_run("get namespace n", "").await.is_err());
}

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
    k.run("edit net n").await;
    k.run(r#"patch net n --type=merge --subresource=status -p {"status":{"conditions":[{"type":"Ready","status":"True"}]}}"#).await;
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
