//! Listener of the admin server, bounded in connections and time, so that stalled clients do not block others.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::Request;
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

/// Most connections.
pub(super) const CONNECTIONS: usize = 64;

/// Deadline for the head of a request, from the previous response or from the connection on.
pub(super) const HEAD: Duration = Duration::from_secs(10);

/// Drain time of responses in flight at shutdown.
const DRAIN: Duration = Duration::from_secs(5);

/// Ends the connection of a request, in its extensions.
#[derive(Clone, Debug)]
pub(super) struct CutOff(pub(super) CancellationToken);

/// Serves until `stop` is cancelled, then drains the responses in flight.
pub(super) async fn serve(listener: TcpListener, router: Router, stop: CancellationToken) {
    let (room, waiting, tasks) =
        (Arc::new(Semaphore::new(CONNECTIONS)), WaitingConnections::default(), TaskTracker::new());
    loop {
        let (stream, peer) = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // The process has no free file descriptors, or the connection broke before it was accepted.
                    tracing::warn!(%error, "cannot accept a connection to the admin server");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            },
        };
        if room.available_permits() == 0 {
            waiting.cut_off_the_first();
        }
        let permit = tokio::select! {
            () = stop.cancelled() => break,
            permit = Arc::clone(&room).acquire_owned() => permit,
        };
        let connection = AdminConnection { router: router.clone(), peer, waiting: waiting.clone() };
        let stop = stop.clone();
        tasks.spawn(async move {
            connection.run(stream, stop).await;
            drop(permit);
        });
    }
    drop(listener);
    tasks.close();
    // A client may never read its response; the process does not wait for it.
    let _ = tokio::time::timeout(DRAIN, tasks.wait()).await;
}

/// Idle connections without an outstanding response, in the order in which they became idle.
#[derive(Clone, Default)]
struct WaitingConnections(Arc<Mutex<(u64, BTreeMap<u64, CancellationToken>)>>);

impl WaitingConnections {
    fn begin(&self, cut_off: &CancellationToken) -> u64 {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.0 += 1;
        let number = all.0;
        all.1.insert(number, cut_off.clone());
        number
    }

    fn end(&self, number: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1.remove(&number);
    }

    fn cut_off_the_first(&self) {
        let first = self.0.lock().unwrap_or_else(PoisonError::into_inner).1.pop_first();
        if let Some((_, cut_off)) = first {
            cut_off.cancel();
        }
    }
}

struct AdminConnection {
    router: Router,
    peer: SocketAddr,
    waiting: WaitingConnections,
}

impl AdminConnection {
    async fn run(self, stream: TcpStream, stop: CancellationToken) {
        let _ = stream.set_nodelay(true);
        let cut_off = CancellationToken::new();
        let Self { router, peer, waiting } = self;
        // After its response a connection is idle again, even if the client has not read it yet.
        let place = Arc::new(Mutex::new(waiting.begin(&cut_off)));
        let at = |place: &Mutex<u64>| *place.lock().unwrap_or_else(PoisonError::into_inner);
        let service = hyper::service::service_fn(|request: Request<Incoming>| {
            waiting.end(at(&place));
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(ConnectInfo(peer));
            request.extensions_mut().insert(CutOff(cut_off.clone()));
            let answering = router.clone().oneshot(request);
            let (waiting, cut_off, place) = (waiting.clone(), cut_off.clone(), Arc::clone(&place));
            async move {
                let answer = answering.await;
                *place.lock().unwrap_or_else(PoisonError::into_inner) = waiting.begin(&cut_off);
                answer.map_err(|never: Infallible| never)
            }
        });
        let mut http = hyper::server::conn::http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(HEAD);
        {
            let serving = http.serve_connection(TokioIo::new(stream), service);
            tokio::pin!(serving);
            let served = tokio::select! {
                _ = &mut serving => true,
                () = cut_off.cancelled() => true,
                () = stop.cancelled() => false,
            };
            if !served {
                serving.as_mut().graceful_shutdown();
                let _ = serving.await;
            }
        }
        waiting.end(at(&place));
    }
}
