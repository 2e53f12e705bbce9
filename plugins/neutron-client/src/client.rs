//! Neutron client: requests, and classification of responses.

use crate::auth::{Auth, Token};
use oarlock_guest::http::{self, Request, Response};
use oarlock_guest::{Error, Result, config};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::cell::RefCell;
use std::time::Duration;

/// Timeout of one request: several fit into the deadline of a reconcile, so a slow server causes a specific error instead of a missed
/// deadline.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(10);

/// Most pages of one list. A longer list of the plugin's own resources means that the server repeats its pages.
const MOST_PAGES: usize = 1000;

/// Why Neutron rejected a request.
#[derive(Debug)]
pub enum Refusal {
    /// The resource does not exist, or is not visible to the account.
    NotFound(String),
    /// The resource changed since it was read (If-Match).
    Stale(String),
    /// The resource is still in use.
    InUse(String),
    /// Errors that the caller cannot handle.
    Other(Error),
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            // A resource that was just read is gone or different: the next reconcile reads it again.
            Refusal::NotFound(message) | Refusal::Stale(message) | Refusal::InUse(message) => Self::transient(message),
            Refusal::Other(error) => error,
        }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

/// The Neutron client, with its credentials.
#[derive(Debug)]
pub struct Neutron {
    /// Ends in `/v2.0`.
    base: String,
    auth: Auth,
    token: RefCell<Option<Token>>,
}

impl Neutron {
    /// Creates a client from the keys that [`declare_configuration`](crate::declare_configuration) declares.
    ///
    /// # Errors
    ///
    /// Terminal, with the missing configuration key.
    pub fn from_config() -> Result<Self> {
        let url = config::require("neutronUrl")?;
        let url = url.trim_end_matches('/');
        let base = if url.ends_with("/v2.0") { url.to_owned() } else { format!("{url}/v2.0") };
        Ok(Self { base, auth: Auth::from_config()?, token: RefCell::new(None) })
    }

    /// The project of the credentials, if known: with Keystone, after the first request.
    #[must_use]
    pub fn project_id(&self) -> Option<String> {
        self.token.borrow().as_ref()?.project_id.clone()
    }

    /// All resources of a collection that match the filters, over all pages.
    ///
    /// * `collection` - in the plural, as in the URL: `networks`.
    ///
    /// # Errors
    ///
    /// Neutron's error, or why there was no response.
    pub fn list<T: DeserializeOwned>(&self, collection: &str, filters: &[(&str, &str)]) -> Result<Vec<T>, Refusal> {
        let url = format!("{}/{collection}", self.base);
        let mut request = filters.iter().fold(http::get(&url), |request, (name, value)| request.query(name, value));
        let mut found = Vec::new();
        for _ in 0..MOST_PAGES {
            let mut page: Map<String, Value> = self.send(&request)?.json()?;
            let items = page.remove(collection).unwrap_or_default();
            let items: Vec<T> = serde_json::from_value(items).map_err(|error| garbage(&request, &error))?;
            found.extend(items);
            let Some(query) = next_page(&page, collection) else { return Ok(found) };
            // Only the query: the server may name itself by an address that is not granted.
            let next = http::get(format!("{url}?{query}"));
            if next == request {
                break;
            }
            request = next;
        }
        Err(Error::transient(format_args!("Neutron's list of {collection} has no end")).into())
    }

    /// One resource of a collection by its id.
    ///
    /// # Errors
    ///
    /// Neutron's error, or why there was no response.
    pub fn get<T: DeserializeOwned>(&self, collection: &str, id: &str) -> Result<T, Refusal> {
        self.one(collection, &http::get(self.url(collection, id)))
    }

    /// Creates a resource.
    ///
    /// * `body` - its fields, without the object in which Neutron wraps them.
    ///
    /// # Errors
    ///
    /// Neutron's error, or why there was no response.
    pub fn create<T: DeserializeOwned>(&self, collection: &str, body: &Value) -> Result<T, Refusal> {
        self.one(collection, &http::post(format!("{}/{collection}", self.base)).json(&wrapped(collection, body)))
    }

    /// Changes fields of a resource, unless it changed since `revision` was read.
    ///
    /// # Errors
    ///
    /// As [`create`](Self::create); [`Refusal::Stale`] for another revision.
    pub fn update<T: DeserializeOwned>(
        &self,
        collection: &str,
        id: &str,
        revision: Option<u64>,
        body: &Value,
    ) -> Result<T, Refusal> {
        let mut request = http::put(self.url(collection, id)).json(&wrapped(collection, body));
        if let Some(revision) = revision {
            request = request.header("if-match", format!("revision_number={revision}"));
        }
        self.one(collection, &request)
    }

    /// Deletes a resource. An absent one is no error.
    ///
    /// # Errors
    ///
    /// As [`create`](Self::create); [`Refusal::InUse`] while it is in use.
    pub fn delete(&self, collection: &str, id: &str) -> Result<(), Refusal> {
        match self.send(&http::delete(self.url(collection, id))) {
            Ok(_) | Err(Refusal::NotFound(_)) => Ok(()),
            Err(refusal) => Err(refusal),
        }
    }

    fn url(&self, collection: &str, id: &str) -> String {
        format!("{}/{collection}/{id}", self.base)
    }

    fn one<T: DeserializeOwned>(&self, collection: &str, request: &Request) -> Result<T, Refusal> {
        let mut body: Map<String, Value> = self.send(request)?.json()?;
        let one = body.remove(singular(collection)).unwrap_or_default();
        Ok(serde_json::from_value(one).map_err(|error| garbage(request, &error))?)
    }

    /// Sends a request with the credentials; when the token is rejected, once more with a new one.
    fn send(&self, request: &Request) -> Result<Response, Refusal> {
        let token = self.current_token()?;
        let mut answer = self.send_as(request, token.as_deref())?;
        if let (401, Auth::Keystone(keystone), Some(refused)) = (answer.status, &self.auth, token) {
            let renewed = keystone.token_instead_of(&refused)?;
            let id = renewed.id.clone();
            self.token.replace(Some(renewed));
            answer = self.send_as(request, Some(&id))?;
        }
        if answer.is_success() { Ok(answer) } else { Err(meaning(request, &answer)) }
    }

    fn current_token(&self) -> Result<Option<String>> {
        if let Some(token) = &*self.token.borrow() {
            return Ok(Some(token.id.clone()));
        }
        match &self.auth {
            Auth::Nobody => Ok(None),
            Auth::Fixed(token) => Ok(Some(token.clone())),
            Auth::Keystone(keystone) => {
                let token = keystone.token()?;
                Ok(Some(self.token.borrow_mut().insert(token).id.clone()))
            }
        }
    }

    fn send_as(&self, request: &Request, token: Option<&str>) -> Result<Response> {
        let mut request = request.clone().header("accept", "application/json").timeout(TIMEOUT);
        if let Some(token) = token {
            request = request.header("x-auth-token", token);
        }
        request.send().map_err(|failure| Error::from(failure).context(format_args!("Neutron at {}", self.base)))
    }
}

/// `network` for `networks`.
fn singular(collection: &str) -> &str {
    collection.strip_suffix('s').unwrap_or(collection)
}

fn wrapped(collection: &str, body: &Value) -> Value {
    Value::Object(Map::from_iter([(singular(collection).to_owned(), body.clone())]))
}

/// The query of the next page's address.
fn next_page(page: &Map<String, Value>, collection: &str) -> Option<String> {
    let links = page.get(&format!("{collection}_links"))?.as_array()?;
    let next = links.iter().find(|link| link.get("rel").and_then(Value::as_str) == Some("next"))?;
    let (_, query) = next.get("href")?.as_str()?.split_once('?')?;
    Some(query.to_owned())
}

fn garbage(request: &Request, error: &serde_json::Error) -> Error {
    Error::transient(format_args!("{} {}: Neutron's answer makes no sense: {error}", request.method, request.path()))
}

/// Classifies an unsuccessful response. Neutron uses one status for many errors, which only the type distinguishes.
fn meaning(request: &Request, answer: &Response) -> Refusal {
    let error = serde_json::from_slice::<ErrorBody>(&answer.body).map(|body| body.error).unwrap_or_default();
    let said = match (error.kind.as_str(), error.message) {
        ("", message) if message.is_empty() => answer.text().chars().take(200).collect(),
        (kind, message) => format!("{kind}: {message}"),
    };
    let message = format!("{} {}: Neutron answers {} {said}", request.method, request.path(), answer.status);
    match (answer.status, error.kind.as_str()) {
        (404, _) => Refusal::NotFound(message),
        (412, _) => Refusal::Stale(message),
        (409, kind) if kind.ends_with("InUse") => Refusal::InUse(message),
        // A conflict or a full quota may end by the action of another client. 401: the token was renewed already, or has to be replaced
        // by a person.
        (401 | 408 | 409 | 413 | 425 | 429 | 500..=599, _) => {
            Refusal::Other(Error::Transient { message, after: answer.retry_after() })
        }
        _ => Refusal::Other(Error::terminal(message)),
    }
}

#[derive(Deserialize)]
struct ErrorBody {
    #[serde(rename = "NeutronError")]
    error: NeutronError,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NeutronError {
    #[serde(rename = "type")]
    kind: String,
    message: String,
}

#[cfg(test)]
mod tests;
