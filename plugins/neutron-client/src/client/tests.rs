//! Recorded responses of a real Neutron.

use super::{Refusal, meaning};
use oarlock_guest::Error;
use oarlock_guest::http::{self, Response};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

fn class(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::NotFound(_) => "not found",
        Refusal::Stale(_) => "stale",
        Refusal::InUse(_) => "in use",
        Refusal::Other(Error::Transient { .. }) => "transient",
        Refusal::Other(_) => "terminal",
    }
}

/// All recorded errors.
#[test]
fn recorded_errors_are_told_apart_by_their_type() {
    let mut seen = BTreeMap::new();
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/neutron/fixtures");
    for folder in [recorded.clone(), recorded.join("auth")] {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let exchange: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
            let status = u16::try_from(exchange["status"].as_u64().unwrap()).unwrap();
            let answer = Response::json_body(status, &exchange["response"]);
            if answer.status >= 400 {
                let kind = exchange["response"]["NeutronError"]["type"].as_str().unwrap_or("-").to_owned();
                seen.insert((answer.status, kind), class(&meaning(&http::get("http://127.0.0.1:9696"), &answer)));
            }
        }
    }
    for ((status, kind), meaning) in &seen {
        let expected = match (status, kind.as_str()) {
            (404, _) => "not found",
            (412, _) => "stale",
            (409, "NetworkInUse" | "SubnetInUse" | "GatewayIpInUse" | "VlanIdInUse") => "in use",
            (401 | 409 | 500, _) => "transient",
            _ => "terminal",
        };
        assert_eq!(*meaning, expected, "{status} {kind}");
    }
    for needed in ["OverQuota", "NetworkInUse", "SubnetInUse", "GatewayIpInUse", "PolicyNotAuthorized"] {
        assert!(seen.keys().any(|(_, kind)| kind == needed), "{needed} was not recorded: {seen:?}");
    }
}
