//! Default roles and bindings of every cluster, as far as they concern people and all users.

use serde_json::{Map, Value, json};

use crate::model::{
    kinds::RBAC_GROUP,
    user::{AUTHENTICATED, MASTERS, UNAUTHENTICATED},
};

/// One line per rule: role, verbs, group (`-` is the core group), resources.
const RULES: &str = "
cluster-admin * * *
system:basic-user create authorization.k8s.io selfsubjectaccessreviews,selfsubjectrulesreviews
system:basic-user create authentication.k8s.io selfsubjectreviews
system:auth-delegator create authentication.k8s.io tokenreviews
system:auth-delegator create authorization.k8s.io subjectaccessreviews
system:aggregate-to-view get,list,watch - bindings,configmaps,endpoints,events,limitranges,namespaces,namespaces/status
system:aggregate-to-view get,list,watch - persistentvolumeclaims,persistentvolumeclaims/status,pods,pods/log,pods/status
system:aggregate-to-view get,list,watch - replicationcontrollers,replicationcontrollers/scale,replicationcontrollers/status
system:aggregate-to-view get,list,watch - resourcequotas,resourcequotas/status,serviceaccounts,services,services/status
system:aggregate-to-view get,list,watch apps controllerrevisions,daemonsets,daemonsets/status,deployments,deployments/scale
system:aggregate-to-view get,list,watch apps deployments/status,replicasets,replicasets/scale,replicasets/status
system:aggregate-to-view get,list,watch apps statefulsets,statefulsets/scale,statefulsets/status
system:aggregate-to-view get,list,watch autoscaling horizontalpodautoscalers,horizontalpodautoscalers/status
system:aggregate-to-view get,list,watch batch cronjobs,cronjobs/status,jobs,jobs/status
system:aggregate-to-view get,list,watch discovery.k8s.io endpointslices
system:aggregate-to-view get,list,watch networking.k8s.io ingresses,ingresses/status,networkpolicies
system:aggregate-to-view get,list,watch policy poddisruptionbudgets,poddisruptionbudgets/status
system:aggregate-to-edit get,list,watch - secrets
system:aggregate-to-edit impersonate - serviceaccounts
system:aggregate-to-edit create,delete,deletecollection,patch,update - configmaps,events,persistentvolumeclaims,pods
system:aggregate-to-edit create,delete,deletecollection,patch,update - replicationcontrollers,replicationcontrollers/scale
system:aggregate-to-edit create,delete,deletecollection,patch,update - secrets,serviceaccounts,services
system:aggregate-to-edit create - pods/eviction,serviceaccounts/token
system:aggregate-to-edit create,delete,deletecollection,patch,update apps daemonsets,deployments,deployments/scale
system:aggregate-to-edit create,delete,deletecollection,patch,update apps replicasets,replicasets/scale,statefulsets
system:aggregate-to-edit create,delete,deletecollection,patch,update apps statefulsets/scale
system:aggregate-to-edit create,delete,deletecollection,patch,update autoscaling horizontalpodautoscalers
system:aggregate-to-edit create,delete,deletecollection,patch,update batch cronjobs,jobs
system:aggregate-to-edit create,delete,deletecollection,patch,update networking.k8s.io ingresses,networkpolicies
system:aggregate-to-edit create,delete,deletecollection,patch,update policy poddisruptionbudgets
system:aggregate-to-edit create,delete,deletecollection,get,list,patch,update,watch coordination.k8s.io leases
system:aggregate-to-admin create authorization.k8s.io localsubjectaccessreviews
system:aggregate-to-admin create,delete,deletecollection,get,list,patch,update,watch rbac.authorization.k8s.io rolebindings,roles
";

/// Aggregated roles: the role, the label of its parts, and its own label.
const AGGREGATED: &[(&str, &str, Option<&str>)] =
    &[("view", "view", Some("edit")), ("edit", "edit", Some("admin")), ("admin", "admin", None)];

/// Readable paths that are no objects, and the default bindings.
const INFO: &[&str] = &["/healthz", "/livez", "/readyz", "/version", "/version/"];
const DISCOVERY: &[&str] = &["/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*"];
const BINDINGS: &[(&str, &[&str])] = &[
    ("cluster-admin", &[MASTERS]),
    ("system:basic-user", &[AUTHENTICATED]),
    ("system:discovery", &[AUTHENTICATED]),
    ("system:public-info-viewer", &[AUTHENTICATED, UNAUTHENTICATED]),
];

/// Plural, name and content of the default roles and bindings.
pub(crate) fn objects() -> Vec<(&'static str, String, Value)> {
    let mut out = Vec::new();
    for (name, mut role) in roles() {
        let mut labels = json!({"kubernetes.io/bootstrapping": "rbac-defaults"});
        let aggregated = AGGREGATED.iter().find_map(|(role, _, label)| label.filter(|_| *role == name));
        if let (Some(label), Some(map)) =
            (name.strip_prefix("system:aggregate-to-").or(aggregated), labels.as_object_mut())
        {
            map.insert(aggregation_label(label), "true".into());
        }
        role.insert("metadata".to_owned(), metadata(&labels));
        out.push(("clusterroles", name, Value::Object(role)));
    }
    for (role, groups) in BINDINGS {
        let subjects: Vec<Value> =
            groups.iter().map(|g| json!({"kind": "Group", "apiGroup": RBAC_GROUP, "name": g})).collect();
        let binding = json!({"metadata": metadata(&json!({"kubernetes.io/bootstrapping": "rbac-defaults"})),
            "roleRef": {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": role}, "subjects": subjects});
        out.push(("clusterrolebindings", (*role).to_owned(), binding));
    }
    out
}

fn metadata(labels: &Value) -> Value {
    json!({"labels": labels, "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"}})
}

fn aggregation_label(role: &str) -> String {
    format!("rbac.authorization.k8s.io/aggregate-to-{role}")
}

fn words_of(text: &str) -> Vec<&str> {
    text.split(',').collect()
}

/// Names and contents, without metadata.
fn roles() -> Vec<(String, Map<String, Value>)> {
    let mut roles: Vec<(String, Vec<Value>)> = Vec::new();
    let mut add = |name: &str, rule: Value| match roles.iter_mut().find(|(n, _)| n == name) {
        Some((_, rules)) => rules.push(rule),
        None => roles.push((name.to_owned(), vec![rule])),
    };
    for line in RULES.lines() {
        let mut words = line.split_whitespace();
        let (Some(name), Some(verbs), Some(group), Some(resources)) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            continue;
        };
        let group = if group == "-" { "" } else { group };
        add(name, json!({"verbs": words_of(verbs), "apiGroups": [group], "resources": words_of(resources)}));
    }
    add("cluster-admin", json!({"verbs": ["*"], "nonResourceURLs": ["*"]}));
    let discovery = [DISCOVERY, INFO].concat();
    add("system:discovery", json!({"verbs": ["get"], "nonResourceURLs": discovery}));
    add("system:public-info-viewer", json!({"verbs": ["get"], "nonResourceURLs": INFO}));
    let content = |key: &str, value: Value| Map::from_iter([(key.to_owned(), value)]);
    let mut out: Vec<_> = roles.into_iter().map(|(name, rules)| (name, content("rules", rules.into()))).collect();
    out.extend(AGGREGATED.iter().map(|(name, label, _)| {
        let selector = json!({"matchLabels": {aggregation_label(label): "true"}});
        ((*name).to_owned(), content("aggregationRule", json!({"clusterRoleSelectors": [selector]})))
    }));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_rule() {
        let lines = RULES.lines().filter(|l| !l.is_empty());
        assert!(lines.clone().all(|l| l.split(' ').count() == 4));
        let rules: usize = roles().iter().filter_map(|(_, r)| r.get("rules")?.as_array().map(Vec::len)).sum();
        assert_eq!(rules, lines.count() + 3);
    }
}
