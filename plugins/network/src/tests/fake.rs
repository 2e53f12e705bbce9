//! A small in-memory Neutron. Bodies are recorded ones with other values, errors are recorded ones.

use super::recorded::{body, fixture};
use oarlock_guest::http::{Failure, Request, Response};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

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
struct State {
    networks: Vec<Value>,
    subnets: Vec<Value>,
    ports: Vec<Value>,
    made: u64,
    writes: usize,
    requests: usize,
    /// For the next request with this method and path prefix.
    faults: VecDeque<(&'static str, &'static str, Fault)>,
    /// For the n-th write from now, counted from 1.
    at_write: Option<(usize, Fault)>,
    dead: bool,
    /// Lists do not show new objects until this is reset.
    lists_lag: bool,
    ignores_filters: bool,
    page_size: Option<usize>,
}

/// A handle on the fake.
#[derive(Clone, Default)]
pub(super) struct Fake(Rc<RefCell<State>>);

impl Fake {
    pub(super) fn new() -> Self {
        Self::default()
    }

    pub(super) fn handler(&self) -> impl FnMut(&Request) -> Result<Response, Failure> + 'static {
        let fake = self.clone();
        move |request| fake.0.borrow_mut().answer(request)
    }

    pub(super) fn fail(&self, method: &'static str, path: &'static str, fault: Fault) {
        self.0.borrow_mut().faults.push_back((method, path, fault));
    }

    pub(super) fn fail_at_write(&self, count: usize, fault: Fault) {
        self.0.borrow_mut().at_write = Some((count, fault));
    }

    pub(super) fn pending_fault(&self) -> bool {
        self.0.borrow().at_write.is_some()
    }

    pub(super) fn revive(&self) {
        self.0.borrow_mut().dead = false;
    }

    pub(super) fn lists_lag(&self, lag: bool) {
        self.0.borrow_mut().lists_lag = lag;
    }

    pub(super) fn ignore_filters(&self) {
        self.0.borrow_mut().ignores_filters = true;
    }

    pub(super) fn page_size(&self, size: usize) {
        self.0.borrow_mut().page_size = Some(size);
    }

    pub(super) fn writes(&self) -> usize {
        self.0.borrow().writes
    }

    pub(super) fn requests(&self) -> usize {
        self.0.borrow().requests
    }

    pub(super) fn networks(&self) -> Vec<Value> {
        self.0.borrow().networks.clone()
    }

    pub(super) fn subnets(&self) -> Vec<Value> {
        self.0.borrow().subnets.clone()
    }

    #[track_caller]
    pub(super) fn only_network(&self) -> Value {
        let networks = self.networks();
        assert_eq!(networks.len(), 1, "{networks:#?}");
        networks[0].clone()
    }

    #[track_caller]
    pub(super) fn only_subnet(&self) -> Value {
        let subnets = self.subnets();
        assert_eq!(subnets.len(), 1, "{subnets:#?}");
        subnets[0].clone()
    }

    pub(super) fn edit_network(&self, edit: impl FnOnce(&mut Value)) {
        edit(&mut self.0.borrow_mut().networks[0]);
    }

    pub(super) fn edit_subnet(&self, edit: impl FnOnce(&mut Value)) {
        edit(&mut self.0.borrow_mut().subnets[0]);
    }

    pub(super) fn remove_subnets(&self) {
        self.0.borrow_mut().subnets.clear();
    }

    pub(super) fn remove_ports(&self) {
        self.0.borrow_mut().ports.clear();
    }

    pub(super) fn name_ports(&self, name: &str) {
        self.0.borrow_mut().ports.iter_mut().for_each(|port| port["name"] = json!(name));
    }

    pub(super) fn remove_everything(&self) {
        let mut state = self.0.borrow_mut();
        state.networks.clear();
        state.subnets.clear();
    }

    pub(super) fn seed_network(&self, name: &str, description: &str) -> String {
        let network = self.0.borrow_mut().make_network(&json!({"name": name, "description": description}));
        network["id"].as_str().unwrap().to_owned()
    }

    pub(super) fn seed_subnet(&self, network: &str, cidr: &str, description: &str) {
        let subnet = json!({"network_id": network, "cidr": cidr, "description": description});
        self.0.borrow_mut().make_subnet(&subnet);
    }

    pub(super) fn seed_port(&self, network: &str, owner: &str) {
        let mut state = self.0.borrow_mut();
        let id = format!("port-{}", state.ports.len() + 1);
        state.ports.push(json!({"id": id, "network_id": network, "device_owner": owner}));
    }
}

impl State {
    fn answer(&mut self, request: &Request) -> Result<Response, Failure> {
        self.requests += 1;
        if self.dead {
            return Err(Failure::Unreachable("connection refused".into()));
        }
        let write = request.method != "GET";
        let mut fault = self.fault(request);
        if let (true, Some((count, _))) = (write, &mut self.at_write) {
            *count -= 1;
            if *count == 0 {
                fault = self.at_write.take().map(|(_, fault)| fault);
            }
        }
        if let Some(Fault::Instead(answer)) = fault {
            return answer;
        }
        let answer = self.carry_out(request);
        self.writes += usize::from(write && answer.is_success());
        match fault {
            Some(Fault::Lost) => Err(Failure::TimedOut),
            Some(Fault::Dies) => {
                self.dead = true;
                Err(Failure::Unreachable("connection reset".into()))
            }
            _ => Ok(answer),
        }
    }

    fn fault(&mut self, request: &Request) -> Option<Fault> {
        let at = self
            .faults
            .iter()
            .position(|(method, path, _)| request.method == *method && request.path().starts_with(path))?;
        self.faults.remove(at).map(|(_, _, fault)| fault)
    }

    fn carry_out(&mut self, request: &Request) -> Response {
        let path = request.path().strip_prefix("/v2.0/").unwrap_or_default().to_owned();
        let (collection, id) = path.split_once('/').unwrap_or((&path, ""));
        let sent: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        match (request.method.as_str(), collection, id) {
            ("GET", "networks" | "subnets" | "ports", "") => self.list(collection, request),
            ("POST", "networks", "") => {
                let network = self.make_network(&sent["network"]);
                Response::json_body(201, &json!({"network": network}))
            }
            ("POST", "subnets", "") => self.post_subnet(&sent["subnet"]),
            ("GET", "networks" | "subnets", id) => self.get(collection, id),
            ("PUT", "subnets", id) => self.put_subnet(id, request, &sent["subnet"]),
            ("DELETE", "networks" | "subnets", id) => self.delete(collection, id),
            _ => panic!("{} {path}: not expected", request.method),
        }
    }

    fn of(&mut self, collection: &str) -> &mut Vec<Value> {
        match collection {
            "networks" => &mut self.networks,
            "subnets" => &mut self.subnets,
            _ => &mut self.ports,
        }
    }

    fn list(&mut self, collection: &str, request: &Request) -> Response {
        if self.lists_lag {
            return Response::json_body(200, &json!({collection: []}));
        }
        let ignores_filters = self.ignores_filters;
        let wanted = |field: &str, item: &Value| {
            ignores_filters || request.query_value(field).is_none_or(|value| item[field] == value)
        };
        let mut items = self.of(collection).clone();
        items.retain(|item| wanted("description", item) && wanted("network_id", item));
        let mut answer = json!({});
        if let Some(size) = self.page_size {
            let after = request.query_value("marker");
            let start = after.map_or(0, |marker| items.iter().position(|item| item["id"] == marker).unwrap() + 1);
            let more = items.len() > start + size;
            items = items.into_iter().skip(start).take(size).collect();
            if let (true, Some(last)) = (more, items.last()) {
                let (query, marker) = (request.url.split_once('?').unwrap().1, last["id"].as_str().unwrap());
                let query = query.split("&marker=").next().unwrap();
                // A Neutron behind a proxy names itself by another address than that of the request.
                let href = format!("http://neutron.internal:19696/v2.0/{collection}?{query}&marker={marker}");
                answer[format!("{collection}_links")] = json!([{"rel": "next", "href": href}]);
            }
        }
        answer[collection] = json!(items);
        Response::json_body(200, &answer)
    }

    fn get(&mut self, collection: &str, id: &str) -> Response {
        let found = self.of(collection).iter().find(|item| item["id"] == id).cloned();
        match found {
            Some(item) => Response::json_body(200, &json!({collection.trim_end_matches('s'): item})),
            None if collection == "networks" => body(&fixture("112-network-get-missing")),
            None => body(&fixture("106-subnet-get-missing")),
        }
    }

    fn make_network(&mut self, sent: &Value) -> Value {
        let mut network = fixture("003-network-create")["response"]["network"].clone();
        self.made += 1;
        network["id"] = json!(format!("net-{}", self.made));
        network["created_at"] = json!(format!("2026-11-20T14:30:{:02}Z", self.made));
        for field in ["name", "description"] {
            network[field] = sent[field].clone();
        }
        self.networks.push(network.clone());
        network
    }

    fn post_subnet(&mut self, sent: &Value) -> Response {
        if !self.networks.iter().any(|network| network["id"] == sent["network_id"]) {
            return body(&fixture("084-subnet-create-network-missing"));
        }
        let taken = |subnet: &Value| subnet["network_id"] == sent["network_id"] && subnet["cidr"] == sent["cidr"];
        if self.subnets.iter().any(taken) {
            return body(&fixture("065-subnet-create-overlap-same-network"));
        }
        Response::json_body(201, &json!({"subnet": self.make_subnet(sent)}))
    }

    fn make_subnet(&mut self, sent: &Value) -> Value {
        let mut subnet = fixture("040-subnet-create")["response"]["subnet"].clone();
        self.made += 1;
        subnet["id"] = json!(format!("sub-{}", self.made));
        subnet["created_at"] = json!(format!("2026-11-20T14:30:{:02}Z", self.made));
        for (field, value) in sent.as_object().unwrap() {
            subnet[field] = value.clone();
        }
        self.subnets.push(subnet.clone());
        subnet
    }

    fn put_subnet(&mut self, id: &str, request: &Request, sent: &Value) -> Response {
        let Some(subnet) = self.subnets.iter_mut().find(|subnet| subnet["id"] == id) else {
            return body(&fixture("107-subnet-update-missing"));
        };
        let revision = subnet["revision_number"].as_u64().unwrap();
        if request.header_value("if-match").is_some_and(|wanted| wanted != format!("revision_number={revision}")) {
            return body(&fixture("027-network-update-if-match-stale"));
        }
        for (field, value) in sent.as_object().unwrap() {
            subnet[field] = value.clone();
        }
        subnet["allocation_pools"].as_array_mut().unwrap().reverse();
        subnet["revision_number"] = json!(revision + 1);
        Response::json_body(200, &json!({"subnet": subnet}))
    }

    fn delete(&mut self, collection: &str, id: &str) -> Response {
        let network = collection == "networks";
        if self.get(collection, id).status == 404 {
            return body(&fixture(if network { "114-network-delete-missing" } else { "108-subnet-delete-missing" }));
        }
        let of = if network {
            json!(id)
        } else {
            self.subnets.iter().find(|subnet| subnet["id"] == id).unwrap()["network_id"].clone()
        };
        if self.ports.iter().any(|port| port["network_id"] == of && port["device_owner"] != "network:dhcp") {
            return body(&fixture(if network {
                "089-network-delete-with-port"
            } else {
                "090-subnet-delete-with-port"
            }));
        }
        self.of(collection).retain(|item| item["id"] != id);
        if network {
            self.subnets.retain(|subnet| subnet["network_id"] != id);
        }
        body(&fixture("111-network-delete"))
    }
}
