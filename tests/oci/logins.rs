//! Logins: passwords, tokens of a real token server, certificates of a CA of one's own.

use super::{command, idler};
use anyhow::{Context, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use oarlock_tests::harness::{Door, PASSWORD, Registry};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair},
};
use serde_json::{Value, json};
use std::{fs, path::Path, sync::Arc};

fn file(folder: &Path) -> Result<String> {
    let file = folder.join("idler-0000.wasm");
    fs::write(&file, idler("idler-0000", "1")?)?;
    Ok(file.display().to_string())
}

/// A docker configuration with one login.
fn config(folder: &Path, name: &str, registry: &str, password: &str) -> Result<String> {
    let auth = STANDARD.encode(format!("user:{password}"));
    let path = folder.join(name);
    fs::write(&path, json!({"auths": {registry: {"auth": auth}}}).to_string())?;
    Ok(path.display().to_string())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_is_taken_from_dockers_configuration_and_from_helpers() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let registry = Registry::start(folder.path(), &Door::Password, None).await?;
    let (file, at) = (file(folder.path())?, format!("{}/a:v1", registry.address()));
    let error = command(&["push", &file, &at]).await?.err().context("pushed without a login")?;
    ensure!(error.contains("there is none for it in the docker configuration"), "{error}");
    let wrong = config(folder.path(), "wrong", registry.address(), "wrong")?;
    let error = command(&["push", &file, &at, "--registry-config", &wrong])
        .await?
        .err()
        .context("pushed with a wrong login")?;
    ensure!(error.contains("the login is not accepted") && !error.contains("wrong:"), "{error}");
    let right = config(folder.path(), "right", registry.address(), PASSWORD)?;
    command(&["push", &file, &at, "--registry-config", &right]).await?.map_err(anyhow::Error::msg)?;
    // A helper, as docker calls it.
    let helper = folder.path().join("docker-credential-test");
    fs::write(
        &helper,
        format!(
            "#!/bin/sh\nread server\necho \"{{\\\"ServerURL\\\":\\\"$server\\\",\\\"Username\\\":\\\"user\\\",\\\"Secret\\\":\\\"{PASSWORD}\\\"}}\"\n"
        ),
    )?;
    let mut mode = fs::metadata(&helper)?.permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
    fs::set_permissions(&helper, mode)?;
    let helped = folder.path().join("helped");
    fs::write(&helped, json!({"credHelpers": {registry.address(): "test"}}).to_string())?;
    let back = folder.path().join("back.wasm");
    let path = std::env::join_paths(
        std::iter::once(folder.path().to_owned())
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    )?;
    let output = tokio::process::Command::new(oarlock_tests::harness::oarlock_binary()?)
        .args(["pull", &at, "-o"])
        .args([back.as_os_str(), "--registry-config".as_ref(), helped.as_os_str()])
        .env("PATH", path)
        .output()
        .await?;
    ensure!(output.status.success() && fs::read(&back)? == fs::read(&file)?, "{output:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_registry_of_a_private_authority_is_trusted_with_its_certificate_only() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let ca = crate::admission::certificates::write(folder.path(), "registry authority")?;
    let registry = Registry::start(folder.path(), &Door::Open, Some(folder.path())).await?;
    let (file, at) = (file(folder.path())?, format!("{}/a:v1", registry.address()));
    let own = folder.path().join("ca.crt").display().to_string();
    ensure!(fs::read_to_string(&own)? == ca);
    command(&["push", &file, &at, "--registry-ca", &own]).await?.map_err(anyhow::Error::msg)?;
    // Of loopback plain HTTP is expected, unless a CA is named.
    let plain = command(&["pull", &at, "-o", &file]).await?.err().context("pulled without TLS")?;
    ensure!(plain.contains("answers 400"), "{plain}");
    let other = tempfile::tempdir()?;
    crate::admission::certificates::write(other.path(), "another authority")?;
    let other = other.path().join("ca.crt").display().to_string();
    let error =
        command(&["pull", &at, "-o", &file, "--registry-ca", &other]).await?.err().context("pulled from a stranger")?;
    ensure!(error.contains("UnknownIssuer") || error.contains("invalid peer certificate"), "{error}");
    Ok(())
}

/// Gives tokens to `user`, and to nobody tokens that may only pull.
struct TokenServer {
    key: EcdsaKeyPair,
    certificate: Vec<u8>,
}

impl TokenServer {
    /// Starts one: its URL, and the file of its certificate.
    async fn start(folder: &Path) -> Result<Door> {
        let key = KeyPair::generate()?;
        let mut authority = CertificateParams::new(vec!["token".to_owned()])?;
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root = authority.self_signed(&key)?;
        let signing = KeyPair::generate()?;
        let leaf =
            CertificateParams::new(vec!["token".to_owned()])?.signed_by(&signing, &Issuer::new(authority, key))?;
        let certificate = folder.join("token.crt");
        fs::write(&certificate, root.pem())?;
        let pkcs8 = signing.serialize_der();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &pkcs8, &SystemRandom::new());
        let key = pair.map_err(|e| anyhow::anyhow!("{e}"))?;
        let server = Arc::new(Self { key, certificate: leaf.der().to_vec() });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let realm = format!("http://{}/token", listener.local_addr()?);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let server = Arc::clone(&server);
                let service = service_fn(move |request| {
                    let server = Arc::clone(&server);
                    async move { server.answer(&request) }
                });
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        Ok(Door::Token { realm, certificate })
    }

    fn answer(&self, request: &Request<Incoming>) -> Result<Response<Full<Bytes>>> {
        let expected = format!("Basic {}", STANDARD.encode(format!("user:{PASSWORD}")));
        let login =
            request.headers().get(header::AUTHORIZATION).map(|value| value.to_str().unwrap_or_default().to_owned());
        if login.as_ref().is_some_and(|login| *login != expected) {
            return Ok(Response::builder().status(StatusCode::UNAUTHORIZED).body(Full::default())?);
        }
        let query: Vec<(String, String)> =
            url::form_urlencoded::parse(request.uri().query().unwrap_or_default().as_bytes()).into_owned().collect();
        let scope = query.iter().find(|(name, _)| name == "scope").map(|(_, scope)| scope.clone()).unwrap_or_default();
        let parts: Vec<&str> = scope.splitn(3, ':').collect();
        let [kind, name, actions] = parts.as_slice() else { anyhow::bail!("scope {scope:?}") };
        let allowed: Vec<&str> = actions.split(',').filter(|action| login.is_some() || *action == "pull").collect();
        let body = json!({"token": self.token(kind, name, &allowed)?, "expires_in": 300}).to_string();
        Ok(Response::new(Full::new(body.into())))
    }

    fn token(&self, kind: &str, name: &str, actions: &[&str]) -> Result<String> {
        let now = jiff::Timestamp::now().as_second();
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let head = part(&json!({"typ": "JWT", "alg": "ES256", "x5c": [STANDARD.encode(&self.certificate)]}));
        let claims = part(
            &json!({"iss": "test", "sub": "user", "aud": "registry", "exp": now + 300, "nbf": now - 60, "iat": now,
            "jti": "1", "access": [{"type": kind, "name": name, "actions": actions}]}),
        );
        let text = format!("{head}.{claims}");
        let signature = self.key.sign(&SystemRandom::new(), text.as_bytes()).map_err(|e| anyhow::anyhow!("{e}"))?;
        Ok(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_is_changed_into_tokens_for_what_is_done() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let door = TokenServer::start(folder.path()).await?;
    let registry = Registry::start(folder.path(), &door, None).await?;
    let (file, at) = (file(folder.path())?, format!("{}/team/a:v1", registry.address()));
    let right = config(folder.path(), "right", registry.address(), PASSWORD)?;
    let wrong = config(folder.path(), "wrong", registry.address(), "wrong")?;
    let anonymous = command(&["push", &file, &at]).await?.err().context("anybody may push")?;
    ensure!(anonymous.contains("the login is not accepted"), "{anonymous}");
    let error = command(&["push", &file, &at, "--registry-config", &wrong])
        .await?
        .err()
        .context("a wrong password may push")?;
    ensure!(error.contains("the authorization server of"), "{error}");
    command(&["push", &file, &at, "--registry-config", &right]).await?.map_err(anyhow::Error::msg)?;
    let back = folder.path().join("back.wasm");
    // Everybody may pull, with a token for nobody.
    command(&["pull", &at, "-o", &back.display().to_string()]).await?.map_err(anyhow::Error::msg)?;
    ensure!(fs::read(&back)? == fs::read(&file)?);
    Ok(())
}
