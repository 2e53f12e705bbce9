//! Least RBAC for plugins and their present grants: permissions of the host on their behalf, and of the plugins themselves.
//!
//! Pure: from manifests and grants to permissions, and from permissions to YAML. The printed permissions are the same that the host
//! reviews with SelfSubjectAccessReviews when it loads a plugin.

mod needs;
mod yaml;

pub use needs::{Needs, Rule};
pub use yaml::{Options, Plugin, yaml};

use crate::grants::{self, Grants, Permission, Plurals, guess_plural};
use crate::lease;
use oarlock_manifest::{Kind, PluginManifest};

/// The Secret with the certificates of the admission server.
pub const ADMISSION_SECRET: &str = "oarlock-admission";

/// The name of the generated webhook configurations.
pub const WEBHOOKS: &str = "oarlock";

/// The host, in the reasons of its own permissions.
const HOST: &str = "the host";

/// Group and resource of Leases.
const LEASES: (&str, &str) = ("coordination.k8s.io", "leases");

/// Permissions of the host for a plugin: list and watch its kinds, write finalizers and status, write events.
///
/// * `plurals` - the resources of the manifest's kinds, where known; others are guessed.
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
            if grants.cleanup(manifest) {
                add(&kind.group, &plural, &["patch"], "its finalizer");
            }
            // Without manageStatus the host writes the plugin's own status fields, if any; the grant shows whether there may be any.
            if (grants.manage_status(manifest) && manifest.manages_status(primary))
                || grants.allows_some("patch", &kind.group, &status, None)
            {
                add(&kind.group, &status, &["patch"], "status of its primary");
            }
            add("", "events", &["get", "create", "patch"], "events about its primary");
        }
    }
    if !grants.admission(manifest).is_empty() {
        of_admission(&mut needs, plugin);
    }
    for definition in grants.conversions(manifest) {
        of_conversion(&mut needs, plugin, &definition);
    }
    for definition in grants.definitions() {
        of_definition(&mut needs, plugin, definition, &["get", "create", "patch"], "a definition that it installs");
    }
    for watch in &manifest.watches {
        let (kind, plural) = (watch.gvk(), plural_of(&watch.gvk(), plurals));
        for namespace in places(grants.namespaces(&kind.group, &plural, &watch.namespaces, &watch.names)) {
            needs.add(plugin, "a kind it watches", &namespace, &kind.group, &plural, &["list", "watch"]);
        }
    }
    needs
}

/// Permissions of the host for admission reviews, without the Secret of its certificates.
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
        "to read the initializers of new objects",
        "",
        "oarlock.dev",
        "initializerconfigurations",
        &["list", "watch"],
    );
    needs.add(plugin, "events about initializers", "default", "", "events", &["get", "create", "patch"]);
}

fn of_definition(needs: &mut Needs, plugin: &str, definition: &str, verbs: &[&str], why: &str) {
    for verb in verbs {
        let one = Permission {
            namespace: String::new(),
            group: "apiextensions.k8s.io".to_owned(),
            resource: "customresourcedefinitions".to_owned(),
            name: definition.to_owned(),
            verb: (*verb).to_owned(),
        };
        needs.insert(one, plugin, why);
    }
}

/// Permissions of the host to be the conversion webhook of a definition.
fn of_conversion(needs: &mut Needs, plugin: &str, definition: &str) {
    let verbs = ["get", "list", "watch", "patch"];
    of_definition(needs, plugin, definition, &verbs, "the conversion webhook of a definition");
    let (plural, group) = definition.split_once('.').unwrap_or((definition, ""));
    needs.add(plugin, "the number of objects that depend on its conversion", "", group, plural, &["list"]);
}

/// Permissions of the host to store its certificates in the Secret [`ADMISSION_SECRET`] in its namespace.
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

/// Permissions of the host to distribute its plugins over several hosts by Leases in a namespace, without [`of_lease`] of each plugin.
#[must_use]
pub fn of_leases(namespace: &str) -> Needs {
    let mut needs = lease_named(
        lease::HOST_LEASE,
        namespace,
        HOST,
        "leader election for the webhook configurations and the events about initializers",
    );
    needs.add(HOST, "to find and create Leases", namespace, LEASES.0, LEASES.1, &["list", "create"]);
    needs
}

/// Permissions of the host for the Plugin objects in a namespace.
#[must_use]
pub fn of_plugin_objects(namespace: &str) -> Needs {
    let mut needs = Needs::default();
    let mut add = |resource: &str, verbs: &[&str]| {
        needs.add(HOST, "the Plugin objects", namespace, "oarlock.dev", resource, verbs);
    };
    add("plugins", &["get", "list", "watch", "create", "patch", "delete"]);
    add("plugins/status", &["patch"]);
    needs
}

/// Permissions of the host for the journals of canaries: Secrets in the namespace of the Plugin objects.
#[must_use]
pub fn of_canaries(plugin: &str, namespace: &str) -> Needs {
    let mut needs = Needs::default();
    needs.add(plugin, "the journals of its canaries", namespace, "", "secrets", &["list", "create", "patch", "delete"]);
    needs
}

/// Permissions of the host for the Lease of a plugin.
///
/// * `namespace` - namespace of the Leases.
#[must_use]
pub fn of_lease(plugin: &str, namespace: &str) -> Needs {
    lease_named(&lease::name_of(plugin), namespace, plugin, "leader election")
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

/// Permissions of the host to write and read as a plugin's ServiceAccount in `namespace`.
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
    needs.insert(one, plugin, "impersonated for its writes and live reads");
    needs
}

/// The ServiceAccount that is impersonated for a plugin.
#[must_use]
pub fn service_account(plugin: &str) -> String {
    format!("oarlock-{plugin}")
}

/// Permissions for a plugin that depend on no flag of the host: those of the host on its behalf, and its own.
#[must_use]
pub fn of(manifest: &PluginManifest, grants: &Grants, plurals: &Plurals<'_>) -> Needs {
    let mut needs = of_host(manifest, grants, plurals);
    needs.extend(of_plugin(&manifest.name, grants));
    needs
}

/// Permissions of a plugin itself: exactly its grant.
#[must_use]
pub fn of_plugin(name: &str, grants: &Grants) -> Needs {
    let mut needs = Needs::default();
    for permission in grants.permissions().iter().flat_map(grants::each) {
        let creates = ["create", "*"].contains(&permission.verb.as_str());
        if creates && !permission.name.is_empty() {
            // The API server authorizes a create before the object has a name.
            let anything = Permission { name: String::new(), verb: "create".to_owned(), ..permission.clone() };
            needs.insert(anything, name, "granted; RBAC cannot limit create by name, the host does");
        }
        if permission.verb != "create" || permission.name.is_empty() {
            needs.insert(permission, name, "granted");
        }
    }
    needs
}

/// The kinds of a manifest that the grant allows to list and watch nowhere.
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

/// The namespaces in the form of a [`Permission`]: an empty one for everywhere.
fn places(namespaces: Option<Vec<String>>) -> Vec<String> {
    namespaces.unwrap_or_else(|| vec![String::new()])
}
