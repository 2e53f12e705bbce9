//! Constant change: objects of one kind are made, edited and deleted, and it is known what should become of them.

use super::kinds::Kind;
use super::random::Random;
use super::verdict::Known;
use crate::harness::{Cluster, api_code, text};
use anyhow::Result;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

/// Objects that hang on one ConfigMap.
const PER_SETTINGS: usize = 50;

/// What was done so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Done {
    pub(super) edits: usize,
    pub(super) creates: usize,
    pub(super) deletes: usize,
}

/// Changes the objects of one kind. Nobody else does.
pub(super) struct Churn<'a> {
    cluster: &'a Cluster,
    namespace: &'a str,
    kind: Kind,
    random: Random,
    serial: usize,
    count: usize,
    /// Names that were used before.
    names: Vec<String>,
    pub(super) living: Vec<Known>,
    pub(super) settings: BTreeMap<String, String>,
    pub(super) done: Done,
    /// When which value was written.
    pub(super) written: Vec<(String, Instant)>,
}

impl<'a> Churn<'a> {
    /// * `count` - how many objects there are to be.
    pub(super) fn new(cluster: &'a Cluster, namespace: &'a str, kind: Kind, count: usize, seed: u64) -> Self {
        let stream = Kind::ALL.iter().position(|one| *one == kind).map_or(0, |at| at as u64 + 1);
        Self {
            cluster,
            namespace,
            kind,
            random: Random::new(seed, stream),
            serial: 0,
            count,
            names: Vec::new(),
            living: Vec::new(),
            settings: BTreeMap::new(),
            done: Done::default(),
            written: Vec::new(),
        }
    }

    /// Makes all objects.
    pub(super) async fn fill(&mut self) -> Result<()> {
        if self.kind == Kind::Dependent {
            for number in 0..self.count.div_ceil(PER_SETTINGS) {
                let (name, value) = (format!("settings-{number}"), self.value());
                let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
                    "metadata": {"name": name, "labels": {"torture": "settings"}}, "data": {"value": value}});
                self.cluster.create(&self.config_maps(), &object).await?;
                self.settings.insert(name, value);
            }
        }
        let wanted: Vec<_> = (0..self.count).map(|_| self.wanted(None)).collect();
        let made = stream::iter(wanted).map(|wanted| self.make(wanted)).buffer_unordered(4);
        self.living = made.try_collect().await?;
        Ok(())
    }

    /// Changes something again and again.
    ///
    /// * `pause` - between two changes.
    pub(super) async fn change(&mut self, pause: Duration, stop: &CancellationToken) -> Result<()> {
        let mut turns = interval(pause);
        turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                _ = turns.tick() => {}
            }
            match self.random.below(100) {
                0..10 => self.delete().await?,
                10..20 if self.living.len() < self.count + 20 => self.create().await?,
                20..22 if !self.settings.is_empty() => self.edit_settings().await?,
                _ => self.edit().await?,
            }
        }
    }

    async fn edit(&mut self) -> Result<()> {
        let value = self.value();
        let at = self.random.below(self.living.len());
        let Some(known) = self.living.get_mut(at) else { return Ok(()) };
        let path = format!("{}/{}", self.kind.path(self.namespace), known.name);
        self.cluster.merge_patch(&path, &json!({"spec": {"value": value}})).await?;
        known.value.clone_from(&value);
        self.written.push((value, Instant::now()));
        self.done.edits += 1;
        Ok(())
    }

    async fn edit_settings(&mut self) -> Result<()> {
        let value = self.value();
        let at = self.random.below(self.settings.len());
        let Some((name, known)) = self.settings.iter_mut().nth(at) else { return Ok(()) };
        let path = format!("/api/v1/namespaces/{}/configmaps/{name}", self.namespace);
        self.cluster.merge_patch(&path, &json!({"data": {"value": value}})).await?;
        *known = value;
        self.done.edits += 1;
        Ok(())
    }

    async fn create(&mut self) -> Result<()> {
        // Names come back, for other objects.
        let again =
            self.random.percent(30).then(|| self.random.below(self.names.len())).filter(|at| *at < self.names.len());
        let name = again.map(|at| self.names.swap_remove(at));
        let wanted = self.wanted(name);
        match self.make(wanted).await {
            Ok(known) => self.living.push(known),
            // The object that has the name is still going.
            Err(error) if api_code(&error) == Some(409) => {
                let wanted = self.wanted(None);
                let known = self.make(wanted).await?;
                self.living.push(known);
            }
            Err(error) => return Err(error),
        }
        self.done.creates += 1;
        Ok(())
    }

    async fn delete(&mut self) -> Result<()> {
        if self.living.is_empty() {
            return Ok(());
        }
        let known = self.living.swap_remove(self.random.below(self.living.len()));
        self.cluster.delete(&format!("{}/{}", self.kind.path(self.namespace), known.name)).await?;
        self.names.push(known.name);
        self.done.deletes += 1;
        Ok(())
    }

    /// A new object's name, value and settings.
    fn wanted(&mut self, name: Option<String>) -> (String, String, String) {
        let value = self.value();
        let settings = self.random.below(self.settings.len());
        let settings = self.settings.keys().nth(settings).cloned().unwrap_or_default();
        (name.unwrap_or_else(|| format!("o{}", self.serial)), value, settings)
    }

    async fn make(&self, (name, value, settings): (String, String, String)) -> Result<Known> {
        let object = self.kind.object(&name, &value, &settings);
        let made: Value = self.cluster.create(&self.kind.path(self.namespace), &object).await?;
        Ok(Known { kind: self.kind, name, uid: text(&made, "/metadata/uid"), value, settings })
    }

    /// One that was never written before.
    fn value(&mut self) -> String {
        self.serial += 1;
        format!("{}-{}", self.kind.plugin(), self.serial)
    }

    fn config_maps(&self) -> String {
        format!("/api/v1/namespaces/{}/configmaps", self.namespace)
    }
}
