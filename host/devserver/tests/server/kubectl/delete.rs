//! kubectl `delete` and `wait`.

use super::Kubectl;

/// A ReplicaSet that owns a ConfigMap.
async fn owner() -> Option<Kubectl> {
    let k = Kubectl::start().await?;
    make_owner(&k).await;
    Some(k)
}

async fn make_owner(k: &Kubectl) {
    k.run("create configmap owner").await;
    let uid = k.run("get cm owner -o jsonpath='{.metadata.uid}'").await;
    let owned = format!(
        r#"{{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {{"name": "owned", "ownerReferences": [{{"apiVersion": "v1",
            "kind": "ConfigMap", "name": "owner", "uid": "{uid}", "blockOwnerDeletion": true}}]}}}}"#
    );
    k.pipe("create -f -", &owned).await;
}

#[tokio::test]
async fn delete_cascades_as_it_is_told() {
    let Some(k) = owner().await else { return };
    k.prints(&[
        ("delete cm owner --cascade=orphan", "configmap \"owner\" deleted"),
        ("get cm -o name", "configmap/owned"),
        ("get cm owned -o jsonpath='{.metadata.ownerReferences}'", ""),
        ("delete cm owned", "configmap \"owned\" deleted"),
    ])
    .await;
    make_owner(&k).await;
    // With foreground deletion the dependents are gone before the owner.
    k.prints(&[("delete cm owner --cascade=foreground", "configmap \"owner\" deleted"), ("get cm -o name", "")]).await;
    make_owner(&k).await;
    k.prints(&[
        ("delete cm owner --cascade=background", "configmap \"owner\" deleted"),
        ("wait cm/owned --for=delete --timeout=20s | grep -v condition || true", ""),
        ("get cm -o name", ""),
    ])
    .await;
}

#[tokio::test]
async fn delete_takes_selectors_files_and_all() {
    let Some(k) = Kubectl::start().await else { return };
    k.file("c.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n");
    for name in ["a", "b", "c", "d"] {
        k.run(&format!("create configmap {name}")).await;
    }
    k.run("label cm a x=y").await;
    k.prints(&[
        ("delete cm a --dry-run=server", "configmap \"a\" deleted (server dry run)"),
        ("delete cm -l x=y", "configmap \"a\" deleted"),
        ("delete -f c.yaml -o name", "configmap/c"),
        ("delete cm c --ignore-not-found", ""),
        ("delete cm --field-selector metadata.name=b", "configmap \"b\" deleted"),
        ("delete cm --all", "configmap \"d\" deleted"),
        ("get cm -o name", ""),
    ])
    .await;
    k.fails(&[("delete cm a", "Error from server (NotFound): configmaps \"a\" not found")]).await;
    k.run("create namespace n").await;
    k.run("create configmap c -n n").await;
    k.prints(&[("delete namespace n --wait", "namespace \"n\" deleted"), ("get ns n --ignore-not-found", "")]).await;
}

#[tokio::test]
async fn delete_waits_for_finalizers_unless_told_otherwise() {
    let Some(k) = Kubectl::start().await else { return };
    k.run("create configmap c").await;
    k.run(r#"patch cm c --type=merge -p '{"metadata":{"finalizers":["x.io/hold"]}}'"#).await;
    k.fails(&[("delete cm c --timeout=2s", "error: timed out waiting for the condition on configmaps/c")]).await;
    k.prints(&[
        ("delete cm c --wait=false", "configmap \"c\" deleted"),
        ("get cm c -o jsonpath='{.metadata.finalizers}'", r#"["x.io/hold"]"#),
        (r#"patch cm c --type=merge -p '{"metadata":{"finalizers":null}}'"#, "configmap/c patched"),
        ("get cm -o name", ""),
    ])
    .await;
}

#[tokio::test]
async fn a_pod_gets_its_grace_period_or_none() {
    let Some(k) = Kubectl::start().await else { return };
    k.pipe("create -f -", r#"{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}"#).await;
    let pod = |name: &str| {
        format!(
            r#"{{"apiVersion": "v1", "kind": "Pod", "metadata": {{"name": "{name}"}}, "spec": {{"nodeName": "n", "containers":
            [{{"name": "c", "image": "i"}}]}}}}"#
        )
    };
    k.pipe("create -f -", &pod("a")).await;
    k.prints(&[
        ("delete pod a --wait=false", "pod \"a\" deleted"),
        // No kubelet runs it: it stays until it is deleted without a grace period.
        ("get pod a -o jsonpath='{.metadata.deletionGracePeriodSeconds}'", "30"),
        ("delete pod a --grace-period=5 --wait=false", "pod \"a\" deleted"),
        ("get pod a -o jsonpath='{.metadata.deletionGracePeriodSeconds}'", "5"),
        ("delete pod a --grace-period=0 --force", "pod \"a\" force deleted"),
        ("get pod -o name", ""),
    ])
    .await;
    k.pipe("create -f -", &pod("b")).await;
    k.prints(&[
        ("delete pod b --now --wait=false", "pod \"b\" deleted"),
        ("get pod b -o jsonpath='{.metadata.deletionGracePeriodSeconds}'", "1"),
    ])
    .await;
}

#[tokio::test]
async fn wait_sees_conditions_values_creation_and_deletion() {
    let Some(k) = Kubectl::start().await else { return };
    k.run("create deployment web --image=nginx").await;
    let deadline = "--timeout=20s";
    let condition = format!("wait deploy/web --for=condition=Available {deadline}");
    let value = format!("wait deploy/web --for=jsonpath='{{.status.readyReplicas}}'=1 {deadline}");
    let creation = format!("wait cm/late --for=create {deadline}");
    let deletion = format!("wait deploy/web --for=delete {deadline}");
    let act = async {
        k.run(r#"patch deploy web --subresource=status --type=merge -p '{"status":{"replicas":1,"readyReplicas":1,"conditions":[{"type":"Available","status":"True"}]}}'"#).await;
        k.run("create configmap late").await;
    };
    let (a, b, c, ()) = tokio::join!(k.run(&condition), k.run(&value), k.run(&creation), act);
    assert_eq!(
        [a, b, c].map(|t| t.trim().to_owned()),
        ["deployment.apps/web condition met", "deployment.apps/web condition met", "configmap/late condition met"]
    );
    let (gone, _) = tokio::join!(k.run(&deletion), k.run("delete deploy web"));
    assert!(["", "deployment.apps/web condition met"].contains(&gone.trim()), "{gone}");
    k.fails(&[
        (
            "wait cm/late --for=jsonpath='{.data.a}'=b --timeout=1s",
            "error: timed out waiting for the condition on configmaps/late",
        ),
        (
            "wait cm/none --for=condition=Ready --timeout=1s",
            "Error from server (NotFound): configmaps \"none\" not found",
        ),
    ])
    .await;
}
