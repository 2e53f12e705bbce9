//! HTTP server: one handler for all paths.

use std::sync::Arc;

use axum::{
    Router,
    body::Body,
    extract::{ConnectInfo, Request as HttpRequest, State},
    response::Response as HttpResponse,
};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use tokio::{sync::mpsc, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use crate::{
    access::{
        authentication::Tokens,
        authorization::{self, Authorizer, impersonation},
    },
    controllers::{Controllers, Feed},
    faults::{self, FaultState, Faults, Rules, effect::Cut, plan::FaultDecision},
    handlers::{self, Api},
    http::{
        https::Peer,
        origin,
        request::Request,
        request_log::{RequestLog, RequestRecord},
        response::Response,
    },
    model::status::{ApiError, Result},
    options::Options,
    resources::registry::Registry,
    store::Store,
    webhooks::Webhooks,
};

/// The largest request body, as in Kubernetes.
const BODY_LIMIT: usize = 3 * 1024 * 1024;

/// Handlers, with authentication, fault rules and a log around them.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) api: Api,
    pub(crate) faults: Arc<FaultState>,
    pub(crate) requests: RequestLog,
}

impl Server {
    /// An empty server, and the changes of its store.
    pub(crate) fn new(options: &Options) -> (Arc<Self>, Feed) {
        let (sender, feed) = mpsc::unbounded_channel();
        let stop = CancellationToken::new();
        let store = Arc::new(Store::new(options.watch_history, sender).with_settings(options.settings()));
        let registry = Arc::new(Registry::new());
        // Watches of a kind may start at any version that this server ever returned.
        for resource in registry.served().all() {
            store.of(resource);
        }
        let clients = options.webhook_clients.clone();
        let server = Self {
            faults: Arc::new(FaultState::new(Arc::clone(&store), stop.clone(), options.faults_may_kill)),
            requests: RequestLog::new(options.request_history),
            api: Api {
                authorizer: Authorizer::new(Arc::clone(&store), options.controllers),
                tokens: Tokens::new(options.tokens.clone(), options.anonymous_auth),
                webhooks: Webhooks::new(Arc::clone(&store), Arc::clone(&registry), clients),
                controllers: Arc::new(Controllers::new(Arc::clone(&store), Arc::clone(&registry), options.controllers)),
                store,
                registry,
                stop,
            },
        };
        (Arc::new(server), feed)
    }

    /// Creates the objects of every cluster, activates the fault rules, and starts the controllers.
    ///
    /// Must be called on a tokio runtime.
    pub(crate) fn begin(&self, rules: Rules, feed: Feed) -> JoinHandle<()> {
        self.api.controllers.bootstrap();
        if let Err(error) = self.faults().add(rules) {
            tracing::error!(%error, "fault rules cannot be used");
        }
        tokio::spawn(Arc::clone(&self.api.controllers).run(feed, self.api.stop.clone()))
    }

    /// The fault rules.
    pub(crate) fn faults(&self) -> Faults<'_> {
        Faults { state: &self.faults }
    }
}

/// The router of a server.
pub(crate) fn router(server: Arc<Server>) -> Router {
    Router::new().fallback(handle).with_state(server)
}

async fn handle(State(server): State<Arc<Server>>, request: HttpRequest) -> HttpResponse {
    let (parts, body) = request.into_parts();
    let target = parts.uri.path_and_query().map_or_else(String::new, ToString::to_string);
    let mut call = Request::new(&parts);
    let peer = parts.extensions.get::<ConnectInfo<Peer>>().map(|info| &info.0);
    let known = match origin::check(&parts.headers, peer.is_none()) {
        Ok(()) => identify(&server.api, &mut call, (&parts.headers, peer), body).await,
        refused => refused,
    };
    if let Some(rule) = faults::admin::rest(&call.path) {
        let shown = parts.headers.contains_key(faults::admin::HEADER);
        let outcome = known.and_then(|()| handlers::require(&server.api, &call));
        let outcome = outcome.and_then(|()| faults::admin::answer(&server.faults(), &call, rule, shown));
        return respond(&server, &call, None, outcome);
    }
    let decision = if known.is_ok() { server.faults.request(&call) } else { None };
    call.past = decision.as_ref().and_then(|decision| decision.past());
    let fate = match (&decision, known) {
        (_, Err(error)) => Ok(Err(error)),
        (None, Ok(())) => Ok(handlers::act(&server.api, &call).await),
        (Some(decision), Ok(())) => {
            server.faults.around(&call, decision, Box::pin(handlers::act(&server.api, &call))).await
        }
    };
    // A cut connection has no status.
    let code = fate.as_ref().map_or(0, |o| o.as_ref().map_or_else(ApiError::code, Response::code).as_u16());
    server.requests.record(RequestRecord {
        verb: call.verb(),
        method: call.method.to_string(),
        path: target,
        user_agent: call.user_agent.clone(),
        user: call.user.name.clone(),
        status: code,
    });
    match fate {
        Err(Cut) => build(StatusCode::OK, "text/plain", Cut::body(), &[]),
        Ok(outcome) => respond(&server, &call, decision.as_deref(), outcome),
    }
}

/// Authenticates the request. The body is always read, so that the connection stays usable.
async fn identify(
    api: &Api,
    call: &mut Request,
    (headers, peer): (&HeaderMap, Option<&Peer>),
    body: Body,
) -> Result<()> {
    let body = Limited::new(body, BODY_LIMIT).collect().await;
    let requester = match peer {
        Some(Peer::User(user)) => user.clone(),
        // A token may still identify the user.
        Some(Peer::Stranger) if !headers.contains_key(header::AUTHORIZATION) => return Err(ApiError::unauthorized()),
        _ => api.tokens.authenticate(headers)?,
    };
    call.user = impersonation::user(&api.authorizer, requester, headers, &authorization::action(call))?;
    match body {
        Ok(whole) => call.body = whole.to_bytes(),
        Err(error) if error.is::<LengthLimitError>() => call.unread = Some(ApiError::too_large(BODY_LIMIT)),
        Err(_) => call.unread = Some(ApiError::bad_request("the request body could not be read")),
    }
    Ok(())
}

fn respond(
    server: &Server,
    call: &Request,
    decision: Option<&FaultDecision>,
    outcome: Result<Response>,
) -> HttpResponse {
    let response = match outcome {
        Ok(Response::Watch(watch)) => {
            let content_type = watch.content_type();
            let lines =
                faults::stream::watch(&server.faults, call, decision.and_then(FaultDecision::lag), watch.stream());
            return build(StatusCode::OK, content_type, Body::from_stream(lines), &[]);
        }
        Ok(Response::Whole { code, content_type, body, warnings }) => {
            build(code, content_type, Body::from(body), &warnings)
        }
        Err(error) => refusal(&error),
    };
    match decision.and_then(|s| s.slow) {
        Some((bytes, pause)) => response.map(|body| faults::effect::slow(body, bytes, pause)),
        None => response,
    }
}

fn refusal(error: &ApiError) -> HttpResponse {
    if let Some(text) = error.plain() {
        let content_type = if text.is_empty() { "" } else { "text/plain; charset=utf-8" };
        return build(error.code(), content_type, Body::from(text.to_owned()), &[]);
    }
    let mut response = build(error.code(), "application/json", Body::from(error.to_body()), error.warnings());
    if let Some(seconds) = error.retry_after() {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

fn build(code: StatusCode, content_type: &'static str, body: Body, warnings: &[String]) -> HttpResponse {
    let mut response = HttpResponse::new(body);
    *response.status_mut() = code;
    let headers = response.headers_mut();
    if !content_type.is_empty() {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    if code == StatusCode::GATEWAY_TIMEOUT || code == StatusCode::TOO_MANY_REQUESTS {
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    for warning in warnings {
        let escaped = warning.replace('\\', "\\\\").replace('"', "\\\"");
        // A text that is no valid header is omitted; the response does not depend on it.
        if let Ok(value) = HeaderValue::from_bytes(format!("299 - \"{escaped}\"").as_bytes()) {
            headers.append(header::WARNING, value);
        }
    }
    response
}
