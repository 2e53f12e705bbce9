//! Registry logins: challenges after 401, and exchange of logins for tokens.

use super::transport::{Asked, Call, Transport};
use crate::Error;
use crate::credentials::{Credentials, Login};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header};
use http_auth::ChallengeParser;
use serde::Deserialize;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;
use url::Url;

/// Largest response of an authorization server.
const TOKEN_BYTES: u64 = 1 << 20;

/// Lifetime of a token without an expiry, by the specification.
const TOKEN_SECONDS: u64 = 60;

/// Longest accepted lifetime.
const LONGEST_TOKEN_SECONDS: u64 = 3600;

/// A token is no longer used this long before its expiry.
const BEFORE_THE_END: Duration = Duration::from_secs(5);

/// Registry, repository, and whether the login allows pushing.
type Scope = (String, String, bool);

/// Accepted logins, and the source of others.
#[derive(Debug)]
pub(super) struct Logins {
    credentials: Credentials,
    known: Mutex<HashMap<Scope, (HeaderValue, Instant)>>,
}

/// The authentication that a registry asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Challenge {
    Basic,
    Bearer { realm: String, service: Option<String>, scope: Option<String> },
}

#[derive(Deserialize)]
struct Token {
    #[serde(default)]
    token: String,
    #[serde(default)]
    access_token: String,
    expires_in: Option<u64>,
}

impl Logins {
    pub(super) fn new(config: Option<PathBuf>) -> Self {
        Self { credentials: Credentials::new(config), known: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Scope, (HeaderValue, Instant)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The login that the registry accepted before, while it is valid.
    pub(super) fn known(&self, call: &Call<'_>) -> Option<HeaderValue> {
        let mut known = self.lock();
        known.retain(|_, (_, until)| *until > Instant::now());
        known.get(&scope(call)).map(|(value, _)| value.clone())
    }

    /// Forgets a login that the registry no longer accepts.
    pub(super) fn forget(&self, call: &Call<'_>) {
        self.lock().remove(&scope(call));
    }

    /// Obtains the login that a response asks for.
    pub(super) async fn login(
        &self,
        transport: &Transport,
        call: &Call<'_>,
        headers: &HeaderMap,
    ) -> Result<HeaderValue, Error> {
        let challenge =
            challenge(headers).ok_or_else(|| call.asked.unauthorized("it asks for no login that is known"))?;
        let login = self.credentials.find(&call.asked.registry, &call.repository).await?;
        let (value, good_for) = match (challenge, login) {
            (Challenge::Basic, Some(Login::Basic { user, password })) => {
                (basic(&user, &password), Duration::from_secs(TOKEN_SECONDS))
            }
            (Challenge::Basic, Some(Login::Identity(_))) => {
                return Err(call.asked.unauthorized("it asks for a password, and there is only a token for it"));
            }
            (Challenge::Basic, None) => {
                return Err(call
                    .asked
                    .unauthorized("it asks for a password, and there is none for it in the docker configuration"));
            }
            (Challenge::Bearer { realm, service, scope }, login) => {
                let wanted = Wanted { realm, service, scope: scope.unwrap_or_else(|| actions(call)) };
                token(transport, call, wanted, login).await?
            }
        };
        let mut value = HeaderValue::from_str(&value)
            .map_err(|_invalid| call.asked.unauthorized("the login has bytes no header can have"))?;
        value.set_sensitive(true);
        let until = Instant::now() + good_for.saturating_sub(BEFORE_THE_END);
        self.lock().insert(scope(call), (value.clone(), until));
        Ok(value)
    }
}

fn scope(call: &Call<'_>) -> Scope {
    (call.asked.registry.clone(), call.repository.clone(), call.push)
}

fn actions(call: &Call<'_>) -> String {
    format!("repository:{}:{}", call.repository, if call.push { "pull,push" } else { "pull" })
}

fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}

struct Wanted {
    realm: String,
    service: Option<String>,
    scope: String,
}

/// Requests a token from the authorization server; returns it with its lifetime.
async fn token(
    transport: &Transport,
    call: &Call<'_>,
    wanted: Wanted,
    login: Option<Login>,
) -> Result<(String, Duration), Error> {
    let Ok(mut url) = Url::parse(&wanted.realm) else {
        return Err(call.asked.unauthorized("its authorization server is no URL"));
    };
    let anonymous = login.is_none();
    let (mut content, mut authorization) = (None, None);
    match login {
        Some(Login::Identity(token)) => {
            let mut form = url::form_urlencoded::Serializer::new(String::new());
            form.append_pair("grant_type", "refresh_token").append_pair("client_id", "oarlock");
            form.append_pair("refresh_token", &token).append_pair("scope", &wanted.scope);
            form.append_pair("service", wanted.service.as_deref().unwrap_or_default());
            content = Some(("application/x-www-form-urlencoded", Bytes::from(form.finish())));
        }
        other => {
            let mut query = url.query_pairs_mut();
            if let Some(service) = &wanted.service {
                query.append_pair("service", service);
            }
            query.append_pair("scope", &wanted.scope);
            drop(query);
            if let Some(Login::Basic { user, password }) = other {
                authorization = HeaderValue::from_str(&basic(&user, &password)).ok();
            }
        }
    }
    let method = if content.is_some() { Method::POST } else { Method::GET };
    let what = format!("login for {}", call.asked.what);
    let host = url.host_str().unwrap_or_default().to_owned();
    let asking = Call {
        asked: Asked { what, registry: format!("{host}, the authorization server of {}", call.asked.registry) },
        method,
        url,
        accept: "application/json",
        content,
        repository: call.repository.clone(),
        push: call.push,
        timeout: None,
        plain: call.plain,
    };
    let response = transport.send(&asking, authorization.as_ref()).await?;
    let response = match transport.checked(&asking.asked, response).await {
        Err(Error::Unauthorized { .. }) if anonymous => {
            return Err(call.asked.unauthorized("there is no login for it in the docker configuration"));
        }
        other => other?,
    };
    let bytes = transport.whole(&asking.asked, response, TOKEN_BYTES).await?;
    let token: Token = serde_json::from_slice(&bytes)
        .map_err(|_invalid| call.asked.unauthorized("its authorization server does not answer with a token"))?;
    let text = if token.token.is_empty() { token.access_token } else { token.token };
    if text.is_empty() {
        return Err(call.asked.unauthorized("its authorization server answers without a token"));
    }
    let seconds = token.expires_in.unwrap_or(TOKEN_SECONDS).min(LONGEST_TOKEN_SECONDS);
    Ok((format!("Bearer {text}"), Duration::from_secs(seconds)))
}

/// The challenge in the `WWW-Authenticate` headers; a token takes precedence.
pub(crate) fn challenge(headers: &HeaderMap) -> Option<Challenge> {
    let offered = headers.get_all(header::WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
    let mut found = None;
    for one in offered.flat_map(ChallengeParser::new).filter_map(Result::ok) {
        let parameter = |name: &str| {
            let value = one.params.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
            value.map(|(_, value)| value.to_unescaped())
        };
        if one.scheme.eq_ignore_ascii_case("bearer")
            && let Some(realm) = parameter("realm")
        {
            return Some(Challenge::Bearer { realm, service: parameter("service"), scope: parameter("scope") });
        }
        if one.scheme.eq_ignore_ascii_case("basic") {
            found = Some(Challenge::Basic);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(values: &[&str]) -> Option<Challenge> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::WWW_AUTHENTICATE, value.parse().unwrap());
        }
        challenge(&headers)
    }

    #[test]
    fn challenges_are_read() {
        let bearer = |realm: &str, service: Option<&str>, scope: Option<&str>| {
            let own = |text: Option<&str>| text.map(str::to_owned);
            Some(Challenge::Bearer { realm: realm.to_owned(), service: own(service), scope: own(scope) })
        };
        assert_eq!(
            asked(&[r#"Bearer realm="https://a.example/token",service="r.example",scope="repository:a/b:pull,push""#]),
            bearer("https://a.example/token", Some("r.example"), Some("repository:a/b:pull,push"))
        );
        let token = bearer("https://a.example", None, None);
        assert_eq!(asked(&["Basic realm=\"x\"", "bearer realm=\"https://a.example\""]), token);
        assert_eq!(asked(&["Basic realm=\"x\", Bearer realm=\"https://a.example\""]), token);
        assert_eq!(asked(&["Basic"]), Some(Challenge::Basic));
        assert_eq!(asked(&[r#"Bearer realm="a \"b\" c", service=s"#]), bearer("a \"b\" c", Some("s"), None));
        for nonsense in
            ["Bearer", "Bearer realm", "Negotiate", "Bearer =\"", "Bearer service=\"x", "Bearer realm=https://a"]
        {
            assert_eq!(asked(&[nonsense]), None, "{nonsense}");
        }
    }
}
