//! The approval of a plan.

use super::basis::{CHANGED, LIVE_READS};
use super::{Answer, Phase, Plan, Rollout};
use crate::controller::Controller;
use std::sync::Arc;

impl Rollout {
    /// The plan that waits for an approval.
    fn waiting(&self) -> Option<Plan> {
        let progress = self.progress();
        progress.approvable.clone().filter(|_| progress.phase == Phase::AwaitingApproval)
    }
}

impl Controller {
    /// Approves the rollout that waits for it, whatever its plan is. False: none waits.
    #[must_use]
    pub fn approve_rollout(&self) -> bool {
        let Some(rollout) = self.version.rollout().filter(|rollout| rollout.waiting().is_some()) else { return false };
        rollout.answer.send_replace(Some(Answer::Approved));
        true
    }

    /// Approves the plan that a person saw. Returns what else to tell them; none: no rollout waits.
    ///
    /// # Errors
    ///
    /// The present plan is another one, or objects have changed since: then the host plans again.
    pub async fn approve_plan(&self, plan: &str) -> Result<Option<String>, String> {
        let Some(rollout) = self.version.rollout() else { return Ok(None) };
        let Some(present) = rollout.waiting() else { return Ok(None) };
        let other = |id: &str| format!("plan {plan} is not the present one, which is plan {id}");
        if plan != present.id {
            return Err(other(&present.id));
        }
        let basis = rollout.basis();
        let mut outdated = None;
        for basis in basis.iter().flatten() {
            if outdated.is_none() {
                outdated = basis.why_outdated().await;
            }
        }
        // Meanwhile another rollout may have begun, or the host may have planned again.
        let present_one = self.version.rollout().filter(|now| Arc::ptr_eq(now, &rollout));
        match present_one.and_then(|rollout| rollout.waiting()) {
            Some(now) if now == present => {}
            Some(now) => return Err(other(&now.id)),
            None => return Ok(None),
        }
        let left = self.version.get().map(|current| rollout.left(&current, |_, _| true));
        let same = rollout.stamp() == present.stamp && left.is_none_or(|left| left == present.left);
        if !same || basis.iter().flatten().any(|basis| basis.is_outdated()) {
            outdated = Some(CHANGED.to_owned());
        }
        if let Some(why) = outdated {
            rollout.answer.send_replace(Some(Answer::Outdated));
            return Err(format!("plan {plan} is outdated, because {why}: the host plans again"));
        }
        rollout.answer.send_replace(Some(Answer::Approved));
        let unchecked = basis.iter().flatten().any(|basis| basis.has_unchecked());
        let said = unchecked.then(|| {
            format!(
                "; of the objects that only the API server has, those beyond the first {LIVE_READS} may have changed"
            )
        });
        Ok(Some(said.unwrap_or_default()))
    }

    /// Why the rollout waits for an approval. None: it does not.
    #[must_use]
    pub fn awaits_approval(&self) -> Option<String> {
        let rollout = self.version.rollout()?;
        let progress = rollout.progress();
        (progress.phase == Phase::AwaitingApproval).then(|| progress.reason.clone())
    }
}
