//! kubectl `replace`, `edit`, `patch`, `label`, `annotate`, `taint`, `cordon`.

use super::Kubectl;

async fn config_map() -> Option<Kubectl> {
    let k = Kubectl::start().await?;
    k.run("create configmap c --from-literal=a=before").await;
    Some(k)
}

#[tokio::test]
async fn replace_updates_or_makes_anew() {
    let Some(k) = config_map().await else { return };
    k.file("c.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {b: c}\n");
    let uid = k.run("get cm c -o jsonpath='{.metadata.uid}'").await;
    k.prints(&[
        ("replace -f c.yaml", "configmap/c replaced"),
        ("get cm c -o jsonpath='{.data}'", r#"{"b":"c"}"#),
        ("get cm c -o jsonpath='{.metadata.uid}'", &uid),
        ("replace --force -f c.yaml", "configmap \"c\" deleted\nconfigmap/c replaced"),
    ])
    .await;
    assert_ne!(k.run("get cm c -o jsonpath='{.metadata.uid}'").await, uid);
    k.file("old.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, resourceVersion: '1'}\n");
    k.file("none.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: none}\n");
    k.fails(&[
        (
            "replace -f old.yaml",
            "Error from server (Conflict): error when replacing \"old.yaml\": Operation cannot be fulfilled on configmaps \"c\": the object \
             has been modified; please apply your changes to the latest version and try again",
        ),
        ("replace -f none.yaml", "Error from server (NotFound): error when replacing \"none.yaml\": configmaps \"none\" not found"),
    ])
    .await;
}

#[tokio::test]
async fn edit_sends_what_the_editor_changed() {
    let Some(k) = config_map().await else { return };
    k.prints(&[
        ("edit cm c", "configmap/c edited"),
        ("get cm c -o jsonpath='{.data.a}'", "after"),
        ("edit cm c 2>&1", "Edit cancelled, no changes made."),
    ])
    .await;
}

#[tokio::test]
async fn patch_knows_four_types_and_subresources() {
    let Some(k) = config_map().await else { return };
    k.run("create deployment web --image=nginx:1").await;
    k.prints(&[
        (r#"patch cm c --type=merge -p '{"data":{"b":"1"}}'"#, "configmap/c patched"),
        (r#"patch cm c --type=merge -p '{"data":{"b":"1"}}'"#, "configmap/c patched (no change)"),
        (r#"patch cm c --type=json -p '[{"op":"replace","path":"/data/b","value":"2"}]'"#, "configmap/c patched"),
        ("get cm c -o jsonpath='{.data}'", r#"{"a":"before","b":"2"}"#),
        (r#"patch deploy web -p '{"spec":{"template":{"spec":{"containers":[{"name":"nginx","image":"nginx:2"}]}}}}'"#,
            "deployment.apps/web patched"),
        ("get deploy web -o jsonpath='{.spec.template.spec.containers[*].image}'", "nginx:2"),
        (r#"patch deploy web --subresource=status --type=merge -p '{"status":{"readyReplicas":1,"replicas":1}}'"#,
            "deployment.apps/web patched"),
        (r#"patch deploy web --subresource=scale --type=merge -p '{"spec":{"replicas":4}}'"#, "scale.autoscaling/web patched"),
        ("get deploy web -o jsonpath='{.spec.replicas} {.status.readyReplicas}'", "4 1"),
        ("get deploy web --subresource=scale -o jsonpath='{.kind} {.spec.replicas}'", "Scale 4"),
        (r#"patch cm c --type=merge -p '{"data":null}' --dry-run=server"#, "configmap/c patched"),
        ("get cm c -o jsonpath='{.data.a}'", "before"),
    ])
    .await;
    k.fails(&[
        (r#"patch cm c --type=json -p '[{"op":"test","path":"/data/b","value":"x"}]'"#,
            "The request is invalid: the server rejected our request due to an error in our request"),
        (r#"patch cm none --type=merge -p '{}'"#, "Error from server (NotFound): configmaps \"none\" not found"),
        (r#"patch deploy web -p '{"spec":{"replicas":"x"}}'"#,
            "The request is invalid: patch: Invalid value: \"map[spec:map[replicas:x]]\": unrecognized type: int32"),
        (r#"patch deploy web -p '{"spec":{"selector":{"matchLabels":{"app":"x"}}}}'"#,
            "The Deployment \"web\" is invalid:\n\
             * spec.template.metadata.labels: Invalid value: {\"app\":\"web\"}: `selector` does not match template `labels`\n\
             * spec.selector: Invalid value: {\"matchLabels\":{\"app\":\"x\"}}: field is immutable"),
    ])
    .await;
}

#[tokio::test]
async fn label_and_annotate_set_overwrite_and_remove() {
    let Some(k) = config_map().await else { return };
    k.prints(&[
        ("label cm c tier=front env=x", "configmap/c labeled"),
        ("label cm c tier=front", "configmap/c not labeled"),
        ("label cm c tier=back --overwrite", "configmap/c labeled"),
        ("label cm c env-", "configmap/c unlabeled"),
        ("label cm --all x=y", "configmap/c labeled"),
        ("label cm c --list | sort", "tier=back\nx=y"),
        ("get cm c -o jsonpath='{.metadata.labels}'", r#"{"tier":"back","x":"y"}"#),
        ("annotate cm c note='two words'", "configmap/c annotated"),
        ("annotate cm -l x=y more=1", "configmap/c annotated"),
        ("annotate cm c more-", "configmap/c annotated"),
        ("get cm c -o jsonpath='{.metadata.annotations}'", r#"{"note":"two words"}"#),
    ])
    .await;
    k.fails(&[("label cm c tier=other", "error: 'tier' already has a value (back), and --overwrite is false")]).await;
}

#[tokio::test]
async fn nodes_are_tainted_cordoned_and_drained() {
    let Some(k) = Kubectl::start().await else { return };
    k.pipe("create -f -", r#"{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}"#).await;
    k.prints(&[
        ("taint node n a=b:NoSchedule", "node/n tainted"),
        ("get node n -o jsonpath='{.spec.taints}'", r#"[{"effect":"NoSchedule","key":"a","value":"b"},{"effect":"NoSchedule","key":"node.kubernetes.io/not-ready"}]"#),
        ("taint node n a=b:NoSchedule-", "node/n untainted"),
        ("cordon n", "node/n cordoned"),
        ("get node n --no-headers", "n Unknown,SchedulingDisabled <none> <age>"),
        ("cordon n", "node/n already cordoned"),
        ("drain n", "node/n already cordoned\nnode/n drained"),
        ("uncordon n", "node/n uncordoned"),
        ("get node n -o jsonpath='{.spec}'", r#"{"taints":[{"effect":"NoSchedule","key":"node.kubernetes.io/not-ready"}]}"#),
    ])
    .await;
}
