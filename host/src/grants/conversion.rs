//! Names of the definitions between whose versions a plugin converts.

/// Whether the text can be the name of a CustomResourceDefinition: plural, dot, group.
#[must_use]
pub fn is_definition_name(text: &str) -> bool {
    let plural_and_group =
        text.split_once('.').is_some_and(|(plural, group)| !plural.is_empty() && group.contains('.'));
    plural_and_group && text.len() <= 253 && text.split('.').all(is_dns_label)
}

fn is_dns_label(text: &str) -> bool {
    let known = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    !text.is_empty() && text.len() <= 63 && !text.starts_with('-') && !text.ends_with('-') && text.bytes().all(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_is_named_by_plural_and_group() {
        for (name, expected) in [
            ("networks.samplecrd.k8s.io", true),
            ("things.example.com", true),
            ("things.example", false),
            ("things", false),
            (".example.com", false),
            ("things.-a.com", false),
            ("Things.example.com", false),
            ("things.example.com/x", false),
            ("", false),
        ] {
            assert_eq!(is_definition_name(name), expected, "{name:?}");
        }
        assert!(!is_definition_name(&format!("{}.example.com", "a".repeat(300))));
    }
}
