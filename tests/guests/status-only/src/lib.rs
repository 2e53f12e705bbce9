//! The Network plugin without Neutron: its status says what its spec says, and nothing is made. For measuring what the host costs
//! by itself; `tests/bench/native` does the same with kube-rs.

use oarlock_guest::{Context, Manifest, Observation, Outcome, Reconciler, Result, export, kind};
use serde::{Deserialize, Serialize};

#[derive(Default)]
struct StatusOnly;

export!(StatusOnly);

#[derive(Deserialize)]
struct Network {
    spec: Range,
}

#[derive(Clone, Serialize, Deserialize)]
struct Range {
    cidr: String,
    gateway: String,
}

impl Reconciler for StatusOnly {
    type Object = Network;
    type State = Range;

    fn manifest() -> Manifest {
        Manifest::new("status-only", "1")
            .description("Says in the status of a Network what its spec says")
            .primary(kind("samplecrd.k8s.io/v1", "Network"))
            .manage_status()
            .workers(2)
            .resync_seconds(3600)
    }

    fn desired(&self, cx: &Context<Network>) -> Result<Option<Range>> {
        Ok(Some(cx.object()?.spec.clone()))
    }

    fn actual(&self, cx: &Context<Network>) -> Result<Observation<Range>> {
        let spec = cx.object()?.spec.clone();
        Ok(Observation::present(spec.clone()).status(spec))
    }

    fn patch(&self, _: &Context<Network>, _: Option<Range>, _: Option<Range>) -> Result<Outcome> {
        Ok(Outcome::new())
    }
}
