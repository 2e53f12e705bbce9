//! Validation of names, labels and keys. Each function returns the faults, in the API server's words.

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const LABEL_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const NAME_PART: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const CONFIG_KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

fn too_long(max: usize) -> String {
    format!("must be no more than {max} characters")
}

fn is_label(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with('-')
        && !text.ends_with('-')
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

fn is_name_part(text: &str) -> bool {
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    edge(text.chars().next())
        && edge(text.chars().next_back())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}

/// Most object names: RFC 1123 subdomains of at most 253 characters.
pub(crate) fn subdomain(name: &str) -> Vec<String> {
    let mut out = Vec::new();
    if name.len() > 253 {
        out.push(too_long(253));
    }
    if !name.split('.').all(is_label) {
        out.push(SUBDOMAIN.to_owned());
    }
    out
}

/// Namespace names: RFC 1123 labels.
pub(crate) fn label(name: &str) -> Vec<String> {
    let mut out = Vec::new();
    if name.len() > 63 {
        out.push(too_long(63));
    }
    if !is_label(name) {
        out.push(LABEL.to_owned());
    }
    out
}

/// Service names: like labels, but a letter comes first.
pub(crate) fn label_1035(name: &str) -> Vec<String> {
    let mut out = Vec::new();
    if name.len() > 63 {
        out.push(too_long(63));
    }
    if !is_label(name) || !name.starts_with(|c: char| c.is_ascii_lowercase()) {
        out.push(LABEL_1035.to_owned());
    }
    out
}

/// RBAC names: any valid path segment.
pub(crate) fn path_segment(name: &str) -> Vec<String> {
    if matches!(name, "." | "..") {
        return vec![format!("may not be '{name}'")];
    }
    ['/', '%'].iter().filter(|c| name.contains(**c)).map(|c| format!("may not contain '{c}'")).collect()
}

/// Label and annotation keys, finalizers: an optional prefix and a name.
pub(crate) fn qualified_name(key: &str) -> Vec<String> {
    let mut out = Vec::new();
    let parts: Vec<&str> = key.split('/').collect();
    let name = match parts.as_slice() {
        [name] => name,
        [prefix, name] => {
            if prefix.is_empty() {
                out.push("prefix part must be non-empty".to_owned());
            } else {
                out.extend(subdomain(prefix).into_iter().map(|e| format!("prefix part {e}")));
            }
            name
        }
        _ => {
            const QUALIFIED: &str = "a qualified name must consist of an optional DNS subdomain prefix and '/' and a name (e.g. 'example.com/MyName')";
            return vec![QUALIFIED.to_owned()];
        }
    };
    if name.is_empty() {
        out.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        out.push("name part must be no more than 63 bytes".to_owned());
    }
    if !is_name_part(name) {
        out.push(NAME_PART.to_owned());
    }
    out
}

/// Names of ports.
pub(crate) fn port_name(name: &str) -> Vec<String> {
    let mut out = Vec::new();
    if name.len() > 15 {
        out.push(too_long(15));
    }
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if name.is_empty() || !name.bytes().all(plain) {
        out.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned());
    }
    if !name.bytes().any(|b| b.is_ascii_lowercase()) {
        out.push("must contain at least one letter (a-z)".to_owned());
    }
    if name.contains("--") {
        out.push("must not contain consecutive hyphens".to_owned());
    }
    if name.starts_with('-') || name.ends_with('-') {
        out.push("must not begin or end with a hyphen".to_owned());
    }
    out
}

/// Label values.
pub(crate) fn label_value(value: &str) -> Vec<String> {
    let mut out = Vec::new();
    if value.len() > 63 {
        out.push("must be no more than 63 bytes".to_owned());
    }
    if !value.is_empty() && !is_name_part(value) {
        out.push(VALUE.to_owned());
    }
    out
}

/// Keys of ConfigMaps and Secrets.
pub(crate) fn config_key(key: &str) -> Vec<String> {
    let mut out = Vec::new();
    if key.len() > 253 {
        out.push(too_long(253));
    }
    if key.is_empty() || !key.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b)) {
        out.push(CONFIG_KEY.to_owned());
    } else if matches!(key, "." | "..") {
        out.push(format!("must not be '{key}'"));
    } else if key.starts_with("..") {
        out.push("must not start with '..'".to_owned());
    }
    out
}
