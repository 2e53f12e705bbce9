//! Printer columns: the Tables of `kubectl get`.

use jiff::Timestamp;
use serde_json::{Value, json};

use oarlock_jsonpath::JsonPath;

const NAME_HELP: &str = "Name must be unique within a namespace. Is required when creating resources, although some \
     resources may allow a client to request the generation of an appropriate name automatically. Name is primarily \
     intended for creation idempotence and configuration definition. Cannot be updated. More info: \
     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";
const CREATION_HELP: &str = "CreationTimestamp is a timestamp representing the server time when this object was \
     created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set \
     this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for \
     lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

/// A column after the name.
#[derive(Clone, Debug)]
pub struct PrinterColumn {
    /// Heading.
    pub name: String,
    /// `integer`, `number`, `string`, `boolean` or `date`.
    pub ty: String,
    /// OpenAPI format; may be empty.
    pub format: String,
    /// Help text.
    pub description: String,
    /// Columns above 0 are shown in wide output only.
    pub priority: i64,
    /// Where the value is.
    pub path: Option<JsonPath>,
}

impl PrinterColumn {
    /// Parses `additionalPrinterColumns`; without any, the table has one column with the age.
    pub(crate) fn read(columns: &[Value]) -> Vec<Self> {
        if columns.is_empty() {
            return vec![Self {
                name: "Age".to_owned(),
                ty: "date".to_owned(),
                format: String::new(),
                description: CREATION_HELP.to_owned(),
                priority: 0,
                path: JsonPath::parse(".metadata.creationTimestamp").ok(),
            }];
        }
        let text = |c: &Value, key: &str| c.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        columns
            .iter()
            .map(|c| {
                let path = text(c, "jsonPath");
                let description = Some(text(c, "description"))
                    .filter(|d| !d.is_empty())
                    .unwrap_or_else(|| format!("Custom resource definition column (in JSONPath format): {path}"));
                Self {
                    name: text(c, "name"),
                    ty: text(c, "type"),
                    format: text(c, "format"),
                    description,
                    priority: c.get("priority").and_then(Value::as_i64).unwrap_or(0),
                    path: JsonPath::parse(&path).ok(),
                }
            })
            .collect()
    }

    /// As an element of a Table's `columnDefinitions`.
    #[must_use]
    pub fn definition(&self) -> Value {
        definition(&self.name, &self.ty, &self.format, &self.description, self.priority)
    }

    /// The cell for `object`: null if the path has no value, or one of another type. Of several values the first is shown.
    ///
    /// * `now` - the time to which ages are computed.
    ///
    /// # Source
    ///
    /// apiextensions-apiserver `pkg/registry/customresource/tableconvertor/tableconvertor.go`.
    #[must_use]
    pub fn cell(&self, object: &Value, now: Timestamp) -> Value {
        let Some(path) = &self.path else { return Value::Null };
        let Some(first) = path.first(object) else { return Value::Null };
        match self.ty.as_str() {
            "integer" => match first.as_i64().or_else(|| {
                #[expect(clippy::cast_possible_truncation, reason = "a server truncates as well")]
                first.as_f64().map(|f| f as i64)
            }) {
                Some(n) => n.into(),
                None => Value::Null,
            },
            "number" => first.as_f64().map_or(Value::Null, |_| first.clone()),
            "boolean" => first.as_bool().map_or(Value::Null, Value::Bool),
            "date" => first.as_str().map_or(Value::Null, |text| age(text, now).into()),
            _ => plain(first).into(),
        }
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(s) => s.clone(),
        Value::Null => "<no value>".to_owned(),
        other => other.to_string(),
    }
}

fn definition(name: &str, ty: &str, format: &str, description: &str, priority: i64) -> Value {
    json!({"name": name, "type": ty, "format": format, "description": description, "priority": priority})
}

/// A Table's `columnDefinitions`: the name, then `columns`.
#[must_use]
pub fn column_definitions(columns: &[PrinterColumn]) -> Vec<Value> {
    let mut all = vec![definition("Name", "string", "name", NAME_HELP, 0)];
    all.extend(columns.iter().map(PrinterColumn::definition));
    all
}

/// The cells of one row: the name, then `columns`.
#[must_use]
pub fn cells(columns: &[PrinterColumn], object: &Value, now: Timestamp) -> Vec<Value> {
    let mut all = vec![object.pointer("/metadata/name").cloned().unwrap_or_else(|| "".into())];
    all.extend(columns.iter().map(|column| column.cell(object, now)));
    all
}

/// The age of `time` in the format of `kubectl get`: `5s`, `3m20s`, `2d3h`, `<unknown>`, `<invalid>`.
///
/// * `time` - RFC 3339.
///
/// # Source
///
/// apimachinery `pkg/util/duration/duration.go`, `HumanDuration`.
#[must_use]
pub fn age(time: &str, now: Timestamp) -> String {
    let Ok(time) = time.parse::<Timestamp>() else {
        return if time.is_empty() { "<unknown>".to_owned() } else { "<invalid>".to_owned() };
    };
    human_duration(now.duration_since(time).as_secs())
}

/// A number of seconds in the same format.
#[must_use]
pub fn human_duration(seconds: i64) -> String {
    let two = |first: i64, unit: char, second: i64, small: char| {
        if second == 0 { format!("{first}{unit}") } else { format!("{first}{unit}{second}{small}") }
    };
    // The clock may be a second behind the one that stamped the object.
    if seconds < -1 {
        return "<invalid>".to_owned();
    }
    if seconds < 0 {
        return "0s".to_owned();
    }
    if seconds < 120 {
        return format!("{seconds}s");
    }
    let minutes = seconds / 60;
    if minutes < 10 {
        return two(minutes, 'm', seconds % 60, 's');
    }
    if minutes < 180 {
        return format!("{minutes}m");
    }
    let hours = minutes / 60;
    if hours < 8 {
        return two(hours, 'h', minutes % 60, 'm');
    }
    if hours < 48 {
        return format!("{hours}h");
    }
    let days = hours / 24;
    if hours < 192 {
        return two(days, 'd', hours % 24, 'h');
    }
    if days < 365 * 2 {
        return format!("{days}d");
    }
    if days < 365 * 8 {
        return two(days / 365, 'y', days % 365, 'd');
    }
    format!("{}y", days / 365)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_read_as_in_kubectl() {
        for (seconds, expect) in [
            (-5, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (200, "3m20s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (12_000, "3h20m"),
            (28_800, "8h"),
            (172_799, "47h"),
            (172_800, "2d"),
            (180_000, "2d2h"),
            (691_200, "8d"),
            (63_072_000, "2y"),
            (63_158_400, "2y1d"),
            (252_288_000, "8y"),
        ] {
            assert_eq!(human_duration(seconds), expect, "{seconds}");
        }
    }

    #[test]
    fn cells_have_the_type_of_their_column() {
        let object = json!({"a": [{"n": 1}, {"n": 2}], "s": "text", "b": true, "o": {"k": "v"}, "f": 2.9, "z": null});
        for (ty, path, expect) in [
            ("string", ".a[*].n", json!("1")),
            ("integer", ".a[*].n", json!(1)),
            ("integer", ".f", json!(2)),
            ("integer", ".s", json!(null)),
            ("number", ".f", json!(2.9)),
            ("string", ".b", json!("true")),
            ("boolean", ".b", json!(true)),
            ("boolean", ".s", json!(null)),
            ("string", ".o", json!("{\"k\":\"v\"}")),
            ("string", ".none", json!(null)),
            ("date", ".s", json!("<invalid>")),
        ] {
            let columns = PrinterColumn::read(&[json!({"name": "c", "type": ty, "jsonPath": path})]);
            assert_eq!(columns[0].cell(&object, Timestamp::UNIX_EPOCH), expect, "{ty} {path}");
        }
    }
}
