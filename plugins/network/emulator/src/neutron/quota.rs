//! Quotas per project.

use serde_json::{Value, json};

use super::{Call, Document, Kind, Neutron, as_document, attribute, parse_body, wrapped};
use crate::answer::{Answer, Refusal, Result};

/// The default limits of a project; -1 is none.
const DEFAULTS: &[(&str, i64)] = &[
    ("network", 100),
    ("subnet", 100),
    ("subnetpool", -1),
    ("port", 500),
    ("router_route", 30),
    ("router", 10),
    ("floatingip", 50),
    ("rbac_policy", 10),
    ("security_group", 10),
    ("security_group_rule", 100),
];

impl Neutron {
    /// Rejects one more resource of a kind for the project in `value`.
    pub(super) fn check_quota(&self, kind: Kind, value: &Document) -> Result<()> {
        let project = value.get("project_id").and_then(Value::as_str).unwrap_or_default();
        let limit = self.limit(project, kind.name());
        let used = self.used(project, kind.name());
        if limit >= 0 && used >= limit {
            let message = format!("Quota exceeded for resources: ['{}'].", kind.name());
            return Err(Refusal::conflict("OverQuota", message));
        }
        Ok(())
    }

    pub(super) fn quota(&mut self, call: &Call<'_>, path: &[&str]) -> Result {
        let own = path.first().is_some_and(|project| *project == call.caller.project);
        if call.method == "GET" && !call.caller.admin && !own {
            return Err(Refusal::policy("rule:get_quota"));
        }
        match (call.method, path) {
            ("GET", []) => {
                let with_project = |(project, _): (&String, _)| {
                    let mut limits = self.limits(project);
                    limits.insert("project_id".to_owned(), json!(project));
                    limits
                };
                let quotas: Vec<Document> = self.quotas.iter().map(with_project).collect();
                Ok(Answer::ok(json!({"quotas": quotas})))
            }
            ("GET", [project]) => Ok(Answer::ok(json!({"quota": self.limits(project)}))),
            ("GET", [_, "default" | "default.json"]) => Ok(Answer::ok(json!({"quota": self.limits("")}))),
            ("GET", [project, "details" | "details.json"]) => {
                let detail = |name: &str| json!({"limit": self.limit(project, name), "used": self.used(project, name), "reserved": 0});
                let details: Document = DEFAULTS.iter().map(|(n, _)| ((*n).to_owned(), detail(n))).collect();
                Ok(Answer::ok(json!({"quota": details})))
            }
            ("PUT", [project]) => {
                if !call.caller.admin {
                    return Err(Refusal::policy("rule:update_quota"));
                }
                let body = parse_body(call.body)?;
                let given = as_document("quota", wrapped("quota", &body)?)?;
                let unknown: Vec<&str> =
                    given.keys().map(String::as_str).filter(|n| DEFAULTS.iter().all(|(d, _)| d != n)).collect();
                if !unknown.is_empty() {
                    return Err(Refusal::bad_request(format!("Unrecognized attribute(s) '{}'", unknown.join(", "))));
                }
                for (name, limit) in &given {
                    let limit = attribute::whole(limit)?;
                    self.quotas.entry((*project).to_owned()).or_default().insert(name.clone(), limit);
                }
                Ok(Answer::ok(json!({"quota": self.limits(project)})))
            }
            ("DELETE", [project]) => {
                if !call.caller.admin {
                    return Err(Refusal::policy("rule:delete_quota"));
                }
                self.quotas.remove(*project);
                Ok(Answer::no_content())
            }
            (_, [] | [_]) => Err(Refusal::method()),
            _ => Err(Refusal::unknown_path()),
        }
    }

    fn limit(&self, project: &str, resource: &str) -> i64 {
        let set = self.quotas.get(project).and_then(|limits| limits.get(resource)).copied();
        set.or_else(|| DEFAULTS.iter().find(|(name, _)| *name == resource).map(|(_, limit)| *limit)).unwrap_or(-1)
    }

    fn limits(&self, project: &str) -> Document {
        DEFAULTS.iter().map(|(name, _)| ((*name).to_owned(), json!(self.limit(project, name)))).collect()
    }

    fn used(&self, project: &str, resource: &str) -> i64 {
        let count = |kind: Kind| self.table(kind).count_of(project);
        let used = match resource {
            "network" => count(Kind::Network),
            "subnet" => count(Kind::Subnet),
            "port" => count(Kind::Port),
            "router" => count(Kind::Router),
            "security_group" => usize::from(self.security_groups.contains_key(project)),
            // A default group has a rule for each direction and address family.
            "security_group_rule" => 4 * usize::from(self.security_groups.contains_key(project)),
            _ => 0,
        };
        i64::try_from(used).unwrap_or(i64::MAX)
    }
}
