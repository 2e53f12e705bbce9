//! kubectl `api-resources`, `api-versions`, `explain`, `version`, `cluster-info`, `config`.

use super::Kubectl;

#[tokio::test]
async fn api_resources_lists_kinds_with_their_short_names() {
    let Some(k) = Kubectl::start().await else { return };
    k.prints(&[
        ("api-resources --api-group=batch", "NAME SHORTNAMES APIVERSION NAMESPACED KIND\ncronjobs cj batch/v1 true CronJob\njobs batch/v1 true Job"),
        ("api-resources --api-group=apps --namespaced=false -o name", ""),
        ("api-resources --categories=all -o name | head -n 3", "pods\nreplicationcontrollers\nservices"),
        ("api-resources --api-group=policy -o wide --no-headers",
            "poddisruptionbudgets pdb policy/v1 true PodDisruptionBudget create,delete,deletecollection,get,list,patch,update,watch"),
    ])
    .await;
    let versions = k.run("api-versions").await;
    for version in ["v1", "apps/v1", "autoscaling/v2", "rbac.authorization.k8s.io/v1"] {
        assert!(versions.lines().any(|l| l == version), "{versions}");
    }
}

#[tokio::test]
async fn version_cluster_info_and_config_answer() {
    let Some(k) = Kubectl::start().await else { return };
    let version: serde_json::Value = serde_json::from_str(&k.run("version -o json").await).unwrap();
    assert_eq!(version["serverVersion"]["minor"], "36");
    let info = k.run("cluster-info").await;
    assert!(info.contains(&k.server.running.url()), "{info}");
    k.prints(&[
        ("config current-context", "oarlock"),
        ("config view -o jsonpath='{.clusters[0].cluster.server}'", &k.server.running.url()),
        ("config set-context --current --namespace=kube-system", "Context \"oarlock\" modified."),
        ("get sa -o name --field-selector metadata.name=none", ""),
    ])
    .await;
}
