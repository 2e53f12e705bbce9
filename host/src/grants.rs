//! Grants: the permissions of one plugin, validated once, then checked before every read, write and request.
//!
//! A pure type: no IO, no clock. The API server's own RBAC applies in addition.

mod admission;
mod asked;
mod compare;
mod conversion;
mod permission;
mod rollout;
mod validate;

pub use admission::{Admission, both as both_selectors, fault as admission_fault, resource_covers};
pub use asked::{Plurals, guess_plural};
pub use compare::difference;
pub use conversion::is_definition_name;
pub use permission::{PERMISSIONS, Permission, each};
pub use rollout::{CanarySteps, PlanLimits, RolloutSteps};
pub use validate::{Error, parse_origin};

use data_encoding::HEXLOWER;
use oarlock_manifest::{GrantedAdmission, Limits, PluginGrant, PluginManifest, PolicyRule, SafeRequest};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use url::Url;

/// What may be done to objects of a resource, in the order in which it is told. `*` in a manifest asks for these.
pub const OBJECT_VERBS: [&str; 7] = ["get", "list", "watch", "create", "update", "patch", "delete"];

/// Every verb a manifest or a grant may name: those of objects, and those the API server asks about when roles are bound, users
/// impersonated, certificates approved (<https://kubernetes.io/docs/reference/access-authn-authz/authorization/>).
pub const VERBS: [&str; 14] = [
    "get",
    "list",
    "watch",
    "create",
    "update",
    "patch",
    "delete",
    "bind",
    "escalate",
    "impersonate",
    "approve",
    "attest",
    "sign",
    "use",
];

/// What is wrong with the verbs of rules, a sentence for each verb that is unknown.
pub(crate) fn verb_faults(rules: &[PolicyRule]) -> impl Iterator<Item = String> {
    rules.iter().enumerate().flat_map(|(i, rule)| {
        let unknown = rule.verbs.iter().filter(|verb| *verb != "*" && !VERBS.contains(&verb.as_str()));
        unknown
            .map(move |verb| format!("permissions[{i}].verbs holds {verb:?}; known verbs are {}, *", VERBS.join(", ")))
    })
}

/// Most workers that a grant can give to a plugin.
pub const MOST_WORKERS: u32 = 64;

/// Most workers that a manifest can ask for: more would take resources from other plugins, which a person has to decide.
pub const ASKED_WORKERS: u32 = 8;

/// The permissions, limits and configuration of a plugin.
#[derive(Clone, Debug, PartialEq)]
pub struct Grants {
    partial: bool,
    permissions: Vec<PolicyRule>,
    cleanup: bool,
    manage_status: bool,
    admission: Vec<GrantedAdmission>,
    conversions: Vec<String>,
    definitions: Vec<String>,
    origins: BTreeSet<String>,
    safe_requests: Vec<SafeRequest>,
    config: BTreeMap<String, String>,
    secrets: BTreeSet<String>,
    limits: Limits,
    workers: Option<u32>,
    resync_seconds: Option<u32>,
    rollout: Option<RolloutSteps>,
}

impl Grants {
    /// No permissions and little time: the grants for calling describe.
    #[must_use]
    pub fn none() -> Self {
        Self {
            partial: false,
            permissions: Vec::new(),
            cleanup: false,
            manage_status: false,
            admission: Vec::new(),
            conversions: Vec::new(),
            definitions: Vec::new(),
            origins: BTreeSet::new(),
            safe_requests: Vec::new(),
            config: BTreeMap::new(),
            secrets: BTreeSet::new(),
            limits: Limits { deadline_seconds: 5, ..Limits::default() },
            workers: None,
            resync_seconds: None,
            rollout: None,
        }
    }

    /// The grant file that allows everything in the manifest, with `config` as its configuration.
    ///
    /// * `plurals` - the resources of the manifest's kinds, where known.
    #[must_use]
    pub fn asked(manifest: &PluginManifest, config: BTreeMap<String, String>, plurals: &Plurals<'_>) -> PluginGrant {
        asked::grant(manifest, config, plurals)
    }

    /// The permissions that the manifest asks for and this grant lacks, line by line, for people. Empty when none is missing, and for a
    /// grant with `partial`.
    ///
    /// A permission that the operator narrows to some namespaces or names is not missing.
    ///
    /// * `plurals` - the resources of the manifest's kinds, where known.
    #[must_use]
    pub fn missing(&self, manifest: &PluginManifest, plurals: &Plurals<'_>) -> Vec<String> {
        compare::missing(self, manifest, plurals)
    }

    /// The granted admission rules of a manifest, with the terms of this grant.
    #[must_use]
    pub fn admission(&self, manifest: &PluginManifest) -> Vec<Admission> {
        admission::granted(&self.admission, manifest)
    }

    /// The granted conversions of a manifest: names of definitions.
    #[must_use]
    pub fn conversions(&self, manifest: &PluginManifest) -> Vec<String> {
        manifest.conversions.iter().filter(|name| self.conversions.contains(name)).cloned().collect()
    }

    /// The names of the definitions that the host installs and upgrades.
    #[must_use]
    pub fn definitions(&self) -> &[String] {
        &self.definitions
    }

    /// The namespaces, of those that the manifest asks for, where a kind may be listed and watched. `None`: everywhere. An empty list:
    /// nowhere.
    ///
    /// * `resource` - plural.
    /// * `asked` - the namespaces of a primary or a watch; empty: everywhere.
    /// * `names` - the names of a watch: rules for some of them count as well. Empty: only rules for all names.
    #[must_use]
    pub fn namespaces(&self, group: &str, resource: &str, asked: &[String], names: &[String]) -> Option<Vec<String>> {
        let any_name = [String::new()];
        let names = if names.is_empty() { &any_name[..] } else { names };
        let mut granted: BTreeSet<&str> = BTreeSet::new();
        for name in names {
            match (self.places("list", group, resource, name), self.places("watch", group, resource, name)) {
                (None, None) => return (!asked.is_empty()).then(|| asked.to_vec()),
                (Some(only), None) | (None, Some(only)) => granted.extend(only),
                (Some(list), Some(watch)) => granted.extend(list.intersection(&watch)),
            }
        }
        let asked_for = |namespace: &&str| asked.is_empty() || asked.iter().any(|a| a == namespace);
        Some(granted.into_iter().filter(asked_for).map(str::to_owned).collect())
    }

    /// The namespaces where `verb` is allowed on objects of this name; `None`: everywhere.
    fn places<'a>(&'a self, verb: &'a str, group: &'a str, resource: &'a str, name: &str) -> Option<BTreeSet<&'a str>> {
        let mut places = BTreeSet::new();
        let of_name =
            |rule: &&PolicyRule| rule.resource_names.is_empty() || rule.resource_names.iter().any(|n| n == name);
        for rule in self.rules(verb, group, resource).filter(of_name) {
            if rule.namespaces.is_empty() {
                return None;
            }
            places.extend(rule.namespaces.iter().map(String::as_str));
        }
        Some(places)
    }

    /// Whether `verb` is allowed on any object of a resource, in `namespace`, or in any namespace.
    #[must_use]
    pub fn allows_some(&self, verb: &str, group: &str, resource: &str, namespace: Option<&str>) -> bool {
        self.rules(verb, group, resource).any(|rule| {
            rule.namespaces.is_empty()
                || namespace.is_none_or(|namespace| rule.namespaces.iter().any(|n| n == namespace))
        })
    }

    /// Whether any rule concerns this API group.
    #[must_use]
    pub fn allows_group(&self, group: &str) -> bool {
        self.permissions.iter().any(|rule| covers(&rule.api_groups, group))
    }

    /// Whether the host adds the plugin's finalizer to its primaries: the manifest asks for it, and it is granted.
    #[must_use]
    pub fn cleanup(&self, manifest: &PluginManifest) -> bool {
        manifest.cleanup && self.cleanup
    }

    /// Whether the host manages the status of the plugin's primaries: the manifest asks for it, and it is granted.
    #[must_use]
    pub fn manage_status(&self, manifest: &PluginManifest) -> bool {
        manifest.manage_status && self.manage_status
    }

    /// Removes finalizer and status from a manifest where they are not granted.
    pub fn withhold(&self, manifest: &mut PluginManifest) {
        (manifest.cleanup, manifest.manage_status) = (self.cleanup(manifest), self.manage_status(manifest));
    }

    /// The rules of the grant.
    #[must_use]
    pub fn permissions(&self) -> &[PolicyRule] {
        &self.permissions
    }

    /// The rules about `verb` on a resource, in any namespace and for any names.
    fn rules<'a>(&'a self, verb: &'a str, group: &'a str, resource: &'a str) -> impl Iterator<Item = &'a PolicyRule> {
        self.permissions.iter().filter(move |rule| {
            covers(&rule.verbs, verb) && covers(&rule.api_groups, group) && covers(&rule.resources, resource)
        })
    }

    /// Whether `verb` on an object is allowed.
    ///
    /// * `resource` - plural, with `/subresource` for a subresource.
    /// * `namespace` - empty for cluster-scoped resources and for reads across namespaces.
    #[must_use]
    pub fn allows(&self, verb: &str, group: &str, resource: &str, namespace: &str, name: &str) -> bool {
        self.rules(verb, group, resource).any(|rule| {
            (rule.namespaces.is_empty() || rule.namespaces.iter().any(|n| n == namespace))
                && (rule.resource_names.is_empty() || rule.resource_names.iter().any(|n| n == name))
        })
    }

    /// Whether requests to this URL's origin are allowed.
    #[must_use]
    pub fn allows_origin(&self, url: &Url) -> bool {
        self.origins.contains(&url.origin().ascii_serialization())
    }

    /// The granted origins, for messages.
    #[must_use]
    pub fn origins(&self) -> Vec<&str> {
        self.origins.iter().map(String::as_str).collect()
    }

    /// Whether a request is allowed in a dry run.
    #[must_use]
    pub fn is_safe_request(&self, method: &str, path: &str) -> bool {
        matches!(method, "GET" | "HEAD")
            || self.safe_requests.iter().any(|granted| safe_request_covers(granted, method, path))
    }

    /// Configuration values by key.
    #[must_use]
    pub fn config(&self) -> &BTreeMap<String, String> {
        &self.config
    }

    /// A SHA-256 in hex that stands for the configuration without the values of secret files.
    #[must_use]
    pub fn config_digest(&self) -> String {
        let values = self.config.iter().filter(|(key, _)| !self.secrets.contains(*key)).collect::<Vec<_>>();
        let all = serde_json::to_vec(&(values, &self.secrets)).unwrap_or_default();
        HEXLOWER.encode(&Sha256::digest(&all))
    }

    /// These grants with the configuration of others.
    #[must_use]
    pub fn with_config_of(&self, others: &Self) -> Self {
        Self { config: others.config.clone(), secrets: others.secrets.clone(), ..self.clone() }
    }

    /// The keys of configuration values that come from secret files.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        self.secrets.iter().map(String::as_str)
    }

    /// The resource limits of one reconcile.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The steps by which a new version replaces the version that runs. None: at once.
    #[must_use]
    pub fn rollout(&self) -> Option<&RolloutSteps> {
        self.rollout.as_ref()
    }

    /// Whether new versions have a canary.
    #[must_use]
    pub fn has_canary(&self) -> bool {
        self.rollout.as_ref().is_some_and(|steps| steps.canary.is_some())
    }

    /// The number of concurrent reconciles: from the grant, otherwise from the manifest.
    #[must_use]
    pub fn workers(&self, manifest: &PluginManifest) -> u32 {
        self.workers.unwrap_or_else(|| manifest.workers.clamp(1, ASKED_WORKERS))
    }

    /// Time between two resyncs.
    #[must_use]
    pub fn resync(&self, manifest: &PluginManifest) -> std::time::Duration {
        std::time::Duration::from_secs(u64::from(self.resync_seconds.unwrap_or(manifest.resync_seconds).max(1)))
    }
}

/// The number of single permissions (a verb, a group, a resource, and a namespace and a name if given) that a manifest asks for.
#[must_use]
pub fn count_asked(manifest: &PluginManifest) -> usize {
    permission::count(asked::permissions(manifest, &|_| None).iter().map(|(_, rule)| rule))
}

/// Whether a list of verbs, groups or resources contains `wanted`, or `*`.
fn covers(list: &[String], wanted: &str) -> bool {
    list.iter().any(|l| l == "*" || l == wanted)
}

/// Whether a granted request covers this path, or a path with this suffix: `*/auth/tokens`.
fn safe_request_covers(granted: &SafeRequest, method: &str, path: &str) -> bool {
    granted.method == method
        && granted.path.strip_prefix('*').map_or(granted.path == path, |suffix| path.ends_with(suffix))
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn rule(groups: &[&str], resources: &[&str], verbs: &[&str], namespaces: &[&str]) -> PolicyRule {
        let own = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect();
        PolicyRule {
            api_groups: own(groups),
            resources: own(resources),
            verbs: own(verbs),
            resource_names: vec![],
            namespaces: own(namespaces),
        }
    }

    pub(super) fn manifest() -> PluginManifest {
        serde_json::from_value(serde_json::json!({
            "apiVersion": "oarlock.dev/v1alpha1", "kind": "PluginManifest", "name": "t", "version": "1",
            "http": {"originsFromConfig": ["url"], "safeRequests": [{"method": "POST", "path": "*/auth/tokens"}]},
        }))
        .unwrap()
    }

    fn grants(permissions: Vec<PolicyRule>, origins: &[&str]) -> Result<Grants, Error> {
        let mut grant = Grants::asked(&manifest(), BTreeMap::new(), &|_| None);
        grant.permissions = permissions;
        grant.http.origins = origins.iter().map(|s| (*s).to_owned()).collect();
        Grants::new(&grant, std::path::Path::new("."))
    }

    #[test]
    fn n9_verbs_that_kubernetes_does_not_know_are_refused() {
        let with = |verbs: &[&str]| grants(vec![rule(&["g"], &["roles"], verbs, &[])], &[]);
        let some = with(&["bind", "escalate", "impersonate", "approve"]).unwrap();
        assert!(some.allows("escalate", "g", "roles", "", "x") && !some.allows("get", "g", "roles", "", "x"));
        assert!(with(&["*"]).is_ok());
        let fault = with(&["get", "foo"]).unwrap_err().to_string();
        assert!(fault.starts_with("permissions[0].verbs holds \"foo\"; known verbs are get, list"), "{fault}");
        assert!(with(&["Get"]).is_err() && with(&[""]).is_err());
    }

    #[test]
    fn nothing_is_allowed_that_is_not_said() {
        let none = grants(vec![], &[]).unwrap();
        assert!(!none.allows("get", "", "secrets", "default", "a"));
        assert!(!none.allows_origin(&Url::parse("http://127.0.0.1/").unwrap()));
        let some = grants(vec![rule(&[""], &["configmaps"], &["get"], &["a"])], &[]).unwrap();
        assert!(some.allows("get", "", "configmaps", "a", "x"));
        for (verb, group, resource, namespace) in [
            ("list", "", "configmaps", "a"),
            ("get", "apps", "configmaps", "a"),
            ("get", "", "secrets", "a"),
            ("get", "", "configmaps", "b"),
            ("get", "", "configmaps/status", "a"),
        ] {
            assert!(!some.allows(verb, group, resource, namespace, "x"), "{verb} {group} {resource} {namespace}");
        }
    }

    #[test]
    fn t6_finalizer_and_status_take_both_the_manifest_and_the_grant() {
        let asking = |cleanup: bool, manage_status: bool| PluginManifest { cleanup, manage_status, ..manifest() };
        for asked in [false, true] {
            for granted in [false, true] {
                let grant = PluginGrant {
                    partial: true,
                    cleanup: granted,
                    manage_status: granted,
                    ..Grants::asked(&manifest(), BTreeMap::new(), &|_| None)
                };
                let grants = Grants::without_secrets(&grant).unwrap();
                let both = asked && granted;
                assert_eq!(grants.cleanup(&asking(asked, false)), both);
                let mut left = asking(asked, asked);
                grants.withhold(&mut left);
                assert_eq!((left.cleanup, left.manage_status), (both, both));
            }
        }
        let mut left = asking(true, true);
        Grants::none().withhold(&mut left);
        assert_eq!((left.cleanup, left.manage_status), (false, false));
    }

    #[test]
    fn t11_a_manifest_asks_for_few_workers_and_only_a_grant_gives_many() {
        let workers = |asked: u32, granted: Option<u32>| {
            let grant = PluginGrant { workers: granted, ..Grants::asked(&manifest(), BTreeMap::new(), &|_| None) };
            Grants::without_secrets(&grant)
                .map(|grants| grants.workers(&PluginManifest { workers: asked, ..manifest() }))
        };
        assert_eq!(workers(2, None).unwrap(), 2);
        assert_eq!(workers(64, None).unwrap(), ASKED_WORKERS);
        assert_eq!(workers(2, Some(64)).unwrap(), 64);
        assert_eq!(workers(2, Some(65)).unwrap_err().to_string(), "workers is 65, must be at most 64");
    }

    #[test]
    fn an_origin_is_scheme_host_and_port_and_nothing_else() {
        for bad in ["ftp://a", "http://a/path", "http://u:p@a", "a.example", "http://a?x=1", "http://a#f", ""] {
            assert!(parse_origin(bad).is_err(), "{bad}");
        }
        let granted = grants(vec![], &["http://Example.com:80"]).unwrap();
        assert!(granted.allows_origin(&Url::parse("http://example.com/any/path?q").unwrap()));
        for other in ["https://example.com/", "http://example.com:81/", "http://example.com.evil/", "http://a@b/"] {
            assert!(!granted.allows_origin(&Url::parse(other).unwrap()), "{other}");
        }
    }

    #[test]
    fn watches_are_opened_where_listing_and_watching_is_granted() {
        let both = ["list", "watch"];
        let asked = |rules: Vec<PolicyRule>, namespaces: &[&str], names: &[&str]| {
            let own = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
            grants(rules, &[]).unwrap().namespaces("", "configmaps", &own(namespaces), &own(names))
        };
        let somewhere = |list: &[&str]| Some(list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>());
        let maps = |verbs: &[&str], namespaces: &[&str]| rule(&[""], &["configmaps"], verbs, namespaces);
        assert_eq!(asked(vec![maps(&both, &[])], &[], &[]), None);
        assert_eq!(asked(vec![maps(&both, &[])], &["b", "a"], &[]), somewhere(&["b", "a"]));
        assert_eq!(asked(vec![maps(&["*"], &["a", "b"])], &["b", "c"], &[]), somewhere(&["b"]));
        assert_eq!(asked(vec![maps(&["list"], &[]), maps(&["watch"], &["a"])], &[], &[]), somewhere(&["a"]));
        assert_eq!(asked(vec![maps(&["list"], &["b"]), maps(&["watch"], &["a"])], &[], &[]), somewhere(&[]));
        assert_eq!(asked(vec![], &[], &[]), somewhere(&[]));
        let mut named = maps(&both, &["a"]);
        named.resource_names = vec!["x".to_owned()];
        assert_eq!(asked(vec![named.clone()], &[], &[]), somewhere(&[]));
        assert_eq!(asked(vec![named], &[], &["x", "y"]), somewhere(&["a"]));
    }

    #[test]
    fn some_of_a_resource_is_allowed_where_a_rule_says_so() {
        let mut named = rule(&[""], &["configmaps"], &["list"], &["a"]);
        named.resource_names = vec!["x".to_owned()];
        let some = grants(vec![named], &[]).unwrap();
        assert!(some.allows_some("list", "", "configmaps", None));
        assert!(some.allows_some("list", "", "configmaps", Some("a")));
        assert!(!some.allows_some("list", "", "configmaps", Some("b")));
        assert!(!some.allows_some("watch", "", "configmaps", None));
        assert!(some.allows_group("") && !some.allows_group("apps"));
    }

    #[test]
    fn a_dry_run_lets_only_reads_and_granted_requests_out() {
        let g = grants(vec![], &[]).unwrap();
        assert!(g.is_safe_request("GET", "/x"));
        assert!(g.is_safe_request("POST", "/v3/auth/tokens"));
        assert!(!g.is_safe_request("POST", "/v2.0/networks"));
        assert!(!g.is_safe_request("DELETE", "/v3/auth/tokens"));
        // A request that the manifest declares safe is safe only after it is granted.
        let mut grant = Grants::asked(&manifest(), BTreeMap::new(), &|_| None);
        grant.http.safe_requests.clear();
        let g = Grants::new(&grant, std::path::Path::new(".")).unwrap();
        assert!(!g.is_safe_request("POST", "/v3/auth/tokens"));
    }
}
