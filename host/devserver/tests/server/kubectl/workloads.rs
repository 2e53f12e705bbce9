//! kubectl `scale`, `set`, `rollout`, and verbs that need more than an API server.

use super::Kubectl;

async fn deployment() -> Option<Kubectl> {
    let k = Kubectl::start().await?;
    k.run("create deployment web --image=nginx:1 --replicas=2").await;
    Some(k)
}

#[tokio::test]
async fn scale_sets_replicas_also_to_none() {
    let Some(k) = deployment().await else { return };
    k.prints(&[
        ("scale deployment web --replicas=5", "deployment.apps/web scaled"),
        ("scale deployment web --current-replicas=5 --replicas=0", "deployment.apps/web scaled"),
        ("get deploy web -o jsonpath='{.spec.replicas}'", "0"),
    ])
    .await;
    k.fails(&[
        ("scale deployment web --current-replicas=5 --replicas=1", "error: Expected replicas to be 5, was 0"),
        ("scale deployment none --replicas=1", "error: no objects passed to scale deployments.apps \"none\" not found"),
    ])
    .await;
    k.prints(&[
        ("create deployment none --image=i --replicas=0", "deployment.apps/none created"),
        ("get deploy none -o jsonpath='{.spec.replicas}'", "0"),
    ])
    .await;
}

#[tokio::test]
async fn set_changes_templates_services_and_bindings() {
    let Some(k) = deployment().await else { return };
    k.run("create service clusterip svc --tcp=80").await;
    k.run("create rolebinding b --clusterrole=view --user=a").await;
    let container = "spec.template.spec.containers[0]";
    k.prints(&[
        ("set image deployment/web nginx=nginx:2", "deployment.apps/web image updated"),
        ("set env deployment/web A=b", "deployment.apps/web env updated"),
        ("set resources deployment/web --limits=cpu=200m", "deployment.apps/web resource requirements updated"),
        ("set serviceaccount deployment/web robot", "deployment.apps/web serviceaccount updated"),
        ("set selector service svc x=y", "service/svc selector updated"),
        ("set subject rolebinding b --user=zoe", "rolebinding.rbac.authorization.k8s.io/b subjects updated"),
        (
            &format!(
                "get deploy web -o jsonpath='{{.{container}.image}} {{.{container}.env}} {{.{container}.resources}}'"
            ),
            r#"nginx:2 [{"name":"A","value":"b"}] {"limits":{"cpu":"200m"}}"#,
        ),
        ("get deploy web -o jsonpath='{.spec.template.spec.serviceAccountName} {.metadata.generation}'", "robot 5"),
        ("get svc svc -o jsonpath='{.spec.selector}'", r#"{"x":"y"}"#),
        ("get rolebinding b -o jsonpath='{.subjects[*].name}'", "a zoe"),
    ])
    .await;
}

#[tokio::test]
async fn rollout_reads_what_a_controller_wrote() {
    let Some(k) = deployment().await else { return };
    k.fails(&[("rollout status deploy web --timeout=1s", "error: timed out waiting for the condition")]).await;
    let status = r#"{"status":{"observedGeneration":1,"replicas":2,"updatedReplicas":2,"readyReplicas":2,"availableReplicas":2}}"#;
    k.run(&format!("patch deploy web --subresource=status --type=merge -p '{status}'")).await;
    let uid = k.run("get deploy web -o jsonpath='{.metadata.uid}'").await;
    let set = format!(
        r#"{{"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {{"name": "web-1", "labels": {{"app": "web", "pod-template-hash": "1"}},
            "annotations": {{"deployment.kubernetes.io/revision": "1"}}, "ownerReferences": [{{"apiVersion": "apps/v1", "kind": "Deployment",
            "name": "web", "uid": "{uid}", "controller": true}}]}}, "spec": {{"replicas": 2, "selector": {{"matchLabels": {{"app": "web"}}}},
            "template": {{"metadata": {{"labels": {{"app": "web"}}}}, "spec": {{"containers": [{{"name": "nginx", "image": "nginx:0"}}]}}}}}}}}"#
    );
    k.pipe("create -f -", &set).await;
    k.prints(&[
        ("rollout status deploy web --timeout=5s", "deployment \"web\" successfully rolled out"),
        ("rollout history deploy web", "deployment.apps/web\nREVISION CHANGE-CAUSE\n1 <none>"),
        ("rollout pause deploy web", "deployment.apps/web paused"),
        ("get deploy web -o jsonpath='{.spec.paused}'", "true"),
        ("rollout resume deploy web", "deployment.apps/web resumed"),
        ("rollout restart deploy web", "deployment.apps/web restarted"),
        ("rollout undo deploy web --to-revision=1", "deployment.apps/web rolled back"),
        ("get deploy web -o jsonpath='{.spec.template.spec.containers[0].image}'", "nginx:0"),
    ])
    .await;
}

#[tokio::test]
async fn what_needs_a_kubelet_or_metrics_says_so() {
    let Some(k) = Kubectl::start().await else { return };
    k.run("run p --image=nginx").await;
    k.fails(&[
        ("top nodes", "error: Metrics API not available"),
        ("top pods", "error: Metrics API not available"),
        ("port-forward pod/p 0:80", "error: unable to forward port because pod is not running. Current status=Pending"),
        ("logs p -c q", "error: container q is not valid for pod p"),
        ("exec p -- true", "Error from server (BadRequest): pod p does not have a host assigned"),
    ])
    .await;
    assert_eq!(k.run("logs p").await, "", "a Pod without a node has said nothing yet");
}
