//! Client certificate of an API server for calling webhooks.

use anyhow::Result;
use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use serde_json::json;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// A client certificate, and files that configure an API server to present it.
#[derive(Clone, Debug)]
pub struct Identity {
    /// PEM.
    pub certificate: String,
    /// PEM.
    pub key: String,
    folder: PathBuf,
}

impl Identity {
    /// Creates a CA and a certificate, and writes all files into a new folder.
    ///
    /// * `name` - common name of the certificate.
    ///
    /// # Errors
    ///
    /// A file cannot be written.
    pub fn write(folder: &Path, name: &str) -> Result<Self> {
        Self::write_for(folder, name, &[])
    }

    /// As [`write`](Self::write), for a user with groups.
    ///
    /// # Errors
    ///
    /// A file cannot be written.
    pub fn write_for(folder: &Path, name: &str, groups: &[&str]) -> Result<Self> {
        fs::create_dir_all(folder)?;
        let (ca_key, key) = (KeyPair::generate()?, KeyPair::generate()?);
        let mut ca = CertificateParams::default();
        ca.distinguished_name.push(DnType::CommonName, format!("CA of {name}"));
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let ca_pem = ca.self_signed(&ca_key)?.pem();
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        for group in groups {
            params.distinguished_name.push(DnType::OrganizationName, *group);
        }
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let certificate = params.signed_by(&key, &Issuer::new(ca, ca_key))?.pem();
        let identity = Self { certificate, key: key.serialize_pem(), folder: folder.to_owned() };
        fs::write(identity.ca(), ca_pem)?;
        fs::write(folder.join("client.crt"), &identity.certificate)?;
        fs::write(folder.join("client.key"), &identity.key)?;
        let kubeconfig = json!({"apiVersion": "v1", "kind": "Config", "users": [{"name": "*", "user": {
            "client-certificate": folder.join("client.crt"), "client-key": folder.join("client.key")}}]});
        fs::write(folder.join("kubeconfig"), kubeconfig.to_string())?;
        let webhooks = json!({"apiVersion": "apiserver.config.k8s.io/v1", "kind": "WebhookAdmissionConfiguration",
            "kubeConfigFile": folder.join("kubeconfig")});
        let plugins = ["MutatingAdmissionWebhook", "ValidatingAdmissionWebhook"]
            .map(|name| json!({"name": name, "configuration": webhooks}));
        let config =
            json!({"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration", "plugins": plugins});
        fs::write(identity.admission_configuration(), config.to_string())?;
        Ok(identity)
    }

    /// The CA that issued the certificate: for `--admission-client-ca`.
    #[must_use]
    pub fn ca(&self) -> PathBuf {
        self.folder.join("ca.crt")
    }

    /// The file for `--admission-control-config-file` of an API server.
    #[must_use]
    pub fn admission_configuration(&self) -> PathBuf {
        self.folder.join("admission.yaml")
    }
}
