//! Keystone tokens: source, lifetime, and rejection.

use super::fake::{Fake, Fault};
use super::recorded::{body, fixture};
use super::{UID, URL, assert_done, assert_terminal, assert_transient, network};
use crate::NetworkReconciler;
use oarlock_guest::http::{Failure, Request, Response};
use oarlock_guest::testing::Runner;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

const KEYSTONE: &str = "http://127.0.0.1:5000";

/// A Keystone.
#[derive(Default)]
struct Desk {
    asked: Vec<Value>,
    good: Vec<String>,
    project: Option<&'static str>,
    refuses: Option<Response>,
}

impl Desk {
    fn answer(&mut self, request: &Request) -> Response {
        assert_eq!(request.path(), "/v3/auth/tokens");
        self.asked.push(serde_json::from_slice(&request.body).unwrap());
        if let Some(refusal) = &self.refuses {
            return refusal.clone();
        }
        let mut exchange = fixture("auth/002-token-password");
        if let Some(project) = self.project {
            exchange["response"]["token"]["project"]["id"] = json!(project);
        }
        let token = format!("token-{}", self.asked.len());
        let mut answer = body(&exchange);
        answer.headers.push(("X-Subject-Token".into(), token.clone()));
        self.good.push(token);
        answer
    }
}

/// A Neutron that requires a token, and a Keystone.
fn lab() -> (Runner<NetworkReconciler>, Fake, Rc<RefCell<Desk>>) {
    let (neutron, desk) = (Fake::new(), Rc::new(RefCell::new(Desk::default())));
    let (mut networks, keystone) = (neutron.handler(), Rc::clone(&desk));
    let handler = move |request: &Request| -> Result<Response, Failure> {
        let mut desk = keystone.borrow_mut();
        if request.url.starts_with(KEYSTONE) {
            return Ok(desk.answer(request));
        }
        match request.header_value("x-auth-token") {
            Some(token) if desk.good.iter().any(|good| good == token) => networks(request),
            _ => Ok(body(&fixture("auth/102-bad-token"))),
        }
    };
    let runner = Runner::new()
        .config("neutronUrl", URL)
        .config("authUrl", format!("{KEYSTONE}/v3"))
        .http(handler)
        .object(network("192.168.0.0/16", "192.168.0.1"));
    (runner, neutron, desk)
}

fn with_password() -> (Runner<NetworkReconciler>, Fake, Rc<RefCell<Desk>>) {
    let (runner, neutron, desk) = lab();
    let runner = runner.config("username", "demo").config("password", "<password>").config("projectName", "demo");
    (runner, neutron, desk)
}

#[test]
fn a_password_gets_one_token_for_an_hour() {
    let (mut runner, _, desk) = with_password();
    assert_done(&runner.reconcile());
    // Equal to the recorded request.
    assert_eq!(desk.borrow().asked, [fixture("auth/002-token-password")["request"]["body"].clone()]);
    runner.advance(Duration::from_secs(50 * 60));
    assert_done(&runner.reconcile());
    assert_eq!(desk.borrow().asked.len(), 1);
    // Renewed before it expires, so that no request uses an expired one.
    runner.advance(Duration::from_secs(5 * 60));
    assert_done(&runner.reconcile());
    assert_eq!(desk.borrow().asked.len(), 2);
}

#[test]
fn domains_are_given_by_name() {
    let (runner, _, desk) = with_password();
    let mut runner = runner.config("userDomain", "Users").config("projectDomain", "Projects");
    assert_done(&runner.reconcile());
    let asked = &desk.borrow().asked[0]["auth"];
    assert_eq!(asked["identity"]["password"]["user"]["domain"], json!({"name": "Users"}));
    assert_eq!(asked["scope"]["project"]["domain"], json!({"name": "Projects"}));
}

#[test]
fn an_application_credential_needs_no_scope() {
    let (runner, _, desk) = lab();
    let recorded = fixture("auth/003-token-application-credential")["request"]["body"].clone();
    let credential = &recorded["auth"]["identity"]["application_credential"];
    let mut runner = runner
        .config("applicationCredentialId", credential["id"].as_str().unwrap())
        .config("applicationCredentialSecret", credential["secret"].as_str().unwrap());
    assert_done(&runner.reconcile());
    assert_eq!(desk.borrow().asked, [recorded]);
}

#[test]
fn a_revoked_token_is_replaced_in_the_middle_of_a_reconcile() {
    let (mut runner, neutron, desk) = with_password();
    assert_done(&runner.reconcile());
    desk.borrow_mut().good.clear();
    let report = runner.reconcile();
    assert_done(&report);
    assert_eq!(
        report.request_lines(),
        ["GET /v2.0/networks", "POST /v3/auth/tokens", "GET /v2.0/networks", "GET /v2.0/subnets"]
    );
    assert_eq!(neutron.writes(), 2);
}

#[test]
fn a_new_token_that_is_refused_too_ends_the_reconcile() {
    let (mut runner, neutron, desk) = with_password();
    assert_done(&runner.reconcile());
    for _ in 0..2 {
        neutron.fail("GET", "/v2.0/networks", Fault::Instead(Ok(body(&fixture("auth/301-revoked-token")))));
    }
    assert_transient(&runner.reconcile(), "401");
    assert_eq!(desk.borrow().asked.len(), 2);
}

#[test]
fn credentials_that_are_refused_are_tried_again_and_never_shown() {
    let (mut runner, neutron, desk) = with_password();
    desk.borrow_mut().refuses = Some(body(&fixture("auth/004-token-wrong-password")));
    let report = runner.reconcile();
    assert_transient(&report, "Keystone refuses");
    assert!(!format!("{:?}{:?}", report.error, report.log).contains("<password>"));
    assert_eq!(neutron.requests(), 0);
    desk.borrow_mut().refuses = None;
    assert_done(&runner.reconcile());
}

#[test]
fn credentials_for_another_project_neither_make_nor_let_go() {
    let (mut runner, neutron, desk) = with_password();
    desk.borrow_mut().project = Some("fake_project_id");
    assert_done(&runner.reconcile());
    assert_eq!(runner.current().unwrap()["status"]["projectId"], "fake_project_id");

    // With another project's token the network appears absent.
    desk.borrow_mut().project = Some("another");
    runner.restart();
    neutron.edit_network(|network| network["description"] = json!("hidden"));
    assert_transient(
        &runner.reconcile(),
        "made in project fake_project_id, but the plugin's credentials are for project another",
    );
    runner.delete();
    assert!(!runner.reconcile().gone);
    assert_eq!(neutron.networks().len(), 1);

    desk.borrow_mut().project = Some("fake_project_id");
    runner.restart();
    neutron.edit_network(|network| network["description"] = json!(format!("oarlock:{UID}")));
    assert!(runner.reconcile().gone);
}

#[test]
fn a_fixed_token_goes_out_with_every_request() {
    let (neutron, seen) = (Fake::new(), Rc::new(RefCell::new(Vec::new())));
    let (mut handler, log) = (neutron.handler(), Rc::clone(&seen));
    let mut runner = Runner::<NetworkReconciler>::new()
        .config("neutronUrl", URL)
        .config("token", "fixed")
        .http(move |request| {
            log.borrow_mut().push(request.header_value("x-auth-token").map(str::to_owned));
            handler(request)
        })
        .object(network("192.168.0.0/16", ""));
    assert_done(&runner.reconcile());
    assert!(seen.borrow().iter().all(|token| token.as_deref() == Some("fixed")));
    neutron.fail("GET", "/v2.0/networks", Fault::Instead(Ok(body(&fixture("auth/102-bad-token")))));
    assert_transient(&runner.reconcile(), "401");
}

#[test]
fn configurations_that_say_too_little_or_too_much_are_refused() {
    for (settings, part) in [
        (vec![("authUrl", KEYSTONE)], "does not set username"),
        (vec![("authUrl", KEYSTONE), ("username", "demo"), ("password", "x")], "does not set projectName"),
        (vec![("authUrl", KEYSTONE), ("applicationCredentialId", "a")], "does not set applicationCredentialSecret"),
        (vec![("authUrl", KEYSTONE), ("token", "t")], "both token and authUrl"),
        (vec![("username", "demo")], "sets username, but not authUrl"),
    ] {
        let runner = Runner::<NetworkReconciler>::new().config("neutronUrl", URL);
        let runner = settings.into_iter().fold(runner, |runner, (key, value)| runner.config(key, value));
        let report = runner.object(network("10.0.0.0/24", "")).reconcile();
        assert_terminal(&report, part);
        assert!(report.requests.is_empty());
    }
}

#[test]
fn a_plan_may_ask_for_a_token() {
    let (runner, _, desk) = with_password();
    assert_terminal(&runner.dry_run().reconcile(), "dry run: POST /v2.0/networks");
    assert_eq!(desk.borrow().asked.len(), 1);
}
