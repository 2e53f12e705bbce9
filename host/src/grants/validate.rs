//! Validation of grant files.

use super::{Grants, MOST_WORKERS, PERMISSIONS, RolloutSteps, admission, is_definition_name, permission, verb_faults};
use oarlock_manifest::PluginGrant;
use std::collections::BTreeMap;
use url::Url;

/// Longest sentence about a fault of a grant.
const FAULT_BYTES: usize = 1024;

/// Why a grant cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An entry of `http.origins` is no origin.
    #[error("http origin {origin:?} is not scheme://host[:port]: {reason}")]
    Origin {
        /// The entry.
        origin: String,
        /// The fault.
        reason: String,
    },
    /// `apiVersion` or `kind` belong to another type of document.
    #[error("expected apiVersion {API} and kind PluginGrant, found {found}", API = oarlock_manifest::API_VERSION)]
    NotAGrant {
        /// The type found.
        found: String,
    },
    /// A secret file cannot be read.
    #[error("cannot read configuration value {key:?} from {path}")]
    SecretFile {
        /// Configuration key.
        key: String,
        /// The path in the grant.
        path: String,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// A number or a word is not allowed.
    #[error("{0}")]
    Limit(String),
    /// A rule names a verb that Kubernetes does not know.
    #[error("{0}")]
    Verb(String),
    /// The permissions are lists times lists, and too many.
    #[error(
        "permissions have {count} combinations of verb, group, resource, name and namespace; the limit is {PERMISSIONS}"
    )]
    TooManyPermissions {
        /// The number of permissions.
        count: usize,
    },
}

impl Grants {
    /// Validates a grant file. Relative paths in `secretFiles` start from `folder`.
    ///
    /// # Errors
    ///
    /// See [`Error`]; the first fault.
    pub fn new(grant: &PluginGrant, folder: &std::path::Path) -> Result<Self, Error> {
        let secrets = grant.secret_files.iter().map(|(key, path)| {
            let source = |source| Error::SecretFile { key: key.clone(), path: path.clone(), source };
            let value = std::fs::read_to_string(folder.join(path)).map_err(source)?;
            Ok((key.clone(), value.trim_end_matches(['\r', '\n']).to_owned()))
        });
        let secrets = secrets.collect::<Result<_, _>>()?;
        Self::with_secrets(grant, secrets)
    }

    /// Validates a grant file without reading its secret files: enough for a comparison with a manifest on any machine.
    ///
    /// # Errors
    ///
    /// See [`Error`]; the first fault.
    pub fn without_secrets(grant: &PluginGrant) -> Result<Self, Error> {
        Self::with_secrets(grant, grant.secret_files.keys().map(|key| (key.clone(), String::new())).collect())
    }

    fn with_secrets(grant: &PluginGrant, values: BTreeMap<String, String>) -> Result<Self, Error> {
        if grant.api_version != oarlock_manifest::API_VERSION || grant.kind != "PluginGrant" {
            return Err(Error::NotAGrant { found: format!("{}, {}", grant.api_version, grant.kind) });
        }
        let count = permission::count(&grant.permissions);
        if count > PERMISSIONS {
            return Err(Error::TooManyPermissions { count });
        }
        if let Some(fault) = verb_faults(&grant.permissions).next() {
            return Err(Error::Verb(crate::quoted(&fault, FAULT_BYTES)));
        }
        let mut config = grant.config.clone();
        let secrets = values.keys().cloned().collect();
        config.extend(values);
        if let Some(fault) = grant.limits.fault() {
            return Err(Error::Limit(fault));
        }
        for (name, value) in [("workers", grant.workers), ("resyncSeconds", grant.resync_seconds)] {
            if value == Some(0) {
                return Err(Error::Limit(format!("{name} must be at least 1")));
            }
        }
        if let Some(workers) = grant.workers.filter(|workers| *workers > MOST_WORKERS) {
            return Err(Error::Limit(format!("workers is {workers}, must be at most {MOST_WORKERS}")));
        }
        if let Some(fault) =
            grant.admission.iter().enumerate().find_map(|(i, granted)| admission::granted_fault(i, granted))
        {
            return Err(Error::Limit(fault));
        }
        for (field, names) in [("conversions", &grant.conversions), ("definitions", &grant.definitions)] {
            if let Some(name) = names.iter().find(|name| !is_definition_name(name)) {
                let fault = format!("{field} has {name:?}, which is not the name of a CustomResourceDefinition");
                return Err(Error::Limit(crate::quoted(&fault, FAULT_BYTES)));
            }
        }
        let rollout = grant.rollout.as_ref().map(RolloutSteps::new).transpose();
        let rollout = rollout.map_err(|fault| Error::Limit(crate::quoted(&fault, FAULT_BYTES)))?;
        let origins = grant.http.origins.iter().map(|o| parse_origin(o)).collect::<Result<_, _>>()?;
        Ok(Self {
            partial: grant.partial,
            permissions: grant.permissions.clone(),
            cleanup: grant.cleanup,
            manage_status: grant.manage_status,
            admission: grant.admission.clone(),
            conversions: grant.conversions.clone(),
            definitions: grant.definitions.clone(),
            origins,
            safe_requests: grant.http.safe_requests.clone(),
            config,
            secrets,
            limits: grant.limits.clone(),
            workers: grant.workers,
            resync_seconds: grant.resync_seconds,
            rollout,
        })
    }
}

/// Parses `scheme://host[:port]` into its canonical form.
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
