//! A host whose plugins are in a registry.

use super::{grant, idler, key_pair, no_logins, push, reference};
use anyhow::{Context, Result, ensure};
use oarlock::oci::{self, SigningKey};
use oarlock_tests::harness::{
    Gate, Registry, SOON, Tripwire, Upstream, World, WorldOptions, eventually, steady, text, with_world,
};
use serde_json::Value;
use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

const NAME: &str = "idler-0000";

fn bare() -> WorldOptions {
    WorldOptions { host: false, network: false, crd: false, ..WorldOptions::default() }
}

/// Starts the host with one plugin of a registry, of which it asks every second. An answer that does not come costs less than a
/// test waits.
pub(crate) async fn start(world: &World, source: &str, args: &[&str]) -> Result<()> {
    let (cache, config) = (world.folder().join("oci").display().to_string(), no_logins().display().to_string());
    let own = [
        "--plugins",
        source,
        "--oci-cache",
        &cache,
        "--oci-poll-seconds",
        "1",
        "--registry-config",
        &config,
        "--registry-timeout-seconds",
        "5",
    ];
    world.start_host_with(&[&own[..], args].concat()).await
}

/// Waits until the plugin stands in a way.
async fn stands(world: &World, what: &str, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
    eventually(SOON, what, || async {
        let all = world.host(async |host| host.plugins().await).await?;
        let entry = all.pointer("/plugins/0").with_context(|| all.to_string())?;
        ensure!(wanted(entry), "{all}");
        Ok(entry.clone())
    })
    .await
}

/// Waits until the metric says whether the registry answers.
async fn answers(world: &World, source: &str, wanted: bool) -> Result<()> {
    let of = format!("reference=\"{source}\"");
    eventually(SOON, "the metric to tell", || async {
        let told = world.host(async |host| host.metric("oarlock_registry_answers", &[&of]).await).await?;
        ensure!((told > 0.5) == wanted, "{told}");
        Ok(())
    })
    .await
}

fn runs(entry: &Value, version: &str) -> bool {
    text(entry, "/state") == "active" && text(entry, "/version") == version
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_of_a_registry_runs_is_swapped_when_its_tag_moves_and_comes_back_from_the_cache() -> Result<()> {
    with_world(bare(), async |world: Arc<World>| {
        let registry = Registry::open(world.folder()).await?;
        let gate = Gate::open(Upstream::Http(format!("http://{}", registry.address())), Tripwire::default()).await?;
        let source = format!("oci://{}/team/{NAME}:v1", gate.url().replace("http://", ""));
        let first = push(registry.address(), &format!("team/{NAME}:v1"), "1", None).await?;
        start(&world, &source, &[]).await?;
        // Its grant is nothing that the registry could give.
        let waiting =
            stands(&world, "a plugin without a grant", |entry| text(entry, "/state") == "awaiting-grant").await?;
        ensure!(text(&waiting, "/file") == source, "{waiting}");
        world.plugins.grant(NAME, &grant())?;
        let entry = stands(&world, "version 1", |entry| runs(entry, "1")).await?;
        ensure!(text(&entry, "/source/manifestDigest") == first.manifest.to_string(), "{entry}");
        ensure!(text(&entry, "/digest") == first.layer.to_string(), "{entry}");
        let table = table(&world).await?;
        ensure!(table.contains(&format!("from {source} {}", first.manifest)), "{table}");
        let second = push(registry.address(), &format!("team/{NAME}:v1"), "2", None).await?;
        let entry = stands(&world, "version 2", |entry| runs(entry, "2")).await?;
        ensure!(text(&entry, "/source/manifestDigest") == second.manifest.to_string(), "{entry}");
        answers(&world, &source, true).await?;
        // Nothing is lost while the registry is away, over a restart as well.
        gate.set_down(true);
        stands(&world, "the outage", |entry| runs(entry, "2") && !text(entry, "/source/problem").is_empty()).await?;
        answers(&world, &source, false).await?;
        world.stop_host(SOON).await?;
        start(&world, &source, &[]).await?;
        stands(&world, "version 2 again", |entry| runs(entry, "2")).await?;
        gate.set_down(false);
        push(registry.address(), &format!("team/{NAME}:v1"), "3", None).await?;
        stands(&world, "version 3", |entry| runs(entry, "3") && text(entry, "/source/problem").is_empty()).await?;
        answers(&world, &source, true).await?;
        // Its grant is withdrawn: it ends, whatever the registry says.
        world.plugins.remove(&format!("{NAME}.yaml"))?;
        stands(&world, "its end", |entry| text(entry, "/state") == "awaiting-grant").await?;
        Ok(())
    })
    .await
}

async fn table(world: &World) -> Result<String> {
    let admin = world.host(async |host| Ok(host.admin().base().replace("http://", ""))).await?;
    let told = oarlock_tests::harness::oarlock(&["plugins", "--admin-addr", &admin]).await?;
    Ok(String::from_utf8(told.stdout)?)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unsigned_version_never_runs_and_the_one_before_goes_on() -> Result<()> {
    with_world(bare(), async |world: Arc<World>| {
        let registry = Registry::open(world.folder()).await?;
        let (private, public) = key_pair(world.folder(), "key").await?;
        let key = SigningKey::read(Path::new(&private))?;
        world.plugins.grant(NAME, &grant())?;
        let source = format!("oci://{}/{NAME}:v1", registry.address());
        let rest = format!("{NAME}:v1");
        push(registry.address(), &rest, "1", None).await?;
        start(&world, &source, &["--verify-key", &public]).await?;
        // A registry that answers too late is another reason for a while.
        let unsigned =
            |entry: &Value| text(entry, "/state") == "failed" && text(entry, "/reason").contains("it is not signed");
        stands(&world, "a failure", unsigned).await?;
        push(registry.address(), &rest, "1", Some(&key)).await?;
        stands(&world, "version 1", |entry| runs(entry, "1")).await?;
        push(registry.address(), &rest, "2", None).await?;
        let refused = |entry: &Value| {
            let next =
                text(entry, "/next/reason").contains("it is not signed") && text(entry, "/next/state") == "failed";
            runs(entry, "1") && next
        };
        stands(&world, "version 2 to be refused", refused).await?;
        let refused = "plugin in the registry refused";
        world.logged(refused, |line| line.text.contains(refused)).await?;
        // It goes on with version 1 after a restart, which sees the unsigned tag at once.
        world.stop_host(SOON).await?;
        start(&world, &source, &["--verify-key", &public]).await?;
        stands(&world, "version 1 again", |entry| runs(entry, "1") && entry.pointer("/source/refused").is_some())
            .await?;
        push(registry.address(), &rest, "2", Some(&key)).await?;
        stands(&world, "version 2", |entry| runs(entry, "2")).await?;
        Ok(())
    })
    .await
}

/// Grants belong to names: a registry must not choose whose grant its code gets.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn code_that_calls_itself_like_another_plugin_does_not_get_its_grant() -> Result<()> {
    with_world(bare(), async |world: Arc<World>| {
        let registry = Registry::open(world.folder()).await?;
        for name in [NAME, "idler-0001"] {
            world.plugins.grant(name, &grant())?;
        }
        let at = reference(registry.address(), "team/idler-0001:v1")?;
        let client = super::client()?;
        oci::push(&client, idler(NAME, "1")?, "x.wasm", &BTreeMap::new(), &at, None).await?;
        start(&world, &at.to_string(), &[]).await?;
        let why = "it calls itself idler-0000, but plugin idler-0001 is expected";
        let mistaken = |entry: &Value| text(entry, "/state") == "failed" && text(entry, "/reason").contains(why);
        stands(&world, "a failure", mistaken).await?;
        let still = || async {
            let entry = stands(&world, "the failure", |_| true).await?;
            ensure!(text(&entry, "/state") == "failed", "{entry}");
            Ok(())
        };
        steady(Duration::from_secs(1), "the failure", still).await?;
        // Who runs the host may say so.
        world.stop_host(SOON).await?;
        start(&world, &format!("{NAME}={at}"), &[]).await?;
        stands(&world, "the plugin", |entry| runs(entry, "1")).await?;
        Ok(())
    })
    .await
}

/// `dev` grants what authors' files ask for; what comes from a registry is not theirs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dev_grants_nothing_to_code_from_a_registry() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let registry = Registry::open(folder.path()).await?;
    push(registry.address(), &format!("{NAME}:v1"), "1", None).await?;
    let plugins = folder.path().join("plugins");
    std::fs::create_dir(&plugins)?;
    let text_of = |path: &Path| path.display().to_string();
    let source = format!("oci://{}/{NAME}:v1", registry.address());
    let args = [
        "dev".to_owned(),
        "--plugins".to_owned(),
        text_of(&plugins),
        "--plugins".to_owned(),
        source,
        "--kubeconfig-out".to_owned(),
        text_of(&folder.path().join("kubeconfig")),
        "--oci-cache".to_owned(),
        text_of(&folder.path().join("oci")),
        "--registry-config".to_owned(),
        text_of(&no_logins()),
        "--admin-addr".to_owned(),
        "127.0.0.1:0".to_owned(),
        "--log-format".to_owned(),
        "json".to_owned(),
        "--no-cache".to_owned(),
    ];
    let program = oarlock_tests::harness::oarlock_binary()?;
    let process =
        oarlock_tests::harness::Process::spawn("oarlock dev", &program, &args, &[], &folder.path().join("log"), false)?;
    process.line(SOON, "the wait for a grant", |line| line.text.contains("awaiting a grant")).await?;
    ensure!(process.lines().iter().all(|line| !line.text.contains("granted everything")));
    Ok(())
}
