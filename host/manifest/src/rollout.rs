//! The rollout of a new version, as the grant states it.

use serde::{Deserialize, Serialize};

/// The steps by which a new version of the plugin replaces the version that runs: first a plan, then a shadow, then a canary. A step that is
/// left out is skipped. Without `rollout`, a new version replaces the version that runs at once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rollout {
    /// Compare one reconcile of each object by the new version with one by the version that runs, without carrying out the changes of
    /// either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<RolloutPlan>,
    /// Compare the two versions for some time, without carrying out the changes of the new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shadow: Option<RolloutShadow>,
    /// Let the new version reconcile a share of the objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canary: Option<RolloutCanary>,
}

/// The limits of a plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RolloutPlan {
    /// The writes that the new version may make and the version that runs would not make. With more, the rollout waits for an approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_changes: Option<u32>,
    /// The deletions among them. With more, the rollout waits for an approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_deletes: Option<u32>,
    /// When the rollout waits for an approval.
    #[serde(default)]
    pub approval: Approval,
}

/// When a rollout waits for an approval after its plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Approval {
    /// The plan exceeds a limit.
    #[default]
    OverLimit,
    /// Always.
    Always,
}

/// The shadow of a rollout.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RolloutShadow {
    /// The least time, such as `90s`, `10m` or `1h30m`. The step ends later if not every object was compared by then.
    pub r#for: String,
}

/// The canary of a rollout.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RolloutCanary {
    /// The share of the objects that the new version reconciles first, in percent: 1 to 100.
    pub percent: u32,
    /// Further shares, in percent, each larger than the one before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<u32>,
    /// A label selector: only primaries that match it belong to a share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// The time of each share, such as `90s`, `10m` or `1h30m`.
    pub r#for: String,
    /// The writes that the new version may make and the version that runs would not make. The first write beyond it is not made, and the
    /// rollout is aborted. Without it, there is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_different_writes: Option<u32>,
}
