//! No secret leaves the host in a recording, and the recordings replay without them.

use super::{record, replays, texts};
use anyhow::{Context, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use oarlock_tests::harness::{Grant, World, WorldOptions, built_plugin, eventually, misfit_with, text, with_world};
use serde_json::json;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(180);

/// The account's password is in a secret file and in the body of a request, the token in headers and in the cache.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_password_and_the_tokens_of_an_account_are_in_no_recording() -> Result<()> {
    let options = WorldOptions { keystone: true, resync_seconds: 1, ..WorldOptions::default() };
    with_world(options, async |world: Arc<World>| {
        for number in 0..3 {
            world
                .create_network(&format!("quiet-{number}"), &format!("10.{number}.0.0/24"), &format!("10.{number}.0.1"))
                .await?;
            world.ready(&format!("quiet-{number}")).await?;
        }
        let login = world.neutron.login().context("no account")?;
        let (_, secrets) = login.plugin_config();
        let mut sent = 0;
        for number in 0..3 {
            let folder =
                record(&world, "network", "networks", &format!("{}/quiet-{number}", world.namespace), "30").await?;
            for case in texts(&folder)? {
                for (key, secret) in &secrets {
                    // The emulator's password is a word, so only where a password stands.
                    for line in [format!("{key}: {secret}"), format!("{key}: \"{secret}\"")] {
                        ensure!(!case.contains(&line), "{line}: {case}");
                    }
                    ensure!(!case.contains(&STANDARD.encode(secret)), "{key}: {case}");
                }
                // Tokens are placeholders.
                for line in case.lines().filter(|line| {
                    let line = line.trim_start().to_ascii_lowercase();
                    line.starts_with("x-auth-token:") || line.starts_with("x-subject-token:")
                }) {
                    ensure!(line.contains("oarlock-secret-"), "{line}");
                    sent += 1;
                }
            }
            replays(&built_plugin("network")?, &folder).await?;
        }
        ensure!(sent > 0, "no recording has a token");
        Ok(())
    })
    .await
}

/// The misfit reads Secrets, copies their values into ConfigMaps, and sends them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn canaries_in_secrets_and_secret_files_are_in_no_recording() -> Result<()> {
    const STORED: &str = "canary-of-a-stored-secret";
    const OF_FILE: &str = "canary-of-a-file";
    let options = WorldOptions { host: false, network: false, crd: false, ..WorldOptions::default() };
    with_world(options, async |world: Arc<World>| {
        let file = world.folder().join("token");
        fs::write(&file, format!("{OF_FILE}\n"))?;
        let verbs = ["get", "list", "watch", "create", "patch", "delete"];
        let grant = Grant::nothing()
            .rule_in(&world.namespace, "", &["configmaps", "secrets"], &verbs)
            .secret_file("token", &file)
            .partial();
        let misfit = misfit_with("1.0.0", "", |manifest| {
            manifest["primaries"] = json!([{"version": "v1", "kind": "Secret"}]);
        })?;
        world.plugins.grant("misfit", &grant)?;
        world.plugins.place("misfit.wasm", &misfit)?;
        world.start_host().await?;
        // The host sees the Secret as the primary, and the guest copies its value into its child.
        let secret = json!({"apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": "stored", "labels": {"misfit": "true"}, "annotations": {"misfit/mode": "ok"}},
            "stringData": {"value": STORED, "token": format!("token={OF_FILE}")}});
        world.cluster.create(&format!("/api/v1/namespaces/{}/secrets", world.namespace), &secret).await?;
        let key = format!("{}/stored", world.namespace);
        let folder = eventually(SOON, "a recording", || record(&world, "misfit", "Secret", &key, "30")).await?;
        let cases = texts(&folder)?;
        ensure!(!cases.is_empty(), "no case");
        for case in &cases {
            for value in [STORED, OF_FILE] {
                for spelling in [value.to_owned(), STANDARD.encode(value)] {
                    ensure!(!case.contains(&spelling), "{spelling}: {case}");
                }
            }
            ensure!(
                case.contains(&STANDARD.encode("oarlock-secret-").trim_end_matches(['=', 'L', 'Q'])[..18]),
                "{case}"
            );
        }
        let path = world.folder().join("misfit.wasm");
        fs::write(&path, &misfit)?;
        replays(&path, &folder).await?;
        let entry = world.host(async |host| host.plugin("misfit").await).await?;
        ensure!(text(&entry, "/state") == "active", "{entry}");
        Ok(())
    })
    .await
}
