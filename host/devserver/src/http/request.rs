//! Requests after authentication, with the warnings for their client.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use http::{HeaderMap, Method, header, request::Parts};

use super::query::Query;
use crate::model::{
    path::{self, Target},
    status::ApiError,
    user::User,
};

/// Warnings for a client during its request; each text once.
#[derive(Debug, Default)]
pub(crate) struct Warnings(Mutex<Vec<String>>);

impl Warnings {
    pub(crate) fn add(&self, texts: Vec<String>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for text in texts.into_iter().filter(|t| !t.is_empty()) {
            if !all.contains(&text) {
                all.push(text);
            }
        }
    }

    /// All warnings. When they are long in total, each is cut, as in Kubernetes.
    pub(crate) fn take(&self) -> Vec<String> {
        const TOTAL: usize = 4 * 1024;
        const EACH: usize = 256;
        let mut all = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        if all.iter().map(|t| t.chars().count()).sum::<usize>() > TOTAL {
            all.iter_mut().for_each(|t| *t = t.chars().take(EACH).collect());
        }
        all
    }
}

/// A completely read request.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: Query,
    pub(crate) accept: String,
    /// The media type without parameters.
    pub(crate) content_type: String,
    pub(crate) user_agent: String,
    /// The user of the request.
    pub(crate) user: User,
    pub(crate) body: Bytes,
    /// Why the body is missing; reported only to authorized users.
    pub(crate) unread: Option<ApiError>,
    /// Warnings of webhooks.
    pub(crate) warnings: Warnings,
    /// The revision of a read, when a fault rule sets one.
    pub(crate) past: Option<u64>,
}

impl Request {
    /// A request without its user and its body.
    pub(crate) fn new(parts: &Parts) -> Self {
        Self {
            method: parts.method.clone(),
            path: parts.uri.path().to_owned(),
            query: Query::parse(parts.uri.query().unwrap_or_default()),
            accept: text(&parts.headers, header::ACCEPT),
            content_type: media_type(&text(&parts.headers, header::CONTENT_TYPE)),
            user_agent: text(&parts.headers, header::USER_AGENT),
            user: User::default(),
            body: Bytes::new(),
            unread: None,
            warnings: Warnings::default(),
            past: None,
        }
    }

    /// The verb of a request in Kubernetes' terms.
    pub(crate) fn verb(&self) -> String {
        let Target::Resource(path) = path::parse(&self.path) else { return self.method.as_str().to_lowercase() };
        let collection = path.name.is_empty();
        let verb = match self.method.as_str() {
            "GET" if path.watch || self.query.flag("watch") => "watch",
            "GET" if collection => "list",
            "GET" => "get",
            "POST" => "create",
            "PUT" => "update",
            "PATCH" if self.content_type.starts_with("application/apply-patch+") => "apply",
            "PATCH" => "patch",
            "DELETE" if collection => "deletecollection",
            "DELETE" => "delete",
            other => return other.to_lowercase(),
        };
        verb.to_owned()
    }
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> String {
    let all: Vec<&str> = headers.get_all(name).iter().filter_map(|v| v.to_str().ok()).collect();
    all.join(",")
}

fn media_type(header: &str) -> String {
    header.split(';').next().unwrap_or_default().trim().to_owned()
}
