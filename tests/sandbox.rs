//! The sandbox by itself: guests of text (tests/guests/text) in the host's engine, without a cluster.
//!
//! They do what no compiler would make of a plugin. Whatever that is, it ends in an error with a reason, in time, and the host
//! holds no more memory than the limits allow.

mod bounds;
mod reuse;

use anyhow::{Context, Result, anyhow};
use oarlock::api::{GroupVersionKind, ObjectKey};
use oarlock::grants::Grants;
use oarlock::metrics::Metrics;
use oarlock::plugin::cache::Cache;
use oarlock::plugin::{CallError, Engine, EngineOptions, Guest, HttpGate, Pool, Request, Run, Trigger, inspect, load};
use oarlock_manifest::Limits;
use oarlock_tests::harness::{text_guest, text_manifest};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, LazyLock};

/// One for all tests: its pool reserves address space.
static ENGINE: LazyLock<Result<Engine>> = LazyLock::new(|| Engine::new(EngineOptions::default()));

fn engine() -> Result<&'static Engine> {
    ENGINE.as_ref().map_err(|e| anyhow!("{e:#}"))
}

/// Loads a guest and grants it nothing but these limits.
async fn pool_of(name: &str, limits: Limits) -> Result<Pool> {
    let (metrics, http) = (Metrics::new(), HttpGate::new());
    let bytes = text_guest(name, &text_manifest(name))?;
    let guest = inspect::describe_guest(&metrics, &http, name);
    let (component, manifest) = load(engine()?, bytes, &guest).await.with_context(|| name.to_owned())?;
    let mut grant = Grants::asked(&manifest, BTreeMap::new(), &|_| None);
    grant.limits = limits;
    let guest = Guest {
        plugin: name.to_owned(),
        grants: Arc::new(Grants::new(&grant, Path::new("."))?),
        cache: Arc::new(Cache::default()),
        secrets: Arc::default(),
        http,
        metrics: metrics.plugin(name),
    };
    Ok(Pool::new(component, guest, manifest.workers))
}

/// Why the host refuses to load a guest.
async fn refusal(name: &str) -> Result<String> {
    let bytes = text_guest(name, &text_manifest(name))?;
    let guest = inspect::describe_guest(&Metrics::new(), &HttpGate::new(), name);
    let refused = load(engine()?, bytes, &guest).await;
    Ok(refused.err().with_context(|| format!("{name} was loaded"))?.to_string())
}

fn run() -> Run {
    Run {
        reads: None,
        observer: None,
        key: "default/one".to_owned(),
        correlation_id: String::new(),
        dry_run: false,
        withheld: None,
        forgets: false,
        at_most: None,
        guard: oarlock::lease::LeadershipGuard::for_ever(),
        tape: None,
        replay: None,
    }
}

fn request() -> Request {
    Request {
        kind: GroupVersionKind::new("", "v1", "ConfigMap"),
        key: ObjectKey::new("default", "one"),
        uid: "uid".to_owned(),
        object: Some(r#"{"apiVersion": "v1", "kind": "ConfigMap"}"#.into()),
        last_seen: None,
        deleting: false,
        trigger: Trigger::Event,
        attempt: 1,
        correlation_id: String::new(),
        review: None,
        dry_run: false,
    }
}

/// One reconcile's first call.
async fn desired(pool: &Pool) -> Result<Option<serde_json::Value>, CallError> {
    let mut instance = pool.take(run()).await?;
    let answer = instance.get_desired(&request()).await;
    pool.give_back(instance);
    answer.map(|state| state.as_deref().cloned())
}
