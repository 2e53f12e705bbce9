//! Client configuration: finds the API server by kubectl's rules, with errors that name the places searched.

mod proxy;
mod renewing;

pub use renewing::renewing;

use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    sync::Once,
    time::Duration,
};

/// A connection without data for this long is dead. The server ends watches after 290 seconds, so a quiet watch never counts as dead.
const READ_TIMEOUT: Duration = Duration::from_secs(300);

/// The API server and the identity to use.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// `--kubeconfig`: only this file, and it must exist.
    pub kubeconfig: Option<PathBuf>,
    /// `--context`: replaces the current context.
    pub context: Option<String>,
}

/// Why no client can be created.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file given by `--kubeconfig` cannot be used.
    #[error("cannot read the kubeconfig {}", path.display())]
    Explicit {
        /// The path given.
        path: PathBuf,
        /// The cause.
        #[source]
        source: Box<KubeconfigError>,
    },
    /// A file that `KUBECONFIG` lists, or `~/.kube/config`, exists and cannot be used.
    #[error("cannot read the kubeconfig {}, found by {found_by}", path.display())]
    Found {
        /// The path.
        path: PathBuf,
        /// `KUBECONFIG` or `~/.kube/config`.
        found_by: &'static str,
        /// The cause.
        #[source]
        source: Box<KubeconfigError>,
    },
    /// The kubeconfig can be read, but the context cannot be used.
    #[error("cannot use {} of the kubeconfig", context.as_ref().map_or("the current context".to_owned(), |c| format!("context {c:?}")))]
    Context {
        /// The requested context; `None`: the current one.
        context: Option<String>,
        /// The cause.
        #[source]
        source: Box<KubeconfigError>,
    },
    /// The proxy of the kubeconfig or of the environment cannot be used.
    #[error("cannot use the proxy {url}: it must begin with http://, https:// or socks5://")]
    Proxy {
        /// Its address, without user and password.
        url: String,
    },
    /// Neither a kubeconfig nor a Pod's service account.
    #[error("no API server is configured: no --kubeconfig, {looked}, and this is not a Pod")]
    NotConfigured {
        /// The places searched for kubeconfigs.
        looked: String,
        /// Why the service account cannot be used.
        #[source]
        source: Box<kube::config::InClusterError>,
    },
    /// The configuration is readable, but no client can be created from it.
    #[error("cannot build a client for the API server at {url}")]
    Client {
        /// The API server's address.
        url: String,
        /// The client's error.
        #[source]
        source: Box<kube::Error>,
    },
}

/// Makes rustls use ring, once per process. All code that opens TLS connections calls this first.
pub fn install_crypto_provider() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // An error means that another provider is installed already, and is used.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

/// Finds the configuration as kubectl does: `--kubeconfig`, else the files in `KUBECONFIG` (missing ones are skipped), else
/// `~/.kube/config`, else the service account of the Pod.
///
/// # Errors
///
/// [`Error`] when a file is unusable, or when no configuration is found.
///
/// # Source
///
/// client-go `tools/clientcmd/loader.go` and `client_config.go`.
pub async fn load_config(options: &Options) -> Result<kube::Config, Error> {
    let home = std::env::home_dir().map(|home| home.join(".kube").join("config"));
    let found =
        load_kubeconfig(options.kubeconfig.as_deref(), std::env::var_os("KUBECONFIG").as_deref(), home.as_deref())?;
    let mut config = match found {
        Some(kubeconfig) => of_kubeconfig(kubeconfig, options.context.clone()).await?,
        None => kube::Config::incluster().map_err(|source| Error::NotConfigured {
            looked: match std::env::var_os("KUBECONFIG") {
                Some(list) => format!("KUBECONFIG ({}) names no file that exists", list.display()),
                None => "no KUBECONFIG, no ~/.kube/config".to_owned(),
            },
            source: Box::new(source),
        })?,
    };
    config.read_timeout = Some(READ_TIMEOUT);
    config.reset_reader_on_write = true;
    Ok(config)
}

/// The configuration of a context.
///
/// * `context` - None: the current one.
///
/// # Errors
///
/// [`Error::Context`], [`Error::Proxy`].
pub async fn of_kubeconfig(kubeconfig: Kubeconfig, context: Option<String>) -> Result<kube::Config, Error> {
    let choice = KubeConfigOptions { context: context.clone(), ..KubeConfigOptions::default() };
    let proxy = proxy::of_cluster(&kubeconfig, context.as_deref());
    let mut config = kube::Config::from_custom_kubeconfig(kubeconfig, &choice)
        .await
        .map_err(|source| Error::Context { context, source: Box::new(source) })?;
    // kube would take HTTPS_PROXY for every server, and compares NO_PROXY with the proxy instead of the server.
    config.proxy_url = proxy::settle(&config.cluster_url, proxy, |name| std::env::var(name).ok())?;
    trim_token(&mut config.auth_info);
    Ok(config)
}

/// Takes the token out of a `tokenFile` that ends in a newline, as `kubectl create token` prints it: kube would send the newline, too. When the
/// token is refused, [`renewing()`] reads the file again.
fn trim_token(auth: &mut kube::config::AuthInfo) {
    let Some(path) = auth.token_file.as_ref().filter(|_| auth.token.is_none()) else { return };
    // kube says why it cannot read the file.
    let Ok(text) = std::fs::read_to_string(path) else { return };
    let token = text.trim();
    if !token.is_empty() && token.len() < text.len() {
        (auth.token, auth.token_file) = (Some(token.to_owned().into()), None);
    }
}

/// Builds a client. With `default_retry` it repeats requests that get 429, 503 or 504, and obeys `Retry-After`.
///
/// # Errors
///
/// [`Error::Client`] when certificates or addresses in `config` cannot be used.
pub fn build(mut config: kube::Config) -> Result<kube::Client, Error> {
    install_crypto_provider();
    let agent = concat!("oarlock/", env!("CARGO_PKG_VERSION"));
    config.headers.push((http::header::USER_AGENT, http::HeaderValue::from_static(agent)));
    let url = config.cluster_url.to_string();
    kube::Client::try_from(config).map_err(|source| Error::Client { url, source: Box::new(source) })
}

/// `None`: there are no kubeconfigs, or only empty ones.
fn load_kubeconfig(
    explicit: Option<&Path>,
    list: Option<&OsStr>,
    home: Option<&Path>,
) -> Result<Option<Kubeconfig>, Error> {
    if let Some(path) = explicit {
        return Kubeconfig::read_from(path)
            .map(Some)
            .map_err(|source| Error::Explicit { path: path.to_owned(), source: Box::new(source) });
    }
    let (found_by, paths): (_, Vec<PathBuf>) = match list.filter(|list| !list.is_empty()) {
        Some(list) => ("KUBECONFIG", std::env::split_paths(list).filter(|p| !p.as_os_str().is_empty()).collect()),
        None => ("~/.kube/config", home.map(Path::to_owned).into_iter().collect()),
    };
    let mut merged: Option<Kubeconfig> = None;
    for path in paths.into_iter().filter(|path| path.exists()) {
        let failed = |source| Error::Found { path: path.clone(), found_by, source: Box::new(source) };
        let next = Kubeconfig::read_from(&path).map_err(failed)?;
        merged = Some(match merged {
            Some(first) => first.merge(next).map_err(failed)?,
            None => next,
        });
    }
    Ok(merged.filter(|config| !config.clusters.is_empty() || !config.contexts.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kubeconfig(name: &str) -> String {
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: {name}\n\
             clusters: [{{name: {name}, cluster: {{server: 'http://127.0.0.1:1/{name}'}}}}]\n\
             users: [{{name: {name}, user: {{}}}}]\n\
             contexts: [{{name: {name}, context: {{cluster: {name}, user: {name}, namespace: ns-{name}}}}}]\n"
        )
    }

    #[test]
    fn an_explicit_file_must_exist() {
        let dir = tempfile::tempdir().unwrap();
        let missing = dir.path().join("missing");
        let error = load_kubeconfig(Some(&missing), None, None).unwrap_err();
        assert!(error.to_string().contains("missing"), "{error}");
    }

    #[tokio::test]
    async fn a_token_file_may_end_in_a_newline() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        for (text, trimmed) in [("abc\n", true), ("abc", false), ("\n", false)] {
            std::fs::write(&path, text).unwrap();
            let user = format!("users: [{{name: one, user: {{tokenFile: '{}'}}}}]", path.display());
            let kubeconfig = kubeconfig("one").replace("users: [{name: one, user: {}}]", &user);
            let config = of_kubeconfig(Kubeconfig::from_yaml(&kubeconfig).unwrap(), None).await.unwrap();
            assert_eq!(config.auth_info.token.is_some(), trimmed, "{text:?}");
            assert_eq!(config.auth_info.token_file.is_none(), trimmed, "{text:?}");
        }
    }

    #[test]
    fn a_list_skips_missing_files_and_the_first_to_say_something_wins() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (dir.path().join("a"), dir.path().join("b"));
        std::fs::write(&a, kubeconfig("one")).unwrap();
        std::fs::write(&b, kubeconfig("two")).unwrap();
        let list = std::env::join_paths([dir.path().join("missing"), a, b]).unwrap();
        let home = dir.path().join("home-is-not-looked-at");
        std::fs::write(&home, ":").unwrap();
        let merged = load_kubeconfig(None, Some(&list), Some(&home)).unwrap().unwrap();
        assert_eq!(merged.current_context.as_deref(), Some("one"));
        assert_eq!(merged.clusters.len(), 2);
    }

    #[test]
    fn nothing_found_is_no_error_and_nonsense_is() {
        let dir = tempfile::tempdir().unwrap();
        assert!(load_kubeconfig(None, None, Some(&dir.path().join("config"))).unwrap().is_none());
        assert!(load_kubeconfig(None, Some(OsStr::new("")), None).unwrap().is_none());
        let bad = dir.path().join("bad");
        std::fs::write(&bad, "clusters: 7").unwrap();
        let error = load_kubeconfig(None, None, Some(&bad)).unwrap_err();
        assert!(error.to_string().contains("~/.kube/config"), "{error}");
    }

    #[tokio::test]
    async fn the_named_context_decides() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config");
        std::fs::write(&path, kubeconfig("one")).unwrap();
        let mut options = Options { kubeconfig: Some(path), context: None };
        let config = load_config(&options).await.unwrap();
        assert_eq!(config.default_namespace, "ns-one");
        assert_eq!(config.read_timeout, Some(READ_TIMEOUT));
        build(config).unwrap();
        options.context = Some("absent".into());
        let error = load_config(&options).await.unwrap_err();
        assert!(error.to_string().contains("absent"), "{error}");
    }
}
