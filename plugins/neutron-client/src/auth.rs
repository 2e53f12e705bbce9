//! Authentication with OpenStack: none, a token from the configuration, or a token from Keystone.

use oarlock_guest::{Error, Manifest, Result, cache, config, http};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Duration;

/// Lifetime of a token when Keystone's response has none.
const UNKNOWN_LIFETIME: Duration = Duration::from_secs(300);

/// Declares every configuration key about Neutron's address and the plugin's credentials, and the resulting origins.
pub fn declare_configuration(manifest: Manifest) -> Manifest {
    let text = |description: &str| json!({"type": "string", "description": description});
    manifest
        .config_required("neutronUrl", text("Neutron's endpoint, with or without /v2.0: http://127.0.0.1:9696"))
        .config_property("token", text("A fixed X-Auth-Token, instead of Keystone"))
        .config_property("authUrl", text("Keystone's endpoint: http://127.0.0.1:5000/v3"))
        .config_property("applicationCredentialId", text("An application credential, instead of user and password"))
        .config_property("applicationCredentialSecret", text("Its secret"))
        .config_property("username", text("User name"))
        .config_property("password", text("The user's password"))
        .config_property("userDomain", text("Name of the user's domain; the default domain unless set"))
        .config_property("projectName", text("Project everything is made in"))
        .config_property("projectDomain", text("Name of the project's domain; the user's unless set"))
        .http_origin_from_config("neutronUrl")
        .http_origin_from_config("authUrl")
        .http_safe_request("POST", "*/auth/tokens")
}

/// The source of tokens.
#[derive(Debug)]
pub(crate) enum Auth {
    /// Neutron runs without authentication.
    Nobody,
    /// The configuration has a token.
    Fixed(String),
    /// Keystone issues a token.
    Keystone(Keystone),
}

/// Credentials for Keystone v3.
#[derive(Debug)]
pub(crate) struct Keystone {
    url: String,
    request: Value,
    /// The cache key of the token: it contains the account, so that new credentials do not get an old token.
    cache_key: String,
}

/// A token and its project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Token {
    pub(crate) id: String,
    /// The project it is scoped to.
    pub(crate) project_id: Option<String>,
}

impl Auth {
    /// # Errors
    ///
    /// Terminal, with the key that is missing or superfluous.
    pub(crate) fn from_config() -> Result<Self> {
        let Some(url) = config::get("authUrl") else {
            if let Some(key) =
                ["username", "password", "applicationCredentialId"].into_iter().find(|key| config::get(key).is_some())
            {
                return Err(Error::terminal(format_args!("the plugin's configuration sets {key}, but not authUrl")));
            }
            return Ok(config::get("token").map_or(Self::Nobody, Self::Fixed));
        };
        if config::get("token").is_some() {
            return Err(Error::terminal("the plugin's configuration sets both token and authUrl: which one is meant?"));
        }
        let (who, identity, scope) = match config::get("applicationCredentialId") {
            Some(id) => application_credential(id)?,
            None => password()?,
        };
        let mut auth = json!({"identity": identity});
        if let (Some(auth), Some(scope)) = (auth.as_object_mut(), scope) {
            auth.insert("scope".to_owned(), scope);
        }
        let url = url.trim_end_matches('/');
        let url = if url.ends_with("/v3") { format!("{url}/auth/tokens") } else { format!("{url}/v3/auth/tokens") };
        let cache_key = format!("token {url} {who}");
        Ok(Self::Keystone(Keystone { url, request: json!({"auth": auth}), cache_key }))
    }
}

type Identity = (String, Value, Option<Value>);

fn application_credential(id: String) -> Result<Identity> {
    let secret = config::require("applicationCredentialSecret")?;
    let credential = json!({"id": id, "secret": secret});
    Ok((id, json!({"methods": ["application_credential"], "application_credential": credential}), None))
}

fn password() -> Result<Identity> {
    let (user, password) = (config::require("username")?, config::require("password")?);
    let project = config::require("projectName")?;
    let named = |key: &str| config::get(key).map(|name| json!({"name": name}));
    let user_domain = named("userDomain").unwrap_or_else(|| json!({"id": "default"}));
    let project_domain = named("projectDomain").unwrap_or_else(|| user_domain.clone());
    let who = format!("{user}@{user_domain} {project}@{project_domain}");
    let user = json!({"name": user, "domain": user_domain, "password": password});
    let scope = json!({"project": {"name": project, "domain": project_domain}});
    Ok((who, json!({"methods": ["password"], "password": {"user": user}}), Some(scope)))
}

impl Keystone {
    /// A token from the host's cache, or a new one.
    ///
    /// # Errors
    ///
    /// As [`fetch`](Self::fetch).
    pub(crate) fn token(&self) -> Result<Token> {
        cache::get(&self.cache_key).map_or_else(|| self.fetch(), Ok)
    }

    /// A token other than the rejected one: another reconcile may have fetched one meanwhile.
    ///
    /// # Errors
    ///
    /// As [`fetch`](Self::fetch).
    pub(crate) fn token_instead_of(&self, refused: &str) -> Result<Token> {
        match cache::get::<Token>(&self.cache_key) {
            Some(token) if token.id != refused => Ok(token),
            _ => {
                // Only the rejected one: a token that another reconcile has fetched stays.
                cache::remove(&self.cache_key);
                self.fetch()
            }
        }
    }

    /// A new token, cached for further reconciles until shortly before it expires.
    ///
    /// # Errors
    ///
    /// Transient when Keystone does not answer, or rejects the credentials (a secret may just be rotated); terminal when it rejects the
    /// request as invalid.
    fn fetch(&self) -> Result<Token> {
        let answer = http::post(&self.url).json(&self.request).timeout(crate::client::TIMEOUT).send();
        let answer = answer.map_err(|failure| Error::from(failure).context("Keystone"))?;
        if answer.status == 401 {
            return Err(Error::transient("Keystone refuses the plugin's credentials (401)"));
        }
        let answer = answer.error_for_status().map_err(|error| error.context("Keystone"))?;
        let Some(id) = answer.header("x-subject-token").map(str::to_owned) else {
            return Err(Error::transient("Keystone answered without a token"));
        };
        let body: TokenAnswer = answer.json().map_err(|error| error.context("Keystone"))?;
        let token = Token { id, project_id: body.token.project.map(|project| project.id) };
        cache::set(&self.cache_key, &token, Some(kept_for(&body.token.issued_at, &body.token.expires_at)));
        Ok(token)
    }
}

#[derive(Deserialize)]
struct TokenAnswer {
    token: TokenBody,
}

#[derive(Deserialize)]
struct TokenBody {
    #[serde(default)]
    issued_at: String,
    #[serde(default)]
    expires_at: String,
    project: Option<Project>,
}

#[derive(Deserialize)]
struct Project {
    id: String,
}

/// Nine tenths of a token's lifetime. Both times are Keystone's, so no other clock has to agree with it.
fn kept_for(issued: &str, expires: &str) -> Duration {
    let lifetime = seconds(issued).zip(seconds(expires)).and_then(|(issued, expires)| expires.checked_sub(issued));
    lifetime.map_or(UNKNOWN_LIFETIME, |seconds| Duration::from_secs(seconds) * 9 / 10)
}

/// Seconds since the year 0 of a time like `2026-11-20T15:33:05.000000Z`.
fn seconds(time: &str) -> Option<u64> {
    let (date, time) = time.trim_end_matches('Z').split_once('T')?;
    let mut date = date.split('-').map(|part| part.parse::<u64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let mut time = time.split('.').next()?.split(':').map(|part| part.parse::<u64>().ok());
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Years that begin in March end with the leap day; their months then have 153 days in five.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year.checked_sub(1)?, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day;
    Some(((days * 24 + hour) * 60 + minute) * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_kept_for_nine_tenths_of_its_life() {
        for (issued, expires, expected) in [
            ("2026-11-20T14:33:05.000000Z", "2026-11-20T15:33:05.000000Z", 3240),
            ("2026-12-31T23:59:50Z", "2027-01-01T00:00:00Z", 9),
            ("2028-02-28T12:00:00Z", "2028-03-01T12:00:00Z", 2 * 86_400 * 9 / 10),
            ("2027-02-28T12:00:00Z", "2027-03-01T12:00:00Z", 86_400 * 9 / 10),
            ("2026-11-20T15:33:05Z", "2026-11-20T14:33:05Z", 300),
            ("", "tomorrow", 300),
            ("2026-13-01T00:00:00Z", "2027-01-01T00:00:00Z", 300),
        ] {
            assert_eq!(kept_for(issued, expires), Duration::from_secs(expected), "{issued} {expires}");
        }
    }
}
