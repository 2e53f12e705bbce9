//! Protection of the admin server against requests of a local browser.

use std::net::{IpAddr, SocketAddr};

use axum::extract::{ConnectInfo, Request};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// Answers 403 to a request from this machine with a foreign host name. A page whose name an attacker resolved to 127.0.0.1 sends that
/// name, and otherwise counts as same-origin.
pub(super) async fn refuse_rebound(
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: Request,
    next: Next,
) -> Response {
    if peer.ip().to_canonical().is_loopback() && !names_this_machine(request.headers()) {
        let why = "the Host header of a request from this machine must be localhost or an IP address\n";
        return (StatusCode::FORBIDDEN, why).into_response();
    }
    next.run(request).await
}

/// Whether `Host` is `localhost` or an IP address, with or without a port. Browsers always send the header.
fn names_this_machine(headers: &HeaderMap) -> bool {
    headers.get_all(header::HOST).iter().all(|value| {
        let Some(authority) = value.to_str().ok().and_then(|text| text.parse::<Authority>().ok()) else { return false };
        let name = authority.host().trim_start_matches('[').trim_end_matches(']');
        name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
    })
}
