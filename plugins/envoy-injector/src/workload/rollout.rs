//! Rollout status of a workload.

use serde_json::Value;

/// Whether the workload's last change has rolled out. Workloads that do not roll out by themselves are done at once: a paused Deployment,
/// the update strategy `OnDelete`.
///
/// # Source
///
/// kubectl `pkg/polymorphichelpers/rollout_status.go`.
pub(super) fn done(kind: &str, workload: &Value) -> bool {
    let number = |pointer: &str| workload.pointer(pointer).and_then(Value::as_i64);
    let status = |field: &str| number(&format!("/status/{field}")).unwrap_or(0);
    if status("observedGeneration") < number("/metadata/generation").unwrap_or(0) {
        return false;
    }
    let on_delete = workload.pointer("/spec/updateStrategy/type").is_some_and(|strategy| strategy == "OnDelete");
    let replicas = number("/spec/replicas").unwrap_or(1);
    match kind {
        "Deployment" => {
            let paused = workload.pointer("/spec/paused") == Some(&Value::Bool(true));
            let updated = status("updatedReplicas");
            paused || (updated >= replicas && status("replicas") <= updated && status("availableReplicas") >= updated)
        }
        "StatefulSet" => {
            let kept = number("/spec/updateStrategy/rollingUpdate/partition").unwrap_or(0);
            on_delete || (status("updatedReplicas") >= replicas - kept && status("readyReplicas") >= replicas)
        }
        _ => {
            let nodes = status("desiredNumberScheduled");
            on_delete || (status("updatedNumberScheduled") >= nodes && status("numberAvailable") >= nodes)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::done;
    use serde_json::{Value, json};

    fn workload(spec: &Value, status: &Value) -> Value {
        json!({"metadata": {"generation": 2}, "spec": spec, "status": status})
    }

    #[test]
    fn a_workload_has_rolled_out_when_every_pod_is_new_and_there() {
        let deployment = |observed: i64, updated: i64, all: i64, available: i64| json!({"observedGeneration": observed, "updatedReplicas": updated, "replicas": all, "availableReplicas": available});
        for (kind, spec, status, expected) in [
            ("Deployment", json!({"replicas": 2}), deployment(2, 2, 2, 2), true),
            ("Deployment", json!({"replicas": 2}), deployment(1, 2, 2, 2), false),
            ("Deployment", json!({"replicas": 2}), deployment(2, 1, 2, 2), false),
            ("Deployment", json!({"replicas": 2}), deployment(2, 2, 3, 2), false),
            ("Deployment", json!({"replicas": 2}), deployment(2, 2, 2, 1), false),
            ("Deployment", json!({}), deployment(2, 1, 1, 1), true),
            ("Deployment", json!({"replicas": 0}), json!({"observedGeneration": 2}), true),
            ("Deployment", json!({"paused": true}), json!({"observedGeneration": 2}), true),
            (
                "StatefulSet",
                json!({"replicas": 3}),
                json!({"observedGeneration": 2, "updatedReplicas": 3, "readyReplicas": 3}),
                true,
            ),
            (
                "StatefulSet",
                json!({"replicas": 3}),
                json!({"observedGeneration": 2, "updatedReplicas": 2, "readyReplicas": 3}),
                false,
            ),
            (
                "StatefulSet",
                json!({"replicas": 3, "updateStrategy": {"rollingUpdate": {"partition": 2}}}),
                json!({"observedGeneration": 2, "updatedReplicas": 1, "readyReplicas": 3}),
                true,
            ),
            ("StatefulSet", json!({"updateStrategy": {"type": "OnDelete"}}), json!({"observedGeneration": 2}), true),
            ("StatefulSet", json!({"updateStrategy": {"type": "OnDelete"}}), json!({}), false),
            (
                "DaemonSet",
                json!({}),
                json!({"observedGeneration": 2, "desiredNumberScheduled": 4, "updatedNumberScheduled": 4, "numberAvailable": 4}),
                true,
            ),
            (
                "DaemonSet",
                json!({}),
                json!({"observedGeneration": 2, "desiredNumberScheduled": 4, "updatedNumberScheduled": 4, "numberAvailable": 3}),
                false,
            ),
            ("DaemonSet", json!({}), json!({}), false),
        ] {
            assert_eq!(done(kind, &workload(&spec, &status)), expected, "{kind} {spec} {status}");
        }
    }
}
