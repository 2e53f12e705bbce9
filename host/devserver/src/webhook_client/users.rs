//! Client certificates for webhooks, from an AdmissionConfiguration.
//!
//! # Source
//!
//! apiserver `pkg/util/webhook/authentication.go` (`clientConfig`), `pkg/admission/config.go`,
//! `pkg/admission/plugin/webhook/config`.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _};
use serde::Deserialize;
use serde_json::Value;

use crate::model::error::Error;

/// The admission plugins that call webhooks.
const MUTATING: &str = "MutatingAdmissionWebhook";
const VALIDATING: &str = "ValidatingAdmissionWebhook";

/// The client certificates that the server presents to webhooks.
#[derive(Debug, Clone, Default)]
pub struct WebhookClients {
    mutating: Users,
    validating: Users,
}

/// The users of a kubeconfig, by webhook names.
#[derive(Debug, Clone, Default)]
pub(crate) struct Users {
    by_target: BTreeMap<String, Option<Arc<Identity>>>,
    /// For other webhooks: the user of the current context.
    others: Option<Arc<Identity>>,
}

/// A certificate with its chain, and its key.
pub(crate) struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("chain", &self.chain.len()).finish_non_exhaustive()
    }
}

impl Identity {
    fn new(certificate: &str, key: &str) -> Result<Self, String> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate.as_bytes()).collect();
        let chain = chain.map_err(|e| format!("the client certificate is not PEM: {e}"))?;
        if chain.is_empty() {
            return Err("there is no certificate in the client certificate".to_owned());
        }
        let key =
            PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|e| format!("the client key is not PEM: {e}"))?;
        Ok(Self { chain, key })
    }

    pub(crate) fn parts(&self) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
        (self.chain.clone(), self.key.clone_key())
    }
}

impl WebhookClients {
    /// One certificate for every webhook.
    ///
    /// # Errors
    ///
    /// [`Error::Tls`] when one of the texts is not PEM.
    pub fn everywhere(certificate: &str, key: &str) -> Result<Self, Error> {
        let identity = Identity::new(certificate, key)
            .map_err(|why| Error::Tls { what: "client certificate for webhooks", why })?;
        let users = Users { by_target: BTreeMap::new(), others: Some(Arc::new(identity)) };
        Ok(Self { mutating: users.clone(), validating: users })
    }

    /// Reads an AdmissionConfiguration (YAML or JSON) and its kubeconfigs. Other admission plugins in it are ignored.
    ///
    /// # Errors
    ///
    /// [`Error::AdmissionConfig`] with the unusable file.
    pub fn read(file: &Path) -> Result<Self, Error> {
        let wrong = |why: String| Error::AdmissionConfig { file: file.to_owned(), why };
        let config: Configuration = parse(file)?;
        if config.kind != "AdmissionConfiguration" || !config.api_version.starts_with("apiserver.config.k8s.io/") {
            return Err(wrong(
                "expected apiVersion apiserver.config.k8s.io/v1 and kind AdmissionConfiguration".to_owned(),
            ));
        }
        let folder = file.parent().unwrap_or(Path::new("."));
        let mut clients = Self::default();
        for plugin in config.plugins {
            let users = match plugin.name.as_str() {
                MUTATING => &mut clients.mutating,
                VALIDATING => &mut clients.validating,
                _ => continue,
            };
            let webhooks: Webhooks = match (plugin.configuration, plugin.path.as_str()) {
                (Value::Null, "") => continue,
                (Value::Null, path) => parse(&folder.join(path))?,
                (configuration, _) => {
                    serde_json::from_value(configuration).map_err(|e| wrong(format!("plugin {}: {e}", plugin.name)))?
                }
            };
            if !matches!(webhooks.kind.as_str(), "WebhookAdmissionConfiguration" | "WebhookAdmission") {
                return Err(wrong(format!("plugin {}: expected kind WebhookAdmissionConfiguration", plugin.name)));
            }
            if !webhooks.kube_config_file.is_empty() {
                *users = Users::read(&folder.join(webhooks.kube_config_file))?;
            }
        }
        Ok(clients)
    }

    pub(crate) fn mutating(&self) -> &Users {
        &self.mutating
    }

    pub(crate) fn validating(&self) -> &Users {
        &self.validating
    }
}

impl Users {
    fn read(file: &Path) -> Result<Self, Error> {
        let wrong = |why: String| Error::AdmissionConfig { file: file.to_owned(), why };
        let config: Kubeconfig = parse(file)?;
        let folder = file.parent().unwrap_or(Path::new("."));
        let mut users = Self::default();
        for named in &config.users {
            let identity = named.user.identity(folder).map_err(|why| wrong(format!("user {:?}: {why}", named.name)))?;
            users.by_target.insert(named.name.clone(), identity.map(Arc::new));
        }
        let current = config.contexts.iter().find(|context| context.name == config.current_context);
        users.others = current.and_then(|context| users.by_target.get(&context.context.user).cloned().flatten());
        Ok(users)
    }

    /// The client certificate for a webhook.
    ///
    /// * `host` - host of its URL; for a Service `NAME.NAMESPACE.svc`.
    pub(crate) fn of(&self, host: &str, port: u16) -> Option<Arc<Identity>> {
        let with_port = format!("{host}:{port}");
        let targets = if port == 443 { vec![with_port.as_str(), host] } else { vec![with_port.as_str()] };
        for target in targets {
            let wildcards =
                target.match_indices('.').map(|(at, _)| format!("*{}", target.get(at..).unwrap_or_default()));
            let named = std::iter::once(target.to_owned()).chain(wildcards).find_map(|name| self.by_target.get(&name));
            if let Some(user) = named {
                return user.clone();
            }
        }
        self.by_target.get("*").cloned().unwrap_or_else(|| self.others.clone())
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Configuration {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    plugins: Vec<Plugin>,
}

#[derive(Deserialize)]
struct Plugin {
    name: String,
    #[serde(default)]
    path: String,
    #[serde(default)]
    configuration: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Webhooks {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    kube_config_file: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Kubeconfig {
    #[serde(default)]
    users: Vec<NamedUser>,
    #[serde(default)]
    contexts: Vec<NamedContext>,
    #[serde(default)]
    current_context: String,
}

#[derive(Deserialize)]
struct NamedUser {
    name: String,
    #[serde(default)]
    user: User,
}

#[derive(Deserialize)]
struct NamedContext {
    name: String,
    #[serde(default)]
    context: Context,
}

#[derive(Default, Deserialize)]
struct Context {
    #[serde(default)]
    user: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct User {
    client_certificate: PathBuf,
    client_certificate_data: String,
    client_key: PathBuf,
    client_key_data: String,
    #[serde(flatten)]
    others: BTreeMap<String, Value>,
}

impl User {
    fn identity(&self, folder: &Path) -> Result<Option<Identity>, String> {
        if let Some(other) = self.others.keys().next() {
            return Err(format!(
                "{other}: the embedded API server shows webhooks client certificates and nothing else"
            ));
        }
        let certificate = text(folder, &self.client_certificate, &self.client_certificate_data)?;
        let key = text(folder, &self.client_key, &self.client_key_data)?;
        match (certificate, key) {
            (None, None) => Ok(None),
            (Some(certificate), Some(key)) => Identity::new(&certificate, &key).map(Some),
            _ => Err("a client certificate needs its key, and a key its certificate".to_owned()),
        }
    }
}

/// A value of a kubeconfig: base64, or the content of a file that it names.
fn text(folder: &Path, file: &Path, data: &str) -> Result<Option<String>, String> {
    if !data.is_empty() {
        let bytes = BASE64.decode(data).map_err(|e| format!("the data is not base64: {e}"))?;
        return String::from_utf8(bytes).map(Some).map_err(|e| e.to_string());
    }
    if file.as_os_str().is_empty() {
        return Ok(None);
    }
    let file = folder.join(file);
    std::fs::read_to_string(&file).map(Some).map_err(|e| format!("cannot read {}: {e}", file.display()))
}

fn parse<T: serde::de::DeserializeOwned>(file: &Path) -> Result<T, Error> {
    let wrong = |why: String| Error::AdmissionConfig { file: file.to_owned(), why };
    let text = std::fs::read_to_string(file).map_err(|e| wrong(e.to_string()))?;
    serde_saphyr::from_str(&text).map_err(|e| wrong(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_webhook_is_asked_by_the_user_that_is_named_like_it() {
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = rcgen::CertificateParams::default().self_signed(&key).unwrap().pem();
        let identity = || Some(Arc::new(Identity::new(&certificate, &key.serialize_pem()).unwrap()));
        let (exact, wild, port) = (identity(), identity(), identity());
        let mut users = Users {
            by_target: [("oarlock.oarlock.svc", &exact), ("*.example.com", &wild), ("127.0.0.1:9443", &port)]
                .map(|(name, user)| (name.to_owned(), user.clone()))
                .into(),
            others: None,
        };
        let same = |found: Option<Arc<Identity>>, expected: &Option<Arc<Identity>>| match (found, expected) {
            (Some(found), Some(expected)) => Arc::ptr_eq(&found, expected),
            (found, expected) => found.is_none() && expected.is_none(),
        };
        assert!(same(users.of("oarlock.oarlock.svc", 443), &exact));
        assert!(same(users.of("oarlock.oarlock.svc", 8443), &None));
        assert!(same(users.of("a.b.example.com", 443), &wild));
        assert!(same(users.of("127.0.0.1", 9443), &port));
        assert!(same(users.of("other", 443), &None));
        let (current, all) = (identity(), identity());
        users.others = current.clone();
        assert!(same(users.of("other", 443), &current));
        users.by_target.insert("*".to_owned(), all.clone());
        assert!(same(users.of("other", 443), &all));
    }
}
