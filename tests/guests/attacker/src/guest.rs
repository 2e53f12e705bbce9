//! What an object asks for, carried out.

use crate::{bombs, leak, manifest};
use oarlock_guest::raw::{
    Change, Error, GroupVersionKind, Guest, Observation, Outcome, PatchChange, PatchType, Precondition, Request, http,
    log, merge,
};
use serde_json::{Map, Value, json};

struct Attacker;

oarlock_guest::export_raw!(Attacker);

/// What is said where nothing is to be changed.
const SAME: &str = "\"same\"";

impl Guest for Attacker {
    fn describe() -> String {
        match manifest::description().as_str() {
            "describe: http" => forever(|| drop(get("http://127.0.0.1:1/"))),
            "describe: log" => forever(|| say("describing")),
            _ => {}
        }
        manifest::text()
    }

    fn get_desired(request: Request) -> Result<Option<String>, Error> {
        let asked = asked(&request)?;
        if let Some(message) = asked.get("fail").and_then(Value::as_str) {
            return Err(Error::Terminal(message.to_owned()));
        }
        if let Some(url) = asked.get("leak").and_then(Value::as_str) {
            return leak::answer(how(&asked), &leak::leak(url, &request.key.namespace));
        }
        for action in asked.get("actions").and_then(Value::as_array).into_iter().flatten() {
            let answered = act(action);
            say(&format!("RESULT {action}: {answered}"));
        }
        let bombed = request.review.is_some() && asked.get("bomb").is_some();
        Ok(Some(if bombed { "\"bombed\"" } else { SAME }.to_owned()))
    }

    fn get_actual(request: Request) -> Result<Observation, Error> {
        let asked = asked(&request)?;
        let requeue_after_ms = asked.get("requeue").and_then(Value::as_u64);
        Ok(Observation { state: Some(SAME.to_owned()), status: None, requeue_after_ms })
    }

    fn patch(request: Request, _: Option<String>, _: Option<String>) -> Result<Outcome, Error> {
        let asked = asked(&request)?;
        if asked.get("leak").is_some() {
            return Ok(leak::patch(how(&asked), &request.key.namespace));
        }
        let patch = PatchChange {
            target: None,
            patch_type: PatchType::JsonPatch,
            patch: bombs::patch(asked.get("bomb").unwrap_or(&Value::Null)),
            subresource: String::new(),
            precondition: Precondition { uid: None, resource_version: None },
        };
        Ok(Outcome { changes: vec![Change::Patch(patch)], events: vec![], warnings: vec![], requeue_after_ms: None })
    }
}

/// What the object asks for.
fn asked(request: &Request) -> Result<Value, Error> {
    let text = request.object.as_ref().or(request.last_seen.as_ref()).map_or("null", String::as_str);
    let object: Value = serde_json::from_str(text).map_err(|e| Error::Terminal(e.to_string()))?;
    let asked = object.pointer("/data/do").and_then(Value::as_str).unwrap_or("{}");
    serde_json::from_str(asked).map_err(|e| Error::Terminal(format!("data.do: {e}")))
}

/// How secrets are to leak.
fn how(asked: &Value) -> &str {
    asked.get("as").and_then(Value::as_str).unwrap_or_default()
}

/// One action; answers what came of it.
fn act(action: &Value) -> String {
    let text = |name: &str| action.get(name).and_then(Value::as_str).unwrap_or_default();
    let count = action.get("n").and_then(Value::as_u64).unwrap_or(1);
    match text("op") {
        "retain" => retain(count),
        "http" => repeat(count, || get(text("url"))),
        "log" => repeat(count, || {
            say("line");
            String::new()
        }),
        "spin" => forever(|| {
            std::hint::black_box(0);
        }),
        other => format!("there is no op {other:?}"),
    }
}

fn retain(count: u64) -> String {
    let members = |prefix: &str| (0..count).map(|i| (format!("{prefix}{i:06}"), json!(0))).collect::<Map<_, _>>();
    let mut patch = members("");
    let names: Vec<Value> = patch.keys().rev().map(|name| json!(name)).collect();
    patch.insert("$retainKeys".to_owned(), Value::Array(names));
    let kind = GroupVersionKind { group: String::new(), version: "v1".to_owned(), kind: "Pod".to_owned() };
    let merged = merge::apply_patch(&kind, &Value::Object(members("x")).to_string(), &Value::Object(patch).to_string());
    match merged {
        Ok(text) => format!("{} bytes", text.len()),
        Err(error) => format!("{error:?}"),
    }
}

fn get(url: &str) -> String {
    let request = http::Outgoing {
        method: "GET".to_owned(),
        url: url.to_owned(),
        headers: Vec::new(),
        body: Vec::new(),
        timeout_ms: 0,
    };
    match http::send(&request) {
        Ok(response) => format!("answered {}", response.status),
        Err(failure) => format!("{failure:?}"),
    }
}

/// So many times, or without end for 0; answers what came last.
fn repeat(count: u64, once: impl Fn() -> String) -> String {
    if count == 0 {
        forever(|| drop(once()));
    }
    (0..count).fold(String::new(), |_, _| once())
}

fn forever(work: impl Fn()) -> ! {
    loop {
        work();
    }
}

fn say(text: &str) {
    log::log(log::Level::Warn, text, &[]);
}
