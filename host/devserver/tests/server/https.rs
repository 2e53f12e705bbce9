//! HTTPS and client certificates.

use kube::config::{KubeConfigOptions, Kubeconfig};
use oarlock_devserver::{DevServer, Error, Options, Tls};
use rcgen::{BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair};
use serde_json::{Value, json};

use crate::Server;

/// A certificate authority.
pub(crate) struct Authority {
    pub(crate) pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { pem, issuer: Issuer::new(params, key) }
    }

    /// Certificate and key of a server on 127.0.0.1.
    pub(crate) fn server(&self) -> (String, String) {
        self.sign(&CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap())
    }

    /// Certificate and key of a user.
    pub(crate) fn client(&self, user: &str, group: &str) -> (String, String) {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::OrganizationName, group);
        params.distinguished_name.push(DnType::CommonName, user);
        self.sign(&params)
    }

    fn sign(&self, params: &CertificateParams) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.issuer).unwrap().pem(), key.serialize_pem())
    }
}

/// A server that trusts the client certificates of an authority.
pub(crate) async fn start(clients: &Authority) -> Server {
    let own = Authority::new();
    let (certificate, key) = own.server();
    let tls = Tls::new(&(certificate + &own.pem), &key, Some(&clients.pem)).unwrap();
    Server::of(DevServer::start(Options::default().tls(tls)).await.unwrap())
}

/// A kubeconfig with the certificate of a client, or without credentials.
pub(crate) fn kubeconfig(server: &Server, shown: Option<&(String, String)>) -> String {
    use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
    let text = server.running.kubeconfig();
    let (rest, _) = text.rsplit_once("  user: {").unwrap();
    let user = shown.map(|(certificate, key)| {
        let (certificate, key) = (BASE64.encode(certificate), BASE64.encode(key));
        format!("client-certificate-data: {certificate}, client-key-data: {key}")
    });
    format!("{rest}  user: {{{}}}\n", user.unwrap_or_default())
}

async fn client(server: &Server, shown: Option<&(String, String)>) -> kube::Client {
    let config = Kubeconfig::from_yaml(&kubeconfig(server, shown)).unwrap();
    let config = kube::Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await.unwrap();
    kube::Client::try_from(config).unwrap()
}

async fn whoami(client: &kube::Client) -> Result<Value, u16> {
    let review = json!({"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1"});
    let request = http::Request::post("/apis/authentication.k8s.io/v1/selfsubjectreviews")
        .header("content-type", "application/json")
        .body(review.to_string().into_bytes())
        .unwrap();
    match client.request::<Value>(request).await {
        Ok(answer) => Ok(answer["status"]["userInfo"].clone()),
        Err(kube::Error::Api(status)) => Err(status.code),
        Err(other) => panic!("{other}"),
    }
}

#[tokio::test]
async fn the_certificate_of_a_client_says_who_it_is() {
    let (known, unknown) = (Authority::new(), Authority::new());
    let server = start(&known).await;
    let jane = known.client("jane", "devs");
    let who = whoami(&client(&server, Some(&jane)).await).await.unwrap();
    assert_eq!(who, json!({"username": "jane", "groups": ["devs", "system:authenticated"]}));
    let nobody = whoami(&client(&server, None).await).await.unwrap();
    assert_eq!(nobody["username"], "system:admin");
    let stranger = unknown.client("jane", "system:masters");
    assert_eq!(whoami(&client(&server, Some(&stranger)).await).await, Err(401));
    // A server certificate names no user: it has no common name that is one.
    let mut nameless = CertificateParams::new(Vec::new()).unwrap();
    nameless.distinguished_name = DistinguishedName::new();
    assert_eq!(whoami(&client(&server, Some(&known.sign(&nameless))).await).await, Err(401));
}

#[tokio::test]
async fn a_client_that_never_agrees_on_keys_holds_up_nobody() {
    let server = start(&Authority::new()).await;
    let address = server.running.url().replace("https://", "");
    let silent = tokio::net::TcpStream::connect(&address).await.unwrap();
    assert!(whoami(&client(&server, None).await).await.is_ok());
    drop(silent);
}

#[test]
fn texts_that_are_no_certificates_are_named() {
    let authority = Authority::new();
    let (certificate, key) = authority.server();
    let (_, other) = authority.server();
    for (certificate, key, clients, named) in [
        ("", key.as_str(), None, "the certificate cannot be used: there is no certificate in it"),
        (certificate.as_str(), "", None, "the private key cannot be used"),
        (certificate.as_str(), other.as_str(), None, "the certificate cannot be used"),
        (
            certificate.as_str(),
            key.as_str(),
            Some("nothing"),
            "the client CA cannot be used: there is no certificate in it",
        ),
    ] {
        let error: Error = Tls::new(certificate, key, clients).unwrap_err();
        assert!(error.to_string().contains(named), "{error}");
    }
}
