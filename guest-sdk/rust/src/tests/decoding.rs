//! The object of a request is decoded once for all calls of a reconcile, and never shared between reconciles.

use super::{config_map, thing};
use crate::testing::Runner;
use crate::{Context, Manifest, Observation, Outcome, Reconciler, Result, kind};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use std::cell::Cell;

thread_local! {
    static DECODED: Cell<usize> = const { Cell::new(0) };
}

struct Counted(Value);

impl<'de> Deserialize<'de> for Counted {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        DECODED.set(DECODED.get() + 1);
        Value::deserialize(deserializer).map(Self)
    }
}

/// Shows the object in both states; they differ, so that all calls run.
#[derive(Default)]
struct Decoder;

impl Reconciler for Decoder {
    type Object = Counted;
    type State = Value;

    fn manifest() -> Manifest {
        Manifest::new("decoder", "1").primary(kind("example.com/v1", "Thing")).primary(config_map())
    }

    fn desired(&self, cx: &Context<Counted>) -> Result<Option<Value>> {
        Ok(Some(json!({"desired": cx.object()?.0["spec"]})))
    }

    fn actual(&self, cx: &Context<Counted>) -> Result<Observation<Value>> {
        Ok(Observation::present(json!({"actual": cx.object()?.0["spec"]})))
    }

    fn patch(&self, cx: &Context<Counted>, _: Option<Value>, _: Option<Value>) -> Result<Outcome> {
        Ok(Outcome::new().event_normal("Seen", cx.object()?.0["spec"].to_string()))
    }
}

#[test]
fn the_object_is_decoded_once_in_a_reconcile_and_anew_in_the_next() {
    for (before, spec) in [json!(1), json!(2), json!(2)].into_iter().enumerate() {
        let report = Runner::<Decoder>::new().object(thing(&spec)).reconcile();
        assert_eq!(report.error, None);
        assert_eq!(report.desired, Some(json!({"desired": spec})));
        assert_eq!(report.after, Some(json!({"actual": spec})));
        assert_eq!(report.events.first().map(|event| event.message.clone()), Some(spec.to_string()));
        assert!(DECODED.get() <= before + 1, "decoded {} times", DECODED.get());
    }
    assert!(DECODED.get() >= 2);
}
