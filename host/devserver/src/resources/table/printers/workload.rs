//! Columns of workloads.

use jiff::Timestamp;
use oarlock_schema::human_duration;
use serde_json::Value;

use super::{Printer, age, flag, label_selector, labels, list, name, number, or_none, since, text};

pub(super) fn printer(plural: &str) -> Option<Printer> {
    Some(match plural {
        "deployments" => ("Name*|Ready|Up-to-date|Available|Age|Containers+|Images+|Selector+", deployment),
        "replicasets" | "replicationcontrollers" => {
            ("Name*|Desired:integer|Current:integer|Ready:integer|Age|Containers+|Images+|Selector+", replica_set)
        }
        "statefulsets" => ("Name*|Ready|Age|Containers+|Images+", stateful_set),
        "daemonsets" => (
            "Name*|Desired:integer|Current:integer|Ready:integer|Up-to-date:integer|Available:integer|Node Selector|Age|\
             Containers+|Images+|Selector+",
            daemon_set,
        ),
        "controllerrevisions" => ("Name*|Controller|Revision|Age", revision),
        "jobs" => ("Name*|Status|Completions|Duration|Age|Containers+|Images+|Selector+", job),
        "cronjobs" => (
            "Name*|Schedule|Timezone|Suspend:boolean|Active:integer|Last Schedule|Age|Containers+|Images+|Selector+",
            cron_job,
        ),
        _ => return None,
    })
}

/// Names and images of containers.
pub(super) fn containers(o: &Value, pointer: &str) -> [Value; 2] {
    let all = list(o, pointer);
    let join = |key: &str| all.iter().map(|c| text(c, key)).collect::<Vec<_>>().join(",").into();
    [join("/name"), join("/image")]
}

const TEMPLATE: &str = "/spec/template/spec/containers";

fn deployment(o: &Value) -> Vec<Value> {
    let [names, images] = containers(o, TEMPLATE);
    vec![
        name(o),
        format!("{}/{}", number(o, "/status/readyReplicas"), number(o, "/spec/replicas")).into(),
        number(o, "/status/updatedReplicas").into(),
        number(o, "/status/availableReplicas").into(),
        age(o),
        names,
        images,
        label_selector(o.pointer("/spec/selector")),
    ]
}

fn replica_set(o: &Value) -> Vec<Value> {
    let [names, images] = containers(o, TEMPLATE);
    let selector = o.pointer("/spec/selector");
    let is_map = selector.and_then(Value::as_object).is_some_and(|s| s.values().all(Value::is_string));
    vec![
        name(o),
        number(o, "/spec/replicas").into(),
        number(o, "/status/replicas").into(),
        number(o, "/status/readyReplicas").into(),
        age(o),
        names,
        images,
        if is_map { labels(selector) } else { label_selector(selector) },
    ]
}

fn stateful_set(o: &Value) -> Vec<Value> {
    let [names, images] = containers(o, TEMPLATE);
    let ready = format!("{}/{}", number(o, "/status/readyReplicas"), number(o, "/spec/replicas"));
    vec![name(o), ready.into(), age(o), names, images]
}

fn daemon_set(o: &Value) -> Vec<Value> {
    let [names, images] = containers(o, TEMPLATE);
    let status = |key: &str| number(o, &format!("/status/{key}")).into();
    vec![
        name(o),
        status("desiredNumberScheduled"),
        status("currentNumberScheduled"),
        status("numberReady"),
        status("updatedNumberScheduled"),
        status("numberAvailable"),
        labels(o.pointer("/spec/template/spec/nodeSelector")),
        age(o),
        names,
        images,
        label_selector(o.pointer("/spec/selector")),
    ]
}

fn revision(o: &Value) -> Vec<Value> {
    let owner = list(o, "/metadata/ownerReferences").iter().find(|r| flag(r, "/controller"));
    let owner = owner.map(|r| {
        let group = text(r, "/apiVersion").split_once('/').map_or("", |(group, _)| group);
        format!("{}/{}", crate::model::status::qualified(text(r, "/kind"), group).to_lowercase(), text(r, "/name"))
    });
    vec![name(o), or_none(&owner.unwrap_or_default()), number(o, "/revision").into(), age(o)]
}

fn job_status(o: &Value) -> &'static str {
    let has = |kind: &str| {
        list(o, "/status/conditions").iter().any(|c| text(c, "/type") == kind && text(c, "/status") == "True")
    };
    match () {
        () if has("Complete") => "Complete",
        () if has("Failed") => "Failed",
        () if o.pointer("/metadata/deletionTimestamp").is_some() => "Terminating",
        () if has("Suspended") => "Suspended",
        () if has("FailureTarget") => "FailureTarget",
        () if has("SuccessCriteriaMet") => "SuccessCriteriaMet",
        () => "Running",
    }
}

fn job_duration(o: &Value) -> String {
    let (started, done) = (text(o, "/status/startTime"), text(o, "/status/completionTime"));
    let seconds = |text: &str| text.parse::<Timestamp>().ok().map(Timestamp::as_second);
    match (seconds(started), seconds(done)) {
        (None, _) => String::new(),
        (Some(_), None) => since(started),
        (Some(from), Some(to)) => human_duration(to.saturating_sub(from)),
    }
}

fn job(o: &Value) -> Vec<Value> {
    let [names, images] = containers(o, TEMPLATE);
    let succeeded = number(o, "/status/succeeded");
    let completions = o.pointer("/spec/completions").and_then(Value::as_i64);
    let completions = match (completions, number(o, "/spec/parallelism")) {
        (Some(all), _) => format!("{succeeded}/{all}"),
        (None, parallel @ 2..) => format!("{succeeded}/1 of {parallel}"),
        (None, _) => format!("{succeeded}/1"),
    };
    vec![
        name(o),
        job_status(o).into(),
        completions.into(),
        job_duration(o).into(),
        age(o),
        names,
        images,
        label_selector(o.pointer("/spec/selector")),
    ]
}

fn cron_job(o: &Value) -> Vec<Value> {
    let [names, images] = containers(o, "/spec/jobTemplate/spec/template/spec/containers");
    let last = text(o, "/status/lastScheduleTime");
    vec![
        name(o),
        text(o, "/spec/schedule").into(),
        or_none(text(o, "/spec/timeZone")),
        if flag(o, "/spec/suspend") { "True".into() } else { "False".into() },
        list(o, "/status/active").len().into(),
        if last.is_empty() { "<none>".into() } else { since(last).into() },
        age(o),
        names,
        images,
        label_selector(o.pointer("/spec/jobTemplate/spec/selector")),
    ]
}
