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
        // The undo would take effect at some later time: when that version runs.
        if let Some(waits) = waits(text("/status/candidate/state"), self.json.pointer("/status/rollout").is_some()) {
            let (version, name) = (text("/status/candidate/version"), text("/metadata/name"));
            bail!("{}: version {version} {}", self.object, waits.replace("NAME", name));
        }
        let running = text("/status/digest");
        let all = self.revisions();
        let to = match revision {
            Some(number) => all.iter().find(|one| one.get("revision").and_then(Value::as_u64) == Some(number)),
            None => all.iter().find(|one| digest(one).is_ok_and(|digest| digest != running)),
        };
        let to = to.with_context(|| {
            format!("{} has no such revision: oarlock rollout history Plugin {}", self.object, self.object.key())
        })?;
        // While an undone version waits, the source has that one.
        let candidate = text("/status/candidate/digest");
        let from = if candidate.is_empty() { running } else { candidate };
        let (to_digest, version) = (digest(to)?, to.get("version").and_then(Value::as_str).unwrap_or_default());
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

/// What a version that does not run yet waits for, and what to do before an undo. None: it does not wait.
///
/// * `state` - of the candidate.
/// * `rolls_out` - whether it has a rollout.
fn waits(state: &str, rolls_out: bool) -> Option<&'static str> {
    match state {
        "rolling-out" => Some("is rolled out: abort the rollout first: oarlock rollout abort NAME"),
        "awaiting-confirmation" if rolls_out => {
            Some("waits for an approval of its rollout: abort the rollout first: oarlock rollout abort NAME")
        }
        "awaiting-confirmation" | "awaiting-grant" => {
            Some("waits for an approval: put the source of before in its place first")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_undo_is_for_a_version_that_runs_or_was_rolled_back() {
        for state in ["rolling-out", "awaiting-confirmation"] {
            assert!(waits(state, true).is_some_and(|says| says.ends_with("oarlock rollout abort NAME")), "{state}");
        }
        assert!(waits("awaiting-confirmation", false).is_some_and(|says| !says.contains("abort")));
        assert_eq!((waits("failed", false), waits("", false)), (None, None));
    }
}
