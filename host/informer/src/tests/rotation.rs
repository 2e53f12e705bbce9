//! A TLS server whose certificate and tokens change while clients use it.

use crate::{Informers, ListOptions, WatchSpec};
use bytes::Bytes;
use futures::{StreamExt, channel::mpsc};
use http::{Request, Response};
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::{Frame, Incoming};
use hyper_util::rt::TokioIo;
use oarlock_api::{
    Discovery, GroupVersionKind,
    client::{self, Options},
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use serde_json::json;
use std::{
    convert::Infallible,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{net::TcpListener, sync::watch};
use tokio_rustls::TlsAcceptor;

struct Generation {
    authority: &'static str,
    certificate: &'static str,
    key: &'static str,
}

const OLD: Generation = Generation {
    authority: include_str!("tls/old-authority.pem"),
    certificate: include_str!("tls/old-server.pem"),
    key: include_str!("tls/old-server.key"),
};
const NEW: Generation = Generation {
    authority: include_str!("tls/new-authority.pem"),
    certificate: include_str!("tls/new-server.pem"),
    key: include_str!("tls/new-server.key"),
};

type Line = Result<Frame<Bytes>, Infallible>;

/// Serves ConfigMaps to clients with the token.
#[derive(Default)]
struct Server {
    token: Mutex<String>,
    names: Mutex<Vec<&'static str>>,
    watches: Mutex<Vec<mpsc::UnboundedSender<Line>>>,
    refused: watch::Sender<usize>,
}

impl Server {
    fn answer(&self, request: &Request<Incoming>) -> Response<UnsyncBoxBody<Bytes, Infallible>> {
        let full = |code: u16, body: serde_json::Value| {
            let body = Full::new(Bytes::from(body.to_string())).boxed_unsync();
            Response::builder().status(code).body(body).unwrap()
        };
        let token = request.headers().get("authorization").map_or("", |value| value.to_str().unwrap());
        if token != format!("Bearer {}", self.token.lock().unwrap()) {
            self.refused.send_modify(|count| *count += 1);
            return full(
                401,
                json!({"kind": "Status", "code": 401, "reason": "Unauthorized", "message": "who are you?"}),
            );
        }
        if !request.uri().path().ends_with("/configmaps") {
            let resource =
                json!({"name": "configmaps", "namespaced": true, "kind": "ConfigMap", "verbs": ["list", "watch"]});
            return full(200, json!({"kind": "APIResourceList", "groupVersion": "v1", "resources": [resource]}));
        }
        let names = self.names.lock().unwrap();
        if request.uri().query().unwrap_or_default().contains("watch=true") {
            let (sender, receiver) = mpsc::unbounded();
            self.watches.lock().unwrap().push(sender);
            return Response::new(StreamBody::new(receiver.map(|line: Line| line)).boxed_unsync());
        }
        let items: Vec<_> = names.iter().zip(1..).map(|(name, version)| object(name, version)).collect();
        full(200, json!({"metadata": {"resourceVersion": names.len().to_string()}, "items": items}))
    }

    fn create(&self, name: &'static str) {
        let mut names = self.names.lock().unwrap();
        names.push(name);
        let line = json!({"type": "ADDED", "object": object(name, names.len())});
        let line = Bytes::from(format!("{line}\n"));
        self.watches.lock().unwrap().retain(|watch| watch.unbounded_send(Ok(Frame::data(line.clone()))).is_ok());
    }

    /// Serves at `listener` with the certificate of `generation` until it is dropped; its connections end with it.
    async fn serve(self: Arc<Self>, listener: Arc<TcpListener>, generation: &Generation) {
        let chain = vec![CertificateDer::from_pem_slice(generation.certificate.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(generation.key.as_bytes()).unwrap();
        let config = rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key).unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let mut connections = tokio::task::JoinSet::new();
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let (acceptor, server) = (acceptor.clone(), Arc::clone(&self));
            connections.spawn(async move {
                // A client that does not trust the certificate ends the handshake here.
                let Ok(stream) = acceptor.accept(stream).await else { return };
                let service = hyper::service::service_fn(move |request| {
                    let answer = server.answer(&request);
                    async move { Ok::<_, Infallible>(answer) }
                });
                let _ended =
                    hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
            });
        }
    }
}

fn object(name: &str, version: usize) -> serde_json::Value {
    json!({"kind": "ConfigMap", "apiVersion": "v1",
        "metadata": {"name": name, "namespace": "n", "uid": name, "resourceVersion": version.to_string()}})
}

fn write(folder: &Path, authority: &str, token: &str) {
    std::fs::write(folder.join("ca.pem"), authority).unwrap();
    std::fs::write(folder.join("token"), token).unwrap();
}

fn options(folder: &Path, port: u16) -> Options {
    let path = folder.join("kubeconfig");
    let text = json!({"apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": format!("https://127.0.0.1:{port}"), "certificate-authority": folder.join("ca.pem")}}],
        "users": [{"name": "c", "user": {"tokenFile": folder.join("token")}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}]});
    std::fs::write(&path, text.to_string()).unwrap();
    Options { kubeconfig: Some(path), context: None }
}

/// Everything is replaced during an open watch: first the token, then the certificate authority with the server's certificate, each time
/// with the connections cut. The cache continues without a relist.
#[tokio::test]
async fn i23_a_rotated_token_and_a_rotated_authority_do_not_end_a_watch() {
    client::install_crypto_provider();
    let folder = tempfile::tempdir().unwrap();
    let listener = Arc::new(TcpListener::bind("127.0.0.1:0").await.unwrap());
    let options = options(folder.path(), listener.local_addr().unwrap().port());
    write(folder.path(), OLD.authority, "first");
    let server = Arc::new(Server::default());
    "first".clone_into(&mut server.token.lock().unwrap());
    let mut serving = tokio::spawn(Arc::clone(&server).serve(Arc::clone(&listener), &OLD));
    server.create("a");

    let config = client::load_config(&options).await.unwrap();
    let client = client::renewing(options, config).unwrap();
    let informers = Informers::new(client.clone(), Discovery::new(client));
    let told = Arc::new(watch::Sender::new(0));
    let count = Arc::clone(&told);
    let spec = WatchSpec::all(GroupVersionKind::new("", "v1", "ConfigMap"));
    let subscription = informers.subscribe(spec, Arc::new(move |_| count.send_modify(|count| *count += 1)));
    let shows = async |names: &[&str]| {
        let stored = || {
            let objects = subscription.store().list(&ListOptions::default());
            objects.iter().map(|object| object.uid().to_owned()).collect::<Vec<_>>()
        };
        let mut told = told.subscribe();
        let waiting =
            tokio::time::timeout(Duration::from_secs(60), told.wait_for(|_| stored() == names)).await.map(|_| ());
        assert!(waiting.is_ok(), "{:?} instead of {names:?}; {}", stored(), subscription.status());
    };
    shows(&["a"]).await;

    // The old token is no longer accepted. The test does not wait for the minute after which kube would read the file again.
    write(folder.path(), OLD.authority, "second");
    "second".clone_into(&mut server.token.lock().unwrap());
    server.watches.lock().unwrap().clear();
    let mut refused = server.refused.subscribe();
    tokio::time::timeout(Duration::from_secs(60), refused.wait_for(|count| *count > 0)).await.unwrap().unwrap();
    reopened(&server).await;
    server.create("b");
    shows(&["a", "b"]).await;

    // Another authority signs: the old client trusts no certificate any more.
    write(folder.path(), NEW.authority, "second");
    server.watches.lock().unwrap().clear();
    serving.abort();
    serving = tokio::spawn(Arc::clone(&server).serve(listener, &NEW));
    reopened(&server).await;
    server.create("c");
    shows(&["a", "b", "c"]).await;
    assert_eq!(informers.stats()[0].lists, 1);
    serving.abort();
}

/// Waits until the watch is open again.
async fn reopened(server: &Server) {
    let open = async {
        while server.watches.lock().unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), open).await.expect("the watch is open again");
}
