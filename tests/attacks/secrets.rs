//! A hostile guest puts its secrets wherever a guest can put a text. Everything that leaves the host is searched for them.

use super::{ask, attacker, options, started};
use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use oarlock_tests::harness::{Grant, SOON, World, eventually, oarlock, text, with_world};
use serde_json::{Value, json};
use std::fs;
use std::sync::Arc;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// In a Secret, and in a secret file before and after it is rotated. Those may stand where only letters and digits may.
const STORED: &str = "canary-of-a-stored-secret";
const OF_FILE: &str = "canary0of0a0file";
const ROTATED: &str = "canary0of0a0new0file";

/// How the guest tells of its secrets, and the reason of the failure that comes of it. Empty: none comes.
const WAYS: [(&str, &str); 7] = [
    ("terminal", "TerminalError"),
    ("transient", "ReconcileError"),
    ("denied", "TerminalError"),
    ("event", ""),
    ("change", "NotGranted"),
    ("trap", "PluginError"),
    ("bad", "PluginError"),
];

fn spellings() -> impl Iterator<Item = String> {
    [STORED, OF_FILE, ROTATED].into_iter().flat_map(|canary| {
        [
            canary.to_owned(),
            canary.replace('-', "%2D"),
            STANDARD.encode(canary),
            STANDARD_NO_PAD.encode(canary),
            URL_SAFE_NO_PAD.encode(canary),
        ]
    })
}

/// Fails if a text contains a secret.
fn search(what: &str, text: &str) -> Result<()> {
    for canary in spellings() {
        let at = text.find(&canary);
        let around = at.map(|at| {
            let (from, to) = (text.floor_char_boundary(at.saturating_sub(300)), text.floor_char_boundary(at + 100));
            text.get(from..to)
        });
        ensure!(at.is_none(), "{canary} is in {what}: {around:?}");
    }
    Ok(())
}

fn grant(world: &World, file: &std::path::Path) -> Grant {
    Grant::nothing()
        .rule("", &["configmaps"], &["get", "list", "watch"])
        .rule_in(&world.namespace, "", &["secrets"], &["get"])
        .origin(&world.neutron_gate.url())
        .secret_file("token", file)
        .partial()
}

/// The answers of the admin port, those of the page included, with their paths.
async fn answers(world: &World) -> Result<Vec<(String, String)>> {
    let base = world.host(async |host| Ok(host.admin().base().to_owned())).await?;
    let printed = oarlock(&["ui", "--no-browser", "--admin-addr", &base]).await?;
    let printed = String::from_utf8(printed.stdout)?;
    let token = printed.trim().split_once("#token=").context("no token")?.1;
    let bearer = format!("Bearer {token}");
    let mut paths: Vec<String> = [
        "/metrics",
        "/plugins",
        "/page/plugins/attacker",
        "/page/plugins/attacker/objects",
        "/page/plugins/attacker/versions",
        "/page/plugins/attacker/log",
        "/plugins/attacker/logs",
    ]
    .map(str::to_owned)
    .to_vec();
    for (way, _) in WAYS {
        let object = format!("kind=ConfigMap&namespace={}&name={way}", world.namespace);
        paths.extend([
            format!("/explain?{object}"),
            format!("/recordings?{object}&last=30"),
            format!("/page/object?{object}"),
            format!("/page/states?{object}&plugin=attacker"),
        ]);
    }
    let mut found = vec![("/page/events".to_owned(), events(&base).await?)];
    for path in paths {
        let headers = [("authorization", bearer.as_str())];
        let answer = world
            .host(async |host| host.admin().send(http::Method::GET, &path, &headers, bytes::Bytes::new()).await)
            .await?;
        found.push((path, answer.text()));
    }
    Ok(found)
}

/// The first events of the page.
async fn events(base: &str) -> Result<String> {
    let address = base.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(format!("GET /page/events HTTP/1.1\r\nhost: {address}\r\n\r\n").as_bytes()).await?;
    let mut text = String::new();
    while !text.contains("data:") {
        let mut part = vec![0; 64 << 10];
        let read = tokio::time::timeout(SOON, stream.read(&mut part)).await??;
        ensure!(read > 0, "the stream ended: {text}");
        text.push_str(&String::from_utf8_lossy(part.get(..read).unwrap_or_default()));
    }
    Ok(text)
}

/// Searches the log, the events, the answers of the admin port and the commands.
async fn search_everything(world: &World) -> Result<()> {
    let lines = world.log(|_| true).await?;
    lines.iter().try_for_each(|line| search("the log", &line.text))?;
    let events = world.cluster.list(&format!("/api/v1/namespaces/{}/events", world.namespace)).await?;
    search("the events", &json!(events).to_string())?;
    for (path, answer) in answers(world).await? {
        search(&path, &answer)?;
    }
    let base = world.host(async |host| Ok(host.admin().base().to_owned())).await?;
    for command in [&["logs", "attacker"][..], &["plugins"], &["describe", "plugin", "attacker"]] {
        let output = oarlock(&[command, &["--admin-addr", &base]].concat()).await?;
        search(&format!("{command:?}"), &format!("{output:?}"))?;
    }
    Ok(())
}

/// Waits until the guest has told of its secrets in every way.
async fn told(world: &World) -> Result<()> {
    for (way, reason) in WAYS {
        eventually(SOON, &format!("the reconcile of {way}"), || async {
            let lines = world.log(|line| line.text.contains(&format!("{}/{way}", world.namespace))).await?;
            let ended = |text: &str| text.contains(if reason.is_empty() { "progressing" } else { "reconcile failed" });
            ensure!(lines.iter().any(|line| ended(&line.text) && line.text.contains(reason)), "{lines:?}");
            Ok(())
        })
        .await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hostile_guest_gets_no_secret_into_anything_that_leaves_the_host() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let file = world.folder().join("token");
        fs::write(&file, format!("{OF_FILE}\n"))?;
        world.plugins.grant("attacker", &grant(&world, &file))?;
        let code = attacker(|manifest| {
            let secrets = json!({"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]});
            if let Some(permissions) = manifest.pointer_mut("/permissions").and_then(Value::as_array_mut) {
                permissions.push(secrets);
            }
        })?;
        world.plugins.place("attacker.wasm", &code)?;
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "stored"},
            "stringData": {"value": STORED}});
        world.cluster.create(&format!("/api/v1/namespaces/{}/secrets", world.namespace), &secret).await?;
        started(&world).await?;
        let url = world.neutron_gate.url();
        for (way, _) in WAYS {
            ask(&world, way, &json!({"leak": url, "as": way})).await?;
        }
        told(&world).await?;
        // It knew both, and said so.
        let sent = world.neutron_gate.journal();
        ensure!(sent.iter().any(|one| one.path.contains(OF_FILE) && one.path.contains(&STANDARD.encode(STORED))));
        let said = world.log(|line| line.text.matches("oarlock-secret-").count() > 3).await?;
        ensure!(!said.is_empty(), "it said nothing");
        let reasons = eventually(SOON, "its events", || async {
            let events = world.cluster.list(&format!("/api/v1/namespaces/{}/events", world.namespace)).await?;
            let of_secrets = |event: &&Value| text(event, "/message").contains("oarlock-secret-");
            let reasons: Vec<String> = events.iter().filter(of_secrets).map(|event| text(event, "/reason")).collect();
            ensure!(reasons.len() >= 4, "{events:?}");
            Ok(reasons)
        })
        .await?;
        ensure!(reasons.iter().any(|reason| reason.starts_with("oarlock-secret-")), "{reasons:?}");
        let found = answers(&world).await?;
        for path in ["/explain?", "/recordings?", "/page/states?", "/page/plugins/attacker/log", "/plugins"] {
            let shown = found.iter().any(|(of, answer)| of.starts_with(path) && answer.contains("oarlock-secret-"));
            ensure!(shown, "{path} shows nothing of it");
        }
        search_everything(&world).await?;

        // The old value is a secret after the file was rotated, and after the plugin was removed.
        fs::write(&file, format!("{ROTATED}\n"))?;
        eventually(SOON, "the new value to be sent", || async {
            ensure!(world.neutron_gate.journal().iter().any(|one| one.path.contains(ROTATED)));
            Ok(())
        })
        .await?;
        search_everything(&world).await?;
        world.plugins.remove("attacker.wasm")?;
        eventually(SOON, "the plugin to be removed", || async {
            let all = world.host(async |host| host.plugins().await).await?;
            let left = all.pointer("/plugins").and_then(Value::as_array).into_iter().flatten();
            ensure!(
                left.filter(|entry| text(entry, "/name") == "attacker").all(|entry| text(entry, "/state") != "active")
            );
            Ok(())
        })
        .await?;
        search_everything(&world).await
    })
    .await
}
