//! Columns of policies, quotas and autoscalers.

use serde_json::{Map, Value};

use super::{Printer, age, flag, list, name, number, plain, text};

pub(super) const BUDGETS: Printer = ("Name*|Min Available|Max Unavailable|Allowed Disruptions:integer|Age", budget);
pub(super) const QUOTAS: Printer = ("Name*|Request|Limit|Age", quota);
pub(super) const AUTOSCALERS: Printer = ("Name*|Reference|Targets|MinPods|MaxPods|Replicas|Age", autoscaler);
pub(super) const PRIORITY_CLASSES: Printer =
    ("Name*|Value:integer|Global-Default:boolean|Age|PreemptionPolicy", priority_class);
pub(super) const FLOW_SCHEMAS: Printer =
    ("Name*|PriorityLevel|MatchingPrecedence|DistinguisherMethod|Age|MissingPL", flow_schema);
pub(super) const PRIORITY_LEVELS: Printer =
    ("Name*|Type|NominalConcurrencyShares|Queues|HandSize|QueueLengthLimit|Age", priority_level);

fn budget(o: &Value) -> Vec<Value> {
    let bound = |pointer: &str| o.pointer(pointer).map_or_else(|| "N/A".to_owned(), plain).into();
    vec![
        name(o),
        bound("/spec/minAvailable"),
        bound("/spec/maxUnavailable"),
        number(o, "/status/disruptionsAllowed").into(),
        age(o),
    ]
}

fn quota(o: &Value) -> Vec<Value> {
    let none = Map::new();
    let hard = o.pointer("/status/hard").and_then(Value::as_object).unwrap_or(&none);
    let used =
        |resource: &str| o.pointer("/status/used").and_then(|u| u.get(resource)).map_or_else(|| "0".to_owned(), plain);
    let shown = |limits: bool| {
        let some = hard.iter().filter(|(resource, _)| resource.starts_with("limits.") == limits);
        some.map(|(r, most)| format!("{r}: {}/{}", used(r), plain(most))).collect::<Vec<_>>().join(", ").into()
    };
    vec![name(o), shown(false), shown(true), age(o)]
}

fn autoscaler(o: &Value) -> Vec<Value> {
    let reference = format!("{}/{}", text(o, "/spec/scaleTargetRef/kind"), text(o, "/spec/scaleTargetRef/name"));
    let least = o.pointer("/spec/minReplicas").map_or_else(|| "<unset>".to_owned(), plain);
    vec![
        name(o),
        reference.into(),
        targets(o).into(),
        least.into(),
        number(o, "/spec/maxReplicas").into(),
        number(o, "/status/currentReplicas").into(),
        age(o),
    ]
}

/// The first two metrics: current and target values.
fn targets(o: &Value) -> String {
    let current = list(o, "/status/currentMetrics");
    let all = list(o, "/spec/metrics");
    let shown: Vec<String> =
        all.iter().enumerate().map(|(i, m)| target(m, current.get(i).unwrap_or(&Value::Null))).collect();
    match shown.len() {
        0 => "<none>".to_owned(),
        1 | 2 => shown.join(", "),
        count => format!("{} + {} more...", shown.get(..2).unwrap_or_default().join(", "), count - 2),
    }
}

fn target(metric: &Value, status: &Value) -> String {
    let (key, named) = match text(metric, "/type") {
        "External" => ("external", false),
        "Object" => ("object", false),
        "Pods" => ("pods", false),
        "Resource" => ("resource", true),
        "ContainerResource" => ("containerResource", true),
        _ => return "<unknown type>".to_owned(),
    };
    let unknown = || "<unknown>".to_owned();
    let wanted = |value: &str| metric.pointer(&format!("/{key}/target/{value}")).filter(|v| !v.is_null());
    let is = |value: &str| status.pointer(&format!("/{key}/current/{value}")).filter(|v| !v.is_null()).map(plain);
    let average = wanted("averageValue").map(plain);
    if named {
        let resource = text(metric, &format!("/{key}/name"));
        return match average {
            Some(average) => format!("{resource}: {}/{average}", is("averageValue").unwrap_or_else(unknown)),
            None => {
                let now = is("averageUtilization").map_or_else(unknown, |n| format!("{n}%"));
                let most = wanted("averageUtilization").map_or_else(|| "<auto>".to_owned(), |n| format!("{n}%"));
                format!("{resource}: {now}/{most}")
            }
        };
    }
    match average {
        Some(average) => {
            let mark = if key == "pods" { "" } else { " (avg)" };
            format!("{}/{average}{mark}", is("averageValue").unwrap_or_else(unknown))
        }
        None => format!("{}/{}", is("value").unwrap_or_else(unknown), wanted("value").map(plain).unwrap_or_default()),
    }
}

fn priority_class(o: &Value) -> Vec<Value> {
    vec![
        name(o),
        number(o, "/value").into(),
        flag(o, "/globalDefault").into(),
        age(o),
        text(o, "/preemptionPolicy").into(),
    ]
}

fn flow_schema(o: &Value) -> Vec<Value> {
    let dangling = list(o, "/status/conditions").iter().find(|c| text(c, "/type") == "Dangling");
    vec![
        name(o),
        text(o, "/spec/priorityLevelConfiguration/name").into(),
        number(o, "/spec/matchingPrecedence").into(),
        super::or_none(text(o, "/spec/distinguisherMethod/type")),
        age(o),
        dangling.map_or("?", |c| text(c, "/status")).into(),
    ]
}

fn priority_level(o: &Value) -> Vec<Value> {
    let of = |pointer: &str| match o.pointer(&format!("/spec/limited/{pointer}")) {
        Some(value) if !value.is_null() => value.clone(),
        _ => "<none>".into(),
    };
    vec![
        name(o),
        text(o, "/spec/type").into(),
        of("nominalConcurrencyShares"),
        of("limitResponse/queuing/queues"),
        of("limitResponse/queuing/handSize"),
        of("limitResponse/queuing/queueLengthLimit"),
        age(o),
    ]
}
