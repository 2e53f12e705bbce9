//! What one plugin is allowed: the grant, checked once, then asked before every read, write and request.
//!
//! A pure type: no IO, no clock. The API server's own RBAC stands behind it.

use oarlock_manifest::{HttpAccess, Limits, PluginGrant, PluginManifest, PolicyRule, SafeRequest};
use std::collections::{BTreeMap, BTreeSet};
use url::Url;

/// Why a grant cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// `http.origins` holds something that is not an origin.
    #[error("http origin {origin:?} is not scheme://host[:port]: {reason}")]
    Origin {
        /// As written.
        origin: String,
        /// What is wrong with it.
        reason: String,
    },
    /// `apiVersion` or `kind` name another document.
    #[error("expected apiVersion {API} and kind PluginGrant, found {found}", API = oarlock_manifest::API_VERSION)]
    NotAGrant {
        /// What it says.
        found: String,
    },
    /// A secret file could not be read.
    #[error("configuration value {key:?} could not be read from {path}")]
    SecretFile {
        /// Configuration key.
        key: String,
        /// Path as written.
        path: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A limit is zero.
    #[error("limit {0} must be at least 1")]
    ZeroLimit(&'static str),
}

/// What a plugin may do, and its configuration.
#[derive(Clone, Debug)]
pub struct Grants {
    permissions: Vec<PolicyRule>,
    origins: BTreeSet<String>,
    safe_requests: Vec<SafeRequest>,
    config: BTreeMap<String, String>,
    secrets: BTreeSet<String>,
    limits: Limits,
    workers: Option<u32>,
    resync_seconds: Option<u32>,
}

impl Grants {
    /// Nothing at all, and little time: what a plugin describes itself with.
    #[must_use]
    pub fn none() -> Self {
        Self {
            permissions: Vec::new(),
            origins: BTreeSet::new(),
            safe_requests: Vec::new(),
            config: BTreeMap::new(),
            secrets: BTreeSet::new(),
            limits: Limits { deadline_seconds: 5, ..Limits::default() },
            workers: None,
            resync_seconds: None,
        }
    }

    /// Checks a grant file. Relative paths in `secretFiles` are taken from `folder`.
    ///
    /// # Errors
    ///
    /// See [`Error`]; the first fault found.
    pub fn new(grant: &PluginGrant, manifest: &PluginManifest, folder: &std::path::Path) -> Result<Self, Error> {
        if grant.api_version != oarlock_manifest::API_VERSION || grant.kind != "PluginGrant" {
            return Err(Error::NotAGrant { found: format!("{}, {}", grant.api_version, grant.kind) });
        }
        let mut config = grant.config.clone();
        let mut secrets = BTreeSet::new();
        for (key, path) in &grant.secret_files {
            let value = std::fs::read_to_string(folder.join(path)).map_err(|source| Error::SecretFile {
                key: key.clone(),
                path: path.clone(),
                source,
            })?;
            config.insert(key.clone(), value.trim_end_matches(['\r', '\n']).to_owned());
            secrets.insert(key.clone());
        }
        for (name, value) in [
            ("limits.memoryMib", grant.limits.memory_mib),
            ("limits.deadlineSeconds", grant.limits.deadline_seconds),
            ("limits.answerKib", grant.limits.answer_kib),
            ("workers", grant.workers.unwrap_or(1)),
            ("resyncSeconds", grant.resync_seconds.unwrap_or(1)),
        ] {
            if value == 0 {
                return Err(Error::ZeroLimit(name));
            }
        }
        let origins = grant.http.origins.iter().map(|o| parse_origin(o)).collect::<Result<_, _>>()?;
        Ok(Self {
            permissions: grant.permissions.clone(),
            origins,
            safe_requests: manifest.http.safe_requests.clone(),
            config,
            secrets,
            limits: grant.limits.clone(),
            workers: grant.workers,
            resync_seconds: grant.resync_seconds,
        })
    }

    /// What a grant file would say that allows everything the manifest asks for, with `config` as its configuration.
    #[must_use]
    pub fn asked(manifest: &PluginManifest, config: BTreeMap<String, String>) -> PluginGrant {
        PluginGrant {
            api_version: oarlock_manifest::API_VERSION.to_owned(),
            kind: "PluginGrant".to_owned(),
            permissions: asked_permissions(manifest),
            http: oarlock_manifest::GrantedHttp { origins: asked_origins(&manifest.http, &config) },
            config,
            secret_files: BTreeMap::new(),
            limits: Limits::default(),
            workers: None,
            resync_seconds: None,
        }
    }

    /// Whether `verb` on an object is allowed.
    ///
    /// * `resource` - plural, with `/subresource` where one is meant.
    /// * `namespace` - empty for cluster-scoped resources and for reads across namespaces.
    #[must_use]
    pub fn allows(&self, verb: &str, group: &str, resource: &str, namespace: &str, name: &str) -> bool {
        let named = |list: &[String], wanted: &str| list.iter().any(|l| l == "*" || l == wanted);
        self.permissions.iter().any(|rule| {
            named(&rule.verbs, verb)
                && named(&rule.api_groups, group)
                && named(&rule.resources, resource)
                && (rule.namespaces.is_empty() || rule.namespaces.iter().any(|n| n == namespace))
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

    /// Whether a request may go out in a dry run.
    #[must_use]
    pub fn is_safe_request(&self, method: &str, path: &str) -> bool {
        matches!(method, "GET" | "HEAD")
            || self.safe_requests.iter().any(|safe| {
                safe.method == method
                    && safe.path.strip_prefix('*').map_or(safe.path == path, |suffix| path.ends_with(suffix))
            })
    }

    /// Configuration values by key.
    #[must_use]
    pub fn config(&self) -> &BTreeMap<String, String> {
        &self.config
    }

    /// Whether the value of this configuration key must not be shown.
    #[must_use]
    pub fn is_secret(&self, key: &str) -> bool {
        let key_lower = key.to_ascii_lowercase();
        self.secrets.contains(key) || ["password", "secret", "token"].iter().any(|word| key_lower.contains(word))
    }

    /// What one reconcile may use.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// How many keys are reconciled at the same time.
    #[must_use]
    pub fn workers(&self, manifest: &PluginManifest) -> u32 {
        self.workers.unwrap_or(manifest.workers).clamp(1, 64)
    }

    /// Time between two resyncs.
    #[must_use]
    pub fn resync(&self, manifest: &PluginManifest) -> std::time::Duration {
        std::time::Duration::from_secs(u64::from(self.resync_seconds.unwrap_or(manifest.resync_seconds).max(1)))
    }
}

/// The permissions a manifest asks for: those it names, and reading its primaries and watches.
fn asked_permissions(manifest: &PluginManifest) -> Vec<PolicyRule> {
    let primaries = manifest.primaries.iter().map(|p| (p.gvk(), &p.namespaces));
    let watches = manifest.watches.iter().map(|w| (w.gvk(), &w.namespaces));
    let mut rules: Vec<PolicyRule> = Vec::new();
    for (kind, namespaces) in primaries.chain(watches) {
        let plural = guess_plural(&kind.kind);
        let named = |rule: &PolicyRule| {
            rule.api_groups.contains(&kind.group)
                && rule.resources.contains(&plural)
                && ["get", "list", "watch"].iter().all(|verb| rule.verbs.iter().any(|v| v == verb))
        };
        if !rules.iter().chain(&manifest.permissions).any(named) {
            rules.push(PolicyRule {
                api_groups: vec![kind.group],
                resources: vec![plural],
                verbs: ["get", "list", "watch"].map(str::to_owned).to_vec(),
                resource_names: Vec::new(),
                namespaces: namespaces.clone(),
            });
        }
    }
    rules.extend(manifest.permissions.iter().cloned());
    rules
}

/// The plural most kinds have. A manifest names kinds, a grant resources; the API server that knows both may not serve the kind
/// yet.
///
/// # Source
///
/// apimachinery `pkg/api/meta/restmapper.go`, `UnsafeGuessKindToResource`.
fn guess_plural(kind: &str) -> String {
    let singular = kind.to_ascii_lowercase();
    match singular.as_bytes().last() {
        _ if singular == "endpoints" => singular,
        Some(b's') => format!("{singular}es"),
        Some(b'y') => format!("{}ies", singular.trim_end_matches('y')),
        _ => format!("{singular}s"),
    }
}

/// The origins a manifest asks for, with those of its URL-valued configuration. What is no URL is left out.
fn asked_origins(http: &HttpAccess, config: &BTreeMap<String, String>) -> Vec<String> {
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

/// Checks `scheme://host[:port]` and writes it in its one canonical form.
///
/// # Errors
///
/// [`Error::Origin`] for anything else: another scheme, a path, a query, credentials.
pub fn parse_origin(text: &str) -> Result<String, Error> {
    let fault = |reason: &str| Error::Origin { origin: text.to_owned(), reason: reason.to_owned() };
    let url = Url::parse(text).map_err(|e| fault(&e.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(fault("the scheme must be http or https"));
    }
    if !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
        return Err(fault("an origin has no path, query or fragment"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(fault("an origin has no credentials"));
    }
    Ok(url.origin().ascii_serialization())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(groups: &[&str], resources: &[&str], verbs: &[&str], namespaces: &[&str]) -> PolicyRule {
        let own = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect();
        PolicyRule {
            api_groups: own(groups),
            resources: own(resources),
            verbs: own(verbs),
            resource_names: vec![],
            namespaces: own(namespaces),
        }
    }

    fn manifest() -> PluginManifest {
        serde_json::from_value(serde_json::json!({
            "apiVersion": "oarlock.dev/v1alpha1", "kind": "PluginManifest", "name": "t", "version": "1",
            "http": {"originsFromConfig": ["url"], "safeRequests": [{"method": "POST", "path": "*/auth/tokens"}]},
        }))
        .unwrap()
    }

    fn grants(permissions: Vec<PolicyRule>, origins: &[&str]) -> Result<Grants, Error> {
        let mut grant = Grants::asked(&manifest(), BTreeMap::new());
        grant.permissions = permissions;
        grant.http.origins = origins.iter().map(|s| (*s).to_owned()).collect();
        Grants::new(&grant, &manifest(), std::path::Path::new("."))
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
    fn what_is_asked_includes_the_origins_of_configured_urls() {
        let config = BTreeMap::from([("url".to_owned(), "http://127.0.0.1:9696/v2.0".to_owned())]);
        assert_eq!(Grants::asked(&manifest(), config).http.origins, ["http://127.0.0.1:9696"]);
    }

    #[test]
    fn what_is_asked_includes_reading_primaries_and_watches_once() {
        let mut asking = manifest();
        let kind = |group: &str, kind: &str| serde_json::json!({"group": group, "version": "v1", "kind": kind});
        asking.primaries = vec![serde_json::from_value(kind("apps", "Deployment")).unwrap()];
        let mut watch = kind("networking.k8s.io", "NetworkPolicy");
        watch["mapTo"] = serde_json::json!({"type": "cacheOnly"});
        let mut own = kind("s.io", "Network");
        own["mapTo"] = serde_json::json!({"type": "ownerReference"});
        asking.watches = vec![serde_json::from_value(watch).unwrap(), serde_json::from_value(own).unwrap()];
        asking.permissions = vec![rule(&["s.io"], &["networks"], &["get", "list", "watch", "patch"], &[])];
        let asked = Grants::asked(&asking, BTreeMap::new());
        let grants = Grants::new(&asked, &asking, std::path::Path::new(".")).unwrap();
        for (group, resource) in
            [("apps", "deployments"), ("networking.k8s.io", "networkpolicies"), ("s.io", "networks")]
        {
            assert!(grants.allows("watch", group, resource, "n", "x"), "{resource}");
        }
        assert_eq!(asked.permissions.len(), 3);
        assert!(!grants.allows("patch", "apps", "deployments", "n", "x"));
    }

    #[test]
    fn a_dry_run_lets_only_reads_and_declared_requests_out() {
        let g = grants(vec![], &[]).unwrap();
        assert!(g.is_safe_request("GET", "/x"));
        assert!(g.is_safe_request("POST", "/v3/auth/tokens"));
        assert!(!g.is_safe_request("POST", "/v2.0/networks"));
        assert!(!g.is_safe_request("DELETE", "/v3/auth/tokens"));
    }
}
