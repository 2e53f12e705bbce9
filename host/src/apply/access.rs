//! Access reviews: asks the API server in advance for the permissions of a plugin's grant, so that missing ones are reported at once.

use super::request::Outgoing;
use super::{Identity, RequestSender, WriteError, WriteIdentity};
use crate::grants::{Permission, Plurals};
use crate::rbac::{self, Needs, Rule};
use futures::StreamExt as _;
use oarlock_manifest::PluginManifest;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::Instant;

/// Most reviews for one plugin; further denials show at the first use.
const REVIEWS: usize = 128;

/// Concurrent reviews.
const AT_ONCE: usize = 8;

/// Deadline of all reviews together. Unanswered reviews are treated as unknown, not as missing.
const DEADLINE: Duration = Duration::from_secs(5);

/// The permissions to review for a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequiredPermissions {
    /// Requests of the host.
    host: Needs,
    /// Requests of the plugin under its own ServiceAccount.
    plugin: Needs,
}

/// The permissions that a plugin, and the host on its behalf, will need.
///
/// * `manifest` - the manifest reduced to the grant.
/// * `plurals` - the resources of the manifest's kinds, where known.
/// * `leases` - namespace of the Leases, with leader election.
/// * `journals` - namespace of the journals of canaries, with Plugin objects.
#[must_use]
pub fn required_permissions(
    requests: &RequestSender,
    write_identity: &WriteIdentity,
    manifest: &PluginManifest,
    plurals: &Plurals<'_>,
    leases: Option<&str>,
    journals: Option<&str>,
) -> RequiredPermissions {
    let mut host = rbac::of_host(manifest, &write_identity.grants, plurals);
    if let Some(namespace) = leases {
        host.extend(rbac::of_lease(&write_identity.plugin, namespace));
    }
    if let Some(namespace) = journals.filter(|_| write_identity.grants.has_canary()) {
        host.extend(rbac::of_canaries(&write_identity.plugin, namespace));
    }
    let mut plugin = rbac::of_plugin(&write_identity.plugin, &write_identity.grants);
    match requests.impersonation_namespace() {
        Some(namespace) => host.extend(rbac::of_impersonator(&write_identity.plugin, namespace)),
        None => host.extend(std::mem::take(&mut plugin)),
    }
    RequiredPermissions { host: host.minimal(), plugin: plugin.minimal() }
}

/// The denied permissions: one line for each resource, with the identity and the purpose. Empty when none is denied, or when the API
/// server does not review access. Takes at most 5 seconds.
///
/// # Cancel safety
///
/// Reviews change nothing.
///
/// # Source
///
/// kubectl `auth can-i`.
pub async fn check(
    requests: &RequestSender,
    write_identity: &WriteIdentity,
    required: &RequiredPermissions,
) -> Vec<String> {
    let until = Instant::now() + DEADLINE;
    let user = requests.impersonated(write_identity, Identity::Plugin).unwrap_or_default();
    let mut lines = Vec::new();
    for (identity, needs, who) in
        [(Identity::Host, &required.host, "the host"), (Identity::Plugin, &required.plugin, user.as_str())]
    {
        let denied = denied(requests, write_identity, identity, needs, until).await;
        lines.extend(denied.iter().map(|rule| line(rule, who)));
    }
    lines
}

/// The denied part of `needs`.
async fn denied(
    requests: &RequestSender,
    write_identity: &WriteIdentity,
    identity: Identity,
    needs: &Needs,
    until: Instant,
) -> Vec<Rule> {
    let required: Vec<Permission> = needs.permissions().take(REVIEWS).cloned().collect();
    let answers = futures::stream::iter(required).map(|permission| async move {
        let allowed = review(requests, write_identity, identity, &permission).await;
        (permission, allowed)
    });
    let mut refused: Vec<Permission> = Vec::new();
    let collect = answers.buffer_unordered(AT_ONCE).for_each(|(permission, allowed)| {
        if let Ok(false) = allowed {
            refused.push(permission);
        }
        std::future::ready(())
    });
    let _ = tokio::time::timeout_at(until, collect).await;
    needs.only(|permission| refused.contains(permission)).rules()
}

/// Whether the host may list a resource of the core group. None: unknown, because the API server does not answer.
pub async fn host_may_list(requests: &RequestSender, resource: &str, namespace: &str) -> Option<bool> {
    let permission = Permission {
        namespace: namespace.to_owned(),
        group: String::new(),
        resource: resource.to_owned(),
        name: String::new(),
        verb: "list".to_owned(),
    };
    review(requests, &WriteIdentity::host(), Identity::Host, &permission).await.ok()
}

/// Whether a request is allowed; an error when that is unknown.
async fn review(
    requests: &RequestSender,
    write_identity: &WriteIdentity,
    identity: Identity,
    permission: &Permission,
) -> Result<bool, WriteError> {
    let Permission { namespace, group, resource, name, verb } = permission;
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let attributes = json!({
        "namespace": namespace, "verb": verb, "group": group, "version": "*", "resource": resource,
        "subresource": subresource, "name": name,
    });
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    });
    let outgoing = Outgoing::to("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews".to_owned())
        .identity(identity)
        .body("application/json", &review);
    let answer: Value = serde_json::from_str(&requests.send(write_identity, outgoing).await?).unwrap_or_default();
    let allowed = answer.pointer("/status/allowed").and_then(Value::as_bool);
    allowed.ok_or_else(|| WriteError::Server("with a review that says nothing".to_owned()))
}

/// `patch networks (samplecrd.k8s.io) in a to the host: its finalizer`.
fn line(rule: &Rule, who: &str) -> String {
    let Rule { namespace, group, resource, names, verbs, reasons } = rule;
    let group = if group.is_empty() { "core" } else { group };
    let mut line = format!("{} {resource} ({group})", verbs.join(", "));
    if !names.is_empty() {
        line.push_str(&format!(" named {}", names.join(", ")));
    }
    if !namespace.is_empty() {
        line.push_str(&format!(" in {namespace}"));
    }
    let mut why: Vec<&str> = reasons.iter().map(|(_, why, _)| why.as_str()).collect();
    why.dedup();
    crate::one_line(&format!("{line} to {who}: {}", why.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Discovery;
    use crate::apply::Writer;
    use crate::grants::Grants;
    use crate::informer::Informers;
    use crate::metrics::Metrics;
    use http::{Request, Response};
    use kube::client::Body;
    use oarlock_devserver::{DevServer, Options};
    use std::sync::Arc;

    fn writer(client: &kube::Client) -> Writer {
        let discovery = Discovery::new(client.clone());
        let informers = Informers::new(client.clone(), discovery.clone());
        Writer::new(client.clone(), discovery, informers, Metrics::new())
    }

    fn plugin() -> (WriteIdentity, PluginManifest) {
        let manifest = json!({"apiVersion": "oarlock.dev/v1alpha1", "kind": "PluginManifest", "name": "p", "version": "1",
            "primaries": [{"version": "v1", "kind": "ConfigMap", "namespaces": ["a"]}], "cleanup": true});
        let grant = json!({"apiVersion": "oarlock.dev/v1alpha1", "kind": "PluginGrant", "cleanup": true, "permissions": [
            {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"], "namespaces": ["a"]},
            {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "namespaces": ["a"], "resourceNames": ["x"]}]});
        let grants = Grants::without_secrets(&serde_json::from_value(grant).unwrap()).unwrap();
        (WriteIdentity::new("p", Arc::new(grants)), serde_json::from_value(manifest).unwrap())
    }

    async fn create(client: &kube::Client, path: &str, object: Value) {
        let request = http::Request::post(path).header(http::header::CONTENT_TYPE, "application/json");
        client.request::<Value>(request.body(object.to_string().into_bytes()).unwrap()).await.unwrap();
    }

    async fn missing(writer: &Writer, write_identity: &WriteIdentity, manifest: &PluginManifest) -> Vec<String> {
        check(
            writer.requests(),
            write_identity,
            &required_permissions(writer.requests(), write_identity, manifest, &|_| None, None, None),
        )
        .await
    }

    #[tokio::test]
    async fn what_the_impersonated_plugin_lacks_is_named_and_the_admin_lacks_nothing() {
        let client = kube::Client::new(DevServer::router(Options::default()), "default");
        let (write_identity, manifest) = plugin();
        let nothing: Vec<String> = Vec::new();
        assert_eq!(missing(&writer(&client), &write_identity, &manifest).await, nothing);
        let impersonating = writer(&client).impersonating("system");
        let expected = [
            "get, list, watch configmaps (core) in a to system:serviceaccount:system:oarlock-p: granted",
            "get secrets (core) named x in a to system:serviceaccount:system:oarlock-p: granted",
        ];
        assert_eq!(missing(&impersonating, &write_identity, &manifest).await, expected);
        create(&client, "/api/v1/namespaces", json!({"metadata": {"name": "a"}})).await;
        let rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/a";
        let rules = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]},
            {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "resourceNames": ["x"]}]);
        create(&client, &format!("{rbac}/roles"), json!({"metadata": {"name": "p"}, "rules": rules})).await;
        let binding = json!({"metadata": {"name": "p"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "p"},
            "subjects": [{"kind": "ServiceAccount", "namespace": "system", "name": "oarlock-p"}]});
        create(&client, &format!("{rbac}/rolebindings"), binding).await;
        let left = missing(&impersonating, &write_identity, &manifest).await;
        assert_eq!(left, ["watch configmaps (core) in a to system:serviceaccount:system:oarlock-p: granted"]);
    }

    /// A server that refuses every request, or never answers.
    fn unhelpful(silent: bool) -> kube::Client {
        let service = tower::service_fn(move |_: Request<Body>| async move {
            if silent {
                std::future::pending::<()>().await;
            }
            let status = json!({"kind": "Status", "message": "no such thing", "code": 404}).to_string();
            let answer = Response::builder().status(404).body(Body::from(status.into_bytes())).unwrap();
            Ok::<_, std::convert::Infallible>(answer)
        });
        kube::Client::new(service, "default")
    }

    #[tokio::test(start_paused = true)]
    async fn what_nobody_answers_is_not_missing_and_holds_nobody_up() {
        let (write_identity, manifest) = plugin();
        for (silent, impersonate) in [(false, false), (true, false), (true, true)] {
            let began = Instant::now();
            let writer = writer(&unhelpful(silent));
            let writer = if impersonate { writer.impersonating("system") } else { writer };
            let unknown = missing(&writer, &write_identity, &manifest).await;
            assert_eq!(unknown, Vec::<String>::new());
            assert!(began.elapsed() <= DEADLINE, "{:?}", began.elapsed());
        }
    }
}
