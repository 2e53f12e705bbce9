//! Stubs of HTTP services for scenarios, in the words of a case's exchanges.

use super::format::{ExchangeText, FailureName, HttpRequest, HttpResponse};
use super::service::ServiceText;
use super::{CaseError, failure, parse, request_faults, response};
use crate::plugin::tape::Sent;
use crate::plugin::{FaultEffect, HttpFault, HttpStub, StubAnswer};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// A stub in its written form: a request and its answer, or a service that keeps records.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StubText {
    request: Option<HttpRequest>,
    service: Option<ServiceText>,
    /// Stubs in a file of their own, in place of this one.
    file: Option<String>,
    response: Option<HttpResponse>,
    failure: Option<FailureName>,
    /// The reason of a failure, as the guest gets it.
    message: Option<String>,
    /// How many requests it answers. None: all.
    times: Option<u32>,
    /// Milliseconds until the answer.
    #[serde(default)]
    delay_ms: u64,
}

impl StubText {
    /// The stub. In its URL `*` is any run of characters.
    ///
    /// # Errors
    ///
    /// Its answer makes no sense.
    pub fn stub(&self) -> Result<HttpStub, String> {
        let delay = Duration::from_millis(self.delay_ms);
        let answers = self.response.is_some() || self.failure.is_some() || self.message.is_some();
        let mut wanted = match (&self.request, &self.service) {
            (Some(request), None) => request.clone(),
            (None, Some(_)) if answers || self.times.is_some() => {
                return Err("a service answers by itself: it takes no response, failure, message and times".to_owned());
            }
            (None, Some(service)) => return service.stub(delay),
            _ => return Err("needs one of request, service and file".to_owned()),
        };
        let (failed, message, answered) = (self.failure, self.message.clone(), self.response.clone());
        if failed.is_some() && answered.is_some() {
            return Err("has response and failure: needs one of them".to_owned());
        }
        let answered = response(answered.unwrap_or_default())?;
        let answer = move |_: &Sent| -> StubAnswer {
            match failed {
                Some(name) => Err(failure(name, message.as_deref(), 0)),
                None => Ok(answered.clone()),
            }
        };
        let url = wanted.url.take();
        let fits = move |sent: &Sent| {
            url.as_ref().is_none_or(|url| fits(url, &sent.url)) && request_faults(&wanted, sent).is_empty()
        };
        Ok(HttpStub { fits: Box::new(fits), answer: Box::new(answer), times: self.times, delay, records: None })
    }

    /// The file that has the stubs, if this is only its name.
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        self.file.as_deref().filter(|_| self.request.is_none() && self.service.is_none())
    }

    /// The URLs of the collections of a service.
    #[must_use]
    pub fn collections(&self) -> Vec<String> {
        self.service.as_ref().map(ServiceText::urls).unwrap_or_default()
    }
}

/// The requests to services that a fault strikes. Absent fields match everything.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpRequests {
    /// Empty: all.
    #[serde(default)]
    pub methods: Vec<String>,
    /// `*` is any run of characters.
    pub url: Option<String>,
}

impl HttpRequests {
    /// A fault of these requests.
    ///
    /// * `times` - None: until it is removed.
    #[must_use]
    pub fn fault(
        &self,
        (id, skip, times): (String, u64, Option<u64>),
        (effect, after_effect): (FaultEffect, bool),
    ) -> HttpFault {
        let Self { methods, url } = self.clone();
        let crash = matches!(effect, FaultEffect::Crash);
        let fits = move |sent: &Sent| {
            let named = methods.is_empty() || methods.contains(&sent.method);
            // Only a write has an effect after which a host can crash.
            let strikes = named && !(crash && ["GET", "HEAD", "OPTIONS"].contains(&sent.method.as_str()));
            strikes && url.as_ref().is_none_or(|url| fits(url, &sent.url))
        };
        HttpFault { id, fits: Box::new(fits), skip, times, effect, after_effect }
    }
}

/// An expected request: only the given fields are compared.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub struct ExpectedRequest(HttpRequest);

impl ExpectedRequest {
    /// What differs, one line each. Empty: the request is the expected one. In the URL `*` is any run of characters.
    #[must_use]
    pub fn faults(&self, sent: &Sent) -> Vec<String> {
        let mut wanted = self.0.clone();
        wanted.url.take_if(|url| fits(url, &sent.url));
        request_faults(&wanted, sent)
    }

    /// The method and the URL, for people.
    #[must_use]
    pub fn line(&self) -> String {
        format!("{} {}", self.0.method.as_deref().unwrap_or("any"), self.0.url.as_deref().unwrap_or("any"))
    }
}

/// A request in the words of an expected one: method, URL and body.
#[must_use]
pub fn expected(sent: &Sent) -> Value {
    let mut fields = Map::from_iter([("method".to_owned(), json!(sent.method)), ("url".to_owned(), json!(sent.url))]);
    if !sent.body.is_empty() {
        match serde_json::from_slice::<Value>(&sent.body) {
            Ok(body) => fields.insert("json".to_owned(), body),
            Err(_) => fields.insert("body".to_owned(), String::from_utf8_lossy(&sent.body).into()),
        };
    }
    fields.into()
}

/// The exchanges of a case or a recording as stubs, each for one request.
///
/// # Errors
///
/// See [`CaseError`].
pub fn stubs_of(case: &str) -> Result<Vec<StubText>, CaseError> {
    let stub = |exchange: ExchangeText| StubText {
        request: Some(exchange.request),
        service: None,
        file: None,
        response: exchange.response,
        failure: exchange.failure,
        message: exchange.message,
        times: Some(1),
        delay_ms: 0,
    };
    Ok(parse(case)?.http.into_iter().map(stub).collect())
}

/// Whether a text fits a pattern, in which `*` is any run of characters.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(rest) = text.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    let mut rest = rest;
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = rest.get(at + part.len()..).unwrap_or_default();
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_any_run_of_characters() {
        for (pattern, text, expected) in [
            ("http://a/x", "http://a/x", true),
            ("http://a/x", "http://a/xy", false),
            ("http://a/*", "http://a/x?y", true),
            ("*", "", true),
            ("*/ports?*=1", "http://n/v2/ports?a=b&c=1", true),
            ("*/ports?*=1", "http://n/v2/ports?a=b&c=2", false),
            ("a*a", "a", false),
        ] {
            assert_eq!(fits(pattern, text), expected, "{pattern} {text}");
        }
    }
}
