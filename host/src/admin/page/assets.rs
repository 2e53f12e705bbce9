//! The files of the page, which the program contains.

use crate::admin::AdminState;
use axum::Router;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};
use std::sync::OnceLock;

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

/// A file of the page.
struct Asset {
    path: &'static str,
    content_type: &'static str,
    content: &'static str,
    tag: OnceLock<HeaderValue>,
}

macro_rules! asset {
    ($path:literal, $file:literal, $content_type:expr) => {
        Asset {
            path: $path,
            content_type: $content_type,
            content: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/page/", $file)),
            tag: OnceLock::new(),
        }
    };
}

static ASSETS: [Asset; 14] = [
    asset!("/", "index.html", HTML),
    asset!("/page/style.css", "style.css", CSS),
    asset!("/page/icon.svg", "icon.svg", SVG),
    asset!("/page/app.js", "app.js", SCRIPT),
    asset!("/page/dom.js", "dom.js", SCRIPT),
    asset!("/page/api.js", "api.js", SCRIPT),
    asset!("/page/live.js", "live.js", SCRIPT),
    asset!("/page/chart.js", "chart.js", SCRIPT),
    asset!("/page/diff.js", "diff.js", SCRIPT),
    asset!("/page/keys.js", "keys.js", SCRIPT),
    asset!("/page/plugins.js", "plugins.js", SCRIPT),
    asset!("/page/plugin.js", "plugin.js", SCRIPT),
    asset!("/page/object.js", "object.js", SCRIPT),
    asset!("/page/version.js", "version.js", SCRIPT),
];

pub(super) fn routes() -> Router<AdminState> {
    ASSETS.iter().fold(Router::new(), |router, asset| {
        router.route(asset.path, get(async move |headers: HeaderMap| asset.answer(&headers)))
    })
}

impl Asset {
    fn answer(&'static self, headers: &HeaderMap) -> Response {
        let tag = self.tag.get_or_init(|| self.tag_of_content()).clone();
        // A browser asks each time, and gets the content only if the program is another one.
        let cached = [(header::CACHE_CONTROL, HeaderValue::from_static("no-cache")), (header::ETAG, tag.clone())];
        let known = headers.get_all(header::IF_NONE_MATCH).iter().any(|value| *value == tag);
        if known {
            return (StatusCode::NOT_MODIFIED, cached).into_response();
        }
        (cached, [(header::CONTENT_TYPE, self.content_type)], self.content).into_response()
    }

    fn tag_of_content(&self) -> HeaderValue {
        let digest = HEXLOWER.encode(&Sha256::digest(self.content));
        let tag = format!("\"{}\"", digest.get(..16).unwrap_or(&digest));
        HeaderValue::try_from(tag).unwrap_or(HeaderValue::from_static("\"\""))
    }
}
