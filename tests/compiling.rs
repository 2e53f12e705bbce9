//! Plugins are compiled aside, within limits, and once: the compiler process and the code cache.

use anyhow::{Context, Result, bail, ensure};
use oarlock::metrics::Metrics;
use oarlock::plugin::{Component, Engine, EngineOptions, HttpGate, LoadError, inspect, load};
use oarlock_manifest::PluginManifest;
use oarlock_tests::harness::{
    Grant, SOON, World, WorldOptions, built_plugin, eventually, oarlock_binary, text, with_world,
};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    sync::Arc,
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::Command,
};

/// Any of it takes a few seconds of a core, of which a compiler gets little on a busy machine: its priority is low.
const DEADLINE: Duration = SOON.saturating_mul(4);

fn engine(cache: Option<&Path>) -> Result<Engine> {
    Engine::new(EngineOptions { cache: cache.map(Path::to_owned), compiler: Some(oarlock_binary()?), quick: false })
}

fn quick_engine(cache: &Path) -> Result<Engine> {
    Engine::new(EngineOptions { cache: Some(cache.to_owned()), compiler: Some(oarlock_binary()?), quick: true })
}

async fn load_with(engine: &Engine, file: Vec<u8>) -> Result<(Component, PluginManifest), LoadError> {
    load(engine, file, &inspect::describe_guest(&Metrics::new(), &HttpGate::new(), "test")).await
}

/// A component with one function of `calls` calls in a row. The time to compile it grows with the square of that: 20,000 take
/// seconds, 200,000, in a file of one megabyte, the better part of an hour.
fn bomb(calls: usize) -> Vec<u8> {
    fn length(mut n: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        loop {
            let [low, ..] = n.to_le_bytes();
            n >>= 7;
            if n == 0 {
                bytes.push(low & 0x7f);
                return bytes;
            }
            bytes.push(low | 0x80);
        }
    }
    fn section(id: u8, content: &[u8]) -> Vec<u8> {
        [&[id], length(content.len()).as_slice(), content].concat()
    }
    // No locals; local.get 0, then again and again: local.get 0, call 0, i32.add.
    let body = [&[0, 0x20, 0], [0x20, 0, 0x10, 0, 0x6a].repeat(calls).as_slice(), &[0x0b]].concat();
    let code = [&[1], length(body.len()).as_slice(), &body].concat();
    let types = section(1, &[1, 0x60, 1, 0x7f, 1, 0x7f]);
    let module = [b"\0asm\x01\0\0\0".as_slice(), &types, &section(3, &[1, 0]), &section(10, &code)].concat();
    [b"\0asm\x0d\0\x01\0".as_slice(), &section(1, &module)].concat()
}

/// The entries of a code cache.
fn entries(cache: &Path) -> Result<Vec<PathBuf>> {
    let folder = fs::read_dir(cache.join("code"))?;
    let mut paths = folder.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "code"));
    Ok(paths)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_is_compiled_once_and_is_the_same_from_the_cache() -> Result<()> {
    let cache = tempfile::tempdir()?;
    let file = fs::read(built_plugin("misfit")?)?;
    let (cold, manifest) = load_with(&engine(Some(cache.path()))?, file.clone()).await?;
    let (warm, again) = load_with(&engine(Some(cache.path()))?, file.clone()).await?;
    ensure!(!cold.from_cache && warm.from_cache);
    ensure!(serde_json::to_value(&manifest)? == serde_json::to_value(&again)?);
    ensure!((&cold.digest, cold.size_bytes, &cold.imports) == (&warm.digest, warm.size_bytes, &warm.imports));
    // Any other file is another plugin, were it the same code.
    let (other, _) = load_with(&engine(Some(cache.path()))?, [file, b"\0\x02\x01x".to_vec()].concat()).await?;
    ensure!(!other.from_cache && other.digest != warm.digest);
    // What is no plugin is not kept.
    let kept = entries(cache.path())?.len();
    ensure!(load_with(&engine(Some(cache.path()))?, bomb(3)).await.is_err());
    ensure!(entries(cache.path())?.len() == kept && kept == 2, "{kept} entries");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn code_that_was_compiled_quickly_is_another_entry() -> Result<()> {
    let cache = tempfile::tempdir()?;
    let file = fs::read(built_plugin("misfit")?)?;
    let (usual, manifest) = load_with(&engine(Some(cache.path()))?, file.clone()).await?;
    let (quick, same) = load_with(&quick_engine(cache.path())?, file.clone()).await?;
    ensure!(!usual.from_cache && !quick.from_cache);
    ensure!(serde_json::to_value(&manifest)? == serde_json::to_value(&same)?);
    ensure!(load_with(&quick_engine(cache.path())?, file.clone()).await?.0.from_cache);
    ensure!(load_with(&engine(Some(cache.path()))?, file).await?.0.from_cache);
    ensure!(entries(cache.path())?.len() == 2);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p16_a_damaged_cache_entry_is_compiled_again_and_replaced() -> Result<()> {
    let cache = tempfile::tempdir()?;
    let file = fs::read(built_plugin("misfit")?)?;
    load_with(&engine(Some(cache.path()))?, file.clone()).await?;
    let [path] = entries(cache.path())?.try_into().ok().context("not one entry")?;
    let whole = fs::read(&path)?;
    let middle = whole.len() / 2;
    let mut flipped = whole.clone();
    *flipped.get_mut(middle).context("empty")? ^= 1;
    for damaged in [whole.get(..middle).unwrap_or_default().to_vec(), flipped, b"something else".to_vec()] {
        fs::write(&path, damaged)?;
        let (again, _) = load_with(&engine(Some(cache.path()))?, file.clone()).await?;
        ensure!(!again.from_cache, "a damaged entry was used");
        ensure!(fs::read(&path)? == whole, "it was not replaced by what it had been");
        ensure!(load_with(&engine(Some(cache.path()))?, file.clone()).await?.0.from_cache);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn h13_a_host_that_is_killed_while_it_compiles_leaves_no_bad_entry() -> Result<()> {
    let cache = tempfile::tempdir()?;
    let cache_path = cache.path().display().to_string();
    with_world(WorldOptions { host: false, ..WorldOptions::default() }, async |world: Arc<World>| {
        let args = ["--cache-dir", cache_path.as_str()];
        for copy in 0..4 {
            world.plugins.add("misfit", &format!("copy-{copy}"), &Grant::nothing())?;
            let file = [fs::read(built_plugin("misfit")?)?, vec![0, 2, 1, copy]].concat();
            world.plugins.file(&format!("copy-{copy}.wasm"), &file)?;
        }
        // Killed with no, one, two … entries there, each time in the middle of the next.
        for there in 0..4 {
            world.start_host_with(&args).await?;
            eventually(3 * SOON, "the next entry", || async {
                let found = entries(cache.path()).map_or(0, |entries| entries.len());
                ensure!(found >= there, "{found} entries");
                Ok(())
            })
            .await?;
            world.kill_host().await?;
        }
        world.start_host_with(&args).await?;
        // A file that each of the four hosts was compiling when it ended waits 80 s.
        eventually(6 * SOON, "all to be compiled", || async {
            ensure!(entries(cache.path())?.len() == 5, "{:?}", entries(cache.path())?);
            Ok(())
        })
        .await?;
        let distrusted =
            world.log(|line| line.text.contains("not trusted") || line.text.contains("does not fit")).await?;
        ensure!(distrusted.is_empty(), "{distrusted:?}");
        Ok(())
    })
    .await
}

/// Runs `oarlock compile` by itself.
///
/// * `keep` - keep its input open until it ends, as its host does.
async fn compile(args: &[&str], file: &[u8], keep: bool) -> Result<(ExitStatus, Vec<u8>)> {
    let mut child = Command::new(oarlock_binary()?)
        .arg("compile")
        .args(args)
        // The memory of its threads counts, too.
        .env("RAYON_NUM_THREADS", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    let mut stdin = child.stdin.take().context("no stdin")?;
    let mut stdout = child.stdout.take().context("no stdout")?;
    stdin.write_all(&(file.len() as u64).to_le_bytes()).await?;
    stdin.write_all(file).await?;
    let stdin = keep.then_some(stdin);
    let mut answer = Vec::new();
    let ended = tokio::time::timeout(DEADLINE, async {
        stdout.read_to_end(&mut answer).await?;
        child.wait().await
    });
    let status = ended.await.context("the compiler did not end")??;
    drop(stdin);
    Ok((status, answer))
}

/// The oracle is the compiler without them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn functions_that_were_compiled_before_make_the_same_code() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let there = ["--functions", folder.path().to_str().context("a path that is text")?];
    let functions = folder.path().join("functions");
    let size = || fs::metadata(&functions).map_or(0, |file| file.len());
    let mut last = (Vec::new(), Vec::new());
    // They share the SDK.
    for name in ["attacker", "namespace-baseline-rust"] {
        let file = fs::read(built_plugin(name)?)?;
        let (status, whole) = compile(&[], &file, true).await?;
        ensure!(status.success() && whole.first() == Some(&0), "{name}: {status}");
        let before = size();
        let (_, filling) = compile(&there, &file, true).await?;
        let filled = size();
        let (_, known) = compile(&there, &file, true).await?;
        ensure!(filling == whole && known == whole, "{name} has other code");
        ensure!(before < filled, "{name}: nothing was written");
        // Cranelift's input is not the same in each run, of a few functions.
        let again = size() - filled;
        ensure!(again < filled / 4, "{name}: {again} bytes were written again beside {filled}");
        last = (file, whole);
    }
    let (file, whole) = last;
    let index = folder.path().join("functions.index");
    for damaged in [&functions, &index] {
        let nonsense: Vec<u8> = fs::read(damaged)?.iter().map(|byte| !byte).collect();
        fs::write(damaged, nonsense)?;
        ensure!(compile(&there, &file, true).await?.1 == whole, "{} changed the code", damaged.display());
    }
    fs::remove_file(&functions)?;
    fs::create_dir(&functions)?;
    ensure!(compile(&there, &file, true).await?.1 == whole, "without a place to write to");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p18_a_compiler_ends_at_its_limits_and_with_its_host() -> Result<()> {
    use std::os::unix::process::ExitStatusExt;
    let (status, answer) = compile(&[], &bomb(10), true).await?;
    ensure!(status.success() && answer.first() == Some(&0), "{status}");
    let (status, _) = compile(&["--cpu-seconds", "1"], &bomb(200_000), true).await?;
    ensure!(status.signal() == Some(24), "SIGXCPU, not {status}");
    let (status, _) = compile(&["--memory-mib", "48"], &bomb(200_000), true).await?;
    ensure!(status.signal() == Some(6), "SIGABRT, not {status}");
    let (status, answer) = compile(&[], &bomb(200_000), false).await?;
    ensure!(status.code() == Some(1) && answer.is_empty(), "{status}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p18_a_compile_bomb_holds_up_no_other_plugin_for_long() -> Result<()> {
    let engine = engine(None)?;
    let file = fs::read(built_plugin("misfit")?)?;
    let cores = std::thread::available_parallelism()?.get();
    // As many as are compiled at once, and first.
    let bombs = futures::future::join_all((0..(cores / 2).max(1)).map(|_| load_with(&engine, bomb(200_000))));
    let mut bombs = Box::pin(bombs);
    ensure!(futures::poll!(&mut bombs).is_pending());
    tokio::select! {
        ended = &mut bombs => bail!("the bombs did not last: {ended:?}"),
        loaded = tokio::time::timeout(DEADLINE, load_with(&engine, file)) => loaded.context("it waits for the bombs")??,
    };
    // Those of other tests are among them, which end by themselves, and later ones are not.
    let before = compilers()?;
    ensure!(!before.is_empty(), "the bombs are no longer compiled");
    // Who is not interested any more ends them.
    drop(bombs);
    eventually(DEADLINE, "the compilers to end", || async {
        let now = compilers()?;
        let left: Vec<_> = before.iter().filter(|one| now.contains(one)).collect();
        ensure!(left.is_empty(), "{left:?}");
        Ok(())
    })
    .await
}

/// The compiler processes that this process started, each with the time of its start.
fn compilers() -> Result<Vec<String>> {
    let own = format!("\nPPid:\t{}\n", std::process::id());
    let mut found = Vec::new();
    for process in fs::read_dir("/proc")? {
        let process = process?.path();
        let read = |file: &str| fs::read_to_string(process.join(file)).unwrap_or_default();
        let command = read("cmdline");
        if read("status").contains(&own) && command.starts_with("oarlock\0compile") {
            // The name before it may have spaces.
            let started =
                read("stat").rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(19)).map(str::to_owned);
            found.push(format!("{} of {started:?}", process.display()));
        }
    }
    Ok(found)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p18_the_host_answers_while_bombs_are_compiled() -> Result<()> {
    with_world(WorldOptions { host: false, ..WorldOptions::default() }, async |world: Arc<World>| {
        let cores = std::thread::available_parallelism()?.get();
        // As many as are compiled at once, and first.
        for bomb_number in 0..(cores / 2).max(1) {
            world.plugins.file(&format!("a-bomb-{bomb_number}.wasm"), &bomb(200_000 + bomb_number))?;
        }
        world.start_host_with(&["--no-cache"]).await?;
        eventually(DEADLINE, "the plugin to run", || async {
            let plugin = world.host(async |host| host.plugin("network").await).await?;
            ensure!(text(&plugin, "/state") == "active", "{plugin}");
            Ok(())
        })
        .await?;
        world.create_network("fine", "10.6.0.0/24", "10.6.0.1").await?;
        world.ready("fine").await?;
        for _ in 0..20 {
            let live = world.host(async |host| host.admin().get("/livez").await).await?;
            ensure!(live.status.is_success(), "/livez: {}", live.status);
            let bomb = world.host(async |host| host.plugin("a-bomb-0.wasm").await).await?;
            ensure!(text(&bomb, "/state") == "compiling", "{bomb}");
        }
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t7_a_file_at_which_the_host_ended_waits_while_the_others_run() -> Result<()> {
    let options = WorldOptions { host: false, network: false, crd: false, ..WorldOptions::default() };
    with_world(options, async |world: Arc<World>| {
        let cache = tempfile::tempdir()?;
        let args = ["--cache-dir", cache.path().to_str().context("a path that is text")?];
        world.plugins.grant("bomb", &Grant::nothing())?;
        world.plugins.file("bomb.wasm", &bomb(200_000))?;
        world.start_host_with(&args).await?;
        let marks = || -> Result<usize> {
            let names = fs::read_dir(cache.path().join("code"))?.map(|entry| Ok(entry?.path()));
            let names = names.collect::<Result<Vec<_>>>()?;
            Ok(names.iter().filter(|path| path.extension().is_some_and(|end| end == "compiling")).count())
        };
        eventually(SOON, "the compiler to begin", || async {
            ensure!(marks()? == 1, "no mark");
            Ok(())
        })
        .await?;
        world.kill_host().await?;
        let grant = Grant::nothing().rule("", &["configmaps"], &["get", "list", "watch", "create", "patch", "delete"]);
        world.plugins.add("misfit", "misfit", &grant.partial())?;
        world.start_host_with(&args).await?;
        eventually(DEADLINE, "the other one to run", || async {
            let waits = world.log(|line| line.text.contains("the host ended while it compiled this file")).await?;
            ensure!(waits.len() == 1, "{waits:?}");
            let entry = world.host(async |host| host.plugin("misfit").await).await?;
            ensure!(text(&entry, "/state") == "active", "{entry}");
            Ok(())
        })
        .await
    })
    .await
}

#[tokio::test]
async fn t7_a_compiler_takes_no_more_memory_than_the_host_has_for_it() -> Result<()> {
    let mut compiler = Command::new(oarlock_binary()?)
        .args(["compile", "--memory-mib", "96"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let file = bomb(400_000);
    let mut stdin = compiler.stdin.take().context("no pipe")?;
    stdin.write_all(&(file.len() as u64).to_le_bytes()).await?;
    stdin.write_all(&file).await?;
    let mut said = String::new();
    let read = async {
        compiler.stderr.take().context("no pipe")?.read_to_string(&mut said).await?;
        anyhow::Ok(compiler.wait().await?)
    };
    let status = tokio::time::timeout(DEADLINE, read).await.context("it still compiles")??;
    ensure!(!status.success() && said.contains("memory allocation"), "{status}: {said}");
    Ok(())
}
