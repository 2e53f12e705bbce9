//! Response bodies: at once, or a few bytes at a time.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::Interval;

/// The body of every response the emulator gives.
#[derive(Debug)]
pub(crate) enum ReplyBody {
    /// Sent in one piece.
    Whole(Bytes),
    /// Sent in pieces of `chunk` bytes, one per tick.
    Dribble { rest: Bytes, chunk: usize, tick: Interval },
}

impl ReplyBody {
    pub(crate) fn dribble(rest: Bytes, chunk: usize, pause: Duration) -> Self {
        Self::Dribble { rest, chunk: chunk.max(1), tick: tokio::time::interval(pause.max(Duration::from_millis(1))) }
    }

    fn rest(&self) -> &Bytes {
        match self {
            Self::Whole(rest) | Self::Dribble { rest, .. } => rest,
        }
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = self.get_mut();
        if this.rest().is_empty() {
            return Poll::Ready(None);
        }
        let piece = match this {
            Self::Whole(rest) => std::mem::take(rest),
            Self::Dribble { rest, chunk, tick } => {
                ready!(tick.poll_tick(cx));
                rest.split_to((*chunk).min(rest.len()))
            }
        };
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest().is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest().len() as u64)
    }
}
