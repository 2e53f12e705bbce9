//! Keystone v3 for Neutron clients: tokens by password or application credential.

use std::collections::BTreeMap;
use std::time::Duration;

use http::StatusCode;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::answer::Answer;
use crate::neutron::Caller;

/// The accounts, and the lifetime of tokens.
#[derive(Debug, Clone)]
pub struct Auth {
    /// Users, each with one project.
    pub accounts: Vec<Account>,
    /// Lifetime of a token.
    pub token_lifetime: Duration,
}

impl Auth {
    /// Tokens with a lifetime of an hour, as in Keystone.
    #[must_use]
    pub fn new(accounts: impl IntoIterator<Item = Account>) -> Self {
        Self { accounts: accounts.into_iter().collect(), token_lifetime: Duration::from_secs(3600) }
    }
}

/// A user of the domain `default` (`Default`) with one project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// User name.
    pub user: String,
    /// Password.
    pub password: String,
    /// Project name. Accounts with the same project share its resources.
    pub project: String,
    /// An administrator sees every project and may set provider attributes and quotas.
    pub admin: bool,
    /// Id and secret of an application credential for the project.
    pub application: Option<(String, String)>,
}

impl Account {
    /// A member of a project.
    #[must_use]
    pub fn new(user: &str, password: &str, project: &str) -> Self {
        Self {
            user: user.to_owned(),
            password: password.to_owned(),
            project: project.to_owned(),
            admin: false,
            application: None,
        }
    }

    /// The same account as an administrator.
    #[must_use]
    pub const fn admin(mut self) -> Self {
        self.admin = true;
        self
    }

    /// The same account with an application credential.
    #[must_use]
    pub fn application_credential(mut self, id: &str, secret: &str) -> Self {
        self.application = Some((id.to_owned(), secret.to_owned()));
        self
    }

    /// Ids derive from names, so that they are the same in every run.
    fn id(kind: &str, name: &str) -> String {
        format!("{:016x}{:016x}", fnv(kind, name), fnv(name, kind))
    }

    fn project_id(&self) -> String {
        Self::id("project", &self.project)
    }
}

/// FNV-1a over two texts.
fn fnv(a: &str, b: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    a.bytes().chain([0]).chain(b.bytes()).fold(0xcbf2_9ce4_8422_2325, step)
}

#[derive(Debug, Clone)]
struct Token {
    account: Account,
    /// `false`: an unscoped token, with which Neutron shows and creates nothing.
    scoped: bool,
    expires: Instant,
    document: Value,
}

/// A parsed request to Keystone.
#[derive(Debug)]
pub(crate) struct KeystoneCall<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) auth_token: Option<&'a str>,
    pub(crate) subject_token: Option<&'a str>,
    pub(crate) body: &'a [u8],
    /// `http://host:port` of this Keystone and of its Neutron, for the catalog.
    pub(crate) keystone: &'a str,
    pub(crate) neutron: &'a str,
}

/// The accounts and the issued tokens.
#[derive(Debug)]
pub(crate) struct Keystone {
    auth: Auth,
    tokens: BTreeMap<String, Token>,
}

impl Keystone {
    pub(crate) const fn new(auth: Auth) -> Self {
        Self { auth, tokens: BTreeMap::new() }
    }

    /// The caller with this token. `None`: the token is unknown, expired or revoked.
    pub(crate) fn caller(&self, token: Option<&str>) -> Option<Caller> {
        let token = self.live(token)?;
        let project = if token.scoped { token.account.project_id() } else { String::new() };
        Some(Caller { project, admin: token.scoped && token.account.admin })
    }

    /// Expires every token issued so far.
    pub(crate) fn expire_all(&mut self) {
        self.tokens.clear();
    }

    fn live(&self, token: Option<&str>) -> Option<&Token> {
        self.tokens.get(token?).filter(|token| Instant::now() < token.expires)
    }

    pub(crate) fn answer(&mut self, call: &KeystoneCall<'_>) -> Answer {
        match (call.method, call.path.trim_end_matches('/')) {
            ("GET", "/v3") => Answer::ok(json!({"version": version(call.keystone)})),
            ("GET", "") => {
                Answer::new(StatusCode::MULTIPLE_CHOICES, json!({"versions": {"values": [version(call.keystone)]}}))
            }
            ("POST", "/v3/auth/tokens") => self.issue(call),
            (_, "/v3/auth/tokens") if self.live(call.auth_token).is_none() => unauthorized(call.keystone),
            ("GET" | "HEAD" | "DELETE", "/v3/auth/tokens") => match self.live(call.subject_token) {
                None => error(StatusCode::NOT_FOUND, "Not Found", "Could not recognize Fernet token"),
                Some(_) if call.method == "DELETE" => {
                    self.tokens.remove(call.subject_token.unwrap_or_default());
                    Answer::no_content()
                }
                Some(token) => Answer::ok(token.document.clone())
                    .with("x-subject-token", call.subject_token.unwrap_or_default().to_owned()),
            },
            (_, "/v3/auth/tokens") => error(
                StatusCode::METHOD_NOT_ALLOWED,
                "Method Not Allowed",
                "The method is not allowed for the requested URL.",
            ),
            _ => error(
                StatusCode::NOT_FOUND,
                "Not Found",
                "The requested URL was not found on the server. If you entered the URL manually please check your \
                 spelling and try again.",
            ),
        }
    }

    fn issue(&mut self, call: &KeystoneCall<'_>) -> Answer {
        let Ok(body) = serde_json::from_slice::<Value>(call.body) else {
            return error(
                StatusCode::BAD_REQUEST,
                "Bad Request",
                "Expecting to find valid JSON in request body. The server could not comply with the request since it is either malformed or otherwise incorrect. The client is assumed to be in error.",
            );
        };
        let Some(identity) = body.pointer("/auth/identity").filter(|i| i.get("methods").is_some_and(Value::is_array))
        else {
            return error(StatusCode::BAD_REQUEST, "Bad Request", "'identity' is a required property");
        };
        let methods = identity.get("methods").cloned().unwrap_or_default();
        let method = methods.get(0).and_then(Value::as_str).unwrap_or_default();
        let found = match method {
            "password" => self.by_password(&body, identity),
            "application_credential" => self.by_application(identity).map(|account| (account, true)),
            _ => return unsupported(call.keystone),
        };
        let Some((account, scoped)) = found else { return unauthorized(call.keystone) };
        // Expired tokens are no longer needed.
        self.tokens.retain(|_, token| Instant::now() < token.expires);
        let id = format!("gAAAAA{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple());
        let lifetime = self.auth.token_lifetime;
        let document = json!({"token": document(&account, scoped, method, lifetime, call)});
        let token = Token { account, scoped, expires: Instant::now() + lifetime, document: document.clone() };
        self.tokens.insert(id.clone(), token);
        Answer::created(document).with("x-subject-token", id)
    }

    fn by_password(&self, body: &Value, identity: &Value) -> Option<(Account, bool)> {
        let user = identity.pointer("/password/user")?;
        let account = self.auth.accounts.iter().find(|account| {
            let named = user.get("name").and_then(Value::as_str) == Some(&account.user) && in_domain(user);
            named || user.get("id").and_then(Value::as_str) == Some(&Account::id("user", &account.user))
        })?;
        if user.get("password").and_then(Value::as_str) != Some(&account.password) {
            return None;
        }
        let Some(scope) = body.pointer("/auth/scope") else { return Some((account.clone(), false)) };
        let project = scope.get("project")?;
        let named = project.get("name").and_then(Value::as_str) == Some(&account.project) && in_domain(project);
        let scoped = named || project.get("id").and_then(Value::as_str) == Some(&account.project_id());
        scoped.then(|| (account.clone(), true))
    }

    fn by_application(&self, identity: &Value) -> Option<Account> {
        let given = identity.get("application_credential")?;
        let (id, secret) = (given.get("id")?.as_str()?, given.get("secret")?.as_str()?);
        let owner = |a: &&Account| a.application.as_ref().is_some_and(|(i, s)| i == id && s == secret);
        self.auth.accounts.iter().find(owner).cloned()
    }
}

fn in_domain(value: &Value) -> bool {
    let domain = |key: &str| value.pointer(&format!("/domain/{key}")).and_then(Value::as_str);
    domain("id") == Some("default") || domain("name") == Some("Default")
}

fn document(account: &Account, scoped: bool, method: &str, lifetime: Duration, call: &KeystoneCall<'_>) -> Value {
    let domain = json!({"id": "default", "name": "Default"});
    let now = Timestamp::now();
    let lifetime = SignedDuration::try_from(lifetime).unwrap_or(SignedDuration::MAX);
    let expires = now.checked_add(lifetime).unwrap_or(Timestamp::MAX);
    let time = |at: Timestamp| at.strftime("%Y-%m-%dT%H:%M:%S.000000Z").to_string();
    let user_id = Account::id("user", &account.user);
    let user = json!({"domain": domain, "id": user_id, "name": account.user, "password_expires_at": null});
    let mut token = json!({
        "methods": [method], "user": user, "audit_ids": [uuid::Uuid::new_v4().simple().to_string()],
        "expires_at": time(expires), "issued_at": time(now),
    });
    if let (true, Some(token)) = (scoped, token.as_object_mut()) {
        let names: &[&str] =
            if account.admin { &["reader", "member", "manager", "admin"] } else { &["reader", "member"] };
        let roles: Vec<Value> = names.iter().map(|n| json!({"id": Account::id("role", n), "name": n})).collect();
        token.insert(
            "project".to_owned(),
            json!({"domain": domain, "id": account.project_id(), "name": account.project}),
        );
        token.insert("is_domain".to_owned(), json!(false));
        token.insert("roles".to_owned(), json!(roles));
        let identity = service("identity", "keystone", &format!("{}/v3/", call.keystone));
        token.insert("catalog".to_owned(), json!([identity, service("network", "neutron", call.neutron)]));
        if let (Some((id, _)), "application_credential") = (&account.application, method) {
            let application = json!({"id": id, "name": "application", "restricted": true});
            token.insert("application_credential".to_owned(), application);
        }
    }
    token
}

fn service(kind: &str, name: &str, url: &str) -> Value {
    let endpoint = |interface: &str| {
        let id = Account::id(interface, name);
        json!({"id": id, "interface": interface, "region_id": "RegionOne", "url": url, "region": "RegionOne"})
    };
    let endpoints: Vec<Value> = ["public", "internal", "admin"].into_iter().map(endpoint).collect();
    json!({"endpoints": endpoints, "id": Account::id("service", name), "type": kind, "name": name})
}

fn version(base: &str) -> Value {
    json!({
        "id": "v3.14", "status": "stable", "updated": "2020-04-07T00:00:00Z",
        "links": [{"rel": "self", "href": format!("{base}/v3/")}],
        "media-types": [{"base": "application/json", "type": "application/vnd.openstack.identity-v3+json"}],
    })
}

fn error(status: StatusCode, title: &str, message: &str) -> Answer {
    Answer::new(status, json!({"error": {"code": status.as_u16(), "message": message, "title": title}}))
}

fn unsupported(keystone: &str) -> Answer {
    error(StatusCode::UNAUTHORIZED, "Unauthorized", "Attempted to authenticate with an unsupported method.")
        .with("www-authenticate", format!("Keystone uri=\"{keystone}/v3\""))
}

/// The response of both services to a request without a valid token or password.
pub(crate) fn unauthorized(keystone: &str) -> Answer {
    error(StatusCode::UNAUTHORIZED, "Unauthorized", "The request you have made requires authentication.")
        .with("www-authenticate", format!("Keystone uri=\"{keystone}/v3\""))
}
