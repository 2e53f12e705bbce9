//! Arbitrary sequences of events: in the end every Pod that needs a port has one, and no other port is left.

use super::lab::{Fault, Lab, merge, pod};
use crate::PodNetwork;
use crate::objects::{network_kind, pod_kind};
use oarlock_guest::testing::Runner;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Slots for Pods; each may be used repeatedly.
const SLOTS: usize = 3;

#[derive(Clone, Debug)]
enum Step {
    /// Creates a Pod in a slot, if it is free, that asks for this Network.
    Create(usize, &'static str),
    /// The Pod asks for another Network; none: for none.
    Ask(usize, Option<&'static str>),
    Finish(usize),
    /// Deletes the Pod; whether the host sees the deletion.
    Delete(usize, bool),
    /// Runs the Pod's key.
    Run(usize),
    /// Runs a Network's key.
    Sweep(&'static str),
    /// The n-th write from now fails in this way.
    Fail(usize, Fault),
    /// Lists show nothing from now on, or everything.
    Lag(bool),
    /// Another client deletes the first port.
    Meddle,
    Restart,
}

fn network() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&["blue", "green"][..])
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..SLOTS, network()).prop_map(|(slot, network)| Step::Create(slot, network)),
        2 => (0..SLOTS, prop::option::of(network())).prop_map(|(slot, network)| Step::Ask(slot, network)),
        1 => (0..SLOTS).prop_map(Step::Finish),
        2 => (0..SLOTS, any::<bool>()).prop_map(|(slot, seen)| Step::Delete(slot, seen)),
        6 => (0..SLOTS).prop_map(Step::Run),
        2 => network().prop_map(Step::Sweep),
        2 => (1..3usize, any::<bool>())
            .prop_map(|(at, lost)| Step::Fail(at, if lost { Fault::Lost } else { Fault::Dies })),
        1 => any::<bool>().prop_map(Step::Lag),
        1 => Just(Step::Meddle),
        1 => Just(Step::Restart),
    ]
}

/// One runner per Pod that ever existed, and one per Network; all with the same Pods and the same Neutron.
struct Stage {
    lab: Lab,
    networks: BTreeMap<&'static str, Runner<PodNetwork>>,
    living: [Option<Runner<PodNetwork>>; SLOTS],
    /// Pods whose deletion the host saw: their keys run until they are done.
    gone: Vec<Runner<PodNetwork>>,
    made: usize,
}

impl Stage {
    fn new() -> Self {
        let lab = Lab::default();
        let objects = ["blue", "green"].map(|name| (name, lab.make_network(name, "10.0.0.0/28")));
        let networks = objects.map(|(name, object)| (name, lab.runner().object(object))).into();
        Self { lab, networks, living: Default::default(), gone: Vec::new(), made: 0 }
    }

    fn play(&mut self, step: Step) {
        match step {
            Step::Create(slot, network) if self.living[slot].is_none() => {
                self.made += 1;
                let mut object = pod(&format!("pod-{slot}"), &format!("uid-{}", self.made));
                merge(&mut object, &asking(Some(network)));
                let networks = ["blue", "green"].map(|name| self.lab.object(name));
                let runner = networks.into_iter().fold(self.lab.runner(), Runner::seed);
                self.living[slot] = Some(runner.object(object));
            }
            Step::Ask(slot, network) => self.edit(slot, &asking(network)),
            Step::Finish(slot) => self.edit(slot, &json!({"status": {"phase": "Succeeded"}})),
            Step::Delete(slot, seen) => {
                if let Some(mut runner) = self.living[slot].take().filter(|_| seen) {
                    runner.delete();
                    self.gone.push(runner);
                }
            }
            Step::Run(slot) => {
                if let Some(runner) = &mut self.living[slot] {
                    runner.reconcile();
                }
            }
            Step::Sweep(network) => {
                self.sweep(network);
            }
            Step::Fail(at, fault) => self.lab.fail_at_write(at, fault),
            Step::Lag(lag) => self.lab.lists_lag(lag),
            Step::Meddle => {
                if let Some(port) = self.lab.ports().first() {
                    self.lab.delete_port(port["id"].as_str().unwrap());
                }
            }
            Step::Restart => {
                self.lab.forget_faults();
                // No runner knows the deleted Pods any more.
                self.gone.clear();
                self.living.iter_mut().flatten().for_each(Runner::restart);
            }
            Step::Create(..) => {}
        }
    }

    fn edit(&mut self, slot: usize, change: &Value) {
        if let Some(runner) = &mut self.living[slot] {
            runner.edit(|object| merge(object, change));
        }
    }

    fn sweep(&mut self, network: &'static str) -> bool {
        let runner = self.networks.get_mut(network).unwrap();
        for (slot, living) in self.living.iter().enumerate() {
            match living.as_ref().and_then(Runner::current) {
                Some(object) => drop(runner.put(object)),
                None => drop(runner.remove(&pod_kind(), "shop", &format!("pod-{slot}"))),
            }
        }
        runner.reconcile().in_sync()
    }

    /// Ends all faults, and runs every key.
    fn settle(&mut self) {
        self.lab.forget_faults();
        let last = |runner: &mut Runner<PodNetwork>| {
            let last = runner.settle(4).pop().unwrap();
            assert!(last.in_sync() && !last.patched, "{last:#?}");
        };
        self.gone.iter_mut().for_each(last);
        self.living.iter_mut().flatten().for_each(last);
        assert!(self.sweep("blue") && self.sweep("green"));
    }

    fn check(&self) {
        let mut wanted = Vec::new();
        for runner in self.living.iter().flatten() {
            let object = runner.current().unwrap();
            let annotations = &object["metadata"]["annotations"];
            let asked =
                annotations["samplecrd.k8s.io/network"].as_str().filter(|_| object["status"]["phase"] == "Running");
            let ports: Vec<Value> = self.lab.ports();
            let port = ports.iter().find(|port| port["device_id"] == object["metadata"]["uid"]);
            assert_eq!(annotations.get("samplecrd.k8s.io/network-port-id"), port.map(|port| &port["id"]));
            if let Some(name) = asked {
                let port = port.expect("a port");
                assert_eq!(port["network_id"], self.lab.network(name));
                assert_eq!(annotations["samplecrd.k8s.io/network-ip"], port["fixed_ips"][0]["ip_address"]);
                wanted.push(port["id"].clone());
            }
        }
        let mut left: Vec<Value> = self.lab.ports().iter().map(|port| port["id"].clone()).collect();
        wanted.sort_by_key(Value::to_string);
        left.sort_by_key(Value::to_string);
        assert_eq!(left, wanted, "ports that nobody wants, or too few");
        assert!(
            self.networks.values().all(|runner| runner.current().is_some_and(|n| n["kind"] == network_kind().kind))
        );
    }
}

fn asking(network: Option<&str>) -> Value {
    json!({"metadata": {"annotations": {"samplecrd.k8s.io/network": network}}})
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_every_pod_that_wants_a_port_ends_with_one_and_nothing_is_left(
        steps in prop::collection::vec(step(), 1..40)
    ) {
        let mut stage = Stage::new();
        steps.into_iter().for_each(|step| stage.play(step));
        stage.settle();
        stage.check();
    }
}
