//! Credential rotation: a client that is rebuilt when the API server rejects its credentials.

use super::{Error, Options, build, load_config};
use arc_swap::ArcSwap;
use http::{Method, Request, Response, StatusCode};
use kube::client::Body;
use std::{error::Error as _, sync::Arc, time::Duration};
use tokio::{sync::Mutex, time::Instant};

/// Time between two attempts. Rotated credentials take effect within it, and wrong credentials cost no more than one attempt each time.
const EVERY: Duration = Duration::from_secs(2);

/// kube's client repeats requests that get 429, 503 or 504 while the caller waits. That suits reads. The author of a write decides about
/// its repetition: the write may have taken effect, and a worker waits for it.
struct RenewingClients {
    reads: kube::Client,
    writes: kube::Client,
}

impl RenewingClients {
    fn build(config: kube::Config) -> Result<Self, Error> {
        let mut once = config.clone();
        once.default_retry = false;
        Ok(Self { reads: build(config)?, writes: build(once)? })
    }

    fn of(&self, method: &Method) -> &kube::Client {
        if method == Method::GET { &self.reads } else { &self.writes }
    }
}

struct Renewing {
    options: Options,
    current: ArcSwap<RenewingClients>,
    /// Time of the last attempt.
    tried: Mutex<Option<Instant>>,
}

/// Builds a client that is rebuilt from the same files when the API server answers 401 or its certificate is not trusted. So certificate
/// authorities, client certificates, tokens and whole kubeconfigs can be replaced while it is in use. A token that was kept too long
/// because the clock was set back is read again.
///
/// kube's client reads a token file again every minute of the wall clock, and everything else once. The rejected request is not repeated;
/// open watches of the previous client continue.
///
/// * `config` - the configuration that `options` led to.
///
/// # Errors
///
/// [`Error::Client`] when certificates or addresses in `config` cannot be used.
pub fn renewing(options: Options, config: kube::Config) -> Result<kube::Client, Error> {
    let namespace = config.default_namespace.clone();
    let current = ArcSwap::from_pointee(RenewingClients::build(config)?);
    let shared = Arc::new(Renewing { options, current, tried: Mutex::default() });
    let service = tower::service_fn(move |request| Arc::clone(&shared).send(request));
    Ok(kube::Client::new(service, namespace))
}

impl Renewing {
    async fn send(self: Arc<Self>, request: Request<Body>) -> kube::Result<Response<Body>> {
        let clients = self.current.load_full();
        let answer = clients.of(request.method()).send(request).await;
        let refusal = match &answer {
            Ok(response) if response.status() == StatusCode::UNAUTHORIZED => Some("it answers 401".to_owned()),
            Err(error) => untrusted(error).map(|reason| format!("no TLS connection: {reason}")),
            Ok(_) => None,
        };
        if let Some(refusal) = refusal {
            self.renew(&clients, &refusal).await;
        }
        answer
    }

    /// Rebuilds the client, unless that happened while `used` was in use, or a moment ago.
    async fn renew(&self, used: &Arc<RenewingClients>, refusal: &str) {
        let mut tried = self.tried.lock().await;
        if !Arc::ptr_eq(used, &self.current.load()) || tried.is_some_and(|at| at.elapsed() < EVERY) {
            return;
        }
        *tried = Some(Instant::now());
        match load_config(&self.options).await.and_then(RenewingClients::build) {
            Ok(clients) => {
                self.current.store(Arc::new(clients));
                tracing::info!(
                    refusal,
                    "the API server refused the credentials, or was not trusted: they were read again"
                );
            }
            Err(error) => {
                let source = error.source().map(ToString::to_string);
                tracing::warn!(refusal, %error, source, "the API server refuses the credentials, and they cannot be read again");
            }
        }
    }
}

/// The fault of a TLS connection, if that is the cause.
fn untrusted(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    if let Some(tls) = error.downcast_ref::<rustls::Error>() {
        return Some(tls.to_string());
    }
    // The source of such an error is the one after the error it carries.
    if let Some(carried) = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref) {
        return untrusted(carried);
    }
    untrusted(error.source()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_trouble_with_tls_is_taken_for_it() {
        let tls = || rustls::Error::General("unknown issuer".to_owned());
        let nested = std::io::Error::other(std::io::Error::other(tls()));
        assert!(untrusted(&kube::Error::Service(Box::new(nested))).unwrap().contains("unknown issuer"));
        let down = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        assert_eq!(untrusted(&kube::Error::Service(Box::new(down))), None);
    }
}
