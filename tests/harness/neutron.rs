//! The Neutron server of a test: the emulator, or a real one. Both are inspected through the HTTP API.

use super::http_client::{Answer, HttpClient};
use super::process::{Process, executable};
use super::world::SOON;
use anyhow::{Context, Result, bail, ensure};
use http::Method;
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, env, fs, path::Path};

/// A Neutron server.
#[derive(Debug)]
pub struct Neutron {
    client: HttpClient,
    login: Option<Login>,
    token: tokio::sync::Mutex<Option<String>>,
    emulator: Option<Process>,
}

/// Configuration keys of the network plugin, with their values.
pub type Pairs = Vec<(&'static str, String)>;

/// A Keystone login: one cloud of a clouds.yaml.
#[derive(Clone, Debug)]
pub struct Login {
    /// Ends in `/v3`.
    pub auth_url: String,
    /// The members of `auth`, as clouds.yaml spells them.
    pub auth: BTreeMap<String, String>,
}

impl Neutron {
    /// Takes the real server of `NEUTRON_URL` (with the accounts of `NEUTRON_CLOUDS`, cloud `NEUTRON_CLOUD` or `demo`), or else starts an
    /// emulator.
    ///
    /// * `keystone` - whether the emulator requires tokens, and has an account.
    ///
    /// # Errors
    ///
    /// The emulator cannot be started, or the accounts cannot be read.
    pub async fn start(folder: &Path, keystone: bool, own_group: bool) -> Result<Self> {
        if let Some(url) = env::var("NEUTRON_URL").ok().filter(|url| !url.is_empty()) {
            let login = env::var("NEUTRON_CLOUDS").ok().filter(|file| !file.is_empty());
            let login = login.map(|file| read_clouds(Path::new(&file))).transpose()?;
            return Ok(Self { client: HttpClient::new(&url), login, token: Default::default(), emulator: None });
        }
        let program = executable("NEUTRON_EMULATOR_BIN", "neutron-emulator", "neutron-emulator")?;
        let mut args = vec!["--port", "0"];
        if keystone {
            args.extend(["--keystone-port", "0", "--auth", "demo:secret"]);
        }
        let plain = [("NO_COLOR", "1".to_owned())];
        let emulator =
            Process::spawn("neutron-emulator", &program, &args, &plain, &folder.join("neutron.log"), own_group)?;
        let url = announced(&emulator, "Neutron: ").await?;
        let login = if keystone {
            let auth_url = announced(&emulator, "Keystone: ").await?;
            let auth = [("username", "demo"), ("password", "secret"), ("project_name", "demo")];
            let auth = auth.into_iter().chain([("auth_url", auth_url.as_str())]);
            let domains = [("user_domain_id", "default"), ("project_domain_id", "default")];
            let auth = auth.chain(domains).map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
            Some(Login { auth_url, auth })
        } else {
            None
        };
        Ok(Self { client: HttpClient::new(&url), login, token: Default::default(), emulator: Some(emulator) })
    }

    /// Whether the server is external, and so outlives the test.
    #[must_use]
    pub fn is_external(&self) -> bool {
        self.emulator.is_none()
    }

    /// Its address, without any gate.
    #[must_use]
    pub fn url(&self) -> &str {
        self.client.base()
    }

    /// The account, if the server requires one.
    #[must_use]
    pub fn login(&self) -> Option<&Login> {
        self.login.as_ref()
    }

    /// Sends one request with a valid token; returns the response with any status.
    ///
    /// # Errors
    ///
    /// There is no response, or Keystone issues no token.
    pub async fn send(&self, method: Method, path: &str, body: &Value) -> Result<Answer> {
        let answer = self.send_once(method.clone(), path, body).await?;
        if answer.status.as_u16() != 401 || self.login.is_none() {
            return Ok(answer);
        }
        // The token expired, or a test expired it.
        *self.token.lock().await = None;
        self.send_once(method, path, body).await
    }

    async fn send_once(&self, method: Method, path: &str, body: &Value) -> Result<Answer> {
        let token = self.token().await?;
        let headers: Vec<_> = token.iter().map(|token| ("x-auth-token", token.as_str())).collect();
        self.client.json(method, path, &headers, body).await
    }

    /// As [`send`](Self::send), with the response's JSON.
    ///
    /// # Errors
    ///
    /// Also any status that is not success.
    pub async fn call(&self, method: Method, path: &str, body: &Value) -> Result<Value> {
        let what = format!("{method} {path}");
        let answer = self.send(method, path, body).await?;
        ensure!(answer.status.is_success(), "{what}: {} {}", answer.status, answer.text());
        answer.json()
    }

    async fn token(&self) -> Result<Option<String>> {
        let Some(login) = &self.login else { return Ok(None) };
        let mut kept = self.token.lock().await;
        if kept.is_none() {
            let keystone = HttpClient::new(&login.auth_url);
            let answer = keystone.json(Method::POST, "/auth/tokens", &[], &login.request()).await?;
            ensure!(answer.status.is_success(), "Keystone: {} {}", answer.status, answer.text());
            let token = answer.headers.get("x-subject-token").context("Keystone gave no token")?;
            *kept = Some(token.to_str()?.to_owned());
        }
        Ok(kept.clone())
    }

    /// The networks of the object with this uid, in whichever field they have it.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call).
    pub async fn networks_of(&self, uid: &str) -> Result<Vec<Value>> {
        ensure!(!uid.is_empty(), "an empty uid is everybody's");
        let all = self.items("networks", "").await?;
        Ok(all.into_iter().filter(|network| network.to_string().contains(uid)).collect())
    }

    /// The subnets of one network.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call).
    pub async fn subnets_of(&self, network_id: &str) -> Result<Vec<Value>> {
        self.items("subnets", &format!("?network_id={network_id}")).await
    }

    /// Every network and subnet with this uid: there must be none in the end.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call).
    pub async fn left_of(&self, uid: &str) -> Result<Vec<Value>> {
        let mut left = self.networks_of(uid).await?;
        let subnets = self.items("subnets", "").await?;
        left.extend(subnets.into_iter().filter(|subnet| subnet.to_string().contains(uid)));
        Ok(left)
    }

    /// One network or subnet by its id; none when it is deleted.
    ///
    /// * `kind` - `network` or `subnet`.
    ///
    /// # Errors
    ///
    /// Any status but success and 404.
    pub async fn by_id(&self, kind: &str, id: &str) -> Result<Option<Value>> {
        let answer = self.send(Method::GET, &format!("/v2.0/{kind}s/{id}"), &Value::Null).await?;
        if answer.status.as_u16() == 404 {
            return Ok(None);
        }
        ensure!(answer.status.is_success(), "{kind} {id}: {} {}", answer.status, answer.text());
        Ok(answer.json()?.get(kind).cloned())
    }

    /// Changes fields of a network or subnet, as another client would.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call).
    pub async fn update(&self, kind: &str, id: &str, fields: &Value) -> Result<Value> {
        self.call(Method::PUT, &format!("/v2.0/{kind}s/{id}"), &json!({ kind: fields })).await
    }

    /// Creates a network, subnet or port, as another client would; returns it.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call).
    pub async fn make(&self, kind: &str, fields: &Value) -> Result<Value> {
        let made = self.call(Method::POST, &format!("/v2.0/{kind}s"), &json!({ kind: fields })).await?;
        made.get(kind).cloned().with_context(|| format!("no {kind} in {made}"))
    }

    /// Deletes a network, subnet or port, as another client would; an absent one is no error.
    ///
    /// # Errors
    ///
    /// Any status but success and 404.
    pub async fn delete(&self, kind: &str, id: &str) -> Result<()> {
        let answer = self.send(Method::DELETE, &format!("/v2.0/{kind}s/{id}"), &Value::Null).await?;
        ensure!(answer.status.is_success() || answer.status.as_u16() == 404, "{}: {}", answer.status, answer.text());
        Ok(())
    }

    /// Sets a list of the emulator's fault rules, for faults that a gate cannot produce.
    ///
    /// # Errors
    ///
    /// The server is not the emulator.
    pub async fn faults(&self, rules: &Value) -> Result<()> {
        ensure!(!self.is_external(), "a real Neutron has no faults to choose");
        let answer = self.client.json(Method::PUT, "/_faults", &[], rules).await?;
        ensure!(answer.status.is_success(), "{}: {}", answer.status, answer.text());
        Ok(())
    }

    /// The emulator's journal: the newest requests that reached it, oldest first, each with `number`, `method` and `path`.
    ///
    /// # Errors
    ///
    /// The server is not the emulator.
    pub async fn journal(&self) -> Result<Vec<Value>> {
        ensure!(!self.is_external(), "a real Neutron has no journal");
        let answer = self.client.json(Method::GET, "/_journal", &[], &Value::Null).await?;
        ensure!(answer.status.is_success(), "{}: {}", answer.status, answer.text());
        answer.json()?.as_array().cloned().context("no list")
    }

    async fn items(&self, collection: &str, query: &str) -> Result<Vec<Value>> {
        let answer = self.call(Method::GET, &format!("/v2.0/{collection}{query}"), &Value::Null).await?;
        answer
            .get(collection)
            .and_then(Value::as_array)
            .cloned()
            .with_context(|| format!("no {collection} in {answer}"))
    }
}

impl Login {
    /// The account in the network plugin's configuration: plain values, and secret ones.
    #[must_use]
    pub fn plugin_config(&self) -> (Pairs, Pairs) {
        let of = |keys: &[(&str, &'static str)]| {
            let pairs = keys.iter().filter_map(|(from, to)| Some((*to, self.auth.get(*from)?.clone())));
            pairs.collect::<Vec<_>>()
        };
        let plain = of(&[
            ("auth_url", "authUrl"),
            ("username", "username"),
            ("user_domain_name", "userDomain"),
            ("project_name", "projectName"),
            ("project_domain_name", "projectDomain"),
            ("application_credential_id", "applicationCredentialId"),
        ]);
        let secret = of(&[("password", "password"), ("application_credential_secret", "applicationCredentialSecret")]);
        (plain, secret)
    }

    /// Keystone's request for a token, by password or application credential.
    fn request(&self) -> Value {
        let of = |key: &str| self.auth.get(key).cloned().unwrap_or_default();
        let domain = |prefix: &str| {
            let id = self.auth.get(&format!("{prefix}_domain_id"));
            let name = self.auth.get(&format!("{prefix}_domain_name"));
            match (id, name) {
                (Some(id), _) => json!({ "id": id }),
                (None, Some(name)) => json!({ "name": name }),
                (None, None) => json!({"id": "default"}),
            }
        };
        if self.auth.contains_key("application_credential_id") {
            return json!({"auth": {"identity": {"methods": ["application_credential"], "application_credential":
                {"id": of("application_credential_id"), "secret": of("application_credential_secret")}}}});
        }
        let user = json!({"name": of("username"), "password": of("password"), "domain": domain("user")});
        json!({"auth": {
            "identity": {"methods": ["password"], "password": {"user": user}},
            "scope": {"project": {"name": of("project_name"), "domain": domain("project")}}}})
    }
}

fn read_clouds(file: &Path) -> Result<Login> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let clouds: Value = serde_saphyr::from_str(&text).with_context(|| file.display().to_string())?;
    let name = env::var("NEUTRON_CLOUD").unwrap_or_else(|_| "demo".to_owned());
    let auth = clouds.pointer(&format!("/clouds/{name}/auth")).and_then(Value::as_object);
    let Some(auth) = auth else { bail!("{}: no cloud {name}", file.display()) };
    let auth: BTreeMap<String, String> = strings(auth);
    let auth_url = auth.get("auth_url").context("no auth_url")?.trim_end_matches('/').to_owned();
    Ok(Login { auth_url, auth })
}

fn strings(map: &Map<String, Value>) -> BTreeMap<String, String> {
    map.iter().filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

/// The URL that the emulator prints after `label`.
async fn announced(emulator: &Process, label: &str) -> Result<String> {
    let line = emulator.line(SOON, label, |line| line.text.contains(label)).await?;
    let (_, url) = line.text.split_once(label).context("no address")?;
    Ok(url.trim().trim_end_matches('/').to_owned())
}
