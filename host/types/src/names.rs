//! Names: words of a JSON name, in the cases of the languages, unique within their scope.

use std::collections::HashMap;

/// Longest name of a type. Names grow with the depth of the schema.
const LONGEST: usize = 160;

/// The words of a name: `podCIDRs-v4` is `pod`, `CIDRs`, `v4`.
pub(crate) fn words(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut words = Vec::new();
    let mut word = String::new();
    for (at, &letter) in letters.iter().enumerate() {
        if !letter.is_ascii_alphanumeric() {
            words.push(std::mem::take(&mut word));
            continue;
        }
        let before = at.checked_sub(1).and_then(|at| letters.get(at)).copied();
        let after = letters.get(at + 1).copied();
        let begins = letter.is_ascii_uppercase()
            && before.is_some_and(|before| {
                before.is_ascii_lowercase()
                    || before.is_ascii_digit()
                    // `HTTPRoute`: the last capital begins a word; `CIDRs` is one.
                    || (before.is_ascii_uppercase()
                        && after.is_some_and(|after| after.is_ascii_lowercase())
                        && !(after == Some('s') && letters.get(at + 2).is_none_or(|next| !next.is_ascii_lowercase())))
            });
        if begins {
            words.push(std::mem::take(&mut word));
        }
        word.push(letter);
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

/// `UpperCamelCase`; capitals within words stay.
pub(crate) fn pascal(name: &str) -> String {
    let mut cased = String::new();
    for word in words(name) {
        let mut letters = word.chars();
        cased.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        cased.push_str(letters.as_str());
    }
    if cased.is_empty() {
        cased.push_str(if name.is_empty() { "Empty" } else { "Other" });
    }
    if cased.starts_with(|first: char| first.is_ascii_digit()) {
        cased.insert(0, 'X');
    }
    cased
}

/// `snake_case`.
pub(crate) fn snake(name: &str) -> String {
    let mut cased = words(name).join("_").to_ascii_lowercase();
    if cased.is_empty() {
        cased.push_str(if name.is_empty() { "empty" } else { "other" });
    }
    if cased.starts_with(|first: char| first.is_ascii_digit()) {
        cased.insert(0, '_');
    }
    cased
}

/// Whether a text is an identifier of every language, keywords aside.
pub(crate) fn is_identifier(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// Names that were given in one scope, and the number after which the next of the same name is looked for.
#[derive(Debug, Default)]
pub(crate) struct Scope(HashMap<String, u64>);

impl Scope {
    /// A scope in which some names are taken.
    pub(crate) fn with(taken: &[&str]) -> Self {
        Self(taken.iter().map(|name| ((*name).to_owned(), 1)).collect())
    }

    /// The name, cut where it is too long, with a number where it was given before.
    pub(crate) fn unique(&mut self, name: &str) -> String {
        let cut: String = name.chars().take(LONGEST).collect();
        let line = if cut.ends_with(|last: char| last.is_ascii_digit()) { "_" } else { "" };
        let mut number = self.0.get(&cut).copied().unwrap_or_default();
        let mut given = cut.clone();
        while number > 0 {
            number += 1;
            given = format!("{cut}{line}{number}");
            if !self.0.contains_key(&given) {
                break;
            }
        }
        self.0.insert(cut, number.max(1));
        self.0.entry(given.clone()).or_insert(1);
        given
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cased_by_words() {
        for (name, upper, lower) in [
            ("mtu", "Mtu", "mtu"),
            ("podCIDRs", "PodCIDRs", "pod_cidrs"),
            ("HTTPRoute", "HTTPRoute", "http_route"),
            ("x-kubernetes-int-or-string", "XKubernetesIntOrString", "x_kubernetes_int_or_string"),
            ("$ref", "Ref", "ref"),
            ("3scale", "X3scale", "_3scale"),
            ("", "Empty", "empty"),
            ("ä*/", "Other", "other"),
        ] {
            assert_eq!((pascal(name).as_str(), snake(name).as_str()), (upper, lower), "{name}");
        }
    }

    #[test]
    fn a_name_is_given_once() {
        let mut scope = Scope::with(&["String"]);
        assert_eq!(
            ["a", "a", "a", "String", "v1", "v1"].map(|name| scope.unique(name)),
            ["a", "a2", "a3", "String2", "v1", "v1_2"]
        );
        assert_eq!(scope.unique(&"x".repeat(1000)).len(), LONGEST);
        assert_eq!(["b2", "b", "b", "b"].map(|name| scope.unique(name)), ["b2", "b", "b3", "b4"]);
    }
}
