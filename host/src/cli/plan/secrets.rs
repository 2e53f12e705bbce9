//! Secret values, which a plan shows as digests.

use super::changes::replace_texts;
use super::cluster::Name;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use data_encoding::HEXLOWER;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;

/// Values in Secrets that are shorter are hidden in the Secrets only: words like `true` or `admin` are everywhere.
const SHORTEST: usize = 8;

/// `kubectl apply` stores a copy of the object here.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The known secret values.
pub(super) struct Secrets {
    /// Of the digests: nobody can guess a short password by its digest.
    salt: [u8; 16],
    values: BTreeSet<String>,
}

impl Secrets {
    /// * `values` - of secret files.
    pub(super) fn of(values: &[String]) -> Self {
        let values = values.iter().filter(|value| !value.is_empty());
        let values = values.flat_map(|value| [value.clone(), STANDARD.encode(value)]);
        Self { salt: *uuid::Uuid::new_v4().as_bytes(), values: values.collect() }
    }

    /// Learns the values of Secrets, which a plugin may copy.
    pub(super) fn learn<'a>(&mut self, objects: impl Iterator<Item = (&'a Name, &'a Value)>) {
        for (_, object) in objects.filter(|(name, _)| is_secret(name)) {
            for encoded in fields(object).filter_map(Value::as_str) {
                let decoded = STANDARD.decode(encoded).ok().and_then(|bytes| String::from_utf8(bytes).ok());
                let values = [Some(encoded.to_owned()), decoded].into_iter().flatten();
                self.values
                    .extend(values.map(|value| value.trim_end().to_owned()).filter(|value| value.len() >= SHORTEST));
            }
        }
    }

    /// The object with digests in place of secret values.
    pub(super) fn hide(&self, name: &Name, mut object: Value) -> Value {
        if is_secret(name) {
            for field in ["data", "stringData"] {
                for (_, value) in object.get_mut(field).and_then(Value::as_object_mut).into_iter().flatten() {
                    *value = self.digest(&value.to_string()).into();
                }
            }
            let annotations = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut);
            if let Some(copy) = annotations.and_then(|annotations| annotations.get_mut(LAST_APPLIED)) {
                *copy = self.digest(&copy.to_string()).into();
            }
        }
        replace_texts(&mut object, &|text: &str| self.hide_in(text));
        object
    }

    /// The text with digests in place of secret values. None: it contains none.
    pub(super) fn hide_in(&self, text: &str) -> Option<String> {
        let mut found: Vec<&String> = self.values.iter().filter(|value| text.contains(value.as_str())).collect();
        // A value may contain another one.
        found.sort_by_key(|value| std::cmp::Reverse(value.len()));
        let hidden = |text: String, value: &String| text.replace(value.as_str(), &self.digest(value));
        (!found.is_empty()).then(|| found.into_iter().fold(text.to_owned(), hidden))
    }

    fn digest(&self, value: &str) -> String {
        let digest = Sha256::new().chain_update(self.salt).chain_update(value).finalize();
        let digest = HEXLOWER.encode(&digest);
        format!("(digest {})", digest.get(..16).unwrap_or(&digest))
    }
}

fn is_secret(name: &Name) -> bool {
    name.kind.group.is_empty() && name.kind.kind == "Secret"
}

fn fields(secret: &Value) -> impl Iterator<Item = &Value> {
    secret.get("data").and_then(Value::as_object).into_iter().flat_map(serde_json::Map::values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use oarlock::api::GroupVersionKind;
    use serde_json::json;

    fn name(kind: &str) -> Name {
        Name { kind: GroupVersionKind::new("", "v1", kind), namespace: "n".to_owned(), name: "o".to_owned() }
    }

    #[test]
    fn values_of_secrets_are_digests_wherever_they_are() {
        let mut secrets = Secrets::of(&["hunter2".to_owned()]);
        let secret = json!({"kind": "Secret", "metadata": {"annotations": {LAST_APPLIED: "s3"}},
            "data": {"password": STANDARD.encode("correct horse"), "short": STANDARD.encode("true")}});
        secrets.learn([(&name("Secret"), &secret)].into_iter());
        let hidden = secrets.hide(&name("Secret"), secret.clone()).to_string();
        for value in [STANDARD.encode("correct horse"), STANDARD.encode("true"), "s3\"".to_owned()] {
            assert!(!hidden.contains(&value), "{hidden}");
        }
        let copied = json!({"data": {"url": "https://u:correct horse@h", "ok": "true", "token": "hunter2"}});
        let hidden = secrets.hide(&name("ConfigMap"), copied);
        assert_eq!(hidden["data"]["ok"], "true");
        let hidden = hidden.to_string();
        assert!(!hidden.contains("horse") && !hidden.contains("hunter2"), "{hidden}");
    }

    #[test]
    fn equal_values_have_equal_digests_within_a_plan_only() {
        let (one, other) = (Secrets::of(&[]), Secrets::of(&[]));
        assert_eq!(one.digest("a"), one.digest("a"));
        assert_ne!(one.digest("a"), one.digest("b"));
        assert_ne!(one.digest("a"), other.digest("a"));
    }
}
