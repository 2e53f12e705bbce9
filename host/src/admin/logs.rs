//! The log lines of a plugin, as lines of JSON.

use super::{AdminState, refused};
use crate::logging::recent::{Line, lines};
use axum::body::Body;
use axum::extract::{ConnectInfo, Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use futures::{Stream, StreamExt as _, stream};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;

/// The lines that a client asks for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    follow: bool,
    /// Namespace and name, or kind, namespace and name of an object.
    object: Option<String>,
}

impl Wanted {
    /// The kept lines, of one object or of all.
    pub(super) fn of(object: Option<String>) -> Self {
        Self { follow: false, object }
    }

    fn read(query: &str) -> Result<Self, String> {
        let mut wanted = Self::default();
        for (field, value) in url::form_urlencoded::parse(query.as_bytes()) {
            match &*field {
                "follow" if matches!(&*value, "" | "true") => wanted.follow = true,
                "object" => wanted.object = Some(value.into_owned()),
                other => {
                    let other = crate::shorten(other, 100);
                    return Err(format!("the query has {other:?}; it may have object, and follow=true"));
                }
            }
        }
        Ok(wanted)
    }

    pub(super) fn selects(&self, plugin: &str, line: &Line) -> bool {
        let object = self.object.as_ref();
        line.plugin == plugin
            && object.is_none_or(|object| {
                let (kind, name) = parts(object);
                let (of_kind, of_name) = parts(&line.key);
                // What a plugin says itself names no kind.
                name == of_name && (kind.is_empty() || of_kind.is_empty() || kind.eq_ignore_ascii_case(of_kind))
            })
    }
}

/// Kind and name in `ConfigMap team-a/settings`; the kind may be missing.
fn parts(object: &str) -> (&str, &str) {
    object.split_once(' ').unwrap_or(("", object))
}

/// Messages of plugins may contain anything, so the lines are for this machine only, as actions are.
///
/// * `stop` - ends the responses.
pub(super) fn route(stop: CancellationToken) -> MethodRouter<AdminState> {
    get(
        async move |state: State<AdminState>,
                    peer: ConnectInfo<SocketAddr>,
                    name: Path<String>,
                    query: RawQuery,
                    headers: HeaderMap| {
            let (State(state), ConnectInfo(peer), Path(name), RawQuery(query)) = (state, peer, name, query);
            match refused("log lines", peer, &headers) {
                Some(refused) => refused,
                None => logs(&state, name, query.as_deref().unwrap_or_default(), stop),
            }
        },
    )
}

fn logs(state: &AdminState, name: String, query: &str, stop: CancellationToken) -> Response {
    let wanted = match Wanted::read(query) {
        Ok(wanted) => wanted,
        Err(why) => return (StatusCode::BAD_REQUEST, format!("{why}\n")).into_response(),
    };
    let (kept, new) = lines().of(&name);
    let known =
        !kept.is_empty() || (state.plugins)().to_string().contains(&format!("\"name\":{}", serde_json::json!(name)));
    if !known {
        return (StatusCode::NOT_FOUND, format!("the host has no plugin {name}\n")).into_response();
    }
    let kept: VecDeque<Arc<Line>> = kept.into_iter().filter(|line| wanted.selects(&name, line)).collect();
    let follow = wanted.follow;
    let kept = stream::iter(kept.into_iter().map(|line| format!("{}\n", line.json)));
    let body = if follow {
        let all = kept.chain(following(name, wanted, new)).take_until(stop.cancelled_owned());
        Body::from_stream(all.map(Ok::<_, Infallible>))
    } else {
        Body::from_stream(kept.map(Ok::<_, Infallible>))
    };
    ([(header::CONTENT_TYPE, "application/jsonl")], body).into_response()
}

/// The lines to come. It ends with the client.
fn following(plugin: String, wanted: Wanted, new: Receiver<Arc<Line>>) -> impl Stream<Item = String> + Send + 'static {
    stream::unfold((plugin, wanted, new), async |(plugin, wanted, mut new)| {
        loop {
            match new.recv().await {
                Ok(line) if wanted.selects(&plugin, &line) => {
                    return Some((format!("{}\n", line.json), (plugin, wanted, new)));
                }
                Ok(_) => {}
                Err(RecvError::Lagged(lost)) => {
                    let lost = format!("lines of this host were too many to follow: {lost} are left out");
                    let line = serde_json::json!({"level": "WARN", "message": lost});
                    return Some((format!("{line}\n"), (plugin, wanted, new)));
                }
                Err(RecvError::Closed) => return None,
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_selected_by_plugin_and_object() {
        let line =
            |plugin: &str, key: &str| Line { plugin: plugin.to_owned(), key: key.to_owned(), json: String::new() };
        let all = Wanted::read("follow=true").unwrap();
        assert!(all.follow && all.selects("a", &line("a", "")) && !all.selects("a", &line("b", "")));
        let one = Wanted::read("object=n%2Fx").unwrap();
        assert!(one.selects("a", &line("a", "ConfigMap n/x")) && !one.selects("a", &line("a", "ConfigMap n/xy")));
        assert!(!one.selects("a", &line("a", "")) && !one.follow);
        let kind = Wanted::read("object=Secret+n%2Fx").unwrap();
        assert!(
            kind.selects("a", &line("a", "Secret n/x"))
                && kind.selects("a", &line("a", "n/x"))
                && !kind.selects("a", &line("a", "ConfigMap n/x"))
        );
        for bad in ["follow=no", "since=1h"] {
            assert!(Wanted::read(bad).is_err(), "{bad}");
        }
    }
}
