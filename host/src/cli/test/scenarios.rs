//! `oarlock test --scenarios`: steps on an embedded API server beside the real host, in simulated time.
//!
//! Each scenario has a thread with a runtime of its own, whose clock moves only when nothing else is left to do. The host is the one of
//! `oarlock run`, without an HTTPS server and an admin server; it has Leases where a step lets another host take over.

mod cluster;
mod faults;
mod format;
mod located;
mod matching;
mod plugin;
mod read;
mod report;
mod services;
mod steps;
mod takeover;
mod update;
mod words;
mod world;
mod yaml;

pub(in crate::cli) use cluster::{Cluster, Fault, Seen, said};
pub(in crate::cli) use format::ObjectRef;
pub(in crate::cli) use plugin::Plugin;
pub(in crate::cli) use read::services;

use super::super::compiling::Compiling;
use super::super::folder::Folder;
use super::{Format, yaml_files};
use anyhow::Context as _;
use oarlock_simulation::Simulation;
use read::Script;
use report::{Failure, Played};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use steps::Steps;
use tokio::sync::Notify;
use update::Edit;
use world::World;

/// How often `--update` writes a file before it gives up.
const UPDATES: usize = 5;

/// The options; see [`TestArgs`](super::TestArgs).
pub(super) struct Options {
    pub(super) file: PathBuf,
    pub(super) folder: PathBuf,
    pub(super) update: bool,
    pub(super) format: Format,
    pub(super) grant: Option<PathBuf>,
    pub(super) seed: u64,
    pub(super) limit: Duration,
    pub(super) compiling: Compiling,
}

/// What became of a scenario of which the caller looked at the world.
#[derive(Debug)]
pub(in crate::cli) struct Trial {
    /// The step that failed, from 0, and what was found. None: the scenario passes.
    pub(in crate::cli) failure: Option<(usize, Vec<String>)>,
    /// The world after each step that the caller named and that was played.
    pub(in crate::cli) seen: Vec<Seen>,
    /// Whether the plugin computed past its deadline: what follows depends on the machine.
    pub(in crate::cli) interrupted: bool,
    /// Reconciles that ended: the work of the trial, the same on every machine.
    pub(in crate::cli) reconciles: u64,
}

/// Plays the text of a scenario on this thread, which must not have a runtime.
///
/// * `looks` - steps, from 0, after which to look at the world.
///
/// # Errors
///
/// The text is no scenario, or the world cannot be prepared.
pub(in crate::cli) fn attempt(plugin: &Plugin, text: String, looks: &[usize]) -> anyhow::Result<Trial> {
    let script = read::parse(Path::new("scenario.yaml"), text)?;
    let (played, _, seen) = play(plugin, &script, Some(looks))?;
    let failure = played.failure.map(|failure| (played.steps.saturating_sub(1), failure.lines));
    Ok(Trial { failure, seen, interrupted: played.interrupted, reconciles: played.reconciles })
}

pub(super) async fn run(options: Options) -> ExitCode {
    super::ended(test(options).await)
}

/// Plays the scenarios. False: some failed.
async fn test(options: Options) -> anyhow::Result<bool> {
    let shown = options.file.display().to_string();
    let files = yaml_files(&options.folder, "scenarios")?;
    let scripts = files.iter().map(|file| read::read(file)).collect::<anyhow::Result<Vec<_>>>()?;
    let rules = (options.seed, options.limit, options.update);
    let swaps = scripts.iter().flat_map(Script::swaps).collect();
    let plugin = Plugin::load(options.file, options.grant.as_deref(), options.compiling, rules, swaps).await?;
    if let Some(keys) = &plugin.keys {
        scripts.iter().try_for_each(|script| script.check_config(&plugin.manifest.name, keys))?;
    }
    let began = tokio::time::Instant::now();
    let results = play_all(&plugin, &scripts);
    let took = began.elapsed();
    let mut played = Vec::new();
    for (script, result) in scripts.iter().zip(results) {
        let (one, edits) = result?;
        played.push(if plugin.update { write(&plugin, script, one, edits)? } else { one });
    }
    super::super::print(report::report(options.format, &shown, &played).as_bytes())?;
    for one in &played {
        one.beside(options.format).iter().for_each(|line| tell(line));
    }
    let failed = played.iter().filter(|one| one.failure.is_some()).count();
    let steps: usize = played.iter().map(|one| one.steps).sum();
    tell(&format!("{failed} of {} scenarios failed; {steps} steps in {} ms", played.len(), took.as_millis()));
    Ok(failed == 0)
}

/// Writes what was found, if the scenario then passes. A value that is right takes less time, so that later values may differ: it plays again
/// until nothing is left to write.
fn write(plugin: &Plugin, script: &Script, mut one: Played, mut edits: Vec<Edit>) -> anyhow::Result<Played> {
    let (mut text, mut rounds) = (script.text.clone(), 0);
    loop {
        if one.failure.is_some() || edits.is_empty() {
            one.written = one.failure.is_none() && text != script.text;
            if one.written {
                std::fs::write(&script.path, &text).with_context(|| format!("cannot write {}", script.shown))?;
            }
            return Ok(one);
        }
        let failed = |why: String, one: Played| {
            let failure = Failure { line: 1, place: "--update".to_owned(), lines: vec![why] };
            Ok(Played { failure: Some(failure), ..one })
        };
        rounds += 1;
        if rounds > UPDATES {
            return failed(format!("other values are found each of {UPDATES} times; the file is as it was"), one);
        }
        text = match update::updated(&text, &edits) {
            Ok(text) => text,
            Err(why) => return failed(why, one),
        };
        let script = match read::parse(&script.path, text.clone()) {
            Ok(script) => script,
            Err(error) => return failed(format!("the new text would be no scenario: {error:#}"), one),
        };
        // On a thread of its own: this one has a runtime.
        (one, edits) = play_all(plugin, &[script]).pop().context("no result")??;
    }
}

/// A line beside the report, which does not depend on it.
fn tell(line: &str) {
    let _ = writeln!(std::io::stderr(), "oarlock: {line}");
}

type Result = anyhow::Result<(Played, Vec<Edit>)>;

/// Plays the scenarios on all cores. The results are in their order.
fn play_all(plugin: &Plugin, scripts: &[Script]) -> Vec<Result> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(scripts.len());
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, Result)>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Relaxed);
                    let Some(script) = scripts.get(at) else { return };
                    let result = play(plugin, script, None).map(|(played, edits, _)| (played, edits));
                    results.lock().unwrap_or_else(PoisonError::into_inner).push((at, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Plays one scenario on this thread.
///
/// * `looks` - of an attempt: the steps after which to return the world. A call that exceeds its deadline is the last one that gets so long.
fn play(plugin: &Plugin, script: &Script, looks: Option<&[usize]>) -> anyhow::Result<(Played, Vec<Edit>, Vec<Seen>)> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build()?;
    let folder = Folder::create("test")?;
    let (played, edits, seen) = runtime.block_on(async {
        let simulation = Simulation::begin(script.start, plugin.seed, plugin.limit);
        if looks.is_some() {
            simulation.expire_when_interrupted();
        }
        let looks = looks.unwrap_or_default();
        let look = Arc::new(Notify::new());
        let _watchdog = Watchdog::start(plugin.limit, simulation.alarm(), Arc::clone(&look))?;
        let place = (1, "start".to_owned());
        let (edits, seen, idle) = Default::default();
        let mut playing = Playing { place, looks, steps: 0, edits, seen, reconciles: 0, idle };
        let failed = tokio::select! {
            biased;
            () = expired(&look) => {
                let seconds = plugin.limit.as_secs();
                Err(vec![format!("not finished within {seconds} s of computing time (--timeout-seconds)")])
            }
            ended = playing.play(plugin, script, &folder, &simulation) => ended,
        };
        let (line, place) = playing.place;
        let failure = failed.err().map(|lines| Failure { line, place, lines });
        let name = script.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let took = oarlock_simulation::elapsed().unwrap_or_default();
        let (description, file) = (script.description.clone(), script.shown.clone());
        let interrupted = simulation.interruption().is_some();
        let Playing { steps, reconciles, idle, edits, seen, .. } = playing;
        let written = false;
        let played = Played { name, description, file, steps, took, failure, interrupted, reconciles, idle, written };
        anyhow::Ok((played, edits, seen))
    })?;
    runtime.shutdown_background();
    Ok((played, edits, seen))
}

/// A scenario that is being played.
struct Playing<'l> {
    /// The line and the words of the present step.
    place: (u64, String),
    steps: usize,
    edits: Vec<Edit>,
    /// Steps, from 0, after which it looks at the world.
    looks: &'l [usize],
    seen: Vec<Seen>,
    /// Those that ended before the end of the last step.
    reconciles: u64,
    /// The faults that never struck, where the scenario came to its end.
    idle: Vec<String>,
}

impl Playing<'_> {
    async fn play(
        &mut self,
        plugin: &Plugin,
        script: &Script,
        folder: &Folder,
        simulation: &Simulation,
    ) -> std::result::Result<(), Fault> {
        let mut world = World::new(plugin, &folder.path, script.has_takeover());
        let stubs = script.stubs.iter().map(oarlock::cases::StubText::stub).collect::<std::result::Result<_, _>>();
        world.stubs.add(stubs.map_err(|why| vec![why])?);
        for (line, object) in &script.cluster {
            self.place = (*line, "cluster".to_owned());
            world.cluster.place(object).await?;
        }
        self.place = (1, "start of the host".to_owned());
        let grant = world.grant(script.config.clone(), script.limits.clone()).await;
        folder
            .add(&plugin.manifest.name, &plugin.file, &grant)
            .map_err(|error| vec![format!("cannot prepare the plugin: {error:#}")])?;
        let started = world.start().await;
        let interrupted = simulation.interruption().map_or(Ok(()), |what| Err(vec![what]));
        interrupted.and(started)?;
        let mut steps = Steps { world: &mut world, simulation, update: plugin.update, edits: Vec::new() };
        for (at, step) in script.steps.iter().enumerate() {
            let name = if step.name.is_empty() { String::new() } else { format!(" ({})", step.name) };
            self.place = (step.place.line, format!("step {}{name}: {}", at + 1, steps::title(step)));
            self.steps += 1;
            let done = steps.play(step).await;
            self.edits.append(&mut steps.edits);
            self.reconciles = steps.world.all_reconciles();
            done?;
            if self.looks.contains(&at) {
                self.seen.push(Seen { lines: simulation.lines(), ..steps.world.everything().await });
            }
        }
        world.end(false).await;
        world.note_idle(None);
        self.idle = std::mem::take(&mut world.idle);
        Ok(())
    }
}

/// Waits until the simulation of this thread has used up its computing time.
///
/// * `look` - wakes it up, because the simulated clock may stand.
async fn expired(look: &Notify) {
    while !oarlock_simulation::is_expired() {
        look.notified().await;
    }
}

/// A thread that lets a simulation look at its computing time, from the time on at which that may be over.
struct Watchdog {
    thread: std::thread::Thread,
    done: Arc<AtomicBool>,
}

/// Interval of the looks.
const LOOK: Duration = Duration::from_secs(1);

impl Watchdog {
    fn start(limit: Duration, alarm: Arc<AtomicBool>, look: Arc<Notify>) -> std::io::Result<Self> {
        let done = Arc::<AtomicBool>::default();
        let ended = Arc::clone(&done);
        let work = move || {
            // Of real time: this thread has no simulation, and no runtime whose clock is paused.
            let began = tokio::time::Instant::now();
            while !ended.load(Relaxed) {
                let left = limit.saturating_sub(began.elapsed());
                if left.is_zero() {
                    alarm.store(true, Relaxed);
                    look.notify_one();
                }
                std::thread::park_timeout(if left.is_zero() { LOOK } else { left });
            }
        };
        let thread = std::thread::Builder::new().name("watchdog".to_owned()).spawn(work)?;
        Ok(Self { thread: thread.thread().clone(), done })
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.done.store(true, Relaxed);
        self.thread.unpark();
    }
}
