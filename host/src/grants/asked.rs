//! The permissions that a manifest asks for, in the form of a grant.

use super::covers;
use oarlock_manifest::{GrantedAdmission, HttpAccess, Kind, Limits, PluginGrant, PluginManifest, PolicyRule};
use std::collections::BTreeMap;
use url::Url;

/// The verbs of every primary and every watched kind: list and watch for the host, get for the plugin's reads.
pub(super) const READS: [&str; 3] = ["get", "list", "watch"];

/// The resource (plural) that serves a kind; `None`: unknown, so it is guessed.
pub type Plurals<'a> = dyn Fn(&Kind) -> Option<String> + 'a;

/// The part of the manifest that asks for a permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    Primary,
    Watch,
    Permissions,
}

/// The grant file that allows everything in the manifest, with `config` as its configuration.
pub(super) fn grant(manifest: &PluginManifest, config: BTreeMap<String, String>, plurals: &Plurals<'_>) -> PluginGrant {
    PluginGrant {
        api_version: oarlock_manifest::API_VERSION.to_owned(),
        kind: "PluginGrant".to_owned(),
        name: None,
        partial: false,
        permissions: permissions(manifest, plurals).into_iter().map(|(_, rule)| rule).collect(),
        cleanup: manifest.cleanup,
        manage_status: manifest.manage_status,
        admission: manifest.admission.iter().map(GrantedAdmission::just).collect(),
        conversions: manifest.conversions.clone(),
        definitions: Vec::new(),
        http: oarlock_manifest::GrantedHttp {
            origins: origins(&manifest.http, &config),
            safe_requests: manifest.http.safe_requests.clone(),
        },
        config,
        secret_files: BTreeMap::new(),
        limits: Limits::default(),
        workers: None,
        resync_seconds: None,
        rollout: None,
    }
}

/// The permissions that a manifest asks for: reads of its primaries and watches, and its explicit permissions.
pub(super) fn permissions(manifest: &PluginManifest, plurals: &Plurals<'_>) -> Vec<(Place, PolicyRule)> {
    let primaries = manifest.primaries.iter().map(|p| (Place::Primary, p.gvk(), &p.namespaces, &[][..]));
    let watches = manifest.watches.iter().map(|w| (Place::Watch, w.gvk(), &w.namespaces, w.names.as_slice()));
    let mut rules: Vec<(Place, PolicyRule)> = Vec::new();
    for (place, kind, namespaces, names) in primaries.chain(watches) {
        let plural = plurals(&kind).unwrap_or_else(|| guess_plural(&kind.kind));
        let named = |rule: &PolicyRule| {
            let (some_namespaces, some_names) = (&rule.namespaces, &rule.resource_names);
            READS.iter().all(|verb| covers(&rule.verbs, verb))
                && covers(&rule.api_groups, &kind.group)
                && covers(&rule.resources, &plural)
                && within(namespaces, some_namespaces)
                && within(names, some_names)
        };
        if !rules.iter().map(|(_, rule)| rule).chain(&manifest.permissions).any(named) {
            let rule = PolicyRule {
                api_groups: vec![kind.group.clone()],
                resources: vec![plural.clone()],
                verbs: READS.map(str::to_owned).to_vec(),
                resource_names: names.to_vec(),
                namespaces: namespaces.clone(),
            };
            rules.push((place, rule));
        }
    }
    rules.extend(manifest.permissions.iter().map(|rule| (Place::Permissions, rule.clone())));
    rules
}

/// Whether `some` contains all of `wanted`; an empty list means everything, in both.
fn within(wanted: &[String], some: &[String]) -> bool {
    some.is_empty() || (!wanted.is_empty() && wanted.iter().all(|w| some.contains(w)))
}

/// The origins that a manifest asks for, and those of its URL-valued configuration. Values that are no URLs are omitted.
pub(super) fn origins(http: &HttpAccess, config: &BTreeMap<String, String>) -> Vec<String> {
    let from_config = http.origins_from_config.iter().filter_map(|key| config.get(key));
    let mut origins: Vec<String> = Vec::new();
    for text in http.origins.iter().chain(from_config) {
        let Ok(url) = Url::parse(text) else { continue };
        let origin = url.origin().ascii_serialization();
        if !origins.contains(&origin) {
            origins.push(origin);
        }
    }
    origins
}

/// The usual plural of a kind. A manifest names kinds, a grant resources; the API server that knows both may not serve the kind yet.
///
/// # Source
///
/// apimachinery `pkg/api/meta/restmapper.go`, `UnsafeGuessKindToResource`.
#[must_use]
pub fn guess_plural(kind: &str) -> String {
    let singular = kind.to_ascii_lowercase();
    match singular.as_bytes().last() {
        _ if singular == "endpoints" => singular,
        Some(b's') => format!("{singular}es"),
        Some(b'y') => format!("{}ies", singular.trim_end_matches('y')),
        _ => format!("{singular}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Grants;
    use super::super::tests::{manifest, rule};
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_asked_includes_the_origins_of_configured_urls_and_the_safe_requests() {
        let config = BTreeMap::from([("url".to_owned(), "http://127.0.0.1:9696/v2.0".to_owned())]);
        let http = Grants::asked(&manifest(), config, &|_| None).http;
        assert_eq!(http.origins, ["http://127.0.0.1:9696"]);
        assert_eq!(http.safe_requests, manifest().http.safe_requests);
    }

    #[test]
    fn what_is_asked_includes_reading_primaries_and_watches_once() {
        let mut asking = manifest();
        let kind = |group: &str, kind: &str| json!({"group": group, "version": "v1", "kind": kind});
        asking.primaries = vec![serde_json::from_value(kind("apps", "Deployment")).unwrap()];
        let mut watch = kind("networking.k8s.io", "NetworkPolicy");
        watch["mapTo"] = json!({"type": "cacheOnly"});
        let mut own = kind("s.io", "Network");
        own["mapTo"] = json!({"type": "ownerReference"});
        asking.watches = vec![serde_json::from_value(watch).unwrap(), serde_json::from_value(own).unwrap()];
        asking.permissions = vec![rule(&["s.io"], &["networks"], &["get", "list", "watch", "patch"], &[])];
        let asked = Grants::asked(&asking, BTreeMap::new(), &|_| None);
        let grants = Grants::new(&asked, std::path::Path::new(".")).unwrap();
        for (group, resource) in
            [("apps", "deployments"), ("networking.k8s.io", "networkpolicies"), ("s.io", "networks")]
        {
            assert!(grants.allows("watch", group, resource, "n", "x"), "{resource}");
        }
        assert_eq!(asked.permissions.len(), 3);
        assert!(!grants.allows("patch", "apps", "deployments", "n", "x"));
    }

    #[test]
    fn a_watch_of_some_names_asks_for_those_and_a_narrower_permission_does_not_stand_for_a_wide_watch() {
        let mut asking = manifest();
        let watch = |names: &[&str]| json!({"version": "v1", "kind": "ConfigMap", "names": names, "mapTo": {"type": "cacheOnly"}});
        asking.permissions = vec![rule(&[""], &["configmaps"], &READS, &["a"])];
        asking.watches = vec![serde_json::from_value(watch(&["x"])).unwrap()];
        let asked = permissions(&asking, &|_| Some("configmaps".to_owned()));
        assert_eq!(asked.len(), 2);
        assert_eq!((asked[0].0, &asked[0].1.resource_names[..]), (Place::Watch, &["x".to_owned()][..]));
        asking.permissions[0].namespaces.clear();
        assert_eq!(permissions(&asking, &|_| None).len(), 1);
    }

    #[test]
    fn the_plural_is_what_the_api_server_says_and_else_guessed() {
        let mut asking = manifest();
        asking.primaries = vec![serde_json::from_value(json!({"version": "v1", "kind": "Octopus"})).unwrap()];
        let resources = |plurals: &Plurals<'_>| permissions(&asking, plurals)[0].1.resources.clone();
        assert_eq!(resources(&|_| None), ["octopuses"]);
        assert_eq!(resources(&|_| Some("octopi".to_owned())), ["octopi"]);
    }
}
