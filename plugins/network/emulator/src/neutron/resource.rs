//! Common operations of all resources: list, show, create, update, delete.

use http::StatusCode;
use serde_json::{Value, json};

use super::table::Row;
use super::{Call, Caller, Document, Kind, Neutron, as_document, attribute, parse_body, port, query, wrapped};
use crate::answer::{Answer, Refusal, Result};

impl Neutron {
    pub(super) fn list(&self, kind: Kind, call: &Call<'_>) -> Result {
        let query = query::Query::parse(kind, call.query)?;
        let rows = self
            .table(kind)
            .rows()
            .filter(|row| query.may_match(&row.value))
            .filter(|row| self.sees(kind, row, call.caller))
            .filter(|row| call.hide_younger_than.is_none_or(|age| row.since.elapsed() >= age))
            .map(|row| self.render(kind, row, call.caller))
            .collect();
        query.page(kind, rows, self.page_limit, call).map(Answer::ok)
    }

    pub(super) fn show(&self, kind: Kind, id: &str, call: &Call<'_>) -> Result {
        let row = self.visible(kind, id, call.caller)?;
        let document = query::pick(self.render(kind, row, call.caller), call.query);
        Ok(Answer::ok(json!({kind.name(): document})))
    }

    /// Creates one resource, or all of a list or none.
    pub(super) fn create(&mut self, kind: Kind, call: &Call<'_>) -> Result {
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
            // Only the response to a creation contains it, as in the real server.
            document.insert("is_default".to_owned(), json!(false));
        }
        Ok(document)
    }

    pub(super) fn update(&mut self, kind: Kind, id: &str, call: &Call<'_>) -> Result {
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

    pub(super) fn delete(&mut self, kind: Kind, id: &str, call: &Call<'_>) -> Result {
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
            (Kind::Network, _) => self.subnets.remove_network(id),
            (Kind::Subnet, Some(subnet)) => {
                self.networks.touch(subnet.text("network_id"));
            }
            _ => {}
        }
        Ok(Answer::no_content())
    }
}

/// Removes the project from a creation request and returns it: the caller's own, unless an administrator names another.
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

/// `If-Match: revision_number=N`; other forms are ignored, as in the real server.
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
