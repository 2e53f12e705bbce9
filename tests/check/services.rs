//! Services that a plugin asks over HTTP: records that stay, crashes between two writes, and the description of Neutron.

use super::{Bug, Seeded, check};
use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use oarlock::cases::StubText;
use oarlock::plugin::HttpStub;
use oarlock::plugin::tape::Sent;
use oarlock_tests::harness::repository_root;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;

/// A record of a service stays when its object goes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_that_stays_is_found() -> Result<()> {
    Seeded::with_service()?.finds(LEAKS).await
}

/// A host that crashes between the creation of a record and the note of its id leaves a second record.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "second tier: a minute"]
async fn a_record_that_a_crash_doubles_is_found() -> Result<()> {
    Seeded::with_service()?.finds(DOUBLES).await
}

const LEAKS: Bug = ("leaks-external", "leftovers", 6);
/// One of the cases crashes after a create.
const DOUBLES: Bug = ("creates-twice", "faults", 6);
pub(super) const BUGS: [Bug; 2] = [LEAKS, DOUBLES];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_with_a_service_and_without_a_bug_raises_no_alarm() -> Result<()> {
    Seeded::with_service()?.raises_no_alarm(16).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_report_with_services_depends_on_the_seed_alone() -> Result<()> {
    let mut reports = Vec::new();
    for _ in 0..2 {
        let seeded = Seeded::with_service()?;
        let told = seeded.check("leaks-external", 2).await?;
        ensure!(told.code == Some(1), "{}{}", told.stdout, told.stderr);
        reports.push((told.stdout, fs::read_to_string(seeded.findings("leaks-external").join("leftovers.yaml"))?));
    }
    ensure!(reports.first() == reports.get(1), "{reports:?}");
    Ok(())
}

/// The shipped plugin, against the description of Neutron.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_network_plugin_raises_no_alarm() -> Result<()> {
    let plugin = repository_root().join("plugins/network");
    let file = |name: &str| plugin.join(name).display().to_string();
    let (crd, grant, services) = (file("crd.yaml"), file("network.yaml"), file("neutron.yaml"));
    let objects = repository_root().join("tests/fixtures/networks.yaml").display().to_string();
    let findings = tempfile::tempdir()?;
    let folder = findings.path().display().to_string();
    let inputs = ["--crd", &crd, "--grant", &grant, "--services", &services, "--object", &objects];
    let told = check("network", &[&inputs[..], &["--cases", "16", "--output-dir", &folder]].concat()).await?;
    ensure!(told.code == Some(0), "{}{}", told.stdout, told.stderr);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mistake_in_a_description_has_its_place() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("services.yaml");
    let crd = repository_root().join("tests/fixtures/check/crd.yaml").display().to_string();
    for (text, expected) in [
        (
            "- service:\n    url: http://a\n    colections: {}\n",
            "services.yaml:3:5: unknown field `colections`, expected",
        ),
        ("- service: {url: a, collections: {}}\n", "services.yaml:1:3: service.url: \"a\" is no URL"),
        ("[]\n", "describes no service"),
    ] {
        fs::write(&file, text)?;
        let (services, output) = (file.display().to_string(), folder.path().join("findings").display().to_string());
        let args = ["--crd", &crd, "--services", &services, "--cases", "1", "--output-dir", &output];
        let told = check("seeded", &args).await?;
        let lines = told.stderr.lines().count();
        ensure!(told.code == Some(2) && lines == 1 && told.stderr.contains(expected), "{text}{}", told.stderr);
    }
    Ok(())
}

/// What the description does not refuse, by parts of the names of recordings.
const REFUSED: &[(&str, &str)] = &[
    ("gateway", "addresses"),
    ("pools", "addresses"),
    ("overlap", "addresses"),
    ("prefix", "addresses"),
    ("not-a-cidr", "addresses"),
    ("wrong-version", "addresses"),
    ("slash", "addresses"),
    ("multicast", "addresses"),
    ("subnet-delete-with", "the addresses of ports"),
    ("delete-with-router", "routers"),
    ("unknown-attribute", "fields that do not exist"),
    ("with-tags", "fields that do not exist"),
    ("too-long", "limits of values"),
    ("too-big", "limits of values"),
    ("not-a-uuid", "limits of values"),
    ("vlan", "networks of providers"),
    ("segmentation", "networks of providers"),
    ("quota", "quotas"),
    ("update-network", "a field that is named and does not change"),
];

/// Requests that the plugin never sends, and that the description does not answer.
const UNKNOWN: &[(&str, &str)] = &[
    ("tags", "tags"),
    ("page", "pages"),
    ("bulk", "several records at once"),
    ("host-bits", "addresses"),
    ("port-list", "the choice of fields"),
];

/// Fields of answers that the plugin reads.
const READ: [&str; 6] = ["description", "network_id", "name", "cidr", "gateway_ip", "status"];

/// The description of Neutron answers as a real Neutron did in the recordings, as far as the plugin uses it.
#[test]
fn the_description_of_neutron_answers_as_recorded() -> Result<()> {
    let root = repository_root();
    let text = fs::read_to_string(root.join("plugins/network/neutron.yaml"))?;
    let stubs: Vec<StubText> = serde_saphyr::from_str(&text)?;
    let stub: HttpStub = stubs.first().context("no stub")?.stub().map_err(anyhow::Error::msg)?;
    let mut files: Vec<_> = fs::read_dir(root.join("tests/neutron/fixtures"))?.collect::<std::io::Result<Vec<_>>>()?;
    files.retain(|file| file.path().extension().is_some_and(|extension| extension == "json"));
    files.sort_by_key(fs::DirEntry::path);
    let mut ids: BTreeMap<String, String> = BTreeMap::new();
    let (mut compared, mut differing) = (0, Vec::new());
    for file in files {
        let recorded: Value = serde_json::from_slice(&fs::read(file.path())?)?;
        let said = |pointer: &str| recorded.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let to_live = |text: String| ids.iter().fold(text, |text, (recorded, live)| text.replace(recorded, live));
        let body = match recorded.pointer("/request/body") {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(raw)) => raw.clone(),
            Some(body) => body.to_string(),
        };
        let headers = recorded.pointer("/request/headers").and_then(Value::as_array).into_iter().flatten();
        let headers = headers.filter_map(|header| header.as_str()?.split_once(": "));
        let (name, status) = (said("/name"), recorded.get("status").and_then(Value::as_u64).context("no status")?);
        let is_in = |list: &[(&str, &str)]| list.iter().any(|(part, _)| name.contains(part));
        if is_in(UNKNOWN) || (status >= 400 && is_in(REFUSED)) {
            continue;
        }
        // Revisions count other things in a real Neutron: a right one cannot be sent to both.
        let headers = headers.filter(|(header, _)| status >= 400 || !header.eq_ignore_ascii_case("if-match"));
        let sent = Sent {
            method: said("/request/method"),
            url: format!("http://127.0.0.1:9696{}", to_live(said("/request/path"))),
            headers: headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            body: Bytes::from(to_live(body)),
        };
        if !(stub.fits)(&sent) {
            continue;
        }
        compared += 1;
        let answer = (stub.answer)(&sent).map_err(|failure| anyhow::anyhow!("{failure:?}"))?;
        let live: Value = serde_json::from_slice(answer.body()).unwrap_or_default();
        let response = recorded.get("response").cloned().unwrap_or_default();
        let mut differences = Vec::new();
        if status != u64::from(answer.status().as_u16()) {
            differences.push(format!("status {status}, found {}", answer.status()));
        } else if answer.status().is_success() {
            learn(&response, &live, &mut ids);
            compare(&response, &live, &ids, &mut differences);
        }
        if !differences.is_empty() {
            differing.push(format!("{name}: {}", differences.join(", ")));
        }
    }
    ensure!(compared > 50 && differing.is_empty(), "{compared} compared, {} differ:\n{differing:#?}", differing.len());
    Ok(())
}

/// Pairs the ids of created and listed records.
fn learn(recorded: &Value, live: &Value, ids: &mut BTreeMap<String, String>) {
    match (recorded, live) {
        (Value::Object(recorded), Value::Object(live)) => {
            for (name, value) in recorded {
                match (value, live.get(name)) {
                    (Value::String(old), Some(Value::String(new))) if name == "id" => {
                        ids.entry(old.clone()).or_insert_with(|| new.clone());
                    }
                    (value, Some(other)) => learn(value, other, ids),
                    _ => {}
                }
            }
        }
        (Value::Array(recorded), Value::Array(live)) => {
            recorded.iter().zip(live).for_each(|(old, new)| learn(old, new, ids))
        }
        _ => {}
    }
}

/// The differences in the fields that the plugin reads, and in the lengths of lists.
fn compare(recorded: &Value, live: &Value, ids: &BTreeMap<String, String>, differences: &mut Vec<String>) {
    match (recorded, live) {
        (Value::Object(recorded), Value::Object(live)) => {
            for (name, value) in recorded {
                let known = value.as_str().and_then(|text| ids.get(text)).map(|id| Value::from(id.as_str()));
                match live.get(name) {
                    Some(found) if READ.contains(&name.as_str()) => {
                        let expected = known.as_ref().unwrap_or(value);
                        if expected != found {
                            differences.push(format!("{name}: {expected}, found {found}"));
                        }
                    }
                    Some(found) if value.is_object() || value.is_array() => compare(value, found, ids, differences),
                    // Neutron chooses an address.
                    None if name != "gateway_ip" && READ.contains(&name.as_str()) && !value.is_null() => {
                        differences.push(format!("{name}: {value}, found none"))
                    }
                    _ => {}
                }
            }
        }
        (Value::Array(recorded), Value::Array(live)) => {
            if recorded.len() != live.len() {
                differences.push(format!("{} items, found {}", recorded.len(), live.len()));
            }
            // A list has no order.
            let id = |value: &Value| value.get("id").cloned();
            for value in recorded {
                let same = value
                    .get("id")
                    .and_then(Value::as_str)
                    .and_then(|id| ids.get(id))
                    .map(|id| Value::from(id.as_str()));
                if let Some(found) = live.iter().find(|found| same.is_some() && id(found) == same) {
                    compare(value, found, ids, differences);
                }
            }
        }
        _ => {}
    }
}
