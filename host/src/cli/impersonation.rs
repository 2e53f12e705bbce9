//! `--impersonate`, for the commands that run plugins.

use clap::Args;

/// The file with the namespace of a Pod.
const IN_CLUSTER: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/// The host's namespace by default.
pub(super) const DEFAULT_NAMESPACE: &str = "oarlock-system";

/// The identity of plugins for writes and live reads.
#[derive(Debug, Args)]
pub(super) struct Impersonation {
    /// Impersonate a ServiceAccount of its own, oarlock-PLUGIN, for the writes and live reads of each plugin, so that the API server
    /// enforces the plugin's permissions. `oarlock rbac --impersonate` prints the RBAC for it
    #[arg(long)]
    impersonate: bool,

    /// Namespace of those ServiceAccounts [default: POD_NAMESPACE, else the Pod's namespace, else oarlock-system]
    #[arg(long, value_name = "NAMESPACE", requires = "impersonate", value_parser = namespace)]
    impersonate_namespace: Option<String>,
}

impl Impersonation {
    /// The namespace of the plugins' ServiceAccounts; `None`: plugins are not impersonated.
    pub(super) fn namespace(&self) -> Option<String> {
        let valid = |text: String| namespace(text.trim()).ok();
        self.impersonate.then(|| {
            let given = self.impersonate_namespace.clone();
            let given = given.or_else(|| std::env::var("POD_NAMESPACE").ok().and_then(valid));
            let given = given.or_else(|| std::fs::read_to_string(IN_CLUSTER).ok().and_then(valid));
            given.unwrap_or_else(|| DEFAULT_NAMESPACE.to_owned())
        })
    }
}

/// Parses a name of a namespace, or of a ServiceAccount without dots.
pub(super) fn namespace(text: &str) -> Result<String, String> {
    let label = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    let edge = |b: Option<&u8>| b.is_some_and(|b| *b != b'-');
    let bytes = text.as_bytes();
    if bytes.len() <= 63 && bytes.iter().all(|b| label(*b)) && edge(bytes.first()) && edge(bytes.last()) {
        return Ok(text.to_owned());
    }
    Err("must be a DNS label: a-z, 0-9 and -, at most 63 characters".to_owned())
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_namespace_is_a_dns_label() {
        assert!(super::namespace("oarlock-system").is_ok());
        for bad in ["", "-a", "a-", "a.b", "A", "a:b", &"a".repeat(64)] {
            assert!(super::namespace(bad).is_err(), "{bad}");
        }
    }
}
