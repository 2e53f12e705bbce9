//! Validation of names, with the messages of an API server.
//!
//! # Source
//!
//! apimachinery `pkg/util/validation/validation.go`.

/// Beginning of the message about an invalid kind.
pub(crate) const MIXED_CASE: &str = "may have mixed case, but should otherwise match: ";

const DNS1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
     alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
     validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
     '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const QUALIFIED: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end \
     with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
     '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or \
     '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex \
     used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

fn too_long(max: usize) -> String {
    format!("must be no more than {max} bytes")
}

fn lower_alnum(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit()
}

/// A DNS label that begins with a letter, at most 63 bytes.
pub(crate) fn dns1035_label(name: &str) -> Result<(), String> {
    let shape = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.ends_with(lower_alnum)
        && name.chars().all(|c| lower_alnum(c) || c == '-');
    match (shape, name.len() > 63) {
        (false, _) => Err(DNS1035.to_owned()),
        (true, true) => Err(too_long(63)),
        (true, false) => Ok(()),
    }
}

/// A DNS subdomain, at most 253 bytes.
pub(crate) fn dns1123_subdomain(name: &str) -> Result<(), String> {
    if name.len() > 253 {
        return Err(too_long(253));
    }
    let label = |l: &str| {
        l.starts_with(lower_alnum) && l.ends_with(lower_alnum) && l.chars().all(|c| lower_alnum(c) || c == '-')
    };
    if name.split('.').all(label) { Ok(()) } else { Err(SUBDOMAIN.to_owned()) }
}

fn name_part(name: &str) -> bool {
    let alnum = |c: char| c.is_ascii_alphanumeric();
    name.starts_with(alnum)
        && name.ends_with(alnum)
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

/// A key of labels or annotations: an optional DNS subdomain, a slash, a name of at most 63 bytes.
pub(crate) fn qualified_name(key: &str) -> Result<(), String> {
    let name = match key.split_once('/') {
        None => key,
        Some((_, name)) if name.contains('/') => {
            return Err(
                "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end \
                 with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for \
                 validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix \
                 and '/' (e.g. 'example.com/MyName')"
                    .to_owned(),
            );
        }
        Some(("", _)) => return Err("prefix part must be non-empty".to_owned()),
        Some((prefix, name)) => {
            dns1123_subdomain(prefix).map_err(|fault| format!("prefix part {fault}"))?;
            name
        }
    };
    if name.is_empty() {
        return Err("name part must be non-empty".to_owned());
    }
    if name.len() > 63 {
        return Err(format!("name part {}", too_long(63)));
    }
    if name_part(name) { Ok(()) } else { Err(QUALIFIED.to_owned()) }
}

/// The value of a label.
pub(crate) fn label_value(value: &str) -> Result<(), String> {
    if value.len() > 63 {
        return Err(too_long(63));
    }
    if value.is_empty() || name_part(value) { Ok(()) } else { Err(LABEL_VALUE.to_owned()) }
}

/// A name that may stand in a URL path.
pub(crate) fn path_segment(name: &str) -> Result<(), String> {
    if name == "." || name == ".." {
        return Err(format!("may not be '{name}'"));
    }
    for c in ['/', '%'] {
        if name.contains(c) {
            return Err(format!("may not contain '{c}'"));
        }
    }
    Ok(())
}
