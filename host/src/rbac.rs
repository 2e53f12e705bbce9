//! The least RBAC that plugins need, as they are granted now: what the host does for them, and what they do themselves.
//!
//! Pure: from manifests and grants to permissions, and from permissions to YAML. What is printed is what is asked for with
//! SelfSubjectAccessReviews when a plugin is loaded.

mod needs;
mod yaml;

pub use needs::{Needs, Rule};
pub use yaml::{Options, Plugin, yaml};

use crate::grants::{self, Grants, Permission, Plurals, guess_plural};
use crate::lease;
use oarlock_manifest::{Kind, PluginManifest};

/// The Secret in which the host keeps the certificates of its admission server.
pub const ADMISSION_SECRET: &str = "oarlock-admission";

/// The name of the webhook configurations the host generates.
pub const WEBHOOKS: &str = "oarlock";

/// Group and resource of Leases.
const LEASES: (&str, &str) = ("coordination.k8s.io", "leases");

/// What the host itself does for a plugin: list and watch its kinds, keep finalizers and status, write events.
///
/// * `plurals` - the resources of the manifest's kinds, where they are known; else they are guessed.
#[must_use]
pub fn of_host(manifest: &PluginManifest, grants: &Grants, plurals: &Plurals<'_>) -> Needs {
    let mut needs = Needs::default();
    let plugin = &manifest.name;
    for primary in &manifest.primaries {
        let (kind, plural) = (primary.gvk(), plural_of(&primary.gvk(), plurals));
        let status = format!("{plural}/status");
        for namespace in places(grants.namespaces(&kind.group, &plural, &primary.namespaces, &[])) {
            let mut add = |group: &str, resource: &str, verbs: &[&str], why: &str| {
                needs.add(plugin, why, &namespace, group, resource, verbs);
            };
            add(&kind.group, &plural, &["get", "list", "watch"], "its primary");
            if manifest.cleanup {
                add(&kind.group, &plural, &["patch"], "its finalizer");
            }
            // Without manageStatus the plugin's own fields are written if it has any; that it may have is told by its grant.
            if manifest.manage_status || grants.allows_some("patch", &kind.group, &status, None) {
                add(&kind.group, &status, &["patch"], "status of its primary");
            }
            add("", "events", &["get", "create", "patch"], "events about its primary");
        }
    }
    if !grants.admission(manifest).is_empty() {
        of_admission(&mut needs, plugin);
    }
    for watch in &manifest.watches {
        let (kind, plural) = (watch.gvk(), plural_of(&watch.gvk(), plurals));
        for namespace in places(grants.namespaces(&kind.group, &plural, &watch.namespaces, &watch.names)) {
            needs.add(plugin, "a kind it watches", &namespace, &kind.group, &plural, &["list", "watch"]);
        }
    }
    needs
}

/// What the host needs to have its plugins asked at admission, but for the Secret with its certificates.
fn of_admission(needs: &mut Needs, plugin: &str) {
    let group = "admissionregistration.k8s.io";
    for resource in ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"] {
        for verb in ["get", "list", "watch", "create", "patch", "delete"] {
            let (resource, verb, group) = (resource.to_owned(), verb.to_owned(), group.to_owned());
            let one = Permission { namespace: String::new(), group, resource, name: WEBHOOKS.to_owned(), verb };
            needs.insert(one, plugin, "the webhook configurations the host generates");
        }
    }
    needs.add(
        plugin,
        "which plugins initialize what",
        "",
        "oarlock.dev",
        "initializerconfigurations",
        &["list", "watch"],
    );
    needs.add(plugin, "events about initializers", "default", "", "events", &["get", "create", "patch"]);
}

/// What the host needs to keep its certificates in the Secret [`ADMISSION_SECRET`] in its namespace.
#[must_use]
pub fn of_certificates(plugin: &str, namespace: &str) -> Needs {
    let mut needs = Needs::default();
    for (verb, name) in [("get", ADMISSION_SECRET), ("patch", ADMISSION_SECRET), ("create", "")] {
        let one = Permission {
            namespace: namespace.to_owned(),
            group: String::new(),
            resource: "secrets".to_owned(),
            name: name.to_owned(),
            verb: verb.to_owned(),
        };
        needs.insert(one, plugin, "the certificates of the admission server");
    }
    needs
}

/// What the host needs to share its plugins with other hosts by Leases in a namespace, but for [`of_lease`] of each plugin.
#[must_use]
pub fn of_leases(namespace: &str) -> Needs {
    let host = "the host";
    let mut needs = lease_named(lease::HOST_LEASE, namespace, host, "which host does what hosts do as such");
    needs.add(host, "which Leases there are, and new ones", namespace, LEASES.0, LEASES.1, &["list", "create"]);
    needs
}

/// What the host needs to take turns with other hosts for a plugin.
///
/// * `namespace` - of the Leases.
#[must_use]
pub fn of_lease(plugin: &str, namespace: &str) -> Needs {
    lease_named(&lease::name_of(plugin), namespace, plugin, "which host reconciles")
}

fn lease_named(name: &str, namespace: &str, who: &str, why: &str) -> Needs {
    let mut needs = Needs::default();
    for verb in ["get", "update"] {
        let (group, resource) = (LEASES.0.to_owned(), LEASES.1.to_owned());
        let (namespace, name, verb) = (namespace.to_owned(), name.to_owned(), verb.to_owned());
        needs.insert(Permission { namespace, group, resource, name, verb }, who, why);
    }
    needs
}

/// What the host needs to write and read as a plugin's ServiceAccount, which is in `namespace`.
#[must_use]
pub fn of_impersonator(plugin: &str, namespace: &str) -> Needs {
    let mut needs = Needs::default();
    let one = Permission {
        namespace: namespace.to_owned(),
        group: String::new(),
        resource: "serviceaccounts".to_owned(),
        name: service_account(plugin),
        verb: "impersonate".to_owned(),
    };
    needs.insert(one, plugin, "written and read as");
    needs
}

/// The ServiceAccount a plugin is impersonated as.
#[must_use]
pub fn service_account(plugin: &str) -> String {
    format!("oarlock-{plugin}")
}

/// What a plugin itself does: exactly what it is granted.
#[must_use]
pub fn of_plugin(name: &str, grants: &Grants) -> Needs {
    let mut needs = Needs::default();
    for permission in grants.permissions().iter().flat_map(grants::each) {
        let creates = ["create", "*"].contains(&permission.verb.as_str());
        if creates && !permission.name.is_empty() {
            // What is created has no name yet where the API server asks whether it may be.
            let anything = Permission { name: String::new(), verb: "create".to_owned(), ..permission.clone() };
            needs.insert(anything, name, "granted; RBAC cannot limit create by name, the host does");
        }
        if permission.verb != "create" || permission.name.is_empty() {
            needs.insert(permission, name, "granted");
        }
    }
    needs
}

/// The kinds of a manifest that are listed and watched nowhere, because the grant does not say so.
fn unwatched(manifest: &PluginManifest, grants: &Grants, plurals: &Plurals<'_>) -> Vec<Kind> {
    let primaries = manifest.primaries.iter().map(|p| (p.gvk(), &p.namespaces, &[][..]));
    let watches = manifest.watches.iter().map(|w| (w.gvk(), &w.namespaces, w.names.as_slice()));
    let nowhere = |(kind, namespaces, names): (Kind, &Vec<String>, &[String])| {
        let places = grants.namespaces(&kind.group, &plural_of(&kind, plurals), namespaces, names);
        places.is_some_and(|list| list.is_empty()).then_some(kind)
    };
    primaries.chain(watches).filter_map(nowhere).collect()
}

fn plural_of(kind: &Kind, plurals: &Plurals<'_>) -> String {
    plurals(kind).unwrap_or_else(|| guess_plural(&kind.kind))
}

/// The namespaces as they stand in a [`Permission`]: one that is empty for everywhere.
fn places(namespaces: Option<Vec<String>>) -> Vec<String> {
    namespaces.unwrap_or_else(|| vec![String::new()])
}
