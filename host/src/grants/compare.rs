//! Comparison of a grant with a manifest, and with the previous grant: line by line, for people.

use super::asked::{self, Place, Plurals};
use super::permission::{self, Permission};
use super::{Grants, admission, safe_request_covers};
use oarlock_manifest::{PluginGrant, PluginManifest};
use serde_json::Value;
use std::collections::BTreeSet;

/// Most lines of a comparison: a manifest is untrusted, and the lines are logged.
const LINES: usize = 200;

/// Longest line, in bytes.
const LINE_BYTES: usize = 1024;

/// The permissions that the manifest asks for and the grant lacks.
pub(super) fn missing(grants: &Grants, manifest: &PluginManifest, plurals: &Plurals<'_>) -> Vec<String> {
    if grants.partial {
        return Vec::new();
    }
    let asked = asked::permissions(manifest, plurals);
    let each = asked.iter().flat_map(|(place, rule)| permission::each_verb(rule).into_iter().map(|p| (*place, p)));
    let mut lines = permission::lines(each.filter(|(_, p)| !permission::allowed(&grants.permissions, p)));
    for (name, asked, granted) in
        [("cleanup", manifest.cleanup, grants.cleanup), ("manageStatus", manifest.manage_status, grants.manage_status)]
    {
        lines.extend((asked && !granted).then(|| format!("{name}: true")));
    }
    lines.extend(admission::missing(&grants.admission, manifest));
    let conversions = manifest.conversions.iter().filter(|name| !grants.conversions.contains(name));
    lines.extend(conversions.map(|name| format!("conversions: {name}")));
    for origin in asked::origins(&manifest.http, &grants.config) {
        if !grants.origins.contains(&origin) {
            lines.push(format!("http.origins: {origin}"));
        }
    }
    for safe in &manifest.http.safe_requests {
        if !grants.safe_requests.iter().any(|granted| safe_request_covers(granted, &safe.method, &safe.path)) {
            lines.push(format!("http.safeRequests: {} {}", safe.method, safe.path));
        }
    }
    for key in required(manifest) {
        if !grants.secrets.contains(key) && grants.config.get(key).is_none_or(String::is_empty) {
            lines.push(format!("config: {key} has no value"));
        }
    }
    readable(lines)
}

/// The configuration keys that need a value.
fn required(manifest: &PluginManifest) -> impl Iterator<Item = &str> {
    let list = manifest.config.as_ref().and_then(|schema| schema.get("required")).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str)
}

/// The added (`+`) and removed (`-`) lines of a new grant, and the changed configuration keys (`~`). Configuration values are never
/// shown, because they may be secrets.
#[must_use]
pub fn difference(old: &PluginGrant, new: &PluginGrant) -> Vec<String> {
    let mut lines = Vec::new();
    for (sign, one, other) in [('-', old, new), ('+', new, old)] {
        let only: Vec<Permission> = permissions(one).difference(&permissions(other)).cloned().collect();
        let rules = permission::lines(only.into_iter().map(|p| (Place::Permissions, p)));
        let rest: Vec<String> = settings(one).difference(&settings(other)).cloned().collect();
        lines.extend(rules.into_iter().chain(rest).map(|line| format!("{sign} {line}")));
    }
    let changed = |(key, value): &(&String, &String)| old.config.get(*key).is_some_and(|old| old != *value);
    lines.extend(new.config.iter().filter(changed).map(|(key, _)| format!("~ config: {key}")));
    readable(lines)
}

fn permissions(grant: &PluginGrant) -> BTreeSet<Permission> {
    grant.permissions.iter().flat_map(permission::each).collect()
}

/// All settings but permissions and configuration values.
fn settings(grant: &PluginGrant) -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    lines.extend(
        grant.admission.iter().filter_map(|one| Some(format!("admission: {}", serde_json::to_string(one).ok()?))),
    );
    lines.extend(grant.conversions.iter().map(|name| format!("conversions: {name}")));
    lines.extend(grant.definitions.iter().map(|name| format!("definitions: {name}")));
    lines.extend(grant.http.origins.iter().map(|origin| format!("http.origins: {origin}")));
    lines.extend(
        grant.http.safe_requests.iter().map(|safe| format!("http.safeRequests: {} {}", safe.method, safe.path)),
    );
    lines.extend(grant.config.keys().map(|key| format!("config: {key}")));
    lines.extend(grant.secret_files.iter().map(|(key, path)| format!("secretFiles: {key} from {path}")));
    if let Ok(Value::Object(limits)) = serde_json::to_value(&grant.limits) {
        lines.extend(limits.iter().map(|(name, value)| format!("limits: {name} {value}")));
    }
    if let Ok(Value::Object(steps)) = serde_json::to_value(&grant.rollout) {
        lines.extend(steps.iter().map(|(name, step)| format!("rollout.{name}: {step}")));
    }
    lines.extend(grant.name.iter().map(|name| format!("name: {name}")));
    lines.extend(grant.workers.map(|workers| format!("workers: {workers}")));
    lines.extend(grant.resync_seconds.map(|seconds| format!("resyncSeconds: {seconds}")));
    for (name, granted) in
        [("partial", grant.partial), ("cleanup", grant.cleanup), ("manageStatus", grant.manage_status)]
    {
        lines.extend(granted.then(|| format!("{name}: true")));
    }
    lines
}

/// One line each, whatever its content, up to a limit.
fn readable(lines: Vec<String>) -> Vec<String> {
    let more = lines.len().saturating_sub(LINES);
    let short = |line: String| crate::shorten(&crate::one_line(&line), LINE_BYTES).to_owned();
    let mut lines: Vec<String> = lines.into_iter().take(LINES).map(short).collect();
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::tests::rule;
    use super::*;
    use serde_json::json;

    fn manifest() -> PluginManifest {
        serde_json::from_value(json!({
            "apiVersion": "oarlock.dev/v1alpha1", "kind": "PluginManifest", "name": "t", "version": "1",
            "primaries": [{"group": "samplecrd.k8s.io", "version": "v1", "kind": "Network"}],
            "watches": [{"version": "v1", "kind": "ConfigMap", "namespaces": ["a", "b"], "mapTo": {"type": "all"}}],
            "permissions": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "patch"]},
                {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "resourceNames": ["x", "y"], "namespaces": ["a"]}],
            "http": {"origins": ["https://x:1"], "originsFromConfig": ["url"],
                "safeRequests": [{"method": "POST", "path": "*/v3/auth/tokens"}]},
            "config": {"type": "object", "properties": {"url": {}, "other": {}}, "required": ["url"]},
        }))
        .unwrap()
    }

    fn asked(config: &[(&str, &str)]) -> PluginGrant {
        let config = config.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Grants::asked(&manifest(), config, &|_| None)
    }

    fn missing_in(change: impl FnOnce(&mut PluginGrant)) -> Vec<String> {
        let mut grant = asked(&[("url", "http://n:9696/v2.0")]);
        change(&mut grant);
        Grants::new(&grant, std::path::Path::new(".")).unwrap().missing(&manifest(), &|_| None)
    }

    #[test]
    fn nothing_is_missing_in_what_was_asked_for() {
        assert_eq!(missing_in(|_| {}), Vec::<String>::new());
    }

    #[test]
    fn what_is_missing_is_told_line_by_line() {
        let nothing = missing_in(|grant| {
            grant.permissions.clear();
            grant.http = oarlock_manifest::GrantedHttp::default();
        });
        let expected = [
            "permissions: get, list, watch networks (samplecrd.k8s.io) [primary]",
            "permissions: get, list, watch configmaps (core) in a, b [watch]",
            "permissions: create, patch configmaps (core)",
            "permissions: get secrets (core) named x, y in a",
            "http.origins: https://x:1",
            "http.origins: http://n:9696",
            "http.safeRequests: POST */v3/auth/tokens",
        ];
        assert_eq!(nothing, expected);
        for value in [None, Some("")] {
            let lines = missing_in(|grant| {
                grant.config = value.map(|v| ("url".to_owned(), v.to_owned())).into_iter().collect()
            });
            assert_eq!(lines, ["config: url has no value"]);
        }
    }

    #[test]
    fn t6_cleanup_and_manage_status_are_missing_until_they_are_granted() {
        let asking = PluginManifest { cleanup: true, manage_status: true, ..manifest() };
        let old = asked(&[("url", "http://n")]);
        let missing = |grant: &PluginGrant| Grants::without_secrets(grant).unwrap().missing(&asking, &|_| None);
        assert_eq!(missing(&old), ["cleanup: true", "manageStatus: true"]);
        let new = PluginGrant { cleanup: true, manage_status: true, ..old.clone() };
        assert_eq!(missing(&new), Vec::<String>::new());
        assert_eq!(difference(&old, &new), ["+ cleanup: true", "+ manageStatus: true"]);
        assert_eq!(Grants::asked(&asking, old.config.clone(), &|_| None), new);
    }

    #[test]
    fn a_value_in_a_secret_file_is_a_value_without_being_read() {
        let mut grant = asked(&[]);
        grant.secret_files.insert("url".to_owned(), "/nowhere".to_owned());
        let grants = Grants::without_secrets(&grant).unwrap();
        assert_eq!(grants.missing(&manifest(), &|_| None), Vec::<String>::new());
        assert!(Grants::new(&grant, std::path::Path::new(".")).is_err());
    }

    #[test]
    fn a_partial_grant_misses_nothing() {
        let lines = missing_in(|grant| {
            grant.permissions.clear();
            grant.partial = true;
        });
        assert_eq!(lines, Vec::<String>::new());
    }

    #[test]
    fn to_narrow_what_is_asked_for_everywhere_is_a_choice_and_to_leave_out_what_is_named_is_not() {
        let narrowed = |change: fn(&mut oarlock_manifest::PolicyRule)| {
            missing_in(|grant| grant.permissions.iter_mut().for_each(change))
        };
        let in_a = narrowed(|rule| rule.namespaces = vec!["a".to_owned()]);
        assert_eq!(in_a, ["permissions: get, list, watch configmaps (core) in b [watch]"]);
        let one_name = narrowed(|rule| rule.resource_names = vec!["x".to_owned()]);
        assert_eq!(one_name, ["permissions: get secrets (core) named y in a"]);
    }

    #[test]
    fn wildcards_count() {
        let all = |verbs: &[&str]| {
            let rule = rule(&["*"], &["*"], verbs, &[]);
            missing_in(|grant| grant.permissions = vec![rule])
        };
        assert_eq!(all(&["*"]), Vec::<String>::new());
        assert_eq!(all(&["get", "list", "watch", "patch"]), ["permissions: create configmaps (core)"]);
        let mut asking = manifest();
        asking.permissions = vec![rule(&["*"], &["*"], &["*"], &[])];
        let mut grant = asked(&[("url", "http://n:9696")]);
        grant.permissions = vec![rule(&["", "samplecrd.k8s.io"], &["*"], &["*"], &[])];
        let lines = Grants::new(&grant, std::path::Path::new(".")).unwrap().missing(&asking, &|_| None);
        assert_eq!(lines, ["permissions: get, list, watch, create, update, patch, delete * (*)"]);
    }

    #[test]
    fn a_wider_safe_request_stands_for_a_narrower_one() {
        let with = |path: &str| {
            missing_in(|grant| {
                grant.http.safe_requests =
                    vec![oarlock_manifest::SafeRequest { method: "POST".to_owned(), path: path.to_owned() }];
            })
        };
        for wide_enough in ["*/v3/auth/tokens", "*/auth/tokens", "*"] {
            assert_eq!(with(wide_enough), Vec::<String>::new(), "{wide_enough}");
        }
        for too_narrow in ["/v3/auth/tokens", "*/identity/v3/auth/tokens"] {
            assert_eq!(with(too_narrow).len(), 1, "{too_narrow}");
        }
    }

    #[test]
    fn a_stranger_can_neither_break_a_line_nor_send_thousands() {
        let mut asking = manifest();
        asking.permissions = vec![rule(&["a\nb"], &["c"], &["get"], &[])];
        let none = Grants::new(&asked(&[]), std::path::Path::new(".")).unwrap();
        let lines = none.missing(&asking, &|_| None);
        assert!(lines.iter().all(|line| !line.contains('\n')), "{lines:?}");
        let many: Vec<String> = (0..1000).map(|i| format!("r{i}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        asking.permissions = vec![rule(&many, &many, &["get"], &[])];
        assert_eq!(none.missing(&asking, &|_| None).len(), LINES + 1);
    }

    #[test]
    fn two_grants_differ_line_by_line_and_values_are_not_shown() {
        let old = asked(&[("url", "http://user:hunter2@n"), ("gone", "hunter2")]);
        assert_eq!(difference(&old, &old), Vec::<String>::new());
        let mut new = old.clone();
        new.config.insert("url".to_owned(), "http://user:hunter3@n".to_owned());
        new.config.remove("gone");
        new.http.origins = vec!["https://y".to_owned()];
        new.permissions.pop();
        new.permissions.push(rule(&[""], &["configmaps"], &["create", "delete"], &[]));
        new.permissions.push(rule(&["x"], &["y"], &["*"], &[]));
        new.limits.memory_mib = 16;
        new.workers = Some(3);
        new.partial = true;
        let steps = |most: u32| serde_json::from_value(json!({"plan": {"maxDeletes": most}})).unwrap();
        let old = PluginGrant { rollout: Some(steps(0)), ..old };
        new.rollout = Some(steps(9));
        let expected = [
            "- permissions: get secrets (core) named x, y in a",
            "- config: gone",
            "- http.origins: http://n",
            "- http.origins: https://x:1",
            "- limits: memoryMib 64",
            "- rollout.plan: {\"approval\":\"OverLimit\",\"maxDeletes\":0}",
            "+ permissions: delete configmaps (core)",
            "+ permissions: * y (x)",
            "+ http.origins: https://y",
            "+ limits: memoryMib 16",
            "+ partial: true",
            "+ rollout.plan: {\"approval\":\"OverLimit\",\"maxDeletes\":9}",
            "+ workers: 3",
            "~ config: url",
        ];
        assert_eq!(difference(&old, &new), expected);
    }
}
