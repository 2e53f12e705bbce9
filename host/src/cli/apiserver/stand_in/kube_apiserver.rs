//! In place of kube-apiserver: its flags become options of the embedded API server.

use super::{etcd, flags::Flags};
use anyhow::{Context as _, bail};
use oarlock_devserver::{DevServer, Options, StaticTokens, Tls, WebhookClients, faults::Rules};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

const HELP: &str = "In place of kube-apiserver (oarlock apiserver envtest). These flags have an effect:\n
      --etcd-servers URL                      the etcd of the same folder, which names the folder of the objects
      --secure-port PORT                      the port [default: 6443]
      --bind-address ADDRESS                  an address of loopback [default: 127.0.0.1]
      --cert-dir DIR                          has apiserver.crt and apiserver.key; they are made where they are missing
      --tls-cert-file FILE                    the certificate of the server
      --tls-private-key-file FILE             its key
      --client-ca-file FILE                   certificate authorities of clients
      --token-auth-file FILE                  bearer tokens
      --service-cluster-ip-range CIDR         addresses of Services: a prefix of 12 to 30 bits [default: 10.0.0.0/24]
      --disable-admission-plugins NAMES       ServiceAccount alone
      --admission-control-config-file FILE    client certificates for webhooks
      --oarlock-controllers                   collects garbage and empties namespaces, as kube-controller-manager does
      --oarlock-faults FILE                   fault rules from the start
      --oarlock-faults-may-kill               accepts rules over HTTP that kill processes\n
RBAC applies to every request. Other flags are taken; those with a meaning that is lost are named on standard error.
docs/api-server.md says more.";

/// Flags without an effect that a client could see here.
const QUIET: &[&str] = &[
    "advertise-address",
    "allow-privileged",
    "api-audiences",
    "contention-profiling",
    "default-watch-cache-size",
    "enable-priority-and-fairness",
    "endpoint-reconciler-type",
    "etcd-cafile",
    "etcd-certfile",
    "etcd-compaction-interval",
    "etcd-keyfile",
    "etcd-prefix",
    "event-ttl",
    "external-hostname",
    "goaway-chance",
    "http2-max-streams-per-connection",
    "insecure-bind-address",
    "insecure-port",
    "logging-format",
    "logtostderr",
    "max-mutating-requests-inflight",
    "max-requests-inflight",
    "min-request-timeout",
    "profiling",
    "request-timeout",
    "service-account-issuer",
    "service-account-key-file",
    "service-account-signing-key-file",
    "shutdown-delay-duration",
    "shutdown-send-retry-after",
    "storage-backend",
    "storage-media-type",
    "stderrthreshold",
    "v",
    "vmodule",
    "watch-cache",
    "watch-cache-sizes",
];

/// Admission plugins that always run.
const ADMISSION: &[&str] =
    &["MutatingAdmissionWebhook", "NamespaceLifecycle", "ServiceAccount", "ValidatingAdmissionWebhook"];

pub(super) async fn run(arguments: &[String]) -> anyhow::Result<()> {
    let mut flags = Flags::read(arguments);
    if flags.has(&["help", "h"]) {
        return crate::cli::say(HELP);
    }
    if flags.has(&["version"]) {
        return crate::cli::say("Kubernetes v1.36.2+oarlock");
    }
    let stop = crate::cli::signals::stop_token()?;
    let options = options(&mut flags).await?;
    tell_losses(&mut flags);
    let server = DevServer::start(options).await.context("cannot start")?;
    tracing::info!(url = server.url(), "in place of kube-apiserver");
    stop.cancelled().await;
    server.shutdown().await;
    Ok(())
}

async fn options(flags: &mut Flags) -> anyhow::Result<Options> {
    let host = flags.take("bind-address").unwrap_or_else(|| "127.0.0.1".to_owned());
    let port = flags.take("secure-port").unwrap_or_else(|| "6443".to_owned());
    let port: u16 = port.parse().with_context(|| format!("--secure-port {port} is no port"))?;
    let Some(etcd) = flags.take_list("etcd-servers").into_iter().next() else {
        bail!("--etcd-servers is needed");
    };
    let range = flags.take("service-cluster-ip-range").unwrap_or_else(|| "10.0.0.0/24".to_owned());
    let range = range.parse().map_err(|error| anyhow::anyhow!("--service-cluster-ip-range {error}"))?;
    let disabled = flags.take_list("disable-admission-plugins");
    for plugin in disabled.iter().filter(|plugin| *plugin != "ServiceAccount") {
        tracing::warn!("--disable-admission-plugins={plugin} has no effect here");
    }
    let mut options = Options::default()
        .addr(SocketAddr::new(super::loopback("--bind-address", &host), port))
        .tls(tls(flags)?)
        .data_dir(etcd::data_dir(&etcd).await?)
        .anonymous_auth(true)
        .service_range(range)
        .service_account_admission(!disabled.iter().any(|plugin| plugin == "ServiceAccount"))
        .controllers(flags.take_switch("oarlock-controllers")?.unwrap_or(false))
        .faults_may_kill(flags.take_switch("oarlock-faults-may-kill")?.unwrap_or(false));
    if let Some(path) = flags.take("token-auth-file") {
        let tokens = StaticTokens::parse(&read(&path)?).with_context(|| format!("{path} cannot be used"))?;
        options = options.tokens(tokens);
    }
    if let Some(path) = flags.take("admission-control-config-file") {
        options = options.webhook_clients(WebhookClients::read(Path::new(&path))?);
    }
    if let Some(path) = flags.take("oarlock-faults") {
        options = options.faults(Rules::parse(&read(&path)?).with_context(|| format!("{path} cannot be used"))?);
    }
    Ok(options)
}

fn read(path: &str) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {path}"))
}

/// The certificate of the flags, else that of the folder, which is made where it is missing.
fn tls(flags: &mut Flags) -> anyhow::Result<Tls> {
    let folder =
        PathBuf::from(flags.take("cert-dir").unwrap_or_else(|| "apiserver.local.config/certificates".to_owned()));
    let clients = flags.take("client-ca-file").map(|path| read(&path)).transpose()?;
    let (certificate, key) = match (flags.take("tls-cert-file"), flags.take("tls-private-key-file")) {
        (Some(certificate), Some(key)) => (PathBuf::from(certificate), PathBuf::from(key)),
        (None, None) => (folder.join("apiserver.crt"), folder.join("apiserver.key")),
        _ => bail!("--tls-cert-file and --tls-private-key-file need each other"),
    };
    if certificate.starts_with(&folder) && !certificate.exists() && !key.exists() {
        let names = ["localhost", "127.0.0.1", "::1", "kubernetes.default.svc"].map(str::to_owned);
        let made = rcgen::generate_simple_self_signed(names).context("cannot make a certificate")?;
        std::fs::create_dir_all(&folder)
            .and_then(|()| std::fs::write(&certificate, made.cert.pem()))
            .and_then(|()| std::fs::write(&key, made.signing_key.serialize_pem()))
            .with_context(|| format!("cannot write a certificate to {}", folder.display()))?;
    }
    let text = |path: &Path| read(&path.display().to_string());
    Ok(Tls::new(&text(&certificate)?, &text(&key)?, clients.as_deref())?)
}

/// Names the flags whose meaning is lost.
fn tell_losses(flags: &mut Flags) {
    let modes = flags.take_list("authorization-mode");
    if !modes.is_empty() && !modes.iter().any(|mode| mode == "RBAC") {
        tracing::warn!("--authorization-mode={} has no effect here: RBAC applies", modes.join(","));
    }
    if let Ok(Some(false)) | Err(_) = flags.take_switch("anonymous-auth") {
        tracing::warn!("--anonymous-auth has no effect here: requests without credentials are system:anonymous");
    }
    for plugin in flags.take_list("enable-admission-plugins") {
        if !ADMISSION.contains(&plugin.as_str()) {
            tracing::warn!("--enable-admission-plugins={plugin} has no effect here");
        }
    }
    for name in flags.names().filter(|name| !QUIET.contains(name)) {
        tracing::warn!("--{name} has no effect here");
    }
}
