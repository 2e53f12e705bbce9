//! Sessions of the page: random tokens for a browser on this machine, bounded in number and time.

use crate::admin::{AdminState, refused};
use axum::Json;
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use data_encoding::BASE64URL_NOPAD;
use ring::rand::{SecureRandom as _, SystemRandom};
use sha2::{Digest as _, Sha256};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Most sessions; a further one ends the oldest.
const SESSIONS: usize = 16;

/// How long a session lasts.
const LASTS: Duration = Duration::from_secs(12 * 3600);

/// Random bytes of a token.
const TOKEN_BYTES: usize = 32;

/// Longest token that is compared.
const LONGEST: usize = 128;

/// The sessions of a host. A clone shares them.
#[derive(Clone, Debug, Default)]
pub struct Sessions(Arc<Mutex<VecDeque<Session>>>);

/// A session, without its token.
#[derive(Debug)]
struct Session {
    digest: [u8; 32],
    ends: Instant,
}

impl Sessions {
    /// Opens a session. Returns its token; none: the system has no random numbers.
    fn open(&self) -> Option<String> {
        let mut bytes = [0; TOKEN_BYTES];
        SystemRandom::new().fill(&mut bytes).ok()?;
        let token = BASE64URL_NOPAD.encode(&bytes);
        let mut sessions = self.sessions();
        if sessions.len() >= SESSIONS {
            sessions.pop_front();
        }
        sessions.push_back(Session { digest: digest(&token), ends: Instant::now() + LASTS });
        Some(token)
    }

    /// Whether a token is that of a session. The time of the answer says nothing about tokens: it compares their digests, all of them and each
    /// to its end.
    fn knows(&self, token: &str) -> bool {
        let presented = digest(token.get(..LONGEST).unwrap_or(token));
        let mut sessions = self.sessions();
        let now = Instant::now();
        sessions.retain(|session| now < session.ends);
        let differing = |session: &Session| {
            session.digest.iter().zip(presented).fold(0, |differing, (one, other)| differing | (one ^ other))
        };
        sessions.iter().fold(false, |known, session| known | (differing(session) == 0))
    }

    fn sessions(&self) -> MutexGuard<'_, VecDeque<Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}

/// The answer to a request that neither the command line on this machine sends, nor a page with a session.
///
/// * `what` - in the plural.
pub(in crate::admin) fn refused_without_session(
    state: &AdminState,
    what: &str,
    peer: SocketAddr,
    headers: &HeaderMap,
) -> Option<Response> {
    if !headers.contains_key(header::AUTHORIZATION) {
        return refused(what, peer, headers);
    }
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let why = if !peer.ip().to_canonical().is_loopback() {
        format!("{what} are taken from this machine only: run oarlock ui there, or through kubectl port-forward\n")
    } else if !is_own_page(headers) {
        format!("{what} are not taken from a page of another origin\n")
    } else {
        let token = text(header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
        if token.is_some_and(|token| state.page.sessions.knows(token)) {
            return None;
        }
        let why = "the session is unknown or has ended: run oarlock ui again\n";
        return Some((StatusCode::UNAUTHORIZED, why).into_response());
    };
    Some((StatusCode::FORBIDDEN, why).into_response())
}

/// Whether a request of a browser comes from the page of this server: browsers state the origin of the page, or how it relates to the server.
pub(super) fn is_own_page(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let origin = match (headers.get(header::ORIGIN), text(header::HOST)) {
        (None, _) => true,
        (Some(origin), Some(host)) => origin.as_bytes() == format!("http://{host}").as_bytes(),
        (Some(_), None) => false,
    };
    let related = headers.get("sec-fetch-site").is_none_or(|site| site == "same-origin" || site == "none");
    origin && related
}

/// Opens a session for the command line: a page cannot send its header.
pub(super) async fn open(
    State(state): State<AdminState>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
) -> Response {
    if let Some(refused) = refused("sessions", peer, &headers) {
        return refused;
    }
    match state.page.sessions.open() {
        Some(token) => {
            tracing::info!("session of the page opened");
            Json(serde_json::json!({"token": token, "seconds": LASTS.as_secs()})).into_response()
        }
        None => (StatusCode::INTERNAL_SERVER_ERROR, "the system has no random numbers\n").into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_session_ends_after_its_time_and_of_too_many_the_oldest_ends() {
        let sessions = Sessions::default();
        let first = sessions.open().unwrap();
        assert!(sessions.knows(&first) && !sessions.knows("") && !sessions.knows(&first[1..]));
        assert_eq!(first.len(), 43);
        tokio::time::advance(LASTS - Duration::from_secs(1)).await;
        let second = sessions.open().unwrap();
        assert!(sessions.knows(&first) && first != second);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(!sessions.knows(&first) && sessions.knows(&second));
        for _ in 0..SESSIONS {
            sessions.open().unwrap();
        }
        assert!(!sessions.knows(&second));
        assert_eq!(sessions.sessions().len(), SESSIONS);
    }

    #[test]
    fn a_page_of_another_origin_is_recognized() {
        let headers = |pairs: &[(&'static str, &str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.insert(*name, value.parse().unwrap());
            }
            headers
        };
        for own in [
            &[][..],
            &[("host", "127.0.0.1:9797")],
            &[("host", "127.0.0.1:9797"), ("origin", "http://127.0.0.1:9797")],
            &[("host", "localhost:1"), ("sec-fetch-site", "same-origin")],
        ] {
            assert!(is_own_page(&headers(own)), "{own:?}");
        }
        for other in [
            &[("host", "127.0.0.1:9797"), ("origin", "http://localhost:9797")][..],
            &[("host", "127.0.0.1:9797"), ("origin", "https://127.0.0.1:9797")],
            &[("host", "127.0.0.1:9797"), ("origin", "null")],
            &[("origin", "http://127.0.0.1:9797")],
            &[("host", "localhost:1"), ("sec-fetch-site", "cross-site")],
            &[("host", "localhost:1"), ("sec-fetch-site", "same-site")],
        ] {
            assert!(!is_own_page(&headers(other)), "{other:?}");
        }
    }
}
