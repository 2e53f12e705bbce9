//! The Networking v2.0 API over tables in memory.

mod address;
mod attribute;
mod network;
mod port;
mod query;
mod quota;
mod router;
mod subnet;
mod table;
mod tag;

use std::collections::BTreeMap;
use std::time::Duration;

use http::StatusCode;
use serde_json::{Map, Value, json};

use crate::answer::{Answer, Refusal, Result};
use table::{Row, Table};

/// A resource document.
type Document = Map<String, Value>;

/// The extensions that are emulated, under the names a real server lists them by.
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

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Caller {
    /// Project id; empty for a token without scope, which owns nothing.
    pub(crate) project: String,
    /// Sees and changes every project's resources, and provider attributes.
    pub(crate) admin: bool,
}

impl Caller {
    /// Everyone, when authentication is off.
    pub(crate) fn anyone() -> Self {
        Self { project: "fake_project_id".to_owned(), admin: true }
    }

    fn owns(&self, row: &Row) -> bool {
        self.admin || row.text("project_id") == self.project
    }
}

/// One request, taken apart.
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
    /// Lists leave out younger rows.
    pub(crate) hide_younger_than: Option<Duration>,
}

/// The kinds of resource that share one life: list, show, create, update, delete.
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

/// Everything the emulated Neutron knows.
#[derive(Debug, Default)]
pub(crate) struct Neutron {
    networks: Table,
    subnets: Table,
    ports: Table,
    routers: Table,
    /// Limits that were set, by project and resource.
    quotas: BTreeMap<String, BTreeMap<String, i64>>,
    /// The default security group of each project that has made something.
    security_groups: BTreeMap<String, String>,
    /// Largest page of a list, whatever `limit` says; `None`: no limit.
    page_limit: Option<usize>,
}

impl Neutron {
    pub(crate) fn new(page_limit: Option<usize>) -> Self {
        Self { page_limit, ..Self::default() }
    }

    /// Forgets every resource, quota and tag.
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

    /// May the caller know about a row? Its project's, shared networks and what belongs to them.
    fn sees(&self, kind: Kind, row: &Row, caller: &Caller) -> bool {
        let shared = |row: &Row| row.value.get("shared") == Some(&Value::Bool(true));
        caller.owns(row)
            || match kind {
                Kind::Network => shared(row),
                Kind::Subnet => self.networks.get(row.text("network_id")).is_some_and(shared),
                Kind::Port | Kind::Router => false,
            }
    }

    /// A row the caller may know about; somebody else's is not found.
    fn visible(&self, kind: Kind, id: &str, caller: &Caller) -> Result<&Row> {
        self.table(kind).get(id).filter(|row| self.sees(kind, row, caller)).ok_or_else(|| kind.not_found(id))
    }

    /// A row the caller may change.
    fn changeable(&self, kind: Kind, id: &str, verb: &str, caller: &Caller) -> Result<&Row> {
        let row = self.visible(kind, id, caller)?;
        if caller.owns(row) { Ok(row) } else { Err(Refusal::policy(&format!("rule:{verb}_{}", kind.name()))) }
    }

    /// The document a caller is shown.
    fn render(&self, kind: Kind, row: &Row, caller: &Caller) -> Document {
        let mut document = row.value.clone();
        document.insert("tags".to_owned(), json!(row.tags));
        if let Some(project) = document.get("project_id").cloned() {
            document.insert("tenant_id".to_owned(), project);
        }
        if kind == Kind::Network {
            let subnets: Vec<&str> =
                self.subnets.rows().filter(|s| s.text("network_id") == row.id()).map(Row::id).collect();
            document.insert("subnets".to_owned(), json!(subnets));
        }
        if !caller.admin {
            document.retain(|name, _| !attribute::hidden(kind, name));
        }
        document
    }

    fn list(&self, kind: Kind, call: &Call<'_>) -> Result {
        let query = query::Query::parse(kind, call.query)?;
        let rows = self
            .table(kind)
            .rows()
            .filter(|row| self.sees(kind, row, call.caller))
            .filter(|row| call.hide_younger_than.is_none_or(|age| row.since.elapsed() >= age))
            .map(|row| self.render(kind, row, call.caller))
            .collect();
        query.page(kind, rows, self.page_limit, call).map(Answer::ok)
    }

    fn show(&self, kind: Kind, id: &str, call: &Call<'_>) -> Result {
        let row = self.visible(kind, id, call.caller)?;
        let document = query::pick(self.render(kind, row, call.caller), call.query);
        Ok(Answer::ok(json!({kind.name(): document})))
    }

    /// Creates one resource, or all of a list or none.
    fn create(&mut self, kind: Kind, call: &Call<'_>) -> Result {
        let body = parse_body(call.body)?;
        if let Some(many) = body.get(kind.collection()) {
            let documents = many.as_array().filter(|d| !d.is_empty());
            let documents = documents.ok_or_else(|| Refusal::bad_request("Resources required"))?;
            let mut made: Vec<Document> = Vec::new();
            for document in documents {
                match as_document(kind.name(), document).and_then(|d| self.create_one(kind, d, call.caller)) {
                    Ok(document) => made.push(document),
                    Err(refusal) => {
                        for document in &made {
                            self.table_mut(kind).remove(document.get("id").and_then(Value::as_str).unwrap_or_default());
                        }
                        return Err(refusal);
                    }
                }
            }
            return Ok(Answer::created(json!({kind.collection(): made})));
        }
        let document = as_document(kind.name(), wrapped(kind.name(), &body)?)?;
        let made = self.create_one(kind, document, call.caller)?;
        Ok(Answer::created(json!({kind.name(): made})))
    }

    fn create_one(&mut self, kind: Kind, mut given: Document, caller: &Caller) -> Result<Document> {
        let project = owner(&mut given, caller)?;
        let mut value = attribute::for_create(kind, given, caller)?;
        value.insert("project_id".to_owned(), json!(project));
        let row = match kind {
            Kind::Network => self.create_network(value)?,
            Kind::Subnet => self.create_subnet(value, caller)?,
            Kind::Port => self.create_port(value, caller)?,
            Kind::Router => self.create_router(value)?,
        };
        self.security_group(&project);
        let mut document = self.render(kind, &row, caller);
        if kind == Kind::Network {
            // Shown in the answer to a creation and nowhere else, as the real server does.
            document.insert("is_default".to_owned(), json!(false));
        }
        Ok(document)
    }

    fn update(&mut self, kind: Kind, id: &str, call: &Call<'_>) -> Result {
        let body = parse_body(call.body)?;
        let given = as_document(kind.name(), wrapped(kind.name(), &body)?)?;
        let given = attribute::for_update(kind, given)?;
        let row = self.changeable(kind, id, "update", call.caller)?;
        attribute::check_policy(kind, "update", &given, call.caller)?;
        check_revision(row, call.if_match)?;
        match kind {
            Kind::Network => self.update_network(id, given)?,
            Kind::Subnet => self.update_subnet(id, given)?,
            Kind::Port => self.update_port(id, given)?,
            Kind::Router => {
                self.routers.merge(id, given);
            }
        }
        let row = self.visible(kind, id, call.caller)?;
        Ok(Answer::ok(json!({kind.name(): self.render(kind, row, call.caller)})))
    }

    fn delete(&mut self, kind: Kind, id: &str, call: &Call<'_>) -> Result {
        let row = self.changeable(kind, id, "delete", call.caller)?;
        check_revision(row, call.if_match)?;
        match kind {
            Kind::Network => self.check_network_unused(id)?,
            Kind::Subnet => self.check_subnet_unused(id)?,
            Kind::Port => port::check_deletable(row)?,
            Kind::Router => self.check_router_unused(id)?,
        }
        let gone = self.table_mut(kind).remove(id);
        match (kind, gone) {
            (Kind::Network, _) => self.subnets.retain(|subnet| subnet.text("network_id") != id),
            (Kind::Subnet, Some(subnet)) => {
                self.networks.touch(subnet.text("network_id"));
            }
            _ => {}
        }
        Ok(Answer::no_content())
    }

    /// The default security group of a project, made on first use.
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

/// Takes the project out of a creation request: the caller's own, unless an administrator names another.
fn owner(given: &mut Document, caller: &Caller) -> Result<String> {
    for name in ["project_id", "tenant_id"] {
        if let Some(Value::String(project)) = given.remove(name) {
            if !caller.admin && project != caller.project {
                return Err(Refusal::bad_request(format!(
                    "Specifying '{name}' other than the authenticated project in request is not allowed for the \
                     current user."
                )));
            }
            return Ok(project);
        }
    }
    if caller.project.is_empty() {
        return Err(Refusal::bad_request("Running without keystone AuthN requires that project_id is specified"));
    }
    Ok(caller.project.clone())
}

/// `If-Match: revision_number=N`; other forms are ignored, as the real server does.
fn check_revision(row: &Row, if_match: Option<&str>) -> Result<()> {
    let wanted = if_match.and_then(|text| text.strip_prefix("revision_number=")?.parse::<u64>().ok());
    match wanted {
        Some(wanted) if wanted != row.revision() => Err(Refusal::new(
            StatusCode::PRECONDITION_FAILED,
            "RevisionNumberConstraintFailed",
            format!("Constrained to {wanted}, but current revision is {}", row.revision()),
        )),
        _ => Ok(()),
    }
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
