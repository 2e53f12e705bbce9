//! The versions of the plugin of a Plugin object: every host obeys `spec.undo`.

use super::super::annotate::{Annotated, Target};
use super::digest;
use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};

/// A Plugin object.
pub(super) struct PluginObject {
    object: Annotated,
    json: Value,
}

/// The object that a target names. None: it names a plugin of a host.
pub(super) async fn find(target: &super::Target) -> anyhow::Result<Option<PluginObject>> {
    let [kind, name] = target.target.as_slice() else { return Ok(None) };
    let named = Target::of(kind, name, target.kubeconfig.clone(), target.context.clone())?;
    let object = Annotated::find(named).await?;
    ensure!(object.is_plugin(), "{object} has no versions: name a Plugin NAMESPACE/NAME");
    let json = object.get().await?;
    Ok(Some(PluginObject { object, json }))
}

impl PluginObject {
    /// The versions that ran, the newest first.
    pub(super) fn revisions(&self) -> Vec<Value> {
        self.json.pointer("/status/revisions").and_then(Value::as_array).cloned().unwrap_or_default()
    }

    /// Asks every host to run another version while the source has the present one.
    pub(super) async fn undo(&self, revision: Option<u64>) -> anyhow::Result<String> {
        let text = |pointer: &str| self.json.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let state = text("/status/candidate/state");
        let rolled_out = is_rolled_out(state, self.json.pointer("/status/rollout").is_some());
        // The undo would take effect at some later time: when that version runs.
        if !rolled_out && ["awaiting-confirmation", "awaiting-grant"].contains(&state) {
            let version = text("/status/candidate/version");
            bail!(
                "{}: version {version} waits for an approval: put the source of before in its place first",
                self.object
            );
        }
        let running = text("/status/digest");
        let all = self.revisions();
        let to = match revision {
            Some(number) => all.iter().find(|one| one.get("revision").and_then(Value::as_u64) == Some(number)),
            // The version that runs is the one before the candidate.
            None => all.iter().find(|one| digest(one).is_ok_and(|digest| (digest == running) == rolled_out)),
        };
        let to = to.with_context(|| {
            format!("{} has no such revision: oarlock rollout history Plugin {}", self.object, self.object.key())
        })?;
        // While an undone version waits, the source has that one.
        let candidate = text("/status/candidate/digest");
        let from = if candidate.is_empty() { running } else { candidate };
        let (to_digest, version) = (digest(to)?, to.get("version").and_then(Value::as_str).unwrap_or_default());
        if to_digest == from && rolled_out {
            let name = text("/metadata/name");
            bail!("{}: a configuration of this version is rolled out: oarlock rollout abort {name}", self.object);
        }
        if to_digest == from {
            return self.cancel().await;
        }
        if from.is_empty() {
            bail!("{} has no version that runs", self.object);
        }
        let undo = json!({"from": from, "to": to_digest, "reference": to.get("reference")});
        self.object.patch("spec.undo", &json!({"spec": {"undo": undo}})).await?;
        Ok(format!("{}: every host goes back to version {version}", self.object))
    }

    /// Asks every host to run the version of the source again.
    pub(super) async fn cancel(&self) -> anyhow::Result<String> {
        self.object.patch("spec.undo", &json!({"spec": {"undo": null}})).await?;
        Ok(format!("{}: every host runs the version of its source", self.object))
    }
}

/// Whether the version of the source is rolled out beside the one that runs: an undo aborts that.
///
/// * `state` - of the candidate.
/// * `has_rollout` - whether there is a rollout: then the candidate waits for an approval of its plan.
fn is_rolled_out(state: &str, has_rollout: bool) -> bool {
    state == "rolling-out" || (state == "awaiting-confirmation" && has_rollout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_rolled_out_also_while_it_waits_for_an_approval_of_its_plan() {
        assert!(is_rolled_out("rolling-out", true) && is_rolled_out("awaiting-confirmation", true));
        assert!(!is_rolled_out("awaiting-confirmation", false) && !is_rolled_out("awaiting-grant", false));
        assert!(!is_rolled_out("failed", false) && !is_rolled_out("", false));
    }
}
