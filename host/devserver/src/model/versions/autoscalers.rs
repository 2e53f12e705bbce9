//! HorizontalPodAutoscalers: stored as `autoscaling/v2`, also served as `autoscaling/v1`, which has only one metric.

use serde_json::{Map, Value, json};

use crate::model::members::object;

/// Whether a metric, wanted or current, is CPU utilization: the only one in v1.
fn is_cpu(metric: &Value, which: &str) -> bool {
    let name = metric.pointer("/resource/name").and_then(Value::as_str);
    name == Some("cpu") && utilization(metric, which).is_some()
}

fn utilization(metric: &Value, which: &str) -> Option<i64> {
    metric.pointer(&format!("/resource/{which}/averageUtilization"))?.as_i64()
}

fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The v1 form, without fields that v1 lacks.
pub(crate) fn to_v1(stored: &Value) -> Value {
    let mut out = stored.clone();
    let percent = |pointer: &str, which: &str| {
        list(stored, pointer).iter().find_map(|m| utilization(m, which).filter(|_| is_cpu(m, which)))
    };
    if let Some(spec) = object(&mut out, "spec") {
        spec.remove("metrics");
        spec.remove("behavior");
        if let Some(percent) = percent("/spec/metrics", "target") {
            spec.insert("targetCPUUtilizationPercentage".to_owned(), percent.into());
        }
    }
    if stored.get("status").is_some()
        && let Some(status) = object(&mut out, "status")
    {
        status.remove("currentMetrics");
        status.remove("conditions");
        if let Some(percent) = percent("/status/currentMetrics", "current") {
            status.insert("currentCPUUtilizationPercentage".to_owned(), percent.into());
        }
    }
    out
}

/// The v2 form. Fields that v1 lacks keep their stored values.
pub(crate) fn to_v2(mut v1: Value, stored: Option<&Value>) -> Value {
    let stored = stored.unwrap_or(&Value::Null);
    let (wanted, current) = ("target", "current");
    let others =
        |pointer: &str, which: &str| list(stored, pointer).iter().filter(|m| !is_cpu(m, which)).cloned().collect();
    if let Some(spec) = object(&mut v1, "spec") {
        let percent = spec.remove("targetCPUUtilizationPercentage");
        let target = percent.map(|p| json!({"type": "Utilization", "averageUtilization": p}));
        put_metrics(spec, "metrics", others("/spec/metrics", wanted), wanted, target);
        if let Some(behavior) = stored.pointer("/spec/behavior") {
            spec.insert("behavior".to_owned(), behavior.clone());
        }
    }
    if v1.get("status").is_some()
        && let Some(status) = object(&mut v1, "status")
    {
        let now = status.remove("currentCPUUtilizationPercentage").map(|p| json!({"averageUtilization": p}));
        put_metrics(status, "currentMetrics", others("/status/currentMetrics", current), current, now);
        if let Some(conditions) = stored.pointer("/status/conditions") {
            status.insert("conditions".to_owned(), conditions.clone());
        }
    }
    v1
}

fn put_metrics(map: &mut Map<String, Value>, key: &str, mut metrics: Vec<Value>, which: &str, cpu: Option<Value>) {
    if let Some(cpu) = cpu {
        metrics.push(json!({"type": "Resource", "resource": {"name": "cpu", which: cpu}}));
    }
    if !metrics.is_empty() {
        map.insert(key.to_owned(), metrics.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v1_shows_one_metric_and_a_write_through_it_keeps_the_others() {
        let memory = json!({"type": "Resource", "resource": {"name": "memory", "target": {"type": "Utilization", "averageUtilization": 50}}});
        let cpu = |n: i64| json!({"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": n}}});
        let stored = json!({"spec": {"maxReplicas": 5, "metrics": [memory, cpu(80)], "behavior": {"scaleUp": {}}}});
        let mut v1 = to_v1(&stored);
        assert_eq!(v1, json!({"spec": {"maxReplicas": 5, "targetCPUUtilizationPercentage": 80}}));
        v1["spec"]["targetCPUUtilizationPercentage"] = 60.into();
        let written = to_v2(v1, Some(&stored));
        assert_eq!(
            written["spec"],
            json!({"maxReplicas": 5, "metrics": [memory, cpu(60)], "behavior": {"scaleUp": {}}})
        );
    }
}
