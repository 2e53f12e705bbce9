//! `oarlock check --command`: programs of a foreign controller, in real time, and what is seen of it from outside.

mod activity;
mod stage;

use super::campaign::Referee;
use super::compare::{Names, World};
use super::oracles::{Found, Oracle, existing, failing, generations, left, secret};
use super::program::{Program, last, mended, reference};
use crate::cli::test::scenarios::Seen;
use activity::Pace;
use serde_json::{Value, json};
use stage::{Halt, Hurry, Stage, halt};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Most programs that are played to shrink one finding, and most real time for that.
const TRIES: usize = 60;
const PATIENCE: Duration = Duration::from_secs(120);

/// Least time that a command without faults gets to do what it must, once a finding of that kind is known.
const LEAST_BOUND: Duration = Duration::from_secs(4);

/// Worlds that a check remembers.
const KNOWN: usize = 64;

/// The referee of a command.
pub(super) struct Foreign {
    command: String,
    /// Objects that exist before the command starts; definitions first.
    pub(super) cluster: Vec<Value>,
    secrets: Vec<String>,
    pace: Arc<Pace>,
    /// Time for everything that the command must do.
    settle: Duration,
    /// What was found so far: the next ones of a kind need less time.
    known: Mutex<BTreeSet<(Oracle, String)>>,
    /// Worlds without faults, by their last objects.
    references: Mutex<BTreeMap<String, Arc<Seen>>>,
    /// Set when the user ends the check.
    pub(super) stop: Arc<AtomicBool>,
}

impl Foreign {
    pub(super) fn new(command: String, cluster: Vec<Value>, settle: Duration) -> Self {
        let secrets = super::inputs::secrets(&cluster);
        let (pace, known, references, stop) = Default::default();
        Self { command, cluster, secrets, pace, settle, known, references, stop }
    }

    /// Tries the command with an object: whether it runs, how fast it reacts, and how many of it run side by side: one if a second one does not
    /// run beside it, as with a fixed port, and why.
    ///
    /// # Errors
    ///
    /// The command ends, or sends no request.
    pub(super) fn rehearse(&self, jobs: usize, object: &Value) -> anyhow::Result<(usize, Option<String>)> {
        self.block_on(async {
            let mut stages: Vec<Stage> = Vec::new();
            for _ in 0..jobs.max(1) {
                let played = async {
                    let mut stage = self.stage(false).await?;
                    stage.rest().await?;
                    Ok::<_, Halt>(stage)
                };
                match played.await {
                    Ok(stage) => stages.push(stage),
                    Err(Halt::Found(found)) if !stages.is_empty() => return Ok((1, Some(found.lines.join(": ")))),
                    Err(Halt::Unusable(error)) if !stages.is_empty() => return Ok((1, Some(format!("{error:#}")))),
                    Err(Halt::Found(found)) => anyhow::bail!("--command: {}", found.lines.join(": ")),
                    Err(Halt::Unusable(error)) => return Err(error),
                }
            }
            // How fast they react, side by side. What is found here is found again.
            let react = async |stage: &mut Stage| {
                stage.step(&json!({"apply": {"resource": object}})).await?;
                stage.stir().await?;
                stage.rest().await
            };
            let _ = futures::future::join_all(stages.iter_mut().map(react)).await;
            Ok((stages.len(), None))
        })
    }

    fn block_on<T>(&self, work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let result = runtime.block_on(async {
            tokio::select! {
                result = work => result,
                () = self.stopped() => Err(anyhow::anyhow!("ended by a signal")),
            }
        });
        runtime.shutdown_background();
        result
    }

    async fn stopped(&self) {
        while !self.stop.load(Relaxed) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// * `hurry` - what was found before needs less time.
    async fn stage(&self, hurry: bool) -> Result<Stage, Halt> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (settle, short) = (self.settle, (self.pace.quiet() * 4).max(LEAST_BOUND));
        let hurry = if hurry { Hurry { settle, short, known } } else { Hurry { settle, ..Hurry::default() } };
        Stage::start(&self.command, (&self.cluster, &self.secrets), &self.pace, hurry).await
    }

    /// Plays a program.
    ///
    /// * `patient` - gives the command all its time, also for what was found before.
    /// * `aim` - ends where this can no longer be found.
    fn attempt(&self, program: &Program, patient: bool, aim: Option<Oracle>) -> anyhow::Result<Option<Found>> {
        self.block_on(async {
            match self.play(program, patient, aim).await {
                Ok(()) => Ok(None),
                Err(Halt::Found(found)) => {
                    let shape = (found.oracle, found.shape.clone());
                    self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(shape);
                    Ok(Some(found))
                }
                Err(Halt::Unusable(error)) => Err(error),
            }
        })
    }

    async fn play(&self, program: &Program, patient: bool, aim: Option<Oracle>) -> Result<(), Halt> {
        let last = last(&program.steps);
        let objects: Vec<Value> = last.values().cloned().collect();
        // Meanwhile the world to compare with comes about; if it does not, that is found where it is needed.
        let meanwhile = async {
            let _ = self.reference(&objects).await;
            Ok(())
        };
        let ((), mut stage) = tokio::try_join!(meanwhile, async {
            // Pauses between retries may be long.
            let faulty = program.steps.iter().chain(&program.teardown).any(|step| step.get("fault").is_some());
            let mut stage = self.stage(!patient && !faulty).await?;
            for step in program.steps.iter().chain(&mended(&program.steps)) {
                stage.step(step).await?;
            }
            Ok::<_, Halt>(stage)
        })?;
        self.settled(&mut stage, &last).await?;
        if aim.is_some_and(|aim| [Oracle::LastState, Oracle::Generation, Oracle::Step].contains(&aim)) {
            return Ok(());
        }
        self.restarted(&mut stage).await?;
        if aim == Some(Oracle::Restart) {
            return Ok(());
        }
        let deletes: Vec<Value> =
            last.values().map(|object| json!({"delete": {"ref": reference(object, &json!({}))}})).collect();
        for step in program.teardown.iter().chain(&deletes).chain(&mended(&program.teardown)) {
            stage.step(step).await?;
        }
        for object in last.values() {
            stage.step(&json!({"wait": reference(object, &json!({"for": {"deletion": {}}}))})).await?;
        }
        self.deleted(&mut stage, &last).await
    }

    /// The objects become those of a world in which only the last ones were created.
    async fn settled(&self, stage: &mut Stage, last: &BTreeMap<String, Value>) -> Result<(), Halt> {
        let (began, mut again) = (Instant::now(), true);
        loop {
            stage.rest().await?;
            let seen = stage.seen().await;
            if let Some(found) = secret(&seen, &self.secrets) {
                return Err(Halt::Found(found));
            }
            let objects = existing(last, &seen);
            let wanted = self.reference(&objects).await?;
            let differences = World::of(&seen, &Names::new())
                .differences(&World::of(&wanted, &Names::new()), &failing(&wanted, &objects));
            let found = match differences.first() {
                None => generations(&objects, &seen),
                Some(first) => {
                    let lines = differences.iter().take(5).map(|one| one.line.clone()).collect();
                    Some(Found { oracle: Oracle::LastState, shape: first.shape.clone(), lines, checks: Vec::new() })
                }
            };
            let Some(found) = found else { return stage.idle().await };
            let bound = stage.hurry.bound(found.oracle, &found.shape);
            if began.elapsed() < bound {
                tokio::time::sleep(Duration::from_millis(200)).await;
            } else if again && bound == stage.hurry.settle {
                // Perhaps the other world was not done.
                again = false;
                self.references.lock().unwrap_or_else(PoisonError::into_inner).clear();
            } else {
                return Err(Halt::Found(found));
            }
        }
    }

    /// A command that starts in a settled world changes nothing.
    async fn restarted(&self, stage: &mut Stage) -> Result<(), Halt> {
        let before = stage.versions().await;
        stage.restart().await?;
        stage.rest().await?;
        stage.idle().await?;
        let after = stage.versions().await;
        if before == after {
            return Ok(());
        }
        let ids: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let changed = ids.into_iter().filter(|id| before.get(*id) != after.get(*id));
        let shown = |id: &String| {
            let object: Value = serde_json::from_str(id).unwrap_or_default();
            let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
            (text("/kind"), format!("{} {} changed", text("/kind"), text("/metadata/name")))
        };
        let changed: Vec<(String, String)> = changed.take(5).map(shown).collect();
        let shape = changed.first().map(|(kind, _)| kind.clone()).unwrap_or_default();
        halt(Oracle::Restart, shape, changed.into_iter().map(|(_, line)| line).chain(stage.recent()).collect())
    }

    /// Nothing is left of the objects.
    async fn deleted(&self, stage: &mut Stage, last: &BTreeMap<String, Value>) -> Result<(), Halt> {
        let began = Instant::now();
        let before = self.reference(&[]).await?;
        loop {
            stage.rest().await?;
            let seen = stage.seen().await;
            let found = secret(&seen, &self.secrets).or_else(|| left(&before, last, &seen));
            match found {
                None => return Ok(()),
                Some(found) if began.elapsed() >= stage.hurry.bound(found.oracle, &found.shape) => {
                    return Err(Halt::Found(found));
                }
                Some(_) => tokio::time::sleep(Duration::from_millis(200)).await,
            }
        }
    }

    /// The world of these objects alone, without faults.
    async fn reference(&self, objects: &[Value]) -> Result<Arc<Seen>, Halt> {
        let key = Value::from(objects.to_vec()).to_string();
        let known = self.references.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let mut stage = self.stage(false).await?;
        for object in objects {
            stage.step(&json!({"apply": {"resource": object}})).await?;
        }
        stage.rest().await?;
        stage.idle().await?;
        let seen = Arc::new(stage.seen().await);
        let mut known = self.references.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= KNOWN {
            known.clear();
        }
        known.insert(key, Arc::clone(&seen));
        Ok(seen)
    }
}

impl Referee for Foreign {
    fn stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    fn judge(&self, program: &Program) -> anyhow::Result<Option<Found>> {
        self.attempt(program, false, None)
    }

    fn shows(&self, program: &Program, oracle: Oracle, _work: &mut u64) -> anyhow::Result<Option<Found>> {
        self.attempt(program, false, Some(oracle))
    }

    fn tries(&self, _oracle: Oracle) -> usize {
        TRIES
    }

    fn patience(&self) -> Option<Duration> {
        Some(PATIENCE)
    }

    /// A program that fails also when the command gets all its time.
    fn scenario(&self, program: &Program, original: &Program, found: &Found) -> anyhow::Result<(Program, bool)> {
        let again = self.attempt(program, true, Some(found.oracle))?;
        if again.is_some_and(|again| again.oracle == found.oracle) {
            return Ok((program.clone(), true));
        }
        Ok((original.clone(), false))
    }
}
