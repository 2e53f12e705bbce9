//! Missed Pods, which lack Envoy: created before injection was on, or while the plugin was unavailable. They cannot get it any more;
//! their desired and actual state stay different, and an event recommends an action.

use crate::initializer::Initializer;
use crate::scope::{self, INJECTED};
use crate::settings::Settings;
use oarlock_guest::{Context, Observation, Outcome, Result};
use serde_json::{Value, json};
use std::time::Duration;

/// The API server keeps events for an hour.
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

/// Whether the Pod has its injected containers. None: it needs none, or its needs are unknown.
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
