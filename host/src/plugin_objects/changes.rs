//! Changes of an object beside its status: the host keeps and removes its own objects, and gives away those of people.

use super::entries::source;
use super::ownership::{Owner, given_away, is_ours, owner, taken};
use super::{GONE, Live, MADE, PluginObjects, json, kind};
use crate::apply::WriteError;
use crate::lease::LeadershipGuard;
use crate::plugin::directory;
use serde_json::Value;
use tokio::time::Instant;

/// What to write of an object beside its status.
pub(super) enum Change {
    /// The object of the host.
    Ours(Value),
    /// The document that gives the object to a person.
    GiveAway(Value),
}

impl PluginObjects {
    /// What to write of an object beside its status, if anything: its source in an object of the host. An object of a person is left alone.
    pub(super) async fn change(&mut self, name: &str, entry: &Value, live: Option<&Live>) -> Option<Change> {
        let source = source(entry);
        let spec = source.as_ref().map_or_else(|| json!({}), |source| json!({"source": source}));
        let ours = json!({"apiVersion": kind().api_version(), "kind": "Plugin",
            "metadata": {"name": name, "namespace": self.namespace, "labels": {MADE.0: MADE.1}}, "spec": spec});
        let Some(live) = live else {
            // A plugin whose object a person has just removed is about to end.
            let file = entry.get("file").and_then(Value::as_str);
            let of_directory = file.is_some_and(|file| directory::plugin_of(file).is_none());
            return (of_directory || entry["state"] == "retired").then_some(Change::Ours(ours));
        };
        if !is_ours(&live.json) {
            return None;
        }
        let differs = live.json.pointer("/spec/source") != source.as_ref();
        let written = self.objects.entry(name.to_owned()).or_default();
        if !differs
            && (live.json.pointer("/spec/grant").is_none()
                || written.ours.as_deref() == Some(live.object.resource_version()))
        {
            return None;
        }
        // The cache does not have the owners of fields.
        match self.shared.writer.host_objects().read(&kind(), live.object.key()).await {
            Ok(Some(found)) => match owner(&found) {
                Owner::Host => {
                    written.ours = Some(live.object.resource_version().to_owned());
                    differs.then_some(Change::Ours(ours))
                }
                Owner::Person { keeps_source } => {
                    Some(Change::GiveAway(given_away(name, &self.namespace, &found, keeps_source)))
                }
            },
            Ok(None) | Err(_) => None,
        }
    }

    /// Carries out a change.
    pub(super) async fn write(&self, name: &str, guard: &LeadershipGuard, change: Change) -> Result<(), WriteError> {
        let objects = self.shared.writer.host_objects();
        let document = match change {
            Change::Ours(document) => return objects.apply(guard, &document).await.map(drop),
            Change::GiveAway(document) => document,
        };
        tracing::info!(plugin = name, "a person says what this plugin is: its Plugin object is no longer the host's");
        let object = objects.apply(guard, &document).await?;
        if is_ours(&json(&object)) {
            // The person wrote the label, too. Only who owns it alone can remove it.
            objects.apply(guard, &taken(&document)).await?;
            objects.apply(guard, &document).await?;
        }
        Ok(())
    }

    /// Removes an object that the host made and whose plugin is gone, on this host and on all others.
    pub(super) async fn remove(&mut self, name: &str, live: &Live) {
        let (object, ours) = (&live.object, is_ours(&live.json));
        let since = *self.gone.entry(name.to_owned()).or_insert_with(Instant::now);
        let Some(guard) = self.election.guard().filter(|_| ours && since.elapsed() >= GONE) else { return };
        if self.lifecycle.may_come(name) || self.has_unknown_finalizers(name, &live.json) {
            return;
        }
        self.gone.remove(name);
        if self.is_led_elsewhere(name).await {
            return;
        }
        let objects = self.shared.writer.host_objects();
        // Who copies an object copies its label.
        let Ok(Some(found)) = objects.read(&kind(), object.key()).await else { return };
        let done = match owner(&found) {
            Owner::Host => objects.delete(&guard, &kind(), object.key(), object.uid()).await,
            Owner::Person { keeps_source } => {
                let document = given_away(name, &self.namespace, &found, keeps_source);
                self.write(name, &guard, Change::GiveAway(document)).await
            }
        };
        if let Err(error) = done {
            tracing::warn!(plugin = name, %error, "the Plugin object of a removed plugin stays");
        }
    }
}
