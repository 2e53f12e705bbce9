//! One plugin file alone: what its instances and calls take, in the world of a recorded case.

use crate::memory;
use anyhow::{Context as _, Result};
use oarlock::cases::{Player, Stage};
use oarlock::controller::same_state;
use oarlock::plugin::{Engine, EngineOptions, Instance};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use tokio::time::Instant;

/// Of what, and for how long.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The plugin
    #[arg(value_name = "FILE.wasm")]
    file: PathBuf,
    /// The case it is asked; HTTP exchanges do not count
    #[arg(long, value_name = "FILE")]
    case: PathBuf,
    /// Where compiled plugins are kept
    #[arg(long, value_name = "DIR")]
    cache_dir: Option<PathBuf>,
    /// Instances that live at once, for their memory
    #[arg(long, default_value_t = 32)]
    instances: u32,
    /// How long with fresh instances, and then how long with one that is reused
    #[arg(long, default_value_t = 2)]
    seconds: u64,
}

/// Every way into the plugin, with the microseconds each took.
#[derive(Debug, Default)]
struct Times(BTreeMap<&'static str, Vec<f64>>);

impl Times {
    fn since(&mut self, what: &'static str, began: Instant) {
        self.0.entry(what).or_default().push(began.elapsed().as_secs_f64() * 1e6);
    }

    /// Median and 99th percentile of each.
    fn figures(mut self) -> Value {
        let figures = self.0.iter_mut().map(|(what, times)| {
            times.sort_by(f64::total_cmp);
            let at = |percent: usize| times.get(times.len() * percent / 100);
            ((*what).to_owned(), json!({"p50_us": at(50), "p99_us": at(99), "times": times.len()}))
        });
        Value::Object(figures.collect())
    }
}

pub(crate) async fn run(args: Args) -> Result<()> {
    let shown = args.file.display().to_string();
    let bytes = std::fs::read(&args.file).with_context(|| shown.clone())?;
    let case = std::fs::read_to_string(&args.case).with_context(|| args.case.display().to_string())?;
    let engine = Engine::new(EngineOptions { cache: args.cache_dir, compiler: None, quick: false })?;
    let player = Player::new(&engine, &shown, bytes).await?;
    let memory = memory_of(&player.stage(&case, 0)?, args.instances).await?;
    let (fresh, reused) = (player.stage(&case, 0)?, player.stage(&case, u32::MAX)?);
    let lasting = Duration::from_secs(args.seconds);
    crate::print(&json!({"file": shown, "memory": memory, "fresh": times_of(&fresh, lasting).await?,
        "reused": times_of(&reused, lasting).await?}));
    Ok(())
}

/// What each of so many instances that have served a reconcile takes beside the first, in bytes.
async fn memory_of(stage: &Stage, instances: u32) -> Result<Value> {
    let mut unused = Times::default();
    let mut alive = vec![reconcile(stage, &mut unused).await?];
    let before = memory::proportional()?;
    for _ in 0..instances {
        alive.push(reconcile(stage, &mut unused).await?);
    }
    let grown = memory::proportional()?.saturating_sub(before);
    alive.into_iter().for_each(|instance| stage.pool.give_back(instance));
    Ok(json!({"resident_bytes": grown / u64::from(instances.max(1)), "linear_bytes": stage.pool.most_memory_bytes()}))
}

/// One reconcile after the other, each with the making and the end of its instance.
async fn times_of(stage: &Stage, lasting: Duration) -> Result<Value> {
    let mut times = Times::default();
    stage.pool.give_back(reconcile(stage, &mut Times::default()).await?);
    let (began, cpu) = (Instant::now(), memory::cpu_seconds()?);
    let mut count = 0_u32;
    while began.elapsed() < lasting {
        let one = Instant::now();
        stage.pool.give_back(reconcile(stage, &mut times).await?);
        times.since("reconcile", one);
        count += 1;
    }
    let cpu = (memory::cpu_seconds()? - cpu) / f64::from(count.max(1));
    Ok(json!({"times": times.figures(), "cpu_us": cpu * 1e6}))
}

/// As the host asks.
async fn reconcile(stage: &Stage, times: &mut Times) -> Result<Instance> {
    let request = &stage.request;
    let mut began = Instant::now();
    let mut instance = stage.instance().await?;
    times.since("instance", began);
    began = Instant::now();
    let desired = instance.get_desired(request).await?;
    times.since("get-desired", began);
    began = Instant::now();
    let actual = instance.get_actual(request).await?.state;
    times.since("get-actual", began);
    if !same_state(desired.as_deref(), actual.as_deref()) {
        began = Instant::now();
        instance.patch(request, desired.as_ref(), actual.as_ref()).await?;
        times.since("patch", began);
    }
    Ok(instance)
}
