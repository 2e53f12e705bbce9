//! Defaults of HorizontalPodAutoscalers.

use serde_json::{Map, Value, json};

use crate::model::members::{fill, object};

/// The default scaling behavior.
fn behavior(behavior: &mut Map<String, Value>) {
    let percent = json!({"type": "Percent", "value": 100, "periodSeconds": 15});
    let pods = json!({"type": "Pods", "value": 4, "periodSeconds": 15});
    let rules = [
        (
            "scaleUp",
            json!({"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": [pods, percent.clone()]}),
        ),
        ("scaleDown", json!({"selectPolicy": "Max", "policies": [percent]})),
    ];
    for (key, usual) in rules {
        let given = behavior.entry(key).or_insert_with(|| json!({}));
        for (field, value) in usual.as_object().into_iter().flatten() {
            if let Some(given) = given.as_object_mut() {
                fill(given, field, value.clone());
            }
        }
    }
}

/// Defaults: at least one replica, and CPU at 80 % without metrics.
pub(super) fn defaults(value: &mut Value) {
    if let Some(spec) = object(value, "spec") {
        if let Some(given) = spec.get_mut("behavior").and_then(Value::as_object_mut) {
            behavior(given);
        }
        fill(spec, "minReplicas", 1);
        if spec.get("metrics").and_then(Value::as_array).is_none_or(Vec::is_empty) {
            let target = json!({"type": "Utilization", "averageUtilization": 80});
            let cpu = json!({"type": "Resource", "resource": {"name": "cpu", "target": target}});
            spec.insert("metrics".to_owned(), json!([cpu]));
        }
    }
}
