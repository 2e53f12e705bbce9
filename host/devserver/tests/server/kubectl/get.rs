//! kubectl `get` in its forms, `describe`, `events`, `get --raw`.

use tokio::io::{AsyncBufReadExt as _, BufReader};

use super::Kubectl;

async fn two_namespaces() -> Option<Kubectl> {
    let k = Kubectl::start().await?;
    for line in [
        "create namespace n",
        "create configmap b --from-literal=k=1",
        "create configmap a --from-literal=k=2 --from-literal=l=3",
        "create configmap c -n n",
        "label configmap a tier=front",
        "label configmap b tier=back",
        "run p --image=nginx:1",
        "run q --image=nginx:2",
    ] {
        k.run(line).await;
    }
    Some(k)
}

#[tokio::test]
async fn get_prints_tables() {
    let Some(k) = two_namespaces().await else { return };
    let node = "<none> <none> <none> <none>";
    k.prints(&[
        ("get cm --no-headers -o custom-columns=N:.metadata.name,D:.data.k", "a 2\nb 1"),
        ("get cm a -L tier --no-headers -o name", "configmap/a"),
        ("get cm,pod -o name", "configmap/a\nconfigmap/b\npod/p\npod/q"),
        ("get cm -A -o name -l tier", "configmap/a\nconfigmap/b"),
        ("get cm --sort-by=.data.k -o name", "configmap/b\nconfigmap/a"),
        ("get cm -l tier=front -o name", "configmap/a"),
        ("get cm -l 'tier in (back,none)' -o name", "configmap/b"),
        ("get cm -l tier!=front -o name", "configmap/b"),
        ("get cm --field-selector metadata.name=b -o name", "configmap/b"),
        ("get pod --field-selector status.phase=Running -o name", ""),
        ("get pod --field-selector status.phase!=Running -o name", "pod/p\npod/q"),
        ("get cm -A --field-selector metadata.namespace=n -o name", "configmap/c"),
        ("get cm nothing --ignore-not-found", ""),
        ("get cm --chunk-size=1 -o name", "configmap/a\nconfigmap/b"),
    ])
    .await;
    let wide = k.run("get pod p -o wide").await;
    let (head, row) = wide.split_once('\n').unwrap();
    assert_eq!(super::words(head), ["NAME READY STATUS RESTARTS AGE IP NODE NOMINATED NODE READINESS GATES"]);
    assert!(super::words(row)[0].ends_with(node), "{row}");
    assert!(k.run("get cm -A").await.starts_with("NAMESPACE"));
    assert!(k.run("get cm --show-labels").await.contains("tier=front"));
}

#[tokio::test]
async fn kinds_have_their_own_columns() {
    let Some(k) = Kubectl::start().await else { return };
    k.pipe("create -f -", r#"{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {"node-role.kubernetes.io/edge": ""}},
        "status": {"nodeInfo": {"kubeletVersion": "v1.36.0"}, "conditions": [{"type": "Ready", "status": "True"}]}}"#).await;
    k.pipe("create -f -", r#"{"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "x.io/p"}"#).await;
    k.pipe(
        "create -f -",
        r#"{"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "np"},
        "spec": {"podSelector": {"matchLabels": {"a": "b"}}}}"#,
    )
    .await;
    k.run("create poddisruptionbudget p --selector=a=b --min-available=50%").await;
    k.run("create priorityclass high --value=1000").await;
    k.run("create quota q --hard=pods=3,limits.cpu=2").await;
    k.run(r#"patch quota q --subresource=status --type=merge -p '{"status":{"hard":{"pods":"3","limits.cpu":"2"},"used":{"pods":"1"}}}'"#).await;
    k.prints(&[
        ("get node n", "NAME STATUS ROLES AGE VERSION\nn Ready edge <age> v1.36.0"),
        ("get sc fast", "NAME PROVISIONER RECLAIMPOLICY VOLUMEBINDINGMODE ALLOWVOLUMEEXPANSION AGE\nfast x.io/p Delete Immediate false <age>"),
        ("get netpol np", "NAME POD-SELECTOR AGE\nnp a=b <age>"),
        ("get pdb", "NAME MIN AVAILABLE MAX UNAVAILABLE ALLOWED DISRUPTIONS AGE\np 50% N/A 0 <age>"),
        ("get priorityclass high", "NAME VALUE GLOBAL-DEFAULT AGE PREEMPTIONPOLICY\nhigh 1000 false <age> PreemptLowerPriority"),
        ("get quota", "NAME REQUEST LIMIT AGE\nq pods: 1/3 limits.cpu: 0/2 <age>"),
    ])
    .await;
}

#[tokio::test]
async fn get_prints_documents() {
    let Some(k) = two_namespaces().await else { return };
    k.prints(&[
        ("get cm a -o jsonpath='{.kind}/{.apiVersion} {.metadata.namespace} {.data.k}'", "ConfigMap/v1 default 2"),
        ("get cm -o jsonpath='{range .items[*]}{.metadata.name}={.data.k} {end}'", "a=2 b=1"),
        ("get cm -o go-template='{{range .items}}{{.metadata.name}} {{end}}'", "a b"),
        ("get cm a b -o jsonpath='{.kind} {.items[1].metadata.name}'", "List b"),
        ("get pod -o custom-columns=IMAGE:.spec.containers[*].image", "IMAGE\nnginx:1\nnginx:2"),
    ])
    .await;
    let yaml = k.run("get cm a -o yaml").await;
    assert!(yaml.starts_with("apiVersion: v1\ndata:\n  k: \"2\"\n  l: \"3\"\nkind: ConfigMap\nmetadata:\n"), "{yaml}");
    assert!(!yaml.contains("managedFields"), "{yaml}");
    assert!(k.run("get cm a -o yaml --show-managed-fields").await.contains("manager: kubectl-create"));
    let json: serde_json::Value = serde_json::from_str(&k.run("get cm -o json").await).unwrap();
    assert_eq!(json["kind"], "List");
    assert_eq!(json["items"][0]["metadata"]["name"], "a");
}

#[tokio::test]
async fn get_says_what_it_does_not_find() {
    let Some(k) = Kubectl::start().await else { return };
    k.fails(&[
        ("get cm x", "Error from server (NotFound): configmaps \"x\" not found"),
        ("get cm x -n nowhere", "Error from server (NotFound): namespaces \"nowhere\" not found"),
        ("get chairs", "error: the server doesn't have a resource type \"chairs\""),
        ("get cm -l 'a=='b==c", "Error from server (BadRequest): Unable to find \"/v1, Resource=configmaps\" that match label selector \"a==b==c\", \
          field selector \"\": found '==', expected: ',' or 'end of string'"),
        ("get pod --field-selector spec.chair=1", "Error from server (BadRequest): Unable to find \"/v1, Resource=pods\" that match label selector \"\", \
          field selector \"spec.chair=1\": field label not supported: spec.chair"),
    ])
    .await;
    k.prints(&[("get cm -n nowhere", "")]).await;
}

#[tokio::test]
async fn get_watches() {
    let Some(k) = Kubectl::start().await else { return };
    k.run("create configmap a").await;
    let mut child = k.command("get cm -w -o name").spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = async || super::words(&lines.next_line().await.unwrap().unwrap()).concat();
    assert_eq!(next().await, "configmap/a");
    k.run("create configmap b").await;
    assert_eq!(next().await, "configmap/b");
    k.run("label configmap b a=b").await;
    assert_eq!(next().await, "configmap/b");
    k.run("delete configmap a").await;
    assert_eq!(next().await, "configmap/a");
    child.kill().await.unwrap();
}

#[tokio::test]
async fn describe_shows_the_parts_of_an_object() {
    let Some(k) = Kubectl::start().await else { return };
    for line in [
        "create deployment web --image=nginx:1 --replicas=2 --port=80",
        "expose deployment web --port=80",
        "create configmap c --from-literal=key=value",
        "create secret generic s --from-literal=key=value",
        "create quota q --hard=pods=3",
        "create poddisruptionbudget p --selector=app=web --max-unavailable=1",
        "create role r --verb=get --resource=pods",
        "run p --image=nginx",
        "autoscale deployment web --max=5 --cpu-percent=80",
    ] {
        k.run(line).await;
    }
    for (what, parts) in [
        (
            "deploy web",
            &["Replicas: 2 desired | 0 updated", "StrategyType: RollingUpdate", "Image: nginx:1", "Selector: app=web"]
                [..],
        ),
        ("svc web", &["Selector: app=web", "Port: <unset> 80/TCP", "TargetPort: 80/TCP", "Type: ClusterIP"]),
        ("cm c", &["key:", "value"]),
        ("secret s", &["Type: Opaque", "key: 5 bytes"]),
        ("pdb p", &["Max unavailable: 1", "Selector: app=web"]),
        ("role r", &["pods [] [] [get]"]),
        ("pod p", &["Status: Pending", "Service Account: default", "QoS Class: BestEffort"]),
        ("hpa web", &["Reference: Deployment/web", "Max replicas: 5"]),
        ("ns default", &["Status: Active", "Name: q"]),
        ("sa default", &["Name: default"]),
    ] {
        let shown = super::words(&k.run(&format!("describe {what}")).await);
        for part in parts {
            assert!(shown.iter().any(|line| line.starts_with(part)), "describe {what}: no {part:?} in\n{shown:#?}");
        }
    }
}

const EVENT: &str = r#"{"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "default"}, "type": "Warning",
    "reason": "Failed", "message": "it broke", "lastTimestamp": "2026-01-01T00:00:00Z",
    "involvedObject": {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "namespace": "default"}}"#;

#[tokio::test]
async fn events_are_listed_for_an_object() {
    let Some(k) = Kubectl::start().await else { return };
    k.run("create configmap c").await;
    k.pipe("create -f -", EVENT).await;
    let listed = k.run("events --for configmap/c --no-headers").await;
    assert!(super::words(&listed)[0].ends_with("Warning Failed ConfigMap/c it broke"), "{listed}");
    k.prints(&[
        ("get events --field-selector involvedObject.name=c -o jsonpath='{.items[*].reason}'", "Failed"),
        ("get events --field-selector reason=Other -o name", ""),
    ])
    .await;
}

#[tokio::test]
async fn get_raw_answers_paths() {
    let Some(k) = Kubectl::start().await else { return };
    k.run("create configmap c --from-literal=a=b").await;
    k.prints(&[("get --raw /healthz", "ok"), ("get --raw /readyz", "ok")]).await;
    let raw: serde_json::Value =
        serde_json::from_str(&k.run("get --raw /api/v1/namespaces/default/configmaps/c").await).unwrap();
    assert_eq!(raw["data"]["a"], "b");
    k.fails(&[(
        "get --raw /nowhere",
        "Error from server (NotFound): the server could not find the requested resource",
    )])
    .await;
}
