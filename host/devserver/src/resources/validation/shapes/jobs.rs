//! Validation of a Job's failure and success policies.

use serde_json::{Value, json};

use super::{has, invalid, list, text};
use crate::model::{names, status::Cause};

fn too_many(path: String, count: usize, most: usize) -> Option<Cause> {
    let text = format!("Too many: {count}: must have at most {most} items");
    (count > most).then(|| Cause::raw("FieldValueTooMany", path, text))
}

/// A required value from a list.
fn word(value: &Value, key: &str, path: &str, known: &[&str]) -> Option<Cause> {
    let at = format!("{path}.{key}");
    match text(value, key) {
        "" => {
            let list: Vec<String> = known.iter().map(|k| format!("\"{k}\"")).collect();
            Some(Cause::required(at, &format!("valid values: [{}]", list.join(" "))))
        }
        found if known.contains(&found) => None,
        found => Some(Cause::unsupported(at, &json!(found), known)),
    }
}

/// The pod failure policy; `job` is the spec of the Job.
pub(super) fn failure_policy(job: &Value, path: &str) -> Vec<Cause> {
    let Some(policy) = job.get("podFailurePolicy").filter(|p| !p.is_null()) else { return Vec::new() };
    let rules = list(policy, "rules");
    let path = format!("{path}.podFailurePolicy.rules");
    let mut out: Vec<Cause> = too_many(path.clone(), rules.len(), 20).into_iter().collect();
    for (i, rule) in rules.iter().enumerate() {
        let path = format!("{path}[{i}]");
        if text(rule, "action") == "FailIndex" && !has(job, "backoffLimitPerIndex") {
            let why = "requires the backoffLimitPerIndex to be set";
            out.push(Cause::invalid(format!("{path}.action"), &json!("FailIndex"), why));
        }
        out.extend(word(rule, "action", &path, &["Count", "FailIndex", "FailJob", "Ignore"]));
        let conditions = list(rule, "onPodConditions");
        match (rule.get("onExitCodes").filter(|c| !c.is_null()), conditions.is_empty()) {
            (Some(codes), none) => {
                out.extend(exit_codes(job, codes, &format!("{path}.onExitCodes")));
                if !none {
                    let why = "Invalid value: specifying both OnExitCodes and OnPodConditions is not supported";
                    out.push(Cause::raw("FieldValueInvalid", path.clone(), why));
                }
            }
            (None, true) => {
                let why = "Invalid value: specifying one of OnExitCodes and OnPodConditions is required";
                out.push(Cause::raw("FieldValueInvalid", path.clone(), why));
            }
            (None, false) => {}
        }
        out.extend(too_many(format!("{path}.onPodConditions"), conditions.len(), 20));
        for (j, condition) in conditions.iter().enumerate() {
            let path = format!("{path}.onPodConditions[{j}]");
            let kind = text(condition, "type");
            out.extend(invalid(&format!("{path}.type"), &json!(kind), &names::qualified_name(kind)));
            out.extend(word(condition, "status", &path, &["False", "True", "Unknown"]));
        }
    }
    out
}

fn exit_codes(job: &Value, codes: &Value, path: &str) -> Vec<Cause> {
    let mut out: Vec<Cause> = word(codes, "operator", path, &["In", "NotIn"]).into_iter().collect();
    let named = |name: &Value| {
        ["containers", "initContainers"].iter().any(|key| {
            let all = job.pointer(&format!("/template/spec/{key}")).and_then(Value::as_array);
            all.into_iter().flatten().any(|c| c.get("name") == Some(name))
        })
    };
    if let Some(name) = codes.get("containerName").filter(|n| !n.is_null() && !named(n)) {
        let why = "must be one of the container or initContainer names in the pod template";
        out.push(Cause::invalid(format!("{path}.containerName"), name, why));
    }
    let values = list(codes, "values");
    let at = format!("{path}.values");
    if values.is_empty() {
        let shown = codes.get("values").cloned().unwrap_or_default();
        out.push(Cause::invalid(at.clone(), &shown, "at least one value is required"));
    }
    out.extend(too_many(at.clone(), values.len(), 255));
    for (i, value) in values.iter().enumerate() {
        let at = format!("{at}[{i}]");
        if text(codes, "operator") == "In" && *value == 0 {
            out.push(Cause::invalid(at.clone(), value, "must not be 0 for the In operator"));
        }
        if values.iter().take(i).any(|earlier| earlier == value) {
            out.push(Cause::duplicate(at, value));
        }
    }
    if values.windows(2).any(|pair| pair.first().and_then(Value::as_i64) > pair.last().and_then(Value::as_i64)) {
        out.push(Cause::invalid(at, &json!(values), "must be ordered"));
    }
    out
}

/// The success policy of an indexed Job.
pub(super) fn success_policy(job: &Value, path: &str) -> Vec<Cause> {
    let Some(policy) = job.get("successPolicy").filter(|p| !p.is_null()) else { return Vec::new() };
    let completions = job.get("completions").and_then(Value::as_i64).unwrap_or(0);
    let rules = list(policy, "rules");
    let path = format!("{path}.successPolicy.rules");
    let mut out: Vec<Cause> = too_many(path.clone(), rules.len(), 20).into_iter().collect();
    if rules.is_empty() {
        let why = "at least one rules must be specified when the successPolicy is specified";
        out.push(Cause::required(path.clone(), why));
    }
    for (i, rule) in rules.iter().enumerate() {
        let path = format!("{path}[{i}]");
        let count = rule.get("succeededCount").and_then(Value::as_i64);
        let indexes = rule.get("succeededIndexes").and_then(Value::as_str);
        if count.is_none() && indexes.is_none() {
            let why = "at least one of succeededCount or succeededIndexes must be specified";
            out.push(Cause::required(path.clone(), why));
        }
        let total = indexes.map(|text| intervals(text, completions));
        if let (Some(Err(why)), Some(text)) = (&total, indexes) {
            let why = format!("error parsing succeededIndexes: {why}");
            out.push(Cause::invalid(format!("{path}.succeededIndexes"), &json!(text), &why));
        }
        let Some(count) = count else { continue };
        let at = format!("{path}.succeededCount");
        let mut add = |why: String| out.push(Cause::invalid(at.clone(), &json!(count), &why));
        if count < 0 {
            add("must be greater than or equal to 0".to_owned());
        }
        if count > completions {
            add(format!("must be less than or equal to {completions} (the number of specified completions)"));
        }
        if let Some(total) = total.map(Result::unwrap_or_default).filter(|total| count > *total) {
            let of = "the number of indexes in the specified succeededIndexes field";
            add(format!("must be less than or equal to {total} ({of})"));
        }
    }
    out
}

/// The number of indexes in a text such as `0,2-4`.
pub(crate) fn intervals(text: &str, completions: i64) -> Result<i64, String> {
    let (mut total, mut last) = (0, None);
    let index = |text: &str| match text.parse::<i64>() {
        Err(_) => Err(format!("cannot convert string to integer for index: {text:?}")),
        Ok(n) if n >= completions => Err(format!("too large index: {text:?}")),
        Ok(n) => Ok(n),
    };
    for part in text.split(',').filter(|_| !text.is_empty()) {
        let (first, end) = match part.split('-').collect::<Vec<_>>().as_slice() {
            [one] => (index(one)?, index(one)?),
            [first, end] => (index(first)?, index(end)?),
            _ => {
                let rule =
                    "violates the requirement that an index interval can have at most two parts separated by '-'";
                return Err(format!("the fragment {part:?} {rule}"));
            }
        };
        let previous = if part.contains('-') && first >= end {
            Some((first, end))
        } else {
            last.filter(|l| *l >= first).map(|l| (l, first))
        };
        if let Some((previous, current)) = previous {
            return Err(format!("non-increasing order, previous: {previous}, current: {current}"));
        }
        total += end - first + 1;
        last = Some(end);
    }
    Ok(total)
}
