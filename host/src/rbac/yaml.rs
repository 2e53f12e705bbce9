//! YAML output of `oarlock rbac`, written by hand because its comments matter as much as the rules.

use super::{
    HOST, Needs, Rule, of_admission, of_canaries, of_certificates, of_host, of_impersonator, of_lease, of_leases,
    of_plugin, of_plugin_objects, service_account, unwatched,
};
use crate::grants::Grants;
use oarlock_manifest::{Kind, PluginManifest};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Names in the output.
#[derive(Clone, Debug)]
pub struct Options {
    /// Namespace of the ServiceAccounts of the host and the plugins.
    pub namespace: String,
    /// The host's ServiceAccount.
    pub service_account: String,
    /// Name of the host's roles and bindings, and the label of all documents.
    pub name: String,
    /// Whether plugins write and read as ServiceAccounts of their own.
    pub impersonate: bool,
    /// Namespace of the Leases, with several hosts.
    pub lease_namespace: Option<String>,
    /// Whether the host answers admission, also without a plugin that does.
    pub admission: bool,
    /// Namespace of the Plugin objects.
    pub plugin_objects: Option<String>,
}

/// One plugin of the directory.
#[derive(Debug)]
pub struct Plugin {
    /// The plugin's manifest.
    pub manifest: PluginManifest,
    /// The plugin's grant; `None`: it waits for a grant, and needs nothing.
    pub grants: Option<Grants>,
    /// The resources of its kinds, as far as an API server served them; others are guessed.
    pub plurals: BTreeMap<Kind, String>,
}

/// The rules and bindings of the host and all plugins, for `kubectl apply`.
#[must_use]
pub fn yaml(plugins: &[Plugin], options: &Options) -> String {
    let mut out = head(plugins, options);
    let mut host = Needs::default();
    let events = ["get", "create", "patch"];
    host.add(HOST, "events about plugins, on its Pod", &options.namespace, "", "events", &events);
    if let Some(namespace) = &options.lease_namespace {
        host.extend(of_leases(namespace));
    }
    if options.admission {
        of_admission(&mut host, HOST);
        host.extend(of_certificates(HOST, &options.namespace));
    }
    if let Some(namespace) = &options.plugin_objects {
        host.extend(of_plugin_objects(namespace));
    }
    let mut accounts: Vec<(String, Needs)> = Vec::new();
    for plugin in plugins {
        let Some(grants) = &plugin.grants else { continue };
        let name = &plugin.manifest.name;
        host.extend(of_host(&plugin.manifest, grants, &|kind| plugin.plurals.get(kind).cloned()));
        if !grants.admission(&plugin.manifest).is_empty() || !grants.conversions(&plugin.manifest).is_empty() {
            host.extend(of_certificates(name, &options.namespace));
        }
        if let Some(namespace) = options.plugin_objects.as_ref().filter(|_| grants.has_canary()) {
            host.extend(of_canaries(name, namespace));
        }
        if let Some(namespace) = &options.lease_namespace {
            host.extend(of_lease(name, namespace));
        }
        if options.impersonate {
            host.extend(of_impersonator(name, &options.namespace));
            accounts.push((service_account(name), of_plugin(name, grants)));
        } else {
            host.extend(of_plugin(name, grants));
        }
    }
    for (account, _) in &accounts {
        document(&mut out, "v1", "ServiceAccount", account, &options.namespace, options);
        // The account is only impersonated: no Pod runs as it.
        out.push_str("automountServiceAccountToken: false\n");
    }
    roles(&mut out, &options.name, &options.service_account, &host, options);
    for (account, needs) in &accounts {
        roles(&mut out, account, account, needs, options);
    }
    out
}

fn head(plugins: &[Plugin], options: &Options) -> String {
    let Options { namespace, service_account, name, impersonate, lease_namespace, admission, plugin_objects } = options;
    let mut out = format!(
        "# The least RBAC for the plugins of a directory and their present grants, printed by `oarlock rbac`.\n\
         # The host runs as ServiceAccount {service_account} in namespace {namespace}; both must exist.\n"
    );
    out.push_str(if *impersonate {
        "# Run the host with --impersonate: each plugin writes and reads with a ServiceAccount of its own.\n"
    } else {
        "# All plugins write and read with the host's ServiceAccount.\n"
    });
    if let Some(namespace) = lease_namespace {
        let _ = writeln!(out, "# Run the host with --lease-namespace {namespace}: several hosts share the plugins.");
    }
    if *admission {
        out.push_str(
            "# Run the host with --admission-service, --admission-url or --admission-addr: it answers admission.\n",
        );
    }
    if let Some(namespace) = plugin_objects {
        let _ = writeln!(out, "# Run the host with --plugin-objects {namespace}: it shows its plugins there.");
    }
    out.push_str("# The default roles of a cluster allow discovery and SelfSubjectAccessReviews to every authenticated client.\n");
    let _ = writeln!(
        out,
        "# Objects of an earlier output stay in force until they are deleted. They have the label oarlock.dev/rbac={name}."
    );
    for Plugin { manifest, grants, plurals } in plugins {
        let name = &manifest.name;
        let Some(grants) = grants else {
            let _ = writeln!(out, "# {name}: has no grant, so it waits for one and needs no permission.");
            continue;
        };
        for kind in unwatched(manifest, grants, &|kind| plurals.get(kind).cloned()) {
            let _ = writeln!(
                out,
                "# {name}: list and watch of {} ({}) are not granted anywhere.",
                kind.kind,
                group(&kind.group)
            );
        }
        let kinds = manifest.primaries.iter().map(|p| p.gvk()).chain(manifest.watches.iter().map(|w| w.gvk()));
        // A guessed plural that appears in the grant is confirmed.
        let named = |kind: &Kind| {
            let plural = super::plural_of(kind, &|_| None);
            grants
                .permissions()
                .iter()
                .any(|rule| rule.api_groups.contains(&kind.group) && rule.resources.contains(&plural))
        };
        let guessed: BTreeSet<Kind> = kinds.filter(|kind| !plurals.contains_key(kind) && !named(kind)).collect();
        for kind in guessed {
            let plural = super::plural_of(&kind, &|_| None);
            let _ = writeln!(
                out,
                "# {name}: the resource of {} is guessed to be {}; --kubeconfig asks an API server.",
                kind.kind, plural
            );
        }
    }
    out
}

/// The roles of one ServiceAccount, a ClusterRole and one Role for each namespace, with their bindings.
///
/// * `name` - name of all of them.
/// * `account` - the ServiceAccount.
fn roles(out: &mut String, name: &str, account: &str, needs: &Needs, options: &Options) {
    let mut places: BTreeMap<String, Vec<Rule>> = BTreeMap::new();
    for rule in needs.minimal().rules() {
        places.entry(rule.namespace.clone()).or_default().push(rule);
    }
    for (namespace, rules) in places {
        let role = if namespace.is_empty() { "ClusterRole" } else { "Role" };
        document(out, "rbac.authorization.k8s.io/v1", role, name, &namespace, options);
        out.push_str("rules:\n");
        rules.iter().for_each(|rule| write_rule(out, rule));
        document(out, "rbac.authorization.k8s.io/v1", &format!("{role}Binding"), name, &namespace, options);
        let _ = write!(
            out,
            "roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: {role}\n  name: {name}\n\
             subjects:\n  - kind: ServiceAccount\n    name: {}\n    namespace: {}\n",
            scalar(account),
            scalar(&options.namespace),
            name = scalar(name),
        );
    }
}

/// The beginning of a document.
///
/// * `namespace` - empty: none.
fn document(out: &mut String, api_version: &str, kind: &str, name: &str, namespace: &str, options: &Options) {
    let _ = write!(out, "---\napiVersion: {api_version}\nkind: {kind}\nmetadata:\n  name: {}\n", scalar(name));
    if !namespace.is_empty() {
        let _ = writeln!(out, "  namespace: {}", scalar(namespace));
    }
    let _ = write!(out, "  labels:\n    oarlock.dev/rbac: {}\n", scalar(&options.name));
}

fn write_rule(out: &mut String, rule: &Rule) {
    for (plugin, why, verbs) in &rule.reasons {
        let _ = writeln!(out, "  # {plugin}: {why} ({})", verbs.join(", "));
    }
    let wide = [(&rule.group, "API group"), (&rule.resource, "resource")].into_iter().filter(|(text, _)| *text == "*");
    let mut wide: Vec<&str> = wide.map(|(_, word)| word).collect();
    wide.extend(rule.verbs.iter().any(|v| v == "*").then_some("verb"));
    if !wide.is_empty() {
        let _ = writeln!(out, "  # WIDE: the grant says \"*\", which is every {}.", wide.join(" and every "));
    }
    let list = |texts: &[String]| texts.iter().map(|text| scalar(text)).collect::<Vec<_>>().join(", ");
    let _ = writeln!(out, "  - apiGroups: [{}]", scalar(&rule.group));
    let _ = writeln!(out, "    resources: [{}]", scalar(&rule.resource));
    if !rule.names.is_empty() {
        let _ = writeln!(out, "    resourceNames: [{}]", list(&rule.names));
    }
    let _ = writeln!(out, "    verbs: [{}]", list(&rule.verbs));
}

/// A YAML scalar: plain where it is unambiguous, otherwise as JSON, which is YAML.
fn scalar(text: &str) -> String {
    let words = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let bare = text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'.' | b'/'))
        && !words.contains(&text);
    if bare { text.to_owned() } else { serde_json::Value::from(text).to_string() }
}

fn group(group: &str) -> &str {
    if group.is_empty() { "core" } else { group }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn plugin(manifest: &Value, permissions: Option<&Value>) -> Plugin {
        let mut whole =
            json!({"apiVersion": "oarlock.dev/v1alpha1", "kind": "PluginManifest", "name": "p", "version": "1"});
        whole.as_object_mut().unwrap().extend(manifest.as_object().unwrap().clone());
        let grants = permissions.map(|permissions| {
            let grant =
                json!({"apiVersion": "oarlock.dev/v1alpha1", "kind": "PluginGrant", "permissions": permissions, "cleanup": true, "manageStatus": true});
            Grants::without_secrets(&serde_json::from_value(grant).unwrap()).unwrap()
        });
        Plugin { manifest: serde_json::from_value(whole).unwrap(), grants, plurals: BTreeMap::new() }
    }

    fn printed(plugins: &[Plugin], impersonate: bool) -> String {
        let options = Options {
            namespace: "system".to_owned(),
            service_account: "oarlock".to_owned(),
            name: "oarlock".to_owned(),
            impersonate,
            lease_namespace: None,
            admission: false,
            plugin_objects: None,
        };
        yaml(plugins, &options)
    }

    /// The rules of one role, as its namespace, groups, resources, names and verbs.
    fn rules(yaml: &str, role: &str, name: &str) -> Vec<(String, Value)> {
        let documents: Vec<Value> = serde_saphyr::from_multiple(yaml).unwrap();
        let of = |d: &&Value| d["kind"] == role && d["metadata"]["name"] == name;
        let rules = documents.iter().filter(of).flat_map(|d| {
            let namespace = d["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
            d["rules"].as_array().unwrap().iter().map(move |rule| (namespace.clone(), rule.clone()))
        });
        rules.collect()
    }

    fn primary() -> Value {
        json!({"primaries": [{"group": "s.io", "version": "v1", "kind": "Network"}], "cleanup": true, "manageStatus": true})
    }

    #[test]
    fn what_is_granted_in_namespaces_is_roles_in_those_for_the_host_too() {
        let granted = json!([{"apiGroups": ["s.io"], "resources": ["networks"], "verbs": ["get", "list", "watch"],
            "namespaces": ["a", "b"]}]);
        let yaml = printed(&[plugin(&primary(), Some(&granted))], false);
        assert!(!yaml.contains("ClusterRole"), "{yaml}");
        let of_a: Vec<Value> =
            rules(&yaml, "Role", "oarlock").into_iter().filter(|(n, _)| n == "a").map(|(_, r)| r).collect();
        let expected = [
            json!({"apiGroups": [""], "resources": ["events"], "verbs": ["get", "create", "patch"]}),
            json!({"apiGroups": ["s.io"], "resources": ["networks"], "verbs": ["get", "list", "watch", "patch"]}),
            json!({"apiGroups": ["s.io"], "resources": ["networks/status"], "verbs": ["patch"]}),
        ];
        assert_eq!(of_a, expected);
        let of_b = rules(&yaml, "Role", "oarlock").into_iter().filter(|(n, _)| n == "b").count();
        assert_eq!(of_b, expected.len());
    }

    #[test]
    fn with_impersonation_the_host_may_only_be_the_plugins_and_they_what_they_are_granted() {
        let granted = json!([
            {"apiGroups": ["s.io"], "resources": ["networks"], "verbs": ["get", "list", "watch"]},
            {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "resourceNames": ["x"], "namespaces": ["a"]}]);
        let yaml = printed(&[plugin(&primary(), Some(&granted))], true);
        let secret = json!({"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["x"], "verbs": ["get"]});
        assert_eq!(rules(&yaml, "Role", "oarlock-p"), [("a".to_owned(), secret)]);
        let be = json!({"apiGroups": [""], "resources": ["serviceaccounts"], "resourceNames": ["oarlock-p"],
            "verbs": ["impersonate"]});
        let own = rules(&yaml, "Role", "oarlock");
        assert!(
            own.iter().all(|(namespace, _)| namespace == "system") && own.iter().any(|(_, rule)| *rule == be),
            "{yaml}"
        );
        let host = rules(&yaml, "ClusterRole", "oarlock");
        assert!(host.iter().all(|(_, rule)| rule["resources"] != json!(["secrets"])), "{yaml}");
        assert!(yaml.contains("kind: ServiceAccount\nmetadata:\n  name: oarlock-p\n  namespace: system\n"), "{yaml}");
    }

    #[test]
    fn a_host_that_converts_may_change_that_definition_and_count_its_objects() {
        let mut converts = plugin(&json!({"conversions": ["networks.s.io", "others.s.io"]}), None);
        let grant =
            json!({"apiVersion": "oarlock.dev/v1alpha1", "kind": "PluginGrant", "conversions": ["networks.s.io"]});
        converts.grants = Some(Grants::without_secrets(&serde_json::from_value(grant).unwrap()).unwrap());
        let yaml = printed(&[converts], false);
        let host: Vec<Value> = rules(&yaml, "ClusterRole", "oarlock").into_iter().map(|(_, rule)| rule).collect();
        let expected = [
            json!({"apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"],
                "resourceNames": ["networks.s.io"], "verbs": ["get", "list", "watch", "patch"]}),
            json!({"apiGroups": ["s.io"], "resources": ["networks"], "verbs": ["list"]}),
        ];
        assert_eq!(host, expected, "{yaml}");
        let secrets = rules(&yaml, "Role", "oarlock").into_iter().filter(|(_, rule)| rule["resources"][0] == "secrets");
        assert_eq!(secrets.count(), 2, "the certificates: {yaml}");
    }

    #[test]
    fn a_host_that_installs_a_definition_may_write_that_one() {
        let mut installs = plugin(&json!({}), None);
        let grant =
            json!({"apiVersion": "oarlock.dev/v1alpha1", "kind": "PluginGrant", "definitions": ["networks.s.io"]});
        installs.grants = Some(Grants::without_secrets(&serde_json::from_value(grant).unwrap()).unwrap());
        let yaml = printed(&[installs], true);
        let host: Vec<Value> = rules(&yaml, "ClusterRole", "oarlock").into_iter().map(|(_, rule)| rule).collect();
        let expected = json!({"apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"],
            "resourceNames": ["networks.s.io"], "verbs": ["get", "create", "patch"]});
        assert_eq!(host, [expected], "{yaml}");
    }

    #[test]
    fn a_host_that_answers_admission_needs_its_rules_also_without_a_plugin() {
        let options = |admission| Options {
            namespace: "system".to_owned(),
            service_account: "oarlock".to_owned(),
            name: "oarlock".to_owned(),
            impersonate: true,
            lease_namespace: None,
            admission,
            plugin_objects: None,
        };
        assert!(rules(&yaml(&[], &options(false)), "ClusterRole", "oarlock").is_empty());
        let yaml = yaml(&[], &options(true));
        let everywhere = rules(&yaml, "ClusterRole", "oarlock");
        let resources: Vec<&Value> = everywhere.iter().map(|(_, rule)| &rule["resources"][0]).collect();
        let expected =
            ["mutatingwebhookconfigurations", "validatingwebhookconfigurations", "initializerconfigurations"];
        assert_eq!(resources, expected);
        let secrets = rules(&yaml, "Role", "oarlock").into_iter().filter(|(_, rule)| rule["resources"][0] == "secrets");
        assert!(
            secrets.count() == 2 && yaml.contains("# the host: the certificates of the admission server"),
            "{yaml}"
        );
    }

    #[test]
    fn a_plugin_without_a_grant_gets_nothing_and_what_is_not_granted_is_not_watched() {
        let yaml = printed(&[plugin(&primary(), None)], true);
        assert!(
            yaml.contains("# p: has no grant, so it waits")
                && !yaml.contains("networks")
                && !yaml.contains("oarlock-p"),
            "{yaml}"
        );
        let yaml = printed(&[plugin(&primary(), Some(&json!([])))], false);
        assert!(yaml.contains("# p: list and watch of Network (s.io) are not granted anywhere."), "{yaml}");
        assert!(!yaml.contains("resources: [networks"), "{yaml}");
    }

    #[test]
    fn a_wildcard_is_never_printed_without_a_word() {
        let granted = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]);
        let yaml = printed(&[plugin(&primary(), Some(&granted))], false);
        assert!(
            yaml.contains("# WIDE: the grant says \"*\", which is every API group and every resource and every verb."),
            "{yaml}"
        );
        // The wide permission includes all others, with their reasons.
        assert_eq!(rules(&yaml, "ClusterRole", "oarlock").len(), 1);
        assert!(yaml.contains("# p: its finalizer"), "{yaml}");
    }

    #[test]
    fn create_is_not_limited_by_name_because_rbac_cannot() {
        for verbs in [json!(["create", "get"]), json!(["*"])] {
            let granted =
                json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs, "resourceNames": ["x"]}]);
            let yaml = printed(&[plugin(&json!({}), Some(&granted))], false);
            let all = rules(&yaml, "ClusterRole", "oarlock");
            let create = all.iter().find(|(_, rule)| rule["verbs"] == json!(["create"])).unwrap();
            assert!(create.1.get("resourceNames").is_none(), "{yaml}");
            assert_eq!(all.len(), 2, "{yaml}");
        }
    }

    #[test]
    fn a_text_of_a_grant_stays_a_text() {
        let odd = "x]\n  - verbs: [\"*\"] #";
        let granted =
            json!([{"apiGroups": ["true"], "resources": [odd], "verbs": ["get"], "resourceNames": ["1", odd]}]);
        let yaml = printed(&[plugin(&json!({}), Some(&granted))], false);
        let expected =
            json!({"apiGroups": ["true"], "resources": [odd], "verbs": ["get"], "resourceNames": ["1", odd]});
        assert_eq!(rules(&yaml, "ClusterRole", "oarlock"), [(String::new(), expected)]);
    }

    #[test]
    fn a_guess_is_told_unless_the_grant_names_it() {
        let granted = json!([{"apiGroups": ["s.io"], "resources": ["*"], "verbs": ["list", "watch"]}]);
        let mut one = plugin(&primary(), Some(&granted));
        assert!(
            printed(std::slice::from_ref(&one), false)
                .contains("# p: the resource of Network is guessed to be networks")
        );
        one.plurals.insert(one.manifest.primaries[0].gvk(), "netze".to_owned());
        let yaml = printed(&[one], false);
        assert!(!yaml.contains("no API server") && yaml.contains("netze/status"), "{yaml}");
    }
}
