//! The harness would be of no use if its gate let through what it should hold.

mod control_plane;

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use http::{Method, StatusCode};
use oarlock_tests::harness::{Action, Gate, HttpClient, Neutron, Rule, SOON, Tripwire, Upstream, eventually, steady};
use serde_json::{Value, json};
use std::time::Duration;
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{Instant, timeout},
};

struct Lab {
    neutron: Neutron,
    gate: Gate,
    client: HttpClient,
    tripwire: Tripwire,
    _folder: TempDir,
}

async fn lab() -> Result<Lab> {
    let folder = tempfile::tempdir()?;
    let neutron = Neutron::start(folder.path(), false, false).await?;
    let tripwire = Tripwire::default();
    let gate = Gate::open(Upstream::Http(neutron.url().to_owned()), tripwire.clone()).await?;
    let client = HttpClient::new(&gate.url());
    Ok(Lab { neutron, gate, client, tripwire, _folder: folder })
}

impl Lab {
    async fn post(&self, name: &str) -> Result<StatusCode> {
        let body = json!({"network": {"name": name, "description": "harness-itself"}});
        Ok(self.client.json(Method::POST, "/v2.0/networks", &[], &body).await?.status)
    }

    async fn names(&self) -> Result<Vec<String>> {
        let networks = self.neutron.networks_of("harness-itself").await?;
        Ok(networks.iter().filter_map(|one| one.get("name").and_then(Value::as_str)).map(ToOwned::to_owned).collect())
    }
}

#[tokio::test]
async fn a_gate_passes_and_keeps_a_journal() -> Result<()> {
    let lab = lab().await?;
    ensure!(lab.post("one").await? == StatusCode::CREATED);
    let answer = lab.client.get("/v2.0/networks?name=one").await?;
    ensure!(answer.json()?.pointer("/networks/0/name") == Some(&json!("one")), "{}", answer.text());
    let journal = lab.gate.journal();
    let seen: Vec<_> = journal.iter().map(|one| (one.method.as_str(), one.path.as_str(), one.is_write())).collect();
    ensure!(seen == [("POST", "/v2.0/networks", true), ("GET", "/v2.0/networks?name=one", false)], "{seen:?}");
    ensure!(lab.tripwire.count() == 1, "{}", lab.tripwire.count());
    Ok(())
}

#[tokio::test]
async fn a_gate_that_is_down_answers_nothing_and_comes_back() -> Result<()> {
    let lab = lab().await?;
    lab.post("before").await?;
    lab.gate.set_down(true);
    ensure!(lab.post("meanwhile").await.is_err(), "it answered");
    lab.gate.set_down(false);
    ensure!(lab.post("after").await? == StatusCode::CREATED);
    let names = lab.names().await?;
    ensure!(names.len() == 2 && !names.contains(&"meanwhile".to_owned()), "{names:?}");
    Ok(())
}

#[tokio::test]
async fn a_gate_that_is_down_breaks_a_connection_with_its_first_byte() -> Result<()> {
    let lab = lab().await?;
    lab.gate.set_down(true);
    let connect = || TcpStream::connect(lab.gate.url().replace("http://", ""));
    let (mut early, mut late) = (connect().await?, connect().await?);
    let quiet = timeout(Duration::from_millis(200), early.read_u8()).await;
    ensure!(quiet.is_err(), "it was closed before it said anything");
    early.write_all(b"G").await?;
    let broken = timeout(SOON, early.read_u8()).await?;
    ensure!(broken.is_err(), "it answered");
    lab.gate.set_down(false);
    late.write_all(b"GET /v2.0/networks HTTP/1.1\r\nhost: of-a-test\r\n\r\n").await?;
    ensure!(timeout(SOON, late.read_u8()).await?? == b'H', "no answer of HTTP");
    Ok(())
}

#[tokio::test]
async fn rules_decide_by_method_path_and_number() -> Result<()> {
    let lab = lab().await?;
    let refuse = Action::neutron(StatusCode::CONFLICT, "OverQuota", "no more");
    let quota = lab.gate.rule(Rule::every(refuse).methods(&[Method::POST]).path("/v2.0/networks").times(2));
    ensure!(lab.client.get("/v2.0/networks").await?.status.is_success());
    ensure!(lab.post("a").await? == StatusCode::CONFLICT);
    ensure!(lab.post("b").await? == StatusCode::CONFLICT);
    ensure!(lab.post("c").await? == StatusCode::CREATED);
    ensure!(quota.hits() == 2);

    let lost = lab.gate.rule(Rule::every(Action::DropAnswer).methods(&[Method::POST]));
    ensure!(lab.post("effect-without-answer").await.is_err(), "it answered");
    drop(lost);
    let mut names = lab.names().await?;
    names.sort();
    ensure!(names == ["c", "effect-without-answer"], "{names:?}");

    let slow = Action::Trickle { body: Bytes::from(vec![b' '; 4096]), pause: Duration::from_millis(50) };
    let _slow = lab.gate.rule(Rule::every(slow));
    let began = Instant::now();
    ensure!(lab.client.get("/").await?.body.len() == 4096);
    ensure!(began.elapsed() >= Duration::from_millis(200), "{:?}", began.elapsed());
    Ok(())
}

#[tokio::test]
async fn a_tripwire_stops_the_world_exactly_after_the_nth_write() -> Result<()> {
    let lab = lab().await?;
    lab.post("one").await?;
    lab.tripwire.arm(2);
    ensure!(lab.post("two").await? == StatusCode::CREATED);
    let third = lab.post("three");
    let fourth = lab.post("four");
    let held = async { tokio::join!(third, fourth) };
    let mut held = std::pin::pin!(held);
    tokio::select! {
        answers = &mut held => anyhow::bail!("not held: {answers:?}"),
        tripped = timeout(SOON, lab.tripwire.tripped()) => tripped.context("it did not trip")?,
    }
    let check = steady(Duration::from_millis(300), "three networks", || async {
        // Which of the two came first is open; the other one never arrives.
        ensure!(lab.names().await?.len() == 3, "{:?}", lab.names().await?);
        Ok(())
    });
    tokio::select! {
        answers = &mut held => anyhow::bail!("not held: {answers:?}"),
        checked = check => checked?,
    }
    lab.tripwire.disarm();
    let (third, fourth) = held.await;
    ensure!(third.is_err() && fourth.is_err(), "held writes must be cut, not let through: {third:?} {fourth:?}");
    ensure!(lab.post("five").await? == StatusCode::CREATED);
    ensure!(lab.names().await?.len() == 4);
    Ok(())
}

#[tokio::test]
async fn eventually_tells_the_last_state_it_saw() -> Result<()> {
    let mut turns = 0;
    let seen = eventually(Duration::from_millis(200), "the impossible", || {
        turns += 1;
        async { Err::<(), _>(anyhow::anyhow!("still 7")) }
    })
    .await;
    let Err(error) = seen else { anyhow::bail!("it succeeded") };
    ensure!(format!("{error:#}").contains("waited 0.2 s for the impossible: still 7"), "{error:#}");
    ensure!(turns > 1);
    Ok(())
}
