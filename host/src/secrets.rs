//! Secrets: what recognizes them in texts and documents, and the placeholders that replace them.
//!
//! A secret has the same placeholder wherever it occurs, so that a plugin that copies it does the same in a replay. Nobody can compute the
//! secret from its placeholder, which is a hash with a random salt of the host.

mod fingerprints;
pub(crate) mod json;
mod known;

pub use known::KnownSecrets;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use fingerprints::{Fingerprints, Shown};
use json::Json;
use percent_encoding::percent_decode_str;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// Values of Secrets that are shorter are replaced in the Secrets only: words like `true` or `admin` are everywhere.
const SHORTEST: usize = 8;

/// Shorter credentials are replaced only where they stand.
const SHORTEST_CREDENTIAL: usize = 4;

/// How a placeholder begins. It is the same text in JSON, in a URL and in a shell.
const PLACEHOLDER: &str = "oarlock-secret-";

/// Hexadecimal digits of a placeholder.
const DIGITS: usize = 16;

/// Other names of headers with a credential, in lower case.
const CREDENTIALS: [&str; 4] = ["authorization", "proxy-authorization", "cookie", "set-cookie"];

/// Parts of names of fields and headers that contain a credential, and ends of names that say something about one.
const PARTS: [&str; 8] = ["token", "secret", "password", "passwd", "apikey", "api-key", "signature", "credential"];
const ABOUT: [&str; 6] = ["type", "url", "uri", "endpoint", "method", "count"];

static SALT: LazyLock<[u8; 16]> = LazyLock::new(|| *uuid::Uuid::new_v4().as_bytes());

/// Whether a header, or a field of a body, contains a credential.
#[must_use]
pub fn is_credential(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('_', "-");
    CREDENTIALS.contains(&name.as_str())
        || PARTS.iter().any(|part| name.contains(part)) && !ABOUT.iter().any(|end| name.ends_with(end))
}

/// The placeholder of a secret.
fn placeholder(secret: &[u8]) -> String {
    Shown::of(secret).to_string()
}

/// Whether a text is the recorded one, in which a placeholder stands for any text except for another placeholder.
pub(crate) fn same_text(recorded: &str, found: &str) -> bool {
    if recorded == found {
        return true;
    }
    let decoded = STANDARD.decode(recorded).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    if decoded.is_some_and(|text| text.starts_with(PLACEHOLDER)) {
        return STANDARD.decode(found).is_ok_and(|found| !found.starts_with(PLACEHOLDER.as_bytes()));
    }
    let mut parts = recorded.split(PLACEHOLDER);
    let Some(mut rest) = found.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut any = false;
    for part in parts {
        any = true;
        let digits = part.bytes().take(DIGITS).take_while(u8::is_ascii_hexdigit).count();
        let literal = part.get(digits..).unwrap_or_default();
        if rest.starts_with(PLACEHOLDER) {
            // The secrets are not the same.
            let own = format!("{PLACEHOLDER}{}", part.get(..digits).unwrap_or_default());
            let Some(after) = rest.strip_prefix(&own) else { return false };
            let Some(after) = after.strip_prefix(literal) else { return false };
            rest = after;
            continue;
        }
        if literal.is_empty() {
            rest = "";
            continue;
        }
        let Some(at) = rest.find(literal) else { return false };
        rest = rest.get(at + literal.len()..).unwrap_or_default();
    }
    any && rest.is_empty()
}

/// What may be replaced in a part of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Texts. The names of its fields belong to the format.
    Texts,
    /// Texts, and names of fields.
    Document,
    /// Nothing: its values belong to the format, too.
    Words,
}

/// The secrets of one recording.
#[derive(Debug, Default)]
pub(crate) struct Secrets {
    /// Not always UTF-8.
    values: BTreeSet<Vec<u8>>,
    /// What replaces a secret with a structure where it is a whole text.
    structured: BTreeMap<String, String>,
}

impl Secrets {
    /// A secret value with its structure: of a JSON document, each text is a secret, and so are long numbers and names that no schema has. Returns
    /// what replaces it.
    pub(crate) fn value(&mut self, value: &str, shortest: usize) -> String {
        if value.is_empty() {
            return String::new();
        }
        if let Some(mut parsed @ (Json::Map(_) | Json::List(_))) = Json::parse(value) {
            self.parts(&mut parsed, shortest);
            let shown = parsed.to_string();
            if value.len() >= shortest.max(SHORTEST_CREDENTIAL) {
                self.values.insert(value.into());
                self.structured.insert(STANDARD.encode(value), STANDARD.encode(&shown));
                self.structured.insert(value.to_owned(), shown.clone());
            }
            return shown;
        }
        for value in [value, value.trim_end()] {
            if value.len() >= shortest {
                self.values.insert(value.into());
            }
        }
        placeholder(value.as_bytes())
    }

    /// Learns the parts of a secret, and replaces them.
    fn parts(&mut self, json: &mut Json, shortest: usize) {
        match json {
            Json::Text(text) => *text = self.value(text, shortest),
            Json::Number(number) if digits(number) >= shortest.max(SHORTEST_CREDENTIAL) => {
                *json = self.value(&number.to_string(), shortest).into();
            }
            Json::List(items) => items.iter_mut().for_each(|item| self.parts(item, shortest)),
            Json::Map(fields) => {
                for (name, value) in fields {
                    if name.len() >= shortest && !is_of_schema(name) {
                        *name = self.value(name, shortest);
                    }
                    self.parts(value, shortest);
                }
            }
            _ => {}
        }
    }

    /// The value of a header with a credential. Returns what replaces it.
    pub(crate) fn header(&mut self, value: &str) -> String {
        if let Some((scheme, credential)) = value.split_once(' ')
            && scheme.bytes().all(|b| b.is_ascii_alphanumeric())
        {
            let plain = STANDARD.decode(credential).ok().and_then(|bytes| String::from_utf8(bytes).ok());
            if let Some((_, password)) = plain.as_deref().and_then(|plain| plain.split_once(':')) {
                self.value(password, SHORTEST_CREDENTIAL);
            }
            return format!("{scheme} {}", self.value(credential, SHORTEST_CREDENTIAL));
        }
        let crumb = value.split(';').next().and_then(|first| first.split_once('='));
        if let Some((_, crumb)) = crumb {
            self.value(crumb, SHORTEST);
        }
        self.value(value, SHORTEST_CREDENTIAL)
    }

    /// A body: JSON, or a form. Returns it without the secrets that the names of its fields show.
    pub(crate) fn body(&mut self, text: &str) -> Option<String> {
        if let Some(mut parsed @ (Json::Map(_) | Json::List(_))) = Json::parse(text) {
            let before = parsed.clone();
            self.named(&mut parsed);
            return (parsed != before).then(|| parsed.to_string());
        }
        if !text.contains(['\n', ' ']) {
            self.query(text);
        }
        None
    }

    /// The pairs of a form or of a query.
    pub(crate) fn query(&mut self, text: &str) {
        for (name, value) in text.split('&').filter_map(|pair| pair.split_once('=')) {
            if is_credential(name) {
                let decoded = percent_decode_str(&value.replace('+', " ")).decode_utf8_lossy().into_owned();
                self.value(&decoded, SHORTEST_CREDENTIAL);
                self.value(value, SHORTEST_CREDENTIAL);
            }
        }
    }

    /// Texts in fields with the name of a credential.
    fn named(&mut self, json: &mut Json) {
        match json {
            Json::List(items) => items.iter_mut().for_each(|item| self.named(item)),
            Json::Map(fields) => {
                for (name, value) in fields {
                    match value {
                        Json::Text(text) if is_credential(name) => *text = self.value(text, SHORTEST_CREDENTIAL),
                        // Shorter numbers are everywhere, and times are no secrets.
                        Json::Number(number)
                            if digits(number) >= SHORTEST && is_credential(name) && !name.contains("xpire") =>
                        {
                            *value = self.value(&number.to_string(), SHORTEST).into();
                        }
                        other => self.named(other),
                    }
                }
            }
            _ => {}
        }
    }

    /// Replaces secrets in a recording: first the values of all Secrets in it, then their copies, and those of the known secrets.
    ///
    /// * `part_at` - of a path such as `request.object`. A document has no other parts.
    pub(crate) fn hide(mut self, recording: &mut Json, part_at: &dyn Fn(&str) -> Part, known: &KnownSecrets) {
        self.hide_secrets(recording);
        let own = self.fingerprints();
        let structured = |text: &str| self.structured.get(text).cloned();
        let with = |text: &str| known.hide_with(&own, structured(text).as_deref().unwrap_or(text));
        replace(recording, "", part_at, &with);
    }

    /// Bytes without secrets.
    pub(crate) fn hide_bytes(&self, bytes: &[u8], known: &KnownSecrets) -> Vec<u8> {
        known.hide_bytes_with(&self.fingerprints(), bytes)
    }

    fn fingerprints(&self) -> Fingerprints {
        let mut all = Fingerprints::default();
        self.values.iter().for_each(|value| all.add(value));
        all
    }

    /// Learns the values of a Secret, or of a part of one that does not say what it is.
    fn learn_secret(&mut self, text: &str) {
        let Some(mut parsed) = Json::parse(text) else { return };
        let whole = parsed.text_of("kind").is_some();
        self.hide_secrets(&mut parsed);
        if let (false, Json::Map(fields)) = (whole, &mut parsed) {
            fields.iter_mut().for_each(|(name, value)| self.hide_field(name, value));
        }
    }

    /// Replaces the values of Secrets in place, and learns them.
    fn hide_secrets(&mut self, json: &mut Json) {
        let of_secret =
            |json: &Json| json.text_of("kind") == Some("Secret") && json.text_of("apiVersion") == Some("v1");
        let secret = of_secret(json);
        let patches_secret = json.get("target").is_some_and(of_secret);
        match json {
            Json::Text(text) => {
                // A Secret in a text, such as kubectl's annotation.
                if text.contains("Secret")
                    && let Some(mut parsed @ (Json::Map(_) | Json::List(_))) = Json::parse(text)
                {
                    let before = parsed.clone();
                    self.hide_secrets(&mut parsed);
                    if parsed != before {
                        *text = parsed.to_string();
                    }
                }
            }
            Json::List(items) => items.iter_mut().for_each(|item| self.hide_secrets(item)),
            Json::Map(fields) => {
                for (name, value) in fields {
                    if secret {
                        self.hide_field(name, value);
                    } else if patches_secret && name == "patch" {
                        self.hide_patch(value);
                    }
                    self.hide_secrets(value);
                }
            }
            _ => {}
        }
    }

    /// A field of a Secret.
    fn hide_field(&mut self, name: &str, value: &mut Json) {
        match (name, value) {
            ("data", Json::Map(data)) => data.iter_mut().for_each(|(_, value)| self.hide_data(value)),
            ("stringData", value) => each_text(value, &mut |text| *text = self.value(text, SHORTEST)),
            _ => {}
        }
    }

    /// A patch of a Secret: a merge patch, or a JSON Patch.
    fn hide_patch(&mut self, patch: &mut Json) {
        match patch {
            Json::Map(fields) => fields.iter_mut().for_each(|(name, value)| self.hide_field(name, value)),
            Json::List(operations) => {
                for operation in operations {
                    let path = operation.text_of("path").unwrap_or_default().to_owned();
                    let Json::Map(fields) = operation else { continue };
                    for (_, value) in fields.iter_mut().filter(|(name, _)| name == "value") {
                        match path.strip_prefix("/data/") {
                            Some(_) => self.hide_data(value),
                            None if path.starts_with("/stringData/") => {
                                each_text(value, &mut |text| *text = self.value(text, SHORTEST));
                            }
                            None => self.hide_field(path.trim_start_matches('/'), value),
                        }
                    }
                }
            }
            _ => {}
        }
    }

    /// A value of `data`, in base64.
    fn hide_data(&mut self, value: &mut Json) {
        let Json::Text(encoded) = value else { return };
        let decoded = STANDARD.decode(encoded.as_bytes()).unwrap_or_else(|_| encoded.clone().into_bytes());
        let shown = match std::str::from_utf8(&decoded) {
            Ok(text) => self.value(text, SHORTEST),
            Err(_) => {
                let shown = placeholder(&decoded);
                if decoded.len() >= SHORTEST {
                    self.values.insert(decoded);
                }
                shown
            }
        };
        *encoded = STANDARD.encode(shown);
    }
}

/// Calls `of` for each text in a document.
fn each_text(json: &mut Json, of: &mut dyn FnMut(&mut String)) {
    match json {
        Json::Text(text) => of(text),
        Json::List(items) => items.iter_mut().for_each(|item| each_text(item, of)),
        Json::Map(fields) => fields.iter_mut().for_each(|(_, value)| each_text(value, of)),
        _ => {}
    }
}

/// The digits of a number.
fn digits(number: &serde_json::Number) -> usize {
    number.to_string().bytes().filter(u8::is_ascii_digit).count()
}

/// Whether a name may be of a schema: such names consist of words. A word with digits is short.
fn is_of_schema(name: &str) -> bool {
    let is_word = |word: &str| word.len() < SHORTEST || word.bytes().all(|byte| byte.is_ascii_alphabetic());
    let separated = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./: ".contains(&byte);
    name.bytes().all(separated) && name.split(|char: char| !char.is_ascii_alphanumeric()).all(is_word)
}

/// Replaces texts, and in documents names of fields, and numbers that are a secret.
fn replace(json: &mut Json, path: &str, part_at: &dyn Fn(&str) -> Part, with: &dyn Fn(&str) -> String) {
    let part = part_at(path);
    match json {
        _ if part == Part::Words => {}
        Json::Text(text) => *text = with(text),
        Json::Number(number) if part == Part::Document && digits(number) >= SHORTEST => {
            let hidden = with(&number.to_string());
            if hidden.len() == PLACEHOLDER.len() + DIGITS && hidden.starts_with(PLACEHOLDER) {
                *json = hidden.into();
            }
        }
        Json::List(items) => items.iter_mut().for_each(|item| replace(item, path, part_at, with)),
        Json::Map(fields) if part == Part::Document => {
            for (name, value) in fields {
                // A secret that is such a word is none where fields have that name.
                if !PARTS.contains(&name.as_str()) {
                    *name = with(name);
                }
                replace(value, path, part_at, with);
            }
        }
        Json::Map(fields) => {
            for (name, value) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                replace(value, &path, part_at, with);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::fingerprints::UNRESERVED;
    use super::*;
    use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
    use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

    fn hidden(secrets: Secrets, document: &str) -> String {
        let mut document = Json::parse(document).unwrap();
        secrets.hide(&mut document, &|_| Part::Document, &KnownSecrets::off());
        document.to_string()
    }

    #[test]
    fn a_secret_has_one_placeholder_in_every_spelling() {
        let mut secrets = Secrets::default();
        let value = "p\"ss wörd/1\n";
        let shown = secrets.value(value, SHORTEST);
        let document = serde_json::json!({
            "plain": value, "in": format!("x{value}y"), "base64": STANDARD.encode(value),
            "json": serde_json::json!({"password": value}).to_string(),
            "form": format!("password={}", utf8_percent_encode(value, UNRESERVED)),
            "strict": utf8_percent_encode(value, NON_ALPHANUMERIC).to_string(),
            value: 1,
        });
        let hidden = hidden(secrets, &document.to_string());
        assert!(!hidden.contains("ss w") && !hidden.contains("ss%20w"), "{hidden}");
        assert_eq!(hidden.matches(&shown).count(), 6, "{hidden}");
        assert!(hidden.contains(&STANDARD.encode(&shown)), "{hidden}");
    }

    /// The outputs of `json.Marshal`, `json.dumps`, `encodeURIComponent`, `quote`, `PathEscape`, `QueryEscape` and `URLSearchParams`.
    #[test]
    fn a_secret_has_the_same_placeholder_in_the_spellings_of_every_language() {
        let value = "a&b<c ä!/'1*~😀";
        let spellings = [
            r"a\u0026b\u003cc ä!/'1*~😀",
            r"a\\u0026b\\u003cc ä!/'1*~😀",
            r"a&b<c \u00e4!/'1*~\ud83d\ude00",
            r"a&b<c \\u00e4!/'1*~\\ud83d\\ude00",
            "a%26b%3Cc%20%C3%A4!%2F'1*~%F0%9F%98%80",
            "a%26b%3Cc%20%C3%A4%21/%271%2A~%F0%9F%98%80",
            "a&b%3Cc%20%C3%A4%21%2F%271%2A~%F0%9F%98%80",
            "a%26b%3Cc+%C3%A4%21%2F%271%2A~%F0%9F%98%80",
            "a%26b%3Cc+%C3%A4%21%2F%271*%7E%F0%9F%98%80",
            "a%26b%3cc%20%c3%a4%21%2f%271%2a~%f0%9f%98%80",
            "a%26b%3cc+%c3%a4%21%2f%271%2a~%f0%9f%98%80",
        ];
        for spelling in spellings {
            let mut secrets = Secrets::default();
            let shown = secrets.value(value, SHORTEST);
            let document = Json::from(format!("x{spelling}y")).to_string();
            assert_eq!(hidden(secrets, &document), format!("\"x{shown}y\""), "{spelling}");
        }
    }

    #[test]
    fn the_values_of_secrets_are_hidden_also_in_patches_and_in_copies() {
        let encode = |text: &str| STANDARD.encode(text);
        let text = serde_json::json!({
            "read": {"apiVersion": "v1", "kind": "Secret", "metadata": {"annotations": {
                "kubectl.kubernetes.io/last-applied-configuration":
                    serde_json::json!({"apiVersion": "v1", "kind": "Secret", "stringData": {"k": "canary-one"}}).to_string()}},
                "data": {"password": encode("canary-two"), "pin": encode("1234"), "binary": "/v8A/v8A/w=="},
                "stringData": {"short": "yes"}},
            "changes": [
                {"patch": {"target": {"apiVersion": "v1", "kind": "Secret", "name": "a"}, "type": "merge",
                    "patch": {"data": {"x": encode("canary-three")}}}},
                {"patch": {"target": {"apiVersion": "v1", "kind": "Secret", "name": "a"}, "type": "json",
                    "patch": [{"op": "add", "path": "/data/x", "value": encode("canary-four")}]}},
            ],
            "elsewhere": ["canary-one", "url://u:canary-two@h", "canary-three", "canary-four", "yes"],
        })
        .to_string();
        let hidden = hidden(Secrets::default(), &text);
        assert!(!hidden.contains("canary"), "{hidden}");
        for value in ["canary-two", "1234", "canary-three", "canary-four"] {
            assert!(!hidden.contains(&encode(value)), "{value}: {hidden}");
        }
        assert!(!hidden.contains("/v8A"), "{hidden}");
        assert_eq!(hidden.matches("\"yes\"").count(), 1, "a short value is everywhere: {hidden}");
    }

    #[test]
    fn a_binary_secret_is_replaced_as_it_is_and_in_every_encoding() {
        let bytes: Vec<u8> = (0..33_u8).map(|number| 0xf3 ^ number.wrapping_mul(37)).collect();
        let text = serde_json::json!({"apiVersion": "v1", "kind": "Secret", "data": {"key": STANDARD.encode(&bytes)}})
            .to_string();
        let mut secrets = Secrets::default();
        secrets.learn_secret(&text);
        for before in 0..3 {
            let body = [&b"\xff\x00x"[..before], &bytes, b"\r\n--end"].concat();
            let shown = secrets.hide_bytes(&body, &KnownSecrets::off());
            assert!(!shown.windows(bytes.len()).any(|part| part == bytes), "{shown:?}");
            assert!(shown.ends_with(b"\r\n--end"));
        }
        let spellings = [
            STANDARD.encode(&bytes),
            STANDARD_NO_PAD.encode(&bytes),
            URL_SAFE.encode(&bytes),
            URL_SAFE_NO_PAD.encode(&bytes),
            data_encoding::HEXLOWER.encode(&bytes),
            data_encoding::HEXUPPER.encode(&bytes),
            utf8_percent_encode(&STANDARD.encode(&bytes), NON_ALPHANUMERIC).to_string(),
            percent_encoding::percent_encode(&bytes, UNRESERVED).to_string(),
        ];
        let document: Vec<String> = spellings.iter().map(|spelling| format!("k: {spelling}.")).collect();
        let document = serde_json::json!(document);
        let mut secrets = Secrets::default();
        secrets.learn_secret(&text);
        let shown = hidden(secrets, &document.to_string());
        assert!(!spellings.iter().any(|spelling| shown.contains(spelling)), "{shown}");
        assert!(shown.matches("k: ").count() == 8 && shown.contains(PLACEHOLDER), "{shown}");
    }

    #[test]
    fn a_secret_that_is_a_part_of_placeholders_leaves_them_whole() {
        let mut secrets = Secrets::default();
        let shown = secrets.value("secret", SHORTEST_CREDENTIAL);
        assert_eq!(secrets.value("", 0), "");
        assert_eq!(hidden(secrets, &format!(r#"["{shown}","a secret"]"#)), format!(r#"["{shown}","a {shown}"]"#));
    }

    #[test]
    fn a_structured_secret_keeps_its_structure() {
        let mut secrets = Secrets::default();
        let shown = secrets.value(r#"{"auths":{"r":{"password":"canary-five"}}}"#, SHORTEST);
        assert!(shown.starts_with(r#"{"auths":{"r":{"password":"oarlock-secret-"#), "{shown}");
        assert!(!hidden(secrets, r#"["canary-five"]"#).contains("canary"));
    }

    #[test]
    fn numbers_and_names_in_a_structured_secret_are_secrets_unless_they_are_short_or_of_a_schema() {
        let mut secrets = Secrets::default();
        let value =
            r#"{"pin":123456789,"port":5432,"client_x509_cert_url":"canary-of-a-url","550e8400e29b":["yes",true]}"#;
        let shown = secrets.value(value, SHORTEST);
        let parsed = Json::parse(&shown).unwrap();
        let Some(Json::Text(pin)) = parsed.get("pin") else { panic!("{shown}") };
        assert!(pin.starts_with(PLACEHOLDER) && shown.contains(r#""port":5432"#), "{shown}");
        assert!(
            shown.contains(r#""client_x509_cert_url":"oarlock-secret-"#) && !shown.contains("550e8400e29b"),
            "{shown}"
        );
        let document = serde_json::json!({
            "copy": value, "base64": STANDARD.encode(value), "said": format!("it is {value}"),
            "number": 123_456_789, "another": 1_234_567_890, "in": "pin 123456789", "of": {"550e8400e29b": 1},
        });
        let hidden = Json::parse(&hidden(secrets, &document.to_string())).unwrap();
        assert_eq!(hidden.text_of("copy"), Some(shown.as_str()));
        assert_eq!(hidden.text_of("base64"), Some(STANDARD.encode(&shown).as_str()));
        assert_eq!(hidden.text_of("said"), Some(format!("it is {}", placeholder(value.as_bytes())).as_str()));
        assert_eq!(hidden.text_of("number"), Some(pin.as_str()));
        assert_eq!(hidden.text_of("in"), Some(format!("pin {pin}").as_str()));
        let hidden = hidden.to_string();
        assert!(hidden.contains(r#""another":1234567890"#) && !hidden.contains("550e8400e29b"), "{hidden}");
    }

    #[test]
    fn credentials_in_headers_bodies_and_queries_are_learned() {
        let mut secrets = Secrets::default();
        assert!(secrets.header("Bearer canary-token").starts_with("Bearer oarlock-secret-"));
        secrets.header(&format!("Basic {}", STANDARD.encode("user:canary-basic")));
        secrets.header("session=canary-session; Path=/");
        secrets.query("a=b&token=canary%2Fquery");
        let body =
            secrets.body(r#"{"auth":{"password":"xyz","user":"admin"},"access_token":"canary-access"}"#).unwrap();
        assert!(!body.contains("xyz") && body.contains("admin"), "{body}");
        assert_eq!(secrets.body(r#"{"user": "admin"}"#), None);
        let pin = secrets.body(r#"{"password":987654321,"token_ttl":3600,"token_expires":1764297283}"#).unwrap();
        assert!(!pin.contains("987") && pin.contains("3600") && pin.contains("1764297283"), "{pin}");
        secrets.body("client_secret=canary-form&x=1");
        let text = r#"["canary-token","canary-basic","canary-session","canary%2Fquery","canary/query","canary-access","canary-form"]"#;
        let hidden = hidden(secrets, text);
        assert!(!hidden.contains("canary"), "{hidden}");
    }

    #[test]
    fn a_placeholder_stands_for_any_text_except_for_another_placeholder() {
        let (one, other) = (placeholder(b"one"), placeholder(b"other"));
        assert!(same_text(&format!("Bearer {one}"), &format!("Bearer {one}")));
        assert!(same_text(&format!("Bearer {one}"), "Bearer abc"));
        assert!(same_text(&format!("a{one}b{other}c"), "a1b2c"));
        assert!(same_text(&STANDARD.encode(&one), &STANDARD.encode("abc")));
        assert!(!same_text(&format!("Bearer {one}"), &format!("Bearer {other}")));
        assert!(!same_text(&format!("Bearer {one}"), "Basic abc"));
        assert!(!same_text(&format!("a{one}b"), "axc"));
        assert!(!same_text("a", "b") && !same_text("", "b") && same_text("", ""));
    }
}
