//! Replay of the recorded responses of a real Neutron and Keystone.
//!
//! Ids, times and values that a server chooses at random are matched up; everything else must be equal. With `NEUTRON_URL` the same
//! requests go to a real server instead (no authentication, empty database: `tests/neutron/start.sh --fresh`), which shows whether the
//! comparison itself is fair.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use neutron_emulator::{Account, Auth, Emulator, Options};
use serde_json::{Value, json};

use crate::client::Client;

/// Exchanges with another comparison of their bodies, and the reason.
const COMPARED_OTHERWISE: &[(&str, How, &str)] = &[
    ("extension-list", How::AliasesKnown, "the emulator lists only the extensions it emulates"),
    ("network-list-page-1", How::IdsBlurred, "which network has the lowest id is chance"),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Exactly,
    IdsBlurred,
    /// The recording contains every alias of the response.
    AliasesKnown,
}

struct Exchange {
    file: String,
    name: String,
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: String,
    status: u16,
    response: Value,
}

fn fixtures(folder: &str) -> Result<Vec<Exchange>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/neutron").join(folder);
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_, std::io::Error>>()?;
    files.retain(|file| file.extension().is_some_and(|e| e == "json"));
    files.sort();
    files.iter().map(|file| read(file).with_context(|| file.display().to_string())).collect()
}

fn read(file: &Path) -> Result<Exchange> {
    let fixture: Value = serde_json::from_slice(&std::fs::read(file)?)?;
    let text = |pointer: &str| fixture.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let headers = fixture.pointer("/request/headers").and_then(Value::as_array).into_iter().flatten();
    let headers = headers.filter_map(|h| h.as_str()?.split_once(": ")).map(|(n, v)| (n.to_owned(), v.to_owned()));
    Ok(Exchange {
        file: file.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        name: text("/name").context("name")?,
        method: text("/request/method").context("method")?,
        path: text("/request/path").context("path")?,
        headers: headers.collect(),
        body: match fixture.pointer("/request/body") {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(raw)) => raw.clone(),
            Some(body) => body.to_string(),
        },
        status: u16::try_from(fixture.get("status").and_then(Value::as_u64).context("status")?)?,
        response: fixture.get("response").cloned().unwrap_or_default(),
    })
}

/// Corresponding texts of the recording and of the responses.
#[derive(Default)]
struct Names {
    live: BTreeMap<String, String>,
}

impl Names {
    /// A recorded request in the form to send now.
    fn to_live(&self, text: &str) -> String {
        self.live.iter().fold(text.to_owned(), |text, (recorded, live)| text.replace(recorded, live))
    }

    fn to_recorded(&self, value: &Value) -> Result<Value> {
        let text = self.live.iter().fold(value.to_string(), |text, (recorded, live)| text.replace(live, recorded));
        Ok(serde_json::from_str(&text)?)
    }

    /// Pairs the ids at equal paths, unless they are known already.
    fn learn(&mut self, recorded: &Value, live: &Value) {
        match (recorded, live) {
            (Value::Object(recorded), Value::Object(live)) => {
                for (name, value) in recorded {
                    if let Some(other) = live.get(name) {
                        self.learn(value, other);
                    }
                }
            }
            (Value::Array(recorded), Value::Array(live)) => {
                recorded.iter().zip(live).for_each(|(recorded, live)| self.learn(recorded, live));
            }
            (Value::String(recorded), Value::String(live)) if is_id(recorded) && is_id(live) => {
                self.live.entry(recorded.clone()).or_insert_with(|| live.clone());
            }
            _ => {}
        }
    }
}

fn is_id(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_hexdigit).count();
    digits == 32 && (text.len() == 32 || (text.len() == 36 && text.matches('-').count() == 4))
}

/// Replaces values that differ from run to run, and sorts lists.
fn normal(value: &Value, how: How) -> Value {
    match value {
        Value::Object(map) => {
            let tunnel = map.get("provider:network_type") == Some(&json!("vxlan"));
            let blurred = |name: &str| {
                ["created_at", "updated_at", "expires_at", "issued_at", "mac_address", "audit_ids"].contains(&name)
                    || (tunnel && name == "provider:segmentation_id")
            };
            let pick = |(name, value): (&String, &Value)| {
                let value = if blurred(name) { json!("<chance>") } else { normal(value, how) };
                (name.clone(), value)
            };
            map.iter().map(pick).collect()
        }
        Value::Array(items) => {
            let mut items: Vec<Value> = items.iter().map(|item| normal(item, how)).collect();
            items.sort_by_key(Value::to_string);
            Value::Array(items)
        }
        Value::String(text) => json!(normal_text(text, how)),
        other => other.clone(),
    }
}

/// Removes server addresses; sorts lists of port ids and quoted objects.
fn normal_text(text: &str, how: How) -> String {
    let mut text = text.to_owned();
    if let Some((before, rest)) = text.split_once("http://127.0.0.1:") {
        text = format!("{before}<server>{}", rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    if let Some((before, ids)) = text.split_once("id for these ports is: ") {
        let mut ids: Vec<&str> = ids.trim_end_matches('.').split(',').collect();
        ids.sort_unstable();
        text = format!("{before}{}", ids.join(","));
    }
    if let Some((before, (dict, after))) = text.split_once("{'").and_then(|(b, rest)| Some((b, rest.split_once("'}")?)))
    {
        // An object of the request, in the order of its members there.
        let mut members: Vec<&str> = dict.split("', '").collect();
        members.sort_unstable();
        text = format!("{before}{{'{}'}}{after}", members.join("', '"));
    }
    if how == How::IdsBlurred {
        let word = |word: &str| if is_id(word) { "<id>".to_owned() } else { word.to_owned() };
        text =
            text.split('&').map(|p| p.split('=').map(word).collect::<Vec<_>>().join("=")).collect::<Vec<_>>().join("&");
    }
    text
}

/// Compares one response; `None` if it equals the recording.
fn difference(exchange: &Exchange, status: u16, live: &Value, real: bool) -> Option<String> {
    let mut how = How::Exactly;
    if let Some((_, other, _)) = COMPARED_OTHERWISE.iter().find(|(name, ..)| *name == exchange.name) {
        how = *other;
    }
    let label = format!("{} ({} {})", exchange.file, exchange.method, exchange.path);
    if status != exchange.status {
        return Some(format!("{label}: status {status}, recorded {}: {live}", exchange.status));
    }
    if how == How::AliasesKnown && !real {
        let aliases = |body: &Value| -> Vec<String> {
            body["extensions"].as_array().into_iter().flatten().map(|e| e["alias"].to_string()).collect()
        };
        let known = aliases(&exchange.response);
        let unknown: Vec<_> = aliases(live).into_iter().filter(|alias| !known.contains(alias)).collect();
        return (!unknown.is_empty() || aliases(live).is_empty())
            .then(|| format!("{label}: unknown aliases {unknown:?}"));
    }
    let (mut recorded, mut live) = (normal(&exchange.response, how), normal(live, how));
    if !exchange.body.contains("ip_address") {
        // A port's address is random unless the request names one.
        for body in [&mut recorded, &mut live] {
            if let Some(address) = body.pointer_mut("/port/fixed_ips/0/ip_address") {
                *address = json!("<chance>");
            }
        }
    }
    if let Some(name) = live.pointer_mut("/token/application_credential/name") {
        *name = recorded.pointer("/token/application_credential/name").cloned().unwrap_or_default();
    }
    (recorded != live).then(|| format!("{label}:\n  recorded {recorded}\n  answered {live}"))
}

/// The score, and the exchanges with another comparison.
fn report(total: usize, differences: &[String]) -> String {
    let otherwise =
        COMPARED_OTHERWISE.iter().map(|(name, how, why)| format!("\ncompared otherwise: {name} ({how:?}): {why}"));
    let different = differences.iter().map(|difference| format!("\n{difference}"));
    let score = format!("score: {} of {total} exchanges answered as recorded", total - differences.len());
    otherwise.chain(different).fold(score, |report, line| report + &line)
}

/// Sends the requests of a folder in order and adds the differences from the recorded responses.
async fn replay(client: &Client, folder: &str, real: bool, differences: &mut Vec<String>) -> Result<usize> {
    let mut names = Names::default();
    let exchanges = fixtures(folder)?;
    for exchange in &exchanges {
        let (path, body) = (names.to_live(&exchange.path), names.to_live(&exchange.body));
        let reply = client.send(&exchange.method, &path, &exchange.headers, &body).await?;
        names.learn(&exchange.response, &reply.body);
        differences.extend(difference(exchange, reply.status, &names.to_recorded(&reply.body)?, real));
    }
    Ok(exchanges.len())
}

#[tokio::test]
async fn every_recorded_exchange_is_answered_as_recorded() -> Result<()> {
    let real = std::env::var("NEUTRON_URL").ok();
    let emulator = Emulator::start(Options::default()).await?;
    let client = Client::new(real.as_deref().unwrap_or(emulator.url()));
    let mut differences = Vec::new();
    let mut total = 0;
    for folder in ["fixtures", "fixtures/edges"] {
        total += replay(&client, folder, real.is_some(), &mut differences).await?;
    }
    println!("{}", report(total, &differences));
    assert!(total > 200, "the recordings are gone");
    assert!(differences.is_empty(), "{}", report(total, &differences));
    emulator.shutdown().await;
    Ok(())
}

/// The accounts of the recordings. The application credential has the recorded id, so requests fit as they are.
fn accounts() -> Auth {
    Auth::new([
        Account::new("demo", "demo-secret", "demo")
            .application_credential("cd795f778f004c30aa9d97d7b4db325c", "lab-secret"),
        Account::new("other", "demo-secret", "other"),
        Account::new("admin", "admin-secret", "admin").admin(),
    ])
}

async fn token(keystone: &Client, identity: Value, project: Option<&str>) -> Result<String> {
    let auth = match project {
        None => json!({"identity": identity}),
        Some(project) => {
            json!({"identity": identity, "scope": {"project": {"name": project, "domain": {"id": "default"}}}})
        }
    };
    let reply = keystone.post("/auth/tokens", json!({"auth": auth})).await?;
    Ok(reply.headers.get("x-subject-token").context("no token")?.to_str()?.to_owned())
}

fn password(user: &str, password: &str) -> Value {
    let user = json!({"name": user, "domain": {"id": "default"}, "password": password});
    json!({"methods": ["password"], "password": {"user": user}})
}

#[tokio::test]
async fn every_recorded_exchange_with_accounts_is_answered_as_recorded() -> Result<()> {
    let emulator = Emulator::start(Options { auth: Some(accounts()), ..Options::default() }).await?;
    let neutron = Client::new(emulator.url());
    let keystone = Client::new(&emulator.keystone_url().context("no Keystone")?);

    let mut names = Names::default();
    for (user, secret) in [("demo", "demo-secret"), ("other", "demo-secret"), ("admin", "admin-secret")] {
        let token = token(&keystone, password(user, secret), Some(user)).await?;
        names.live.insert(format!("<token of {user}>"), token);
    }
    let application = json!({"methods": ["application_credential"], "application_credential": {
        "id": "cd795f778f004c30aa9d97d7b4db325c", "secret": "lab-secret"}});
    names.live.insert("<token of demo-app>".to_owned(), token(&keystone, application, None).await?);
    let spent = token(&keystone, password("demo", "demo-secret"), Some("demo")).await?;
    names.live.insert("<revoked token>".to_owned(), spent);
    names.live.insert("<password>".to_owned(), "demo-secret".to_owned());
    names.live.insert("<application_credential_secret>".to_owned(), "lab-secret".to_owned());

    let mut differences = Vec::new();
    let exchanges = fixtures("fixtures/auth")?;
    for exchange in &exchanges {
        let client = if exchange.path.starts_with("/v2.0") { &neutron } else { &keystone };
        let headers: Vec<_> = exchange.headers.iter().map(|(n, v)| (n.clone(), names.to_live(v))).collect();
        let (path, body) = (names.to_live(&exchange.path), names.to_live(&exchange.body));
        let reply = client.send(&exchange.method, &path, &headers, &body).await?;
        names.learn(&exchange.response, &reply.body);
        differences.extend(difference(exchange, reply.status, &names.to_recorded(&reply.body)?, false));
        if reply.status == 401 {
            assert!(reply.headers.contains_key("www-authenticate"), "{}", exchange.file);
        }
    }
    assert!(exchanges.len() > 20, "the recordings are gone");
    println!("{}", report(exchanges.len(), &differences));
    assert!(differences.is_empty(), "{}", report(exchanges.len(), &differences));
    emulator.shutdown().await;
    Ok(())
}
