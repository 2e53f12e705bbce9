//! Registry credentials: docker's configuration file, as `docker login`, `oras login` and Kubernetes pull secrets write it.

use super::Error;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;

/// Deadline of a credential helper, and its most output.
const HELPER: Duration = Duration::from_secs(10);

/// Largest configuration file.
const CONFIG_BYTES: u64 = 1 << 20;

/// The key of Docker Hub, which differs from its host name.
const DOCKER_HUB: &str = "https://index.docker.io/v1/";

/// The user name that marks the secret as a token.
const TOKEN_USER: &str = "<token>";

/// A login.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Login {
    /// User and password.
    Basic { user: String, password: String },
    /// A token to exchange at an authorization server.
    Identity(String),
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Login")
    }
}

/// # Source
///
/// docker's `config.json`; the keys with a path are of containers-auth.json(5).
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Config {
    auths: BTreeMap<String, Auth>,
    creds_store: Option<String>,
    cred_helpers: BTreeMap<String, String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Auth {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
    #[serde(rename = "identitytoken")]
    identity_token: Option<String>,
}

/// The response of a credential helper.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Helped {
    username: String,
    secret: String,
}

/// The file with logins, read again for each login, because credentials are rotated while the host runs.
#[derive(Clone, Debug)]
pub(super) struct Credentials {
    file: Option<PathBuf>,
    /// Whether the user named the file: then it must exist.
    named: bool,
}

impl Credentials {
    /// * `file` - replaces `config.json` in `DOCKER_CONFIG` or `~/.docker`.
    pub(super) fn new(file: Option<PathBuf>) -> Self {
        let named = file.is_some();
        Self { file: file.or_else(users_file), named }
    }

    /// The login for a repository. None: anonymous access.
    pub(super) async fn find(&self, registry: &str, repository: &str) -> Result<Option<Login>, Error> {
        let Some(file) = &self.file else { return Ok(None) };
        let bad = |reason: String| Error::File { path: file.clone(), reason };
        let bytes = match read(file).await {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound && !self.named => return Ok(None),
            other => other.map_err(|e| bad(e.to_string()))?,
        };
        // The parser's message might quote a password.
        let config: Config = serde_json::from_slice(&bytes)
            .map_err(|e| bad(format!("not a docker configuration (line {})", e.line())))?;
        let keys = keys(registry, repository);
        if let Some(helper) = keys.iter().find_map(|key| config.cred_helpers.get(key)) {
            return ask(helper, registry).await.map_err(bad);
        }
        let auth = keys.iter().find_map(|key| config.auths.get(key));
        if let Some(login) = auth.map(login).transpose().map_err(bad)?.flatten() {
            return Ok(Some(login));
        }
        match &config.creds_store {
            Some(helper) => ask(helper, registry).await.map_err(bad),
            None => Ok(None),
        }
    }
}

fn users_file() -> Option<PathBuf> {
    let folder = |variable: &str| std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let docker = folder("DOCKER_CONFIG").or_else(|| folder("HOME").map(|home| home.join(".docker")));
    docker.map(|docker| docker.join("config.json"))
}

async fn read(file: &Path) -> std::io::Result<Vec<u8>> {
    use tokio::io::AsyncReadExt as _;
    let mut bytes = Vec::new();
    tokio::fs::File::open(file).await?.take(CONFIG_BYTES).read_to_end(&mut bytes).await?;
    Ok(bytes)
}

/// The possible keys of a repository's login, narrowest first.
fn keys(registry: &str, repository: &str) -> Vec<String> {
    let mut keys = Vec::new();
    let mut path = format!("{registry}/{repository}");
    while let Some((above, _)) = path.rsplit_once('/') {
        keys.push(path.clone());
        path = above.to_owned();
    }
    keys.push(registry.to_owned());
    for scheme in ["https", "http"] {
        keys.extend(["", "/", "/v1/", "/v2/"].map(|end| format!("{scheme}://{registry}{end}")));
    }
    if registry == "docker.io" {
        keys.push(DOCKER_HUB.to_owned());
    }
    keys
}

fn login(auth: &Auth) -> Result<Option<Login>, String> {
    if let Some(token) = auth.identity_token.as_ref().filter(|token| !token.is_empty()) {
        return Ok(Some(Login::Identity(token.clone())));
    }
    if let Some(encoded) = auth.auth.as_ref().filter(|encoded| !encoded.is_empty()) {
        let decoded = STANDARD.decode(encoded.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let decoded = decoded.ok_or("an auth is not base64 of user:password")?;
        // Some tools append a NUL byte.
        let (user, password) = decoded.trim_end_matches('\0').split_once(':').ok_or("an auth has no colon")?;
        return Ok(Some(Login::Basic { user: user.to_owned(), password: password.to_owned() }));
    }
    let (Some(user), Some(password)) = (&auth.username, &auth.password) else { return Ok(None) };
    Ok(Some(Login::Basic { user: user.clone(), password: password.clone() }))
}

/// Calls `docker-credential-NAME`.
///
/// # Source
///
/// docker/docker-credential-helpers: `get` reads the server from stdin, and fails for an unknown server.
async fn ask(helper: &str, registry: &str) -> Result<Option<Login>, String> {
    if helper.is_empty() || helper.contains('/') {
        return Err(format!("{helper:?} is not the name of a credential helper"));
    }
    let server = if registry == "docker.io" { DOCKER_HUB } else { registry };
    let program = format!("docker-credential-{helper}");
    let mut command = tokio::process::Command::new(&program);
    command.arg("get").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    let exchange = async {
        let mut child = command.spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(server.as_bytes()).await?;
        }
        child.wait_with_output().await
    };
    let output = tokio::time::timeout(HELPER, exchange).await.map_err(|_late| format!("{program} does not end"))?;
    let output = output.map_err(|e| format!("{program} cannot be run: {e}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stdout).to_lowercase();
        if said.contains("not found") {
            return Ok(None);
        }
        return Err(format!("{program} failed ({})", output.status));
    }
    let Ok(Helped { username, secret }) = serde_json::from_slice(&output.stdout) else {
        return Err(format!("{program} does not answer with a user and a secret"));
    };
    Ok(Some(if username == TOKEN_USER {
        Login::Identity(secret)
    } else {
        Login::Basic { user: username, password: secret }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn found(config: &str, registry: &str, repository: &str) -> Result<Option<Login>, Error> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.json");
        std::fs::write(&file, config).unwrap();
        Credentials::new(Some(file)).find(registry, repository).await
    }

    fn basic(user: &str, password: &str) -> Option<Login> {
        Some(Login::Basic { user: user.to_owned(), password: password.to_owned() })
    }

    #[tokio::test]
    async fn the_narrowest_login_counts() {
        let config = r#"{"auths": {
            "r.example": {"auth": "dXNlcjpwYTpzcw=="},
            "r.example/team": {"username": "team", "password": "t"},
            "https://old.example/v1/": {"auth": "bzpwAA=="},
            "https://index.docker.io/v1/": {"auth": "aHViOmg="},
            "token.example": {"auth": "dTpw", "identitytoken": "idt"}
        }}"#;
        assert_eq!(found(config, "r.example", "network").await.unwrap(), basic("user", "pa:ss"));
        assert_eq!(found(config, "r.example", "team/network").await.unwrap(), basic("team", "t"));
        assert_eq!(found(config, "r.example", "teams/network").await.unwrap(), basic("user", "pa:ss"));
        assert_eq!(found(config, "old.example", "a").await.unwrap(), basic("o", "p"));
        assert_eq!(found(config, "docker.io", "library/a").await.unwrap(), basic("hub", "h"));
        assert_eq!(found(config, "token.example", "a").await.unwrap(), Some(Login::Identity("idt".to_owned())));
        assert_eq!(found(config, "other.example", "a").await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_broken_file_is_told_without_what_is_in_it() {
        for config in
            [r#"{"auths": {"r.example": "secret"}}"#, "secret", r#"{"auths":{"r.example":{"auth":"c2VjcmV0"}}}"#]
        {
            let error = found(config, "r.example", "a").await.unwrap_err().to_string();
            assert!(error.contains("config.json") && !error.contains("secret"), "{error}");
        }
        let named = Credentials::new(Some(PathBuf::from("/nonexistent/config.json")));
        assert!(named.find("r.example", "a").await.is_err());
    }

    #[tokio::test]
    async fn a_helper_that_is_no_plain_name_is_not_run() {
        let config = r#"{"credHelpers": {"r.example": "../../bin/sh"}, "credsStore": "of-nobody"}"#;
        assert!(found(config, "r.example", "a").await.unwrap_err().to_string().contains("not the name"));
        let error = found(config, "other.example", "a").await.unwrap_err().to_string();
        assert!(error.contains("docker-credential-of-nobody cannot be run"), "{error}");
    }
}
