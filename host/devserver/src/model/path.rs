//! URL paths of the Kubernetes API.

use percent_encoding::percent_decode_str;

/// The target of a path under `/api` or `/apis`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// `/api`
    CoreVersions,
    /// `/apis`
    Groups,
    /// `/apis/{group}`
    Group(String),
    /// `/api/v1`, `/apis/{group}/{version}`
    GroupVersion(String, String),
    /// Objects.
    Resource(ResourcePath),
    /// Something else.
    Other,
}

/// A path to objects; absent parts are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ResourcePath {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) namespace: String,
    pub(crate) plural: String,
    pub(crate) name: String,
    pub(crate) subresource: String,
    /// The deprecated `/watch/` prefix.
    pub(crate) watch: bool,
}

/// Splits a decoded path.
pub(crate) fn parse(path: &str) -> Target {
    let mut parts: Vec<String> = path.split('/').skip(1).map(decode).collect();
    if parts.last().is_some_and(String::is_empty) {
        parts.pop();
    }
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match parts.as_slice() {
        ["api"] => Target::CoreVersions,
        ["apis"] => Target::Groups,
        ["apis", group] => Target::Group((*group).to_owned()),
        ["api", version] => Target::GroupVersion(String::new(), (*version).to_owned()),
        ["apis", "", ..] => Target::Other,
        ["apis", group, version] => Target::GroupVersion((*group).to_owned(), (*version).to_owned()),
        ["api", version, rest @ ..] => resource("", version, rest),
        ["apis", group, version, rest @ ..] => resource(group, version, rest),
        _ => Target::Other,
    }
}

fn resource(group: &str, version: &str, rest: &[&str]) -> Target {
    let (watch, rest) = match rest {
        ["watch", rest @ ..] if !rest.is_empty() => (true, rest),
        rest => (false, rest),
    };
    let (namespace, rest) = match rest {
        // The two subresources of namespaces are the only names there that are no resources in a namespace.
        ["namespaces", _] | ["namespaces", _, "status" | "finalize"] => ("", rest),
        ["namespaces", namespace, rest @ ..] => (*namespace, rest),
        rest => ("", rest),
    };
    let (plural, name, subresource) = match rest {
        [plural] => (*plural, "", ""),
        [plural, name] => (*plural, *name, ""),
        [plural, name, subresource] => (*plural, *name, *subresource),
        // The rest is the backend's.
        [plural, name, "proxy", ..] if group.is_empty() => (*plural, *name, "proxy"),
        _ => return Target::Other,
    };
    Target::Resource(ResourcePath {
        group: group.to_owned(),
        version: version.to_owned(),
        namespace: namespace.to_owned(),
        plural: plural.to_owned(),
        name: name.to_owned(),
        subresource: subresource.to_owned(),
        watch,
    })
}

/// Percent-decoding; a broken escape stays as it is.
pub(crate) fn decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expected: (&str, &str, &str, &str, &str, &str)) {
        let Target::Resource(p) = parse(path) else { panic!("{path} is not a resource") };
        let got = (
            p.group.as_str(),
            p.version.as_str(),
            p.namespace.as_str(),
            p.plural.as_str(),
            p.name.as_str(),
            p.subresource.as_str(),
        );
        assert_eq!(got, expected);
    }

    #[test]
    fn resources_are_found_in_every_scope() {
        check("/api/v1/pods", ("", "v1", "", "pods", "", ""));
        check("/api/v1/namespaces", ("", "v1", "", "namespaces", "", ""));
        check("/api/v1/namespaces/a/pods/b/proxy/c/d", ("", "v1", "a", "pods", "b", "proxy"));
        check("/api/v1/namespaces/a", ("", "v1", "", "namespaces", "a", ""));
        check("/api/v1/namespaces/a/finalize", ("", "v1", "", "namespaces", "a", "finalize"));
        check("/api/v1/namespaces/a/pods/p/status", ("", "v1", "a", "pods", "p", "status"));
        check("/apis/apps/v1/namespaces/a/deployments/d", ("apps", "v1", "a", "deployments", "d", ""));
        check("/apis/x.io/v1/things/t/scale", ("x.io", "v1", "", "things", "t", "scale"));
        check("/api/v1/namespaces/a/configmaps/x%2Fy", ("", "v1", "a", "configmaps", "x/y", ""));
    }

    #[test]
    fn the_watch_prefix_is_taken_off() {
        let Target::Resource(p) = parse("/api/v1/watch/namespaces/a/configmaps/c") else { panic!() };
        assert!(p.watch);
        assert_eq!((p.plural.as_str(), p.name.as_str()), ("configmaps", "c"));
    }

    #[test]
    fn broken_escapes_are_kept() {
        assert_eq!(decode("%zz%4"), "%zz%4");
        assert_eq!(decode("a%20b"), "a b");
    }
}
