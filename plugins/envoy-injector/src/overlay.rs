//! Overlay of the initializer's containers and volumes over the Pod's ones of the same name.
//!
//! Fields that the initializer does not set stay: defaults that the API server adds are no difference.

use serde_json::{Map, Value};

/// Lists of a container whose items have keys.
const KEYED: &[(&str, &[&str])] = &[
    ("env", &["name"]),
    ("ports", &["containerPort", "protocol"]),
    ("volumeMounts", &["mountPath"]),
    ("volumeDevices", &["devicePath"]),
    ("resizePolicy", &["resourceName"]),
];

/// Fields of which an object may have only one.
const UNIONS: &[&[&str]] = &[
    &["exec", "httpGet", "tcpSocket", "grpc", "sleep"],
    &["value", "valueFrom"],
    &["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"],
];

/// Fields with quantities, which the API server normalizes.
const QUANTITIES: &[&str] = &["resources", "sizeLimit"];

/// Overlays a container over the one of the same name.
pub(crate) fn overlay_container(own: &mut Value, ours: &Map<String, Value>) {
    match own {
        Value::Object(own) => overlay_fields(own, ours, false),
        own => *own = Value::Object(ours.clone()),
    }
}

/// Overlays a volume over the one of the same name. A volume has one source.
pub(crate) fn overlay_volume(own: &mut Value, ours: &Map<String, Value>) {
    if let Value::Object(own) = own {
        own.retain(|field, _| ours.contains_key(field));
    }
    overlay_container(own, ours);
}

fn overlay_fields(own: &mut Map<String, Value>, ours: &Map<String, Value>, quantities: bool) {
    for union in UNIONS.iter().filter(|union| union.iter().any(|field| ours.contains_key(*field))) {
        own.retain(|field, _| !union.contains(&field.as_str()) || ours.contains_key(field));
    }
    for (field, value) in ours {
        let quantities = quantities || QUANTITIES.contains(&field.as_str());
        match own.get_mut(field) {
            Some(own) => overlay(own, value, field, quantities),
            None => {
                own.insert(field.clone(), value.clone());
            }
        }
    }
}

fn overlay(own: &mut Value, ours: &Value, field: &str, quantities: bool) {
    let keys = KEYED.iter().find(|(list, _)| *list == field).map(|(_, keys)| *keys);
    match (own, ours, keys) {
        (Value::Object(own), Value::Object(ours), _) => overlay_fields(own, ours, quantities),
        (Value::Array(own), Value::Array(ours), Some(keys)) => overlay_items(own, ours, keys),
        (own, ours, _) => {
            let respelled = quantities && quantity(own).is_some_and(|known| quantity(ours) == Some(known));
            if !respelled {
                own.clone_from(ours);
            }
        }
    }
}

/// Merges items of the same key, the first with the first and so on; others are added in their order.
fn overlay_items(own: &mut Vec<Value>, ours: &[Value], keys: &[&str]) {
    let mut merged = vec![false; own.len()];
    for item in ours {
        let same = |known: &Value| keys.iter().all(|key| key_of(known, key) == key_of(item, key));
        let found = own.iter_mut().zip(&mut merged).find(|(known, merged)| !**merged && same(known));
        match (found, item) {
            (Some((Value::Object(known), merged)), Value::Object(item)) => {
                *merged = true;
                overlay_fields(known, item, false);
            }
            // An item that is no mapping has no key; the API server will reject it.
            (Some((_, merged)), _) => *merged = true,
            (None, _) => {
                own.push(item.clone());
                merged.push(true);
            }
        }
    }
}

fn key_of(item: &Value, key: &str) -> Value {
    match item.get(key) {
        Some(value) => value.clone(),
        None if key == "protocol" => "TCP".into(),
        None => Value::Null,
    }
}

/// A resource quantity in thousandths, for example of `1Gi`, `500m` or `2`. None: no quantity.
fn quantity(value: &Value) -> Option<f64> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    let digits = text.find(|c: char| !matches!(c, '0'..='9' | '.' | '+' | '-')).unwrap_or(text.len());
    let (number, suffix) = text.split_at_checked(digits)?;
    let thousandths = match suffix {
        "n" => 1e-6,
        "u" => 1e-3,
        "m" => 1.0,
        "" => 1e3,
        "k" => 1e6,
        "M" => 1e9,
        "G" => 1e12,
        "T" => 1e15,
        "P" => 1e18,
        "Ki" => 1e3 * 1024.0,
        "Mi" => 1e3 * 1_048_576.0,
        "Gi" => 1e3 * 1_073_741_824.0,
        "Ti" => 1e3 * 1_099_511_627_776.0,
        "Pi" => 1e3 * 1_125_899_906_842_624.0,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * thousandths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn quantities_are_the_same_however_they_are_spelled() {
        for (a, b) in [("0.5", "500m"), ("1024Mi", "1Gi"), ("1000m", "1"), ("2", "2000m"), ("1500M", "1.5G")] {
            assert_eq!(quantity(&json!(a)), quantity(&json!(b)), "{a} {b}");
        }
        assert_eq!(quantity(&json!(2)), quantity(&json!("2")));
        for other in [json!("ten"), json!("1e"), json!(""), json!(true), json!("1.2.3")] {
            assert_eq!(quantity(&other), None, "{other}");
        }
    }
}
