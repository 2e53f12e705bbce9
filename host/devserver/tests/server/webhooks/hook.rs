//! A webhook: a real HTTPS server with responses from the test.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use bytes::Bytes;
use futures::future::BoxFuture;
use http_body_util::{BodyExt as _, Full};
use hyper::{Request, Response, body::Incoming, service::service_fn};
use hyper_util::rt::TokioIo;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_rustls::TlsAcceptor;

/// The response of a webhook.
pub(super) enum Reply {
    /// The `response` of a review; the uid is filled in unless it is there.
    Response(Value),
    /// Any response.
    Raw(u16, Vec<u8>),
    /// A redirect with this status and location.
    Moved(u16, String),
    /// No response, ever.
    Silence,
    /// A closed connection.
    Cut,
}

/// A server certificate, and the bundle that trusts it.
pub(super) struct Identity {
    certificate: Vec<u8>,
    key: Vec<u8>,
    pub(super) bundle: String,
}

/// A certificate in PEM, in base64.
fn bundle_of(certificate: &rcgen::Certificate) -> String {
    BASE64.encode(certificate.pem())
}

impl Identity {
    /// Signed by an authority that the bundle does not have: the bundle is the certificate itself, as in controller-runtime's envtest.
    pub(super) fn pinned(names: &[&str]) -> Self {
        Self::issued(names, |_, own| bundle_of(own), 4000)
    }

    /// As [`pinned`](Self::pinned), and expired.
    pub(super) fn expired(names: &[&str]) -> Self {
        Self::issued(names, |_, own| bundle_of(own), 2020)
    }

    /// Signed by an authority of its own.
    pub(super) fn signed(names: &[&str]) -> Self {
        Self::issued(names, |authority, _| bundle_of(authority), 4000)
    }

    /// * `end` - the year in which it expires.
    fn issued(
        names: &[&str],
        bundle: impl FnOnce(&rcgen::Certificate, &rcgen::Certificate) -> String,
        end: i32,
    ) -> Self {
        let mut authority = CertificateParams::new(Vec::new()).unwrap();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority_key = KeyPair::generate().unwrap();
        let authority_certificate = authority.self_signed(&authority_key).unwrap();
        let names: Vec<String> = names.iter().map(|n| (*n).to_owned()).collect();
        let key = KeyPair::generate().unwrap();
        let signer = Issuer::new(authority, authority_key);
        let mut params = CertificateParams::new(names).unwrap();
        params.not_after = rcgen::date_time_ymd(end, 1, 1);
        let certificate = params.signed_by(&key, &signer).unwrap();
        let bundle = bundle(&authority_certificate, &certificate);
        Self { certificate: certificate.der().to_vec(), key: key.serialize_der(), bundle }
    }

    /// Signed by itself, as `openssl req -x509` makes them: an authority and a server in one.
    pub(super) fn self_signed(names: &[&str]) -> Self {
        let names: Vec<String> = names.iter().map(|n| (*n).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let bundle = bundle_of(&certificate);
        Self { certificate: certificate.der().to_vec(), key: key.serialize_der(), bundle }
    }
}

/// A received review: path, query and the review.
pub(super) type Received = (String, String, Value);

type Behaviour = Arc<dyn Fn(&str, &Value) -> BoxFuture<'static, Reply> + Send + Sync>;

/// A running webhook.
pub(super) struct Hook {
    pub(super) address: SocketAddr,
    pub(super) bundle: String,
    calls: Arc<Mutex<Vec<Received>>>,
    server: JoinHandle<()>,
}

impl Drop for Hook {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Hook {
    /// Responds to each path by `behave`, with a certificate for 127.0.0.1.
    pub(super) async fn start(behave: impl Fn(&str, &Value) -> Reply + Send + Sync + 'static) -> Self {
        let behave = Arc::new(behave);
        Self::with(Identity::signed(&["127.0.0.1"]), move |path, review| {
            let reply = behave(path, review);
            Box::pin(async move { reply })
        })
        .await
    }

    /// Responds with a certificate, possibly after a delay.
    pub(super) async fn with(
        identity: Identity,
        behave: impl Fn(&str, &Value) -> BoxFuture<'static, Reply> + Send + Sync + 'static,
    ) -> Self {
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(identity.key));
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![identity.certificate.into()], key)
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let calls: Arc<Mutex<Vec<Received>>> = Arc::default();
        let (log, behave) = (Arc::clone(&calls), Arc::new(behave) as Behaviour);
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let server = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, log, behave) = (acceptor.clone(), Arc::clone(&log), Arc::clone(&behave));
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let service = service_fn(move |request| answer(request, Arc::clone(&log), Arc::clone(&behave)));
                    let _ = hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
        });
        Self { address, bundle: identity.bundle, calls, server }
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("https://{}/{path}", self.address)
    }

    /// The reviews received since the last call.
    pub(super) fn calls(&self) -> Vec<Received> {
        std::mem::take(&mut self.calls.lock().unwrap())
    }

    /// The paths of [`Self::calls`].
    pub(super) fn paths(&self) -> Vec<String> {
        self.calls().into_iter().map(|(path, ..)| path).collect()
    }

    /// A webhook of a configuration that calls this one for everything; `more` is merged into it.
    pub(super) fn entry(&self, path: &str, more: Value) -> Value {
        let mut entry = json!({
            "name": format!("{path}.example.com"), "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "clientConfig": {"url": self.url(path), "caBundle": self.bundle},
            "rules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}],
        });
        let Value::Object(more) = more else { panic!("an object") };
        entry.as_object_mut().unwrap().extend(more);
        entry
    }
}

async fn answer(
    request: Request<Incoming>,
    log: Arc<Mutex<Vec<Received>>>,
    behave: Behaviour,
) -> Result<Response<Full<Bytes>>, std::io::Error> {
    let path = request.uri().path().trim_start_matches('/').to_owned();
    let query = request.uri().query().unwrap_or_default().to_owned();
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let review: Value = serde_json::from_slice(&body).unwrap();
    log.lock().unwrap().push((path.clone(), query, review.clone()));
    let moved = |status: u16, location: &str, body: Vec<u8>| {
        let response = Response::builder().status(status).header("content-type", "application/json");
        Ok(response.header("location", location).body(Full::new(body.into())).unwrap())
    };
    let respond = |status, body| moved(status, "/elsewhere", body);
    match behave(&path, &review).await {
        Reply::Response(mut response) => {
            if response.get("uid").is_none() {
                response["uid"] = review["request"]["uid"].clone();
            }
            let answer = json!({"kind": "AdmissionReview", "apiVersion": review["apiVersion"], "response": response});
            respond(200, answer.to_string().into_bytes())
        }
        Reply::Raw(status, body) => respond(status, body),
        Reply::Moved(status, location) => moved(status, &location, Vec::new()),
        Reply::Silence => std::future::pending().await,
        Reply::Cut => Err(std::io::Error::other("cut")),
    }
}

/// A response that allows and patches.
pub(super) fn patch(operations: &Value) -> Reply {
    Reply::Response(json!({"allowed": true, "patchType": "JSONPatch", "patch": BASE64.encode(operations.to_string())}))
}

/// A response that allows.
pub(super) fn allow() -> Reply {
    Reply::Response(json!({"allowed": true}))
}
