//! Pods that have no Envoy although they should: made before injection was on, or while it was away. They cannot get one any more;
//! their desired and actual state stay different, and an event says what to do.

use crate::initializer::Initializer;
use crate::scope::{self, INJECTED};
use crate::settings::Settings;
use oarlock_guest::{Context, Observation, Outcome, Result};
use serde_json::{Value, json};
use std::time::Duration;

/// Events are kept for an hour.
const REMIND: Duration = Duration::from_secs(3600);

pub(crate) fn desired(cx: &Context<Value>) -> Result<Option<Value>> {
    Ok(injected(cx)?.map(|_| json!({"injected": true})))
}

pub(crate) fn actual(cx: &Context<Value>) -> Result<Observation<Value>> {
    if cx.deleting() {
        return Ok(Observation::absent());
    }
    Ok(Observation::of(injected(cx)?.map(|injected| json!({"injected": injected}))))
}

pub(crate) fn patch() -> Outcome {
    Outcome::new()
        .event_warning(
            "NotInjected",
            "This Pod has no Envoy: it was created before injection was on, or while it did not answer. A Pod that exists cannot get a \
             container: restart its workload, or delete the Pod",
        )
        .requeue_after(REMIND)
}

/// Whether the Pod has what it should have. None: it needs nothing, or nobody can tell what it needs.
fn injected(cx: &Context<Value>) -> Result<Option<bool>> {
    let settings = Settings::read()?;
    let pod = cx.object()?;
    if !scope::pod(pod, cx.namespace(), &settings)? {
        return Ok(None);
    }
    if scope::label(pod, INJECTED).is_some() {
        return Ok(Some(true));
    }
    let Ok(initializer) = Initializer::read(&settings) else { return Ok(None) };
    Ok(Some(initializer.is_in(pod.get("spec").unwrap_or(&Value::Null))))
}
