//! Command-line options of the admission server.

use anyhow::Context as _;
use clap::Args;
use oarlock::admission::{Certificate, ClientCa, Clients, Options, WebhookClientConfig};
use oarlock::api::ObjectKey;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The Secret with the host's certificates, in the namespace of the Service of --admission-service.
const SECRET: &str = oarlock::rbac::ADMISSION_SECRET;

/// Default listen address of the admission server.
const DEFAULT_ADDR: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED), 9443);

#[derive(Debug, Args)]
pub(super) struct AdmissionArgs {
    /// Answer admission requests. The API server reaches this host through this Service; the port is 443 unless given
    #[arg(long, value_name = "NAMESPACE/NAME[:PORT]", value_parser = service, conflicts_with = "admission_url")]
    admission_service: Option<WebhookClientConfig>,

    /// Answer admission requests. The API server reaches this host at this URL, https://HOST:PORT, without a Service
    #[arg(long, value_name = "URL")]
    admission_url: Option<String>,

    /// Answer admission requests at this address. Without a Service or URL, the API server calls this address [default: 0.0.0.0:9443]
    #[arg(long, value_name = "ADDR")]
    admission_addr: Option<SocketAddr>,

    /// Directory with tls.crt, tls.key and ca.crt, which the host reads again when they change [default: the host issues certificates]
    #[arg(long, value_name = "DIR")]
    admission_cert_dir: Option<PathBuf>,

    /// Answer only clients with a certificate of a CA in this file (PEM, read again when it changes). Without it the host answers every
    /// client, counts no strike for a review, and writes no event for one
    #[arg(long, value_name = "FILE")]
    admission_client_ca: Option<PathBuf>,

    /// Common name or alternative name that the client's certificate must have. Repeatable [default: any name]
    #[arg(long, value_name = "NAME", requires = "admission_client_ca")]
    admission_client_name: Vec<String>,
}

impl AdmissionArgs {
    /// None: no admission server.
    pub(super) fn options(self) -> anyhow::Result<Option<Options>> {
        let url = self.admission_url.map(|url| checked(&url).map(WebhookClientConfig::Url)).transpose()?;
        let client_config = self.admission_service.or(url);
        if client_config.is_none() && self.admission_addr.is_none() {
            for (flag, is_set) in [
                ("--admission-cert-dir", self.admission_cert_dir.is_some()),
                ("--admission-client-ca", self.admission_client_ca.is_some()),
            ] {
                anyhow::ensure!(!is_set, "{flag} needs --admission-service, --admission-url or --admission-addr");
            }
            return Ok(None);
        }
        let certificates = match (self.admission_cert_dir, &client_config) {
            (Some(folder), _) => Certificate::Files(folder),
            (None, Some(WebhookClientConfig::Service { namespace, .. })) => {
                Certificate::Secret(ObjectKey::new(namespace.as_str(), SECRET))
            }
            (None, _) => Certificate::InMemory,
        };
        let addr = self.admission_addr.unwrap_or(DEFAULT_ADDR);
        let names = self.admission_client_name;
        let clients = self.admission_client_ca.map(|file| Clients { ca: ClientCa::File(file), names });
        Ok(Some(Options { addr, client_config, certificates, clients }))
    }
}

fn service(text: &str) -> Result<WebhookClientConfig, String> {
    let (namespace, name) = text.split_once('/').ok_or("must be NAMESPACE/NAME[:PORT]")?;
    let (name, port) = name.split_once(':').unwrap_or((name, "443"));
    let port = port.parse().map_err(|_not_a_port| format!("{port:?} is not a port"))?;
    if namespace.is_empty() || name.is_empty() {
        return Err("must be NAMESPACE/NAME[:PORT]".to_owned());
    }
    Ok(WebhookClientConfig::Service { namespace: namespace.to_owned(), name: name.to_owned(), port })
}

fn checked(text: &str) -> anyhow::Result<String> {
    let url = url::Url::parse(text).with_context(|| format!("--admission-url {text:?} is not a URL"))?;
    let plain = url.scheme() == "https" && matches!(url.path(), "" | "/") && url.query().is_none();
    anyhow::ensure!(plain, "--admission-url {text:?} must be https://HOST:PORT, without a path");
    Ok(text.trim_end_matches('/').to_owned())
}
