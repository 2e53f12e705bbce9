//! The emulated Neutron with faults in between, and a namespace with a Network and a Pod.

use crate::PodNetwork;
use neutron_emulator::Direct;
use oarlock_guest::http::{Failure, Request, Response};
use oarlock_guest::testing::Runner;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

pub(super) const UID: &str = "b2f4f8f0-1d7e-4b57-9f1c-6a3d9f0c7e55";
const URL: &str = "http://127.0.0.1:9696";

/// A fault of a request.
#[derive(Clone, Debug)]
pub(super) enum Fault {
    /// The request gets this response instead of being carried out.
    Instead(Result<Response, Failure>),
    /// The request is carried out, and the response is lost.
    Lost,
    /// The request is carried out, and all later ones fail: the host died.
    Dies,
}

#[derive(Default)]
struct Inner {
    neutron: Direct,
    /// Network objects, by name.
    networks: BTreeMap<String, Value>,
    writes: usize,
    /// For the next request with this method and path prefix.
    faults: VecDeque<(&'static str, &'static str, Fault)>,
    /// For the n-th write from now, counted from 1.
    at_write: Option<(usize, Fault)>,
    dead: bool,
    /// Lists are empty.
    lists_lag: bool,
}

/// A handle on the lab.
#[derive(Clone, Default)]
pub(super) struct Lab(Rc<RefCell<Inner>>);

/// A Pod that asks for a port in Network blue, whose range has room for five, and its Neutron.
pub(super) fn lab() -> (Runner<PodNetwork>, Lab) {
    let lab = Lab::default();
    let blue = lab.make_network("blue", "10.0.0.0/29");
    let runner = lab.runner().seed(blue).object(pod("web", UID));
    (runner, lab)
}

/// A Pod in namespace shop that asks for a port in Network blue.
pub(super) fn pod(name: &str, uid: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "uid": uid, "annotations": {"samplecrd.k8s.io/network": "blue"}},
        "spec": {"containers": []}, "status": {"phase": "Running"},
    })
}

/// A merge patch (RFC 7386).
pub(super) fn merge(document: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else { return document.clone_from(patch) };
    for (key, value) in patch {
        if value.is_null() {
            document.as_object_mut().unwrap().remove(key);
        } else {
            merge(&mut document[key], value);
        }
    }
}

impl Lab {
    /// A separate cluster on the same Neutron.
    pub(super) fn runner(&self) -> Runner<PodNetwork> {
        let lab = self.clone();
        Runner::new().config("neutronUrl", URL).http(move |request| lab.0.borrow_mut().answer(request))
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let path = format!("/v2.0/{path}");
        let (status, answer) = self.0.borrow_mut().neutron.call(method, &path, "", None, body.to_string().as_bytes());
        assert!(status < 300, "{method} {path}: {status} {answer}");
        answer
    }

    /// Creates a network with a subnet; returns the Network object for it.
    pub(super) fn make_network(&self, name: &str, cidr: &str) -> Value {
        let network = self.call("POST", "networks", &json!({"network": {"name": name}}))["network"]["id"].clone();
        let subnet = json!({"subnet": {"network_id": network, "cidr": cidr, "ip_version": 4}});
        let subnet = self.call("POST", "subnets", &subnet)["subnet"]["id"].clone();
        let object = json!({
            "apiVersion": "samplecrd.k8s.io/v1", "kind": "Network",
            "metadata": {"name": name, "namespace": "shop", "uid": format!("uid of {name}")}, "spec": {"cidr": cidr},
            "status": {"networkId": network, "subnetId": subnet, "conditions": [{"type": "Ready", "status": "True"}]},
        });
        self.0.borrow_mut().networks.insert(name.to_owned(), object.clone());
        object
    }

    /// The original object of a Network.
    pub(super) fn object(&self, name: &str) -> Value {
        self.0.borrow().networks[name].clone()
    }

    /// The id of a network.
    pub(super) fn network(&self, name: &str) -> Value {
        self.object(name)["status"]["networkId"].clone()
    }

    pub(super) fn ports(&self) -> Vec<Value> {
        self.0.borrow().neutron.all("ports")
    }

    #[track_caller]
    pub(super) fn only_port(&self) -> Value {
        let ports = self.ports();
        assert_eq!(ports.len(), 1, "{ports:#?}");
        ports[0].clone()
    }

    /// Creates a port; returns its id.
    pub(super) fn make_port(&self, network: &str, device: &str, owner: &str, name: &str) -> String {
        let port =
            json!({"network_id": self.network(network), "device_id": device, "device_owner": owner, "name": name});
        self.call("POST", "ports", &json!({"port": port}))["port"]["id"].as_str().unwrap().to_owned()
    }

    /// Changes the only port.
    pub(super) fn put_port(&self, fields: &Value) {
        let path = format!("ports/{}", self.only_port()["id"].as_str().unwrap());
        self.call("PUT", &path, &json!({"port": fields}));
    }

    pub(super) fn delete_port(&self, id: &str) {
        self.call("DELETE", &format!("ports/{id}"), &Value::Null);
    }

    pub(super) fn delete_ports(&self) {
        self.ports().iter().for_each(|port| self.delete_port(port["id"].as_str().unwrap()));
    }

    /// Sets the project's quota of ports.
    pub(super) fn quota(&self, ports: i64) {
        self.call("PUT", "quotas/fake_project_id", &json!({"quota": {"port": ports}}));
    }

    /// The number of carried-out writes of plugins.
    pub(super) fn writes(&self) -> usize {
        self.0.borrow().writes
    }

    pub(super) fn fail(&self, method: &'static str, path: &'static str, fault: Fault) {
        self.0.borrow_mut().faults.push_back((method, path, fault));
    }

    pub(super) fn fail_at_write(&self, count: usize, fault: Fault) {
        self.0.borrow_mut().at_write = Some((count, fault));
    }

    /// Whether a fault still waits for its write.
    pub(super) fn pending_fault(&self) -> bool {
        self.0.borrow().at_write.is_some()
    }

    pub(super) fn forget_faults(&self) {
        let mut inner = self.0.borrow_mut();
        inner.at_write = None;
        inner.dead = false;
        inner.lists_lag = false;
    }

    pub(super) fn lists_lag(&self, lag: bool) {
        self.0.borrow_mut().lists_lag = lag;
    }

    pub(super) fn die(&self) {
        self.0.borrow_mut().dead = true;
    }
}

impl Inner {
    fn answer(&mut self, request: &Request) -> Result<Response, Failure> {
        if self.dead {
            return Err(Failure::Unreachable("connection refused".into()));
        }
        let write = request.method != "GET";
        let at = self.faults.iter().position(|(m, p, _)| *m == request.method && request.path().starts_with(p));
        let mut fault = at.and_then(|at| self.faults.remove(at)).map(|(_, _, fault)| fault);
        if let (true, Some((count, _))) = (write, &mut self.at_write) {
            *count -= 1;
            if *count == 0 {
                fault = self.at_write.take().map(|(_, fault)| fault);
            }
        }
        if let Some(Fault::Instead(answer)) = fault {
            return answer;
        }
        let query = request.url.split_once('?').map_or("", |(_, query)| query);
        let if_match = request.header_value("if-match");
        let (status, mut body) = self.neutron.call(&request.method, request.path(), query, if_match, &request.body);
        if self.lists_lag && request.method == "GET" && request.path() == "/v2.0/ports" {
            body["ports"] = json!([]);
        }
        self.writes += usize::from(write && status < 300);
        match fault {
            Some(Fault::Lost) => Err(Failure::TimedOut),
            Some(Fault::Dies) => {
                self.dead = true;
                Err(Failure::Unreachable("connection reset".into()))
            }
            _ => Ok(Response::json_body(status, &body)),
        }
    }
}
