//! The columns of workloads.

use serde_json::Value;

use super::{AGE, NAME, age, labels, list, name, number, or_none, text, text_column, wide};
use crate::{table::Column, time};

/// Names and images of the containers of a template.
fn containers(o: &Value) -> [Value; 2] {
    let all = list(o, "/spec/template/spec/containers");
    let join = |key: &str| all.iter().map(|c| text(c, key)).collect::<Vec<_>>().join(",").into();
    [join("/name"), join("/image")]
}

pub(super) const DEPLOYMENTS: &[Column] = &[
    NAME,
    text_column("Ready"),
    text_column("Up-to-date"),
    text_column("Available"),
    AGE,
    wide("Containers"),
    wide("Images"),
    wide("Selector"),
];

pub(super) fn deployment(o: &Value) -> Vec<Value> {
    let [names, images] = containers(o);
    vec![
        name(o),
        format!("{}/{}", number(o, "/status/readyReplicas"), number(o, "/spec/replicas")).into(),
        number(o, "/status/updatedReplicas").into(),
        number(o, "/status/availableReplicas").into(),
        age(o),
        names,
        images,
        labels(o.pointer("/spec/selector/matchLabels")).into(),
    ]
}

pub(super) const REPLICA_SETS: &[Column] = &[
    NAME,
    text_column("Desired"),
    text_column("Current"),
    text_column("Ready"),
    AGE,
    wide("Containers"),
    wide("Images"),
    wide("Selector"),
];

pub(super) fn replica_set(o: &Value) -> Vec<Value> {
    let [names, images] = containers(o);
    let selector = o.pointer("/spec/selector/matchLabels").or_else(|| o.pointer("/spec/selector"));
    vec![
        name(o),
        number(o, "/spec/replicas").into(),
        number(o, "/status/replicas").into(),
        number(o, "/status/readyReplicas").into(),
        age(o),
        names,
        images,
        labels(selector).into(),
    ]
}

pub(super) const STATEFUL_SETS: &[Column] = &[NAME, text_column("Ready"), AGE, wide("Containers"), wide("Images")];

pub(super) fn stateful_set(o: &Value) -> Vec<Value> {
    let [names, images] = containers(o);
    let ready = format!("{}/{}", number(o, "/status/readyReplicas"), number(o, "/spec/replicas"));
    vec![name(o), ready.into(), age(o), names, images]
}

pub(super) const DAEMON_SETS: &[Column] = &[
    NAME,
    text_column("Desired"),
    text_column("Current"),
    text_column("Ready"),
    text_column("Up-to-date"),
    text_column("Available"),
    text_column("Node Selector"),
    AGE,
    wide("Containers"),
    wide("Images"),
    wide("Selector"),
];

pub(super) fn daemon_set(o: &Value) -> Vec<Value> {
    let [names, images] = containers(o);
    let status = |key: &str| number(o, &format!("/status/{key}")).into();
    vec![
        name(o),
        status("desiredNumberScheduled"),
        status("currentNumberScheduled"),
        status("numberReady"),
        status("updatedNumberScheduled"),
        status("numberAvailable"),
        or_none(&labels(o.pointer("/spec/template/spec/nodeSelector"))),
        age(o),
        names,
        images,
        labels(o.pointer("/spec/selector/matchLabels")).into(),
    ]
}

pub(super) const JOBS: &[Column] = &[
    NAME,
    text_column("Status"),
    text_column("Completions"),
    text_column("Duration"),
    AGE,
    wide("Containers"),
    wide("Images"),
    wide("Selector"),
];

pub(super) fn job(o: &Value) -> Vec<Value> {
    let [names, images] = containers(o);
    let done = |kind: &str| {
        list(o, "/status/conditions").iter().any(|c| text(c, "/type") == kind && text(c, "/status") == "True")
    };
    let status = if done("Complete") {
        "Complete"
    } else if done("Failed") {
        "Failed"
    } else if o.pointer("/spec/suspend") == Some(&Value::Bool(true)) {
        "Suspended"
    } else {
        "Running"
    };
    let completions = o.pointer("/spec/completions").and_then(Value::as_i64).unwrap_or(1);
    let started = text(o, "/status/startTime");
    let duration = if started.is_empty() { String::new() } else { time::age(Some(started)) };
    vec![
        name(o),
        status.into(),
        format!("{}/{completions}", number(o, "/status/succeeded")).into(),
        duration.into(),
        age(o),
        names,
        images,
        labels(o.pointer("/spec/selector/matchLabels")).into(),
    ]
}

pub(super) const CRON_JOBS: &[Column] = &[
    NAME,
    text_column("Schedule"),
    text_column("Timezone"),
    text_column("Suspend"),
    text_column("Active"),
    text_column("Last Schedule"),
    AGE,
];

pub(super) fn cron_job(o: &Value) -> Vec<Value> {
    let last = text(o, "/status/lastScheduleTime");
    let suspended = o.pointer("/spec/suspend") == Some(&Value::Bool(true));
    vec![
        name(o),
        text(o, "/spec/schedule").into(),
        or_none(text(o, "/spec/timeZone")),
        if suspended { "True".into() } else { "False".into() },
        list(o, "/status/active").len().into(),
        if last.is_empty() { "<none>".into() } else { time::age(Some(last)).into() },
        age(o),
    ]
}
