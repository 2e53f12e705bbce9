//! The world outside: an HTTP server that keeps one thing per object, and notices what must not happen.
//!
//! Paths end in `PLUGIN/VERSION/CORRELATION/NAME/UID`. `POST /marks/…` says that a reconcile is at work; `?delay-ms=N` answers
//! later. `GET`, `POST`, `PUT` and `DELETE` of `/things/…` read, make, change and remove the object's thing, whose value is the
//! body. It refuses nothing: a second thing is made, and counted.

mod books;

pub use books::{Books, Thing, Touch};

use crate::harness::lock;
use anyhow::{Context, Result};
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{net::TcpListener, time::sleep};
use tokio_util::sync::{CancellationToken, DropGuard};

#[derive(Debug, Default)]
struct Inner {
    books: Mutex<Books>,
    /// How many hosts have died.
    deaths: AtomicU64,
}

/// The server on 127.0.0.1. It closes when dropped.
#[derive(Debug)]
pub struct Ledger {
    address: SocketAddr,
    inner: Arc<Inner>,
    _closing: DropGuard,
}

impl Ledger {
    /// Opens an empty one.
    ///
    /// # Errors
    ///
    /// When no port is free.
    pub async fn open() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("no port for the ledger")?;
        let address = listener.local_addr()?;
        let closing = CancellationToken::new();
        let inner = Arc::<Inner>::default();
        tokio::spawn(accept(listener, Arc::clone(&inner), closing.clone()));
        Ok(Self { address, inner, _closing: closing.drop_guard() })
    }

    /// `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Looks into the books; nothing is written meanwhile.
    pub fn books<T>(&self, look: impl FnOnce(&Books) -> T) -> T {
        look(&lock(&self.inner.books))
    }

    /// The host is dead: what may still come over its connections is done, but is no reconcile at work.
    pub fn host_died(&self) {
        self.inner.deaths.fetch_add(1, Ordering::SeqCst);
    }
}

async fn accept(listener: TcpListener, inner: Arc<Inner>, closing: CancellationToken) {
    loop {
        let stream = tokio::select! {
            () = closing.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = stream else {
            // Out of descriptors, say: the next turn may do better, but not at once.
            sleep(Duration::from_millis(10)).await;
            continue;
        };
        let (inner, closing) = (Arc::clone(&inner), closing.clone());
        let life = inner.deaths.load(Ordering::SeqCst);
        tokio::spawn(async move {
            // Small answers must not wait for the client's acknowledgement; slow ones are only slower.
            let _ = stream.set_nodelay(true);
            let service = service_fn(|request| answer(&inner, life, request));
            tokio::select! {
                // A broken connection is the other side's matter.
                _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service) => {}
                () = closing.cancelled() => {}
            }
        });
    }
}

/// One request.
///
/// * `life` - how many hosts had died when its connection was made.
async fn answer(inner: &Inner, life: u64, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let (area, who) = parts.uri.path().trim_start_matches('/').split_once('/').unwrap_or_default();
    let Some(touch) = Touch::parse(who) else { return Ok(said(StatusCode::NOT_FOUND, "")) };
    let alive = inner.deaths.load(Ordering::SeqCst) == life;
    let response = {
        let mut books = lock(&inner.books);
        if alive {
            books.touch(&touch);
        }
        let value = String::from_utf8_lossy(&body);
        match (area, parts.method) {
            ("marks", Method::POST) => said(StatusCode::OK, ""),
            ("things", Method::GET) => match books.value(&touch.uid) {
                Some(value) => said(StatusCode::OK, value),
                None => said(StatusCode::NOT_FOUND, ""),
            },
            ("things", Method::POST) => {
                books.create(&touch, &value);
                said(StatusCode::CREATED, "")
            }
            ("things", Method::PUT) if books.update(&touch, &value) => said(StatusCode::OK, ""),
            ("things", Method::DELETE) => {
                books.delete(&touch);
                said(StatusCode::OK, "")
            }
            _ => said(StatusCode::NOT_FOUND, ""),
        }
    };
    let delay = parts.uri.query().and_then(|query| query.strip_prefix("delay-ms=")).and_then(|text| text.parse().ok());
    if let Some(milliseconds) = delay {
        sleep(Duration::from_millis(milliseconds)).await;
    }
    Ok(response)
}

fn said(status: StatusCode, text: &str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::copy_from_slice(text.as_bytes())));
    *response.status_mut() = status;
    response
}
