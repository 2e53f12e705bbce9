//! The Networking v2.0 API on in-memory tables.

mod address;
mod attribute;
mod network;
mod port;
mod query;
mod quota;
mod resource;
mod router;
mod subnet;
mod table;
mod tag;

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::answer::{Answer, Refusal, Result};
use table::{Row, Table};

/// A resource document.
type Document = Map<String, Value>;

/// The emulated extensions, with the names of a real server's list.
const EXTENSIONS: &[&str] = &[
    "binding",
    "extra_dhcp_opt",
    "filter-validation",
    "net-mtu",
    "net-mtu-writable",
    "pagination",
    "port-mac-override",
    "port-security",
    "project-id",
    "provider",
    "quota_details",
    "quotas",
    "revision-if-match",
    "router",
    "sorting",
    "standard-attr-description",
    "standard-attr-revisions",
    "standard-attr-tag",
    "standard-attr-timestamp",
    "subnet-service-types",
    "tag-creation",
];

/// The caller of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Caller {
    /// Project id; empty for an unscoped token, which owns nothing.
    pub(crate) project: String,
    /// Sees and changes every project's resources, and provider attributes.
    pub(crate) admin: bool,
}

impl Caller {
    /// Any caller, when authentication is off.
    pub(crate) fn anyone() -> Self {
        Self { project: "fake_project_id".to_owned(), admin: true }
    }

    fn owns(&self, row: &Row) -> bool {
        self.admin || row.text("project_id") == self.project
    }
}

/// A parsed request.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    /// Without the question mark.
    pub(crate) query: &'a str,
    pub(crate) if_match: Option<&'a str>,
    pub(crate) body: &'a [u8],
    pub(crate) caller: &'a Caller,
    /// `http://host:port` as the client wrote it, for links.
    pub(crate) base: &'a str,
    /// Lists omit rows younger than this.
    pub(crate) hide_younger_than: Option<Duration>,
}

/// The kinds of resource with the common operations: list, show, create, update, delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Network,
    Subnet,
    Port,
    Router,
}

impl Kind {
    fn of(collection: &str) -> Option<Self> {
        [Self::Network, Self::Subnet, Self::Port, Self::Router].into_iter().find(|k| k.collection() == collection)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Network => "network",
            Self::Subnet => "subnet",
            Self::Port => "port",
            Self::Router => "router",
        }
    }

    const fn collection(self) -> &'static str {
        match self {
            Self::Network => "networks",
            Self::Subnet => "subnets",
            Self::Port => "ports",
            Self::Router => "routers",
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::Network => "Network",
            Self::Subnet => "Subnet",
            Self::Port => "Port",
            Self::Router => "Router",
        }
    }

    fn not_found(self, id: &str) -> Refusal {
        let stop = if self == Self::Router { "" } else { "." };
        Refusal::missing(
            &format!("{}NotFound", self.title()),
            format!("{} {id} could not be found{stop}", self.title()),
        )
    }
}

/// The state of the emulated Neutron.
#[derive(Debug, Default)]
pub(crate) struct Neutron {
    networks: Table,
    subnets: Table,
    ports: Table,
    routers: Table,
    /// Explicit limits, by project and resource.
    quotas: BTreeMap<String, BTreeMap<String, i64>>,
    /// The default security group of each project that has created a resource.
    security_groups: BTreeMap<String, String>,
    /// Largest page of a list, regardless of `limit`; `None`: no limit.
    page_limit: Option<usize>,
}

impl Neutron {
    pub(crate) fn new(page_limit: Option<usize>) -> Self {
        Self { page_limit, ..Self::default() }
    }

    /// Removes every resource, quota and tag.
    pub(crate) fn clear(&mut self) {
        *self = Self::new(self.page_limit);
    }

    /// Every row of a collection as an administrator sees it, ordered by id; empty for an unknown collection.
    pub(crate) fn all(&self, collection: &str) -> Vec<Value> {
        let Some(kind) = Kind::of(collection) else { return Vec::new() };
        self.table(kind).rows().map(|row| Value::Object(self.render(kind, row, &Caller::anyone()))).collect()
    }

    /// Answers one request and changes the tables accordingly.
    pub(crate) fn answer(&mut self, call: &Call<'_>) -> Answer {
        self.dispatch(call).unwrap_or_else(Answer::from)
    }

    fn dispatch(&mut self, call: &Call<'_>) -> Result {
        if call.path == "/" || call.path.is_empty() {
            let link = json!({"rel": "self", "href": format!("{}/v2.0/", call.base)});
            return Ok(Answer::ok(json!({"versions": [{"id": "v2.0", "status": "CURRENT", "links": [link]}]})));
        }
        let path = call.path.strip_prefix("/v2.0/").ok_or_else(Refusal::unknown_path)?;
        let path = path.trim_end_matches('/');
        let path = path.strip_suffix(".json").unwrap_or(path);
        let segments: Vec<&str> = path.split('/').collect();
        match (call.method, segments.as_slice()) {
            ("GET", [""]) => Ok(resources(call.base)),
            ("GET", ["extensions"]) => {
                let extensions: Vec<Value> = EXTENSIONS.iter().map(|alias| extension(alias)).collect();
                Ok(Answer::ok(json!({"extensions": extensions})))
            }
            ("GET", ["extensions", alias]) if EXTENSIONS.contains(alias) => {
                Ok(Answer::ok(json!({"extension": extension(alias)})))
            }
            (_, ["quotas", rest @ ..]) => self.quota(call, rest),
            (method, [collection, rest @ ..]) => {
                let kind = Kind::of(collection).ok_or_else(Refusal::unknown_path)?;
                match (method, rest) {
                    ("GET", []) => self.list(kind, call),
                    ("POST", []) => self.create(kind, call),
                    ("PUT" | "DELETE", []) => Err(kind.not_found("None")),
                    ("GET", [id]) => self.show(kind, id, call),
                    ("PUT", [id]) => self.update(kind, id, call),
                    ("DELETE", [id]) => self.delete(kind, id, call),
                    (_, [id, "tags", tag @ ..]) => self.tags(kind, id, tag, call),
                    ("PUT", [id, action @ ("add_router_interface" | "remove_router_interface")])
                        if kind == Kind::Router =>
                    {
                        self.router_interface(id, action, call)
                    }
                    (_, [] | [_]) => Err(Refusal::method()),
                    _ => Err(Refusal::unknown_path()),
                }
            }
            _ => Err(Refusal::unknown_path()),
        }
    }

    const fn table(&self, kind: Kind) -> &Table {
        match kind {
            Kind::Network => &self.networks,
            Kind::Subnet => &self.subnets,
            Kind::Port => &self.ports,
            Kind::Router => &self.routers,
        }
    }

    const fn table_mut(&mut self, kind: Kind) -> &mut Table {
        match kind {
            Kind::Network => &mut self.networks,
            Kind::Subnet => &mut self.subnets,
            Kind::Port => &mut self.ports,
            Kind::Router => &mut self.routers,
        }
    }

    /// Whether the caller may see a row: those of its project, shared networks and their contents.
    fn sees(&self, kind: Kind, row: &Row, caller: &Caller) -> bool {
        let shared = |row: &Row| row.value.get("shared") == Some(&Value::Bool(true));
        caller.owns(row)
            || match kind {
                Kind::Network => shared(row),
                Kind::Subnet => self.networks.get(row.text("network_id")).is_some_and(shared),
                Kind::Port | Kind::Router => false,
            }
    }

    /// A row that the caller may see; rows of others are not found.
    fn visible(&self, kind: Kind, id: &str, caller: &Caller) -> Result<&Row> {
        self.table(kind).get(id).filter(|row| self.sees(kind, row, caller)).ok_or_else(|| kind.not_found(id))
    }

    /// A row the caller may change.
    fn changeable(&self, kind: Kind, id: &str, verb: &str, caller: &Caller) -> Result<&Row> {
        let row = self.visible(kind, id, caller)?;
        if caller.owns(row) { Ok(row) } else { Err(Refusal::policy(&format!("rule:{verb}_{}", kind.name()))) }
    }

    /// The document shown to a caller.
    fn render(&self, kind: Kind, row: &Row, caller: &Caller) -> Document {
        let mut document = row.value.clone();
        document.insert("tags".to_owned(), json!(row.tags));
        if let Some(project) = document.get("project_id").cloned() {
            document.insert("tenant_id".to_owned(), project);
        }
        if kind == Kind::Network {
            let subnets: Vec<&str> = self.subnets.of_network(row.id()).map(Row::id).collect();
            document.insert("subnets".to_owned(), json!(subnets));
        }
        if !caller.admin {
            document.retain(|name, _| !attribute::hidden(kind, name));
        }
        document
    }

    /// The default security group of a project, created on first use.
    fn security_group(&mut self, project: &str) -> String {
        self.security_groups.entry(project.to_owned()).or_insert_with(new_id).clone()
    }
}

fn new_id() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// An empty body counts as an empty object.
fn parse_body(body: &[u8]) -> Result<Document> {
    if body.is_empty() {
        return Ok(Document::new());
    }
    serde_json::from_slice(body).map_err(|_not_an_object| Refusal::bad_request("Body contains invalid data"))
}

fn wrapped<'a>(name: &str, body: &'a Document) -> Result<&'a Value> {
    body.get(name).ok_or_else(|| Refusal::bad_request(format!("Unable to find '{name}' in request body")))
}

fn as_document(name: &str, value: &Value) -> Result<Document> {
    let contents = value.as_object().cloned();
    contents.ok_or_else(|| Refusal::bad_request(format!("Object '{name}' contains invalid data")))
}

fn resources(base: &str) -> Answer {
    let resource = |kind: Kind| {
        let link = json!({"rel": "self", "href": format!("{base}/v2.0/{}", kind.collection())});
        json!({"name": kind.name(), "collection": kind.collection(), "links": [link]})
    };
    Answer::ok(json!({"resources": [resource(Kind::Network), resource(Kind::Subnet), resource(Kind::Port)]}))
}

fn extension(alias: &str) -> Value {
    json!({"name": alias, "alias": alias, "description": "", "updated": "2026-01-01T00:00:00-00:00", "links": []})
}

#[cfg(test)]
mod tests;
