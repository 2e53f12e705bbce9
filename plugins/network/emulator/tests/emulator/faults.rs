//! Faults, the journal, tokens and the control endpoints.

use std::time::Duration;

use anyhow::{Context, Result};
use neutron_emulator::{Account, Action, Auth, Emulator, Fault, Options};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::client::Client;

const NETWORKS: &str = "/v2.0/networks";

fn named(name: &str) -> Value {
    json!({"network": {"name": name}})
}

#[tokio::test]
async fn an_answer_lost_after_the_effect_leaves_the_network_behind() -> Result<()> {
    let emulator = Emulator::start(Options::default()).await?;
    let client = Client::new(emulator.url());
    emulator.set_faults(vec![Fault::new(Action::reset_after_effect()).on("POST", NETWORKS).times(1)]);
    client.post(NETWORKS, named("a")).await.unwrap_err();
    assert_eq!(emulator.networks().len(), 1);
    assert_eq!(client.post(NETWORKS, named("b")).await?.status, 201, "the rule is used up");

    let seen: Vec<_> = emulator.requests().iter().map(|r| (r.number, r.status, r.fault)).collect();
    assert_eq!(seen, [(1, None, Some("reset")), (2, Some(201), None)]);
    assert_eq!(emulator.requests()[0].body, Some(named("a")));
    emulator.shutdown().await;
    Ok(())
}

#[tokio::test]
async fn a_reset_before_the_effect_changes_nothing_and_is_a_reset() -> Result<()> {
    let emulator = Emulator::start(Options::default()).await?;
    emulator.set_faults(vec![Fault::new(Action::reset())]);
    let error = Client::new(emulator.url()).post(NETWORKS, named("a")).await.unwrap_err();
    let chain = format!("{error:#} {error:?}");
    assert!(chain.contains("reset") || chain.contains("closed"), "{chain}");
    assert!(emulator.networks().is_empty());
    emulator.clear_faults();
    assert_eq!(Client::new(emulator.url()).post(NETWORKS, named("a")).await?.status, 201, "the outage is over");
    emulator.shutdown().await;
    Ok(())
}

#[tokio::test]
async fn answers_can_be_replaced_throttled_and_made_unreadable() -> Result<()> {
    let emulator = Emulator::start(Options::default()).await?;
    let client = Client::new(emulator.url());
    emulator.set_faults(vec![
        Fault::new(Action::throttle(7)).on_path(NETWORKS).times(1),
        Fault::new(Action::answer(409, "NetworkInUse")).on("GET", NETWORKS).times(1),
        Fault::new(Action::Garbage).on_path(NETWORKS).times(1),
        Fault::new(Action::Oversized { bytes: 10 << 20 }).on_path(NETWORKS).times(1),
    ]);
    let throttled = client.get(NETWORKS).await?;
    assert_eq!((throttled.status, throttled.headers["retry-after"].to_str()?), (429, "7"));
    let in_use = client.get(NETWORKS).await?;
    assert_eq!((in_use.status, &in_use.body["NeutronError"]["type"]), (409, &json!("NetworkInUse")));
    let garbage = client.get(NETWORKS).await?;
    assert_eq!((garbage.status, &garbage.body), (200, &Value::Null));
    assert!(!garbage.text.is_empty());
    assert!(client.get(NETWORKS).await?.text.len() > 10 << 20);
    assert_eq!(client.get(NETWORKS).await?.body, json!({"networks": []}));
    emulator.shutdown().await;
    Ok(())
}

#[tokio::test]
async fn an_error_after_the_effect_hides_a_success() -> Result<()> {
    let emulator = Emulator::start(Options::default()).await?;
    let rule = r#"[{"method": "POST", "count": 1, "action": {"answer": {"status": 504, "afterEffect": true}}}]"#;
    let client = Client::new(emulator.url());
    assert_eq!(client.send("PUT", "/_faults", &[], rule).await?.status, 204);
    assert_eq!(client.post(NETWORKS, named("a")).await?.status, 504);
    assert_eq!(emulator.networks().len(), 1);
    emulator.shutdown().await;
    Ok(())
}

#[tokio::test]
async fn a_list_can_lag_behind() -> Result<()> {
    let emulator = Emulator::start(Options::default()).await?;
    let client = Client::new(emulator.url());
    emulator.set_faults(vec![Fault::new(Action::HideNew { milliseconds: 3_600_000 }).on("GET", NETWORKS).times(1)]);
    let made = client.post(NETWORKS, named("a")).await?;
    assert_eq!(client.get(NETWORKS).await?.body, json!({"networks": []}), "hidden");
    let id = made.body["network"]["id"].as_str().context("id")?;
    assert_eq!(client.get(&format!("{NETWORKS}/{id}")).await?.status, 200);
    assert_eq!(client.get(NETWORKS).await?.body["networks"][0]["id"], json!(id), "caught up");
    emulator.shutdown().await;
    Ok(())
}

#[tokio::test]
async fn slow_and_silent_answers_take_their_time() -> Result<()> {
    let emulator = Emulator::start(Options::default()).await?;
    let client = Client::new(emulator.url());
    emulator.set_faults(vec![
        Fault::new(Action::Dribble { bytes: 4, milliseconds: 20 }).times(1),
        Fault::new(Action::Delay { milliseconds: 100 }).times(1),
        Fault::new(Action::Hang { after_effect: true }).times(1),
    ]);
    let start = tokio::time::Instant::now();
    assert_eq!(client.get(NETWORKS).await?.body, json!({"networks": []}));
    // 16 bytes in pieces of 4: the first at once, then three ticks.
    assert!(start.elapsed() >= Duration::from_millis(60), "{:?}", start.elapsed());

    let start = tokio::time::Instant::now();
    client.get(NETWORKS).await?;
    assert!(start.elapsed() >= Duration::from_millis(100), "{:?}", start.elapsed());

    timeout(Duration::from_millis(200), client.post(NETWORKS, named("a"))).await.unwrap_err();
    assert_eq!(emulator.networks().len(), 1, "silent, but carried out");
    timeout(Duration::from_secs(5), emulator.shutdown()).await.context("a hanging request holds up shutdown")?;
    Ok(())
}

async fn token(keystone: &Client) -> Result<String> {
    let user = json!({"name": "demo", "domain": {"id": "default"}, "password": "secret"});
    let scope = json!({"project": {"name": "demo", "domain": {"id": "default"}}});
    let identity = json!({"methods": ["password"], "password": {"user": user}});
    let reply = keystone.post("/auth/tokens", json!({"auth": {"identity": identity, "scope": scope}})).await?;
    Ok(reply.headers.get("x-subject-token").context("no token")?.to_str()?.to_owned())
}

#[tokio::test]
async fn tokens_expire_by_time_by_call_and_by_fault() -> Result<()> {
    let auth =
        Auth { token_lifetime: Duration::from_millis(300), ..Auth::new([Account::new("demo", "secret", "demo")]) };
    let emulator = Emulator::start(Options { auth: Some(auth), ..Options::default() }).await?;
    let neutron = Client::new(emulator.url());
    let keystone = Client::new(&emulator.keystone_url().context("no Keystone")?);
    let with = |token: &str| vec![("X-Auth-Token".to_owned(), token.to_owned())];

    let held = token(&keystone).await?;
    assert_eq!(neutron.send("GET", NETWORKS, &with(&held), "").await?.status, 200);
    emulator.expire_tokens();
    assert_eq!(neutron.send("GET", NETWORKS, &with(&held), "").await?.status, 401, "by call");

    let held = token(&keystone).await?;
    emulator.set_faults(vec![Fault::new(Action::ExpireTokens).on("GET", NETWORKS).times(1)]);
    assert_eq!(neutron.send("GET", NETWORKS, &with(&held), "").await?.status, 401, "by fault");

    let held = token(&keystone).await?;
    let rejected = async {
        while neutron.send("GET", NETWORKS, &with(&held), "").await?.status == 200 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        anyhow::Ok(())
    };
    timeout(Duration::from_secs(10), rejected).await.context("the token never expired")??;
    assert!(emulator.requests().iter().filter(|r| r.path.starts_with("/v3")).all(|r| r.body.is_none()), "passwords");
    emulator.shutdown().await;
    Ok(())
}

#[tokio::test]
async fn pages_follow_one_another_without_gaps() -> Result<()> {
    let emulator = Emulator::start(Options { page_limit: Some(2), ..Options::default() }).await?;
    let client = Client::new(emulator.url());
    for name in ["a", "b", "c", "d", "e"] {
        client.post(NETWORKS, named(name)).await?;
    }
    let (mut path, mut seen, mut pages) = (format!("{NETWORKS}?fields=name&fields=id"), Vec::new(), 0);
    loop {
        let page = client.get(&path).await?.body;
        pages += 1;
        seen.extend(page["networks"].as_array().context("networks")?.iter().map(|n| n["name"].to_string()));
        let links = page["networks_links"].as_array().cloned().unwrap_or_default();
        let Some(next) = links.iter().find(|l| l["rel"] == "next").and_then(|l| l["href"].as_str()) else { break };
        next.strip_prefix(emulator.url()).context("another server")?.clone_into(&mut path);
    }
    seen.sort();
    assert_eq!(seen, ["\"a\"", "\"b\"", "\"c\"", "\"d\"", "\"e\""]);
    assert_eq!(pages, 3);
    emulator.shutdown().await;
    Ok(())
}

#[tokio::test]
async fn state_and_journal_can_be_read_and_forgotten_over_http() -> Result<()> {
    let emulator = Emulator::start(Options::default()).await?;
    let client = Client::new(emulator.url());
    client.post(NETWORKS, named("a")).await?;
    assert_eq!(client.get("/_state").await?.body["networks"][0]["name"], json!("a"));
    let journal = client.get("/_journal").await?.body;
    assert_eq!((&journal[0]["path"], &journal[0]["status"]), (&json!(NETWORKS), &json!(201)));
    assert_eq!(client.send("DELETE", "/_state", &[], "").await?.status, 204);
    assert_eq!(client.send("DELETE", "/_journal", &[], "").await?.status, 204);
    assert!(emulator.networks().is_empty());
    assert!(emulator.requests().is_empty());

    let refused = client.send("PUT", "/_faults", &[], r#"[{"action": "explode"}]"#).await?;
    assert_eq!(refused.status, 400);
    assert!(refused.body["error"].to_string().contains("explode"), "{}", refused.body);
    emulator.shutdown().await;
    Ok(())
}

#[tokio::test]
async fn a_request_body_beyond_the_limit_is_refused() -> Result<()> {
    let emulator = Emulator::start(Options::default()).await?;
    let reply = Client::new(emulator.url()).send("POST", NETWORKS, &[], &"x".repeat(2 << 20)).await;
    // The connection may be closed while the client is still sending.
    assert!(reply.is_err() || reply?.status == 413);
    assert!(emulator.networks().is_empty());
    emulator.shutdown().await;
    Ok(())
}
