//! The verbs get, list and watch.

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use http::StatusCode;
use serde_json::{Value, json};

use crate::{
    conversion,
    handlers::resource_request::ResourceRequest,
    http::{
        encode::{self, ListMeta},
        negotiate,
        query::{ListOptions, Match, parse_version},
        response::Response,
        watch::{Selection, Start, Watch},
    },
    model::{
        kinds::Resource,
        status::{ApiError, Result},
    },
    store::{At, Key, Object, PageRequest, View},
};

/// Duration of a watch without a timeout, the shortest one of Kubernetes.
const WATCH_TIMEOUT: Duration = Duration::from_secs(1800);

impl ResourceRequest<'_> {
    pub(super) async fn get(&self) -> Result<Response> {
        negotiate::format(&self.call.accept, true)?;
        if self.call.query.get("export").is_some() {
            let message = "the export parameter, deprecated since v1.14, is no longer supported";
            return Err(ApiError::bad_request(message));
        }
        if let Some(version) = self.call.query.get("resourceVersion") {
            let version = parse_version(version).map_err(ApiError::bare_internal)?;
            let current = self.view().revision();
            if version > current {
                return Err(ApiError::version_too_large(version, current));
            }
        }
        let object = self.view().get(&self.key()).ok_or_else(|| self.not_found())?;
        let object = self.in_version(object).await?;
        self.reply(StatusCode::OK, &object, Vec::new())
    }

    /// The state of its resource that this request sees.
    pub(super) fn view(&self) -> View {
        View::new(self.api.store.of(&self.resource), self.call.past)
    }

    pub(super) async fn list_or_watch(&self) -> Result<Response> {
        let mut options = ListOptions::parse(&self.call.query, self.path.watch)?;
        check_fields(&self.resource, &options)?;
        if !self.path.name.is_empty() {
            options.fields = options.fields.and_name(&self.path.name);
        }
        if options.watch { self.watch(&options) } else { self.list(&options).await }
    }

    fn watch(&self, options: &ListOptions) -> Result<Response> {
        let format = negotiate::stream_format(&self.call.accept)?;
        let version = options.resource_version.as_deref().unwrap_or_default();
        let start = match version {
            _ if options.send_initial_events == Some(true) && options.bookmarks => Start::PresentWithMark,
            _ if options.send_initial_events == Some(true) => Start::Present,
            "" | "0" if options.send_initial_events == Some(false) => Start::After(self.view().revision()),
            "" | "0" => Start::Present,
            text => Start::After(parse_version(text).map_err(ApiError::internal)?),
        };
        Ok(Response::Watch(Box::new(Watch {
            resource: Arc::clone(&self.resource),
            store: Arc::clone(&self.api.store),
            view: self.view(),
            selection: self.selection(options),
            start,
            bookmarks: options.bookmarks,
            timeout: options.timeout_seconds.map_or(WATCH_TIMEOUT, Duration::from_secs),
            format,
            table: self.table()?,
            stop: self.api.stop.clone(),
        })))
    }

    fn selection(&self, options: &ListOptions) -> Selection {
        Selection {
            namespace: self.path.namespace.clone(),
            labels: options.labels.clone(),
            fields: options.fields.clone(),
        }
    }

    async fn list(&self, options: &ListOptions) -> Result<Response> {
        let format = negotiate::list_format(&self.call.accept)?;
        let (objects, meta) = self.page(options).await?;
        let body = encode::list(&self.resource, &objects, &meta, format, self.table()?)?;
        Ok(Response::ready(StatusCode::OK, format, body))
    }

    /// The objects of a list, or its next page, in the version of the request.
    pub(super) async fn page(&self, options: &ListOptions) -> Result<(Vec<Arc<Object>>, ListMeta)> {
        let token = options.continue_token.as_deref().map(ContinueToken::parse).transpose()?;
        let at = self.time_of(options, token.as_ref())?;
        let selection = self.selection(options);
        // Any version is served from a cache, which has no pages.
        let any_version = options.resource_version.as_deref() == Some("0");
        let limit = if options.limit == 0 || any_version { usize::MAX } else { options.limit };
        // Fields are selected in the version of the request, which stored objects may not be in.
        let converted = self.resource.custom.as_ref().is_some_and(|c| !c.selectable.is_empty());
        let by_fields = converted && !selection.fields.is_empty();
        let wanted = PageRequest {
            namespace: &self.path.namespace,
            after: token.as_ref().map(|t| &t.after),
            limit: if by_fields { usize::MAX } else { limit },
            count: selection.labels.is_empty() && selection.fields.is_empty(),
            rest: token.as_ref().and_then(|t| t.rest),
        };
        let too_old = |_| {
            ApiError::expired(if token.is_some() {
                "The provided continue parameter is too old to display a consistent list result. You must start a new list \
                 without the continue parameter."
            } else {
                "The resourceVersion for the provided list is too old."
            })
        };
        let matches = |object: &Object| {
            if by_fields { selection.labels.matches(&object.value) } else { selection.matches(&self.resource, object) }
        };
        let page = self.view().resource_store().page(&wanted, at, matches).map_err(too_old)?;
        let (revision, rest, mut next) = (page.revision, page.remaining, page.next);
        let mut objects = conversion::served(&self.api.store, &self.resource, page.objects).await?;
        if by_fields {
            objects.retain(|object| selection.matches(&self.resource, object));
            if objects.len() > limit {
                objects.truncate(limit);
                next = objects.last().map(|object| object.key());
            }
        }
        let continue_token = next.map(|after| ContinueToken { revision, after, rest }.to_text());
        Ok((objects, ListMeta { revision, continue_token, remaining: rest }))
    }

    /// The revision of a list.
    fn time_of(&self, options: &ListOptions, token: Option<&ContinueToken>) -> Result<At> {
        let view = self.view();
        let version = options.resource_version.as_deref().unwrap_or_default();
        if let Some(token) = token {
            if !version.is_empty() && version != "0" {
                let message = "specifying resource version is not allowed when using continue";
                return Err(ApiError::bad_request(message));
            }
            return Ok(At::Revision(token.revision));
        }
        let version = match version {
            "" | "0" => return Ok(view.at()),
            text => parse_version(text).map_err(|e| ApiError::bad_request(format!("invalid resource version: {e}")))?,
        };
        let current = view.revision();
        if version > current {
            return Err(ApiError::version_too_large(version, current));
        }
        // A limit without a match also means the exact version.
        let exact =
            options.version_match == Match::Exact || (options.version_match == Match::Unset && options.limit > 0);
        Ok(if exact { At::Revision(version) } else { view.at() })
    }
}

/// Rejects field selectors that the kind does not support.
pub(super) fn check_fields(resource: &Resource, options: &ListOptions) -> Result<()> {
    let selectable = resource.custom.as_ref().map(|c| c.selectable.as_slice()).unwrap_or_default();
    for path in options.fields.paths() {
        if matches!(path, "metadata.name" | "metadata.namespace") || selectable.iter().any(|s| s == path) {
            continue;
        }
        match builtin_fields(&resource.group, &resource.plural) {
            Some(known) if known.contains(&path) => {}
            Some(_) => return Err(ApiError::bad_request(format!("field label not supported: {path}"))),
            None if resource.custom.is_some() => {
                return Err(ApiError::bad_request(format!("field label not supported: {path}")));
            }
            None => {
                let message =
                    format!("\"{path}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"");
                return Err(ApiError::bad_request(message));
            }
        }
    }
    Ok(())
}

fn builtin_fields(group: &str, plural: &str) -> Option<&'static [&'static str]> {
    Some(match (group, plural) {
        ("", "pods") => &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.podIPs",
            "status.nominatedNodeName",
        ],
        ("", "events") => &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        ("events.k8s.io", "events") => &[
            "regarding.kind",
            "regarding.namespace",
            "regarding.name",
            "regarding.uid",
            "reason",
            "type",
            "reportingController",
        ],
        ("", "namespaces") => &["status.phase"],
        ("", "nodes") => &["spec.unschedulable"],
        ("", "secrets") => &["type"],
        ("", "replicationcontrollers") => &["status.replicas"],
        ("resource.k8s.io", "resourceslices") => &["spec.nodeName", "spec.driver"],
        ("", "services") => &["spec.clusterIP", "spec.type"],
        ("batch", "jobs") => &["status.successful"],
        ("certificates.k8s.io", "certificatesigningrequests") => &["spec.signerName"],
        _ => return None,
    })
}

/// The continue token of a list.
struct ContinueToken {
    revision: u64,
    after: Key,
    /// The number of remaining objects.
    rest: Option<usize>,
}

impl ContinueToken {
    fn to_text(&self) -> String {
        let Key { namespace, name } = &self.after;
        let value = json!({"v": "oarlock", "rv": self.revision, "ns": namespace, "name": name, "rest": self.rest});
        BASE64.encode(value.to_string())
    }

    fn parse(text: &str) -> Result<Self> {
        let wrong =
            |why: &str| ApiError::bad_request(format!("invalid continue token: continue key is not valid: {why}"));
        let bytes = BASE64.decode(text.trim_end_matches('=')).map_err(|e| wrong(&e.to_string()))?;
        let value: Value = serde_json::from_slice(&bytes).map_err(|e| wrong(&e.to_string()))?;
        let field = |key: &str| value.get(key).and_then(Value::as_str);
        match (value.get("rv").and_then(Value::as_u64), field("ns"), field("name")) {
            (Some(revision), Some(namespace), Some(name)) => {
                let rest = value.get("rest").and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
                Ok(Self { revision, after: Key::new(namespace, name), rest })
            }
            _ => Err(wrong("it was not made by this server")),
        }
    }
}
