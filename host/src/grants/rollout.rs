//! The steps of a rollout, validated.

use crate::api::Selector;
use oarlock_manifest::{Approval, Rollout, RolloutCanary, RolloutPlan};
use std::time::Duration;

/// Longest duration of a step.
const LONGEST_STEP: Duration = Duration::from_secs(30 * 24 * 3600);

/// The steps by which a new version replaces the version that runs.
#[derive(Clone, Debug, PartialEq)]
pub struct RolloutSteps {
    /// The limits of the plan. None: no plan.
    pub plan: Option<PlanLimits>,
    /// The least time of the shadow. None: no shadow.
    pub shadow: Option<Duration>,
    /// None: no canary.
    pub canary: Option<CanarySteps>,
}

/// The limits of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanLimits {
    /// Most writes.
    pub max_changes: Option<u32>,
    /// Most deletions.
    pub max_deletes: Option<u32>,
    /// Whether the rollout waits for an approval even within the limits.
    pub always_waits: bool,
}

/// The shares of a canary.
#[derive(Clone, Debug, PartialEq)]
pub struct CanarySteps {
    /// The shares in percent, in order.
    pub shares: Vec<u32>,
    /// The primaries that belong to a share. None: all.
    pub selector: Option<Selector>,
    /// The time of each share.
    pub each: Duration,
    /// Most writes that the version that runs would not make.
    pub max_different_writes: Option<u32>,
}

impl RolloutSteps {
    /// Validates the steps.
    ///
    /// # Errors
    ///
    /// The first fault, a sentence with the name of the field in the grant.
    pub(super) fn new(rollout: &Rollout) -> Result<Self, String> {
        let shadow = rollout.shadow.as_ref().map(|shadow| duration("rollout.shadow.for", &shadow.r#for)).transpose()?;
        let canary = rollout.canary.as_ref().map(CanarySteps::new).transpose()?;
        let plan = rollout.plan.as_ref().map(|plan| {
            let RolloutPlan { max_changes, max_deletes, approval } = *plan;
            PlanLimits { max_changes, max_deletes, always_waits: approval == Approval::Always }
        });
        if plan.is_none() && shadow.is_none() && canary.is_none() {
            return Err("rollout has none of plan, shadow and canary: leave it out, or state one of them".to_owned());
        }
        Ok(Self { plan, shadow, canary })
    }
}

impl CanarySteps {
    fn new(canary: &RolloutCanary) -> Result<Self, String> {
        let shares: Vec<u32> = std::iter::once(canary.percent).chain(canary.steps.iter().copied()).collect();
        if let Some(wrong) = shares.iter().find(|share| !(1..=100).contains(*share)) {
            return Err(format!("rollout.canary has the share {wrong}, must be 1 to 100 percent"));
        }
        if let Some((before, after)) = shares.iter().zip(shares.iter().skip(1)).find(|(before, after)| before >= after)
        {
            return Err(format!(
                "rollout.canary.steps has {after} after {before}: each share must be larger than the last"
            ));
        }
        let selector = canary.selector.as_deref().filter(|text| !text.is_empty()).map(Selector::bounded).transpose();
        Ok(Self {
            shares,
            selector: selector.map_err(|fault| format!("rollout.canary.selector: {fault}"))?,
            each: duration("rollout.canary.for", &canary.r#for)?,
            max_different_writes: canary.max_different_writes,
        })
    }
}

fn duration(field: &str, text: &str) -> Result<Duration, String> {
    let parsed = text.parse::<jiff::SignedDuration>().ok().and_then(|parsed| Duration::try_from(parsed).ok());
    match parsed {
        Some(duration) if duration <= LONGEST_STEP => Ok(duration),
        Some(_) => Err(format!("{field} is {text}, must be at most {} days", LONGEST_STEP.as_secs() / 86_400)),
        None => Err(format!("{field} is {text:?}, which is no duration such as 90s, 10m or 1h30m")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn steps(rollout: Value) -> Result<RolloutSteps, String> {
        RolloutSteps::new(&serde_json::from_value(rollout).unwrap())
    }

    #[test]
    fn steps_have_their_times_shares_and_limits() {
        let found = steps(json!({"plan": {"maxDeletes": 0}, "shadow": {"for": "1h30m"},
            "canary": {"percent": 5, "steps": [25, 50], "selector": "tier=test", "for": "90s", "maxDifferentWrites": 3}}))
        .unwrap();
        assert_eq!(found.plan, Some(PlanLimits { max_changes: None, max_deletes: Some(0), always_waits: false }));
        assert_eq!(found.shadow, Some(Duration::from_secs(5400)));
        let canary = found.canary.unwrap();
        assert_eq!(
            (canary.shares, canary.each, canary.max_different_writes),
            (vec![5, 25, 50], Duration::from_secs(90), Some(3))
        );
        assert!(canary.selector.is_some());
        assert!(steps(json!({"plan": {"approval": "Always"}})).unwrap().plan.unwrap().always_waits);
    }

    #[test]
    fn a_fault_names_its_field() {
        let canary = |percent: u32, steps: &[u32], each: &str, selector: &str| json!({"canary": {"percent": percent, "steps": steps, "for": each, "selector": selector}});
        for (rollout, fault) in [
            (json!({}), "none of plan, shadow and canary"),
            (json!({"shadow": {"for": "soon"}}), "rollout.shadow.for is \"soon\", which is no duration"),
            (json!({"shadow": {"for": "-5m"}}), "rollout.shadow.for"),
            (json!({"shadow": {"for": "9000h"}}), "at most 30 days"),
            (canary(0, &[], "1m", ""), "the share 0"),
            (canary(5, &[101], "1m", ""), "the share 101"),
            (canary(5, &[5], "1m", ""), "5 after 5"),
            (canary(5, &[], "", ""), "rollout.canary.for"),
            (canary(5, &[], "1m", "a in"), "rollout.canary.selector"),
        ] {
            let found = steps(rollout.clone()).unwrap_err();
            assert!(found.contains(fault), "{rollout}: {found}");
        }
    }
}
