//! A second host in a scenario: it takes over from the first, which goes on without the API server.

use super::cluster::Fault;
use super::world::{Generation, World};
use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use futures::StreamExt as _;
use http::StatusCode;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use tokio::sync::watch;

/// A network partition between one host and the API server. Services stay within reach. Clones are the same partition.
#[derive(Clone, Debug)]
pub(super) struct Partition(Arc<watch::Sender<bool>>);

impl Default for Partition {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }
}

impl Partition {
    pub(super) fn is_there(&self) -> bool {
        *self.0.borrow()
    }

    /// What a host gets of an answer of the API server: nothing after the partition began. So its watches end.
    pub(super) fn cut(&self, response: Response) -> Response {
        if self.is_there() {
            return StatusCode::SERVICE_UNAVAILABLE.into_response();
        }
        let mut began = self.0.subscribe();
        let (head, body) = response.into_parts();
        let over = async move {
            // An error means that the host ended.
            let _ = began.wait_for(|there| *there).await;
        };
        Response::from_parts(head, Body::from_stream(body.into_data_stream().take_until(Box::pin(over))))
    }
}

impl World<'_> {
    /// Lets a second host take over: the present one is cut off from the API server and goes on, until its leadership ends. When its Lease
    /// is over, the second one leads. A host that took part before and has a connection is the second one.
    pub(super) async fn takeover(&mut self) -> Result<(), Fault> {
        let stands_by = self.former.take_if(|former| !former.partition.is_there() && !(former.is_down)());
        self.end_former();
        let next = stands_by.unwrap_or_else(|| self.launch());
        next.host.stands_by().await?;
        match self.generation.take() {
            // A host that crashed stays down.
            Some(present) if (present.is_down)() => self.retire(present),
            Some(present) => {
                present.partition.0.send_replace(true);
                self.former = Some(present);
            }
            None => {}
        }
        self.lead(next).await
    }

    /// A host that a fault crashed stays down when that fault ends.
    pub(super) fn keep_crashed(&self) {
        for generation in self.generation.iter().chain(&self.former).filter(|generation| (generation.is_down)()) {
            generation.cut.store(true, Relaxed);
        }
    }

    /// Ends the partition: the former host sees that it lost its Lease, and stands by.
    pub(super) fn reconnect(&self) {
        if let Some(former) = &self.former {
            former.partition.0.send_replace(false);
        }
    }

    /// Ends the former host at once. It has nothing left to do: another one leads.
    pub(super) fn end_former(&mut self) {
        if let Some(former) = self.former.take() {
            self.retire(former);
        }
    }

    fn retire(&mut self, Generation { host, cut, .. }: Generation) {
        self.earlier += host.reconciles();
        cut.store(true, Relaxed);
        host.abandon();
    }
}
