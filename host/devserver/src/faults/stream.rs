//! Effects of fault rules on a watch: a layer over its lines, independent of their source.

use std::{
    collections::{BTreeSet, VecDeque},
    convert::Infallible,
    io,
    pin::Pin,
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use futures::{Stream, StreamExt as _, stream};
use serde_json::Value;
use tokio::{sync::watch::Receiver, time::Instant};

use super::{
    EventFaultDecision, FaultState, Meeting, Turn,
    effect::Cut,
    meeting,
    plan::{TurnKind, place_of},
};
use crate::{http::request::Request, model::status::ApiError};

/// Poll interval for newer versions of a watch that lags by versions.
const LAG_POLL: Duration = Duration::from_millis(10);

type Lines = Pin<Box<dyn Stream<Item = Result<Bytes, Infallible>> + Send>>;

/// The chunks of a watch after the rules. `lag` is the rule by which the watch reads the past.
pub(crate) fn watch<L>(
    faults: &Arc<FaultState>,
    call: &Request,
    lag: Option<String>,
    lines: L,
) -> impl Stream<Item = io::Result<Bytes>> + Send + use<L>
where
    L: Stream<Item = Result<Bytes, Infallible>> + Send + 'static,
{
    let mut changed = faults.changed.subscribe();
    changed.mark_changed();
    let state = StreamState {
        faults: Arc::clone(faults),
        meeting: meeting(call),
        lines: Some(Box::pin(lines)),
        changed,
        lag,
        held: VecDeque::new(),
        met: BTreeSet::new(),
        turns: Vec::new(),
        stall: None,
        over: false,
    };
    stream::unfold(state, |mut state| async move {
        if state.over {
            return None;
        }
        let chunk = state.next().await?;
        state.over |= chunk.is_err();
        Some((chunk, state))
    })
}

/// A line that is not sent yet.
struct Held {
    line: Bytes,
    due: Instant,
    /// Its resourceVersion, for a watch of the past.
    revision: u64,
    /// Whether it counts as an event.
    event: bool,
}

/// A pending [`Turn`] of this watch.
struct Ahead {
    turn: Turn,
    at: Option<Instant>,
}

struct StreamState {
    faults: Arc<FaultState>,
    meeting: Meeting,
    /// `None` once the lines have ended.
    lines: Option<Lines>,
    changed: Receiver<()>,
    lag: Option<String>,
    held: VecDeque<Held>,
    met: BTreeSet<String>,
    turns: Vec<Ahead>,
    /// The rule by which it stalls, and until when.
    stall: Option<(String, Option<Instant>)>,
    over: bool,
}

/// The next step.
enum StreamStep {
    Send(io::Result<Bytes>),
    End,
    /// Wait until this time, or an earlier change.
    Wait(Option<Instant>),
}

impl StreamState {
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        loop {
            if self.changed.has_changed().unwrap_or(false) {
                self.changed.mark_unchanged();
                self.look();
            }
            let until = match self.step() {
                StreamStep::Send(Err(cut)) => {
                    // Earlier chunks are sent first.
                    tokio::task::yield_now().await;
                    return Some(Err(cut));
                }
                StreamStep::Send(chunk) => return Some(chunk),
                StreamStep::End => return None,
                StreamStep::Wait(until) => until,
            };
            let stop = self.faults.stop.clone();
            let alarm = async {
                match until {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            let idle = self.stall.is_some();
            tokio::select! {
                biased;
                _ = self.changed.changed() => self.changed.mark_changed(),
                () = stop.cancelled() => return None,
                () = alarm => {}
                chunk = more(&mut self.lines), if !idle => match chunk {
                    Some(chunk) if !self.faults.any() && self.held.is_empty() => return Some(Ok(chunk)),
                    Some(chunk) => self.take(&chunk),
                    None => self.lines = None,
                },
            }
        }
    }

    /// Applies the present rules to this watch.
    fn look(&mut self) {
        let (meeting, met) = (&self.meeting, &mut self.met);
        let (turns, crashed) = self.faults.ask(|plan| (plan.watch(meeting, met), plan.crashed(&meeting.client)));
        self.turns.retain(|a| self.faults.ask(|plan| plan.holds(&a.turn.rule)));
        let now = Instant::now();
        self.turns.extend(turns.into_iter().map(|turn| {
            // Without a condition it is due now.
            let at = turn.time.or(turn.events.is_none().then_some(Duration::ZERO)).map(|t| now + t);
            Ahead { turn, at }
        }));
        if crashed {
            let turn = Turn { rule: String::new(), kind: TurnKind::Cut, events: None, time: None };
            self.stall = None;
            self.turns = vec![Ahead { turn, at: Some(now) }];
        }
        if let Some((rule, _)) = &self.stall
            && !self.faults.ask(|plan| plan.holds(rule))
        {
            self.stall = None;
        }
    }

    fn step(&mut self) -> StreamStep {
        let now = Instant::now();
        if let Some((_, until)) = &self.stall {
            match until {
                Some(until) if *until <= now => self.stall = None,
                until => return StreamStep::Wait(*until),
            }
        }
        let due = |a: &Ahead| a.turn.events == Some(0) || a.at.is_some_and(|at| at <= now);
        if let Some(at) = self.turns.iter().position(due) {
            return self.turn(at, now);
        }
        let mut until = self.turns.iter().filter_map(|a| a.at).min();
        let Some(first) = self.held.front() else {
            return if self.lines.is_none() { StreamStep::End } else { StreamStep::Wait(until) };
        };
        let free = self.horizon().is_none_or(|horizon| first.revision <= horizon);
        if free && first.due <= now {
            return self.send();
        }
        let again = if free { first.due } else { now + LAG_POLL };
        until = Some(until.map_or(again, |at| at.min(again)));
        StreamStep::Wait(until)
    }

    /// Applies the pending fault with this index.
    fn turn(&mut self, at: usize, now: Instant) -> StreamStep {
        let Ahead { turn, .. } = self.turns.remove(at);
        match turn.kind {
            TurnKind::Close => StreamStep::End,
            TurnKind::Cut => StreamStep::Send(Err(Cut::error())),
            TurnKind::Expire => {
                let error = ApiError::expired("too old resource version: a fault rule says so").to_value();
                self.over = true;
                StreamStep::Send(Ok(format!("{{\"type\":\"ERROR\",\"object\":{error}}}\n").into()))
            }
            TurnKind::Stall(time) => {
                self.stall = Some((turn.rule, time.map(|t| now + t)));
                StreamStep::Wait(time.map(|t| now + t))
            }
        }
    }

    fn send(&mut self) -> StreamStep {
        let Some(held) = self.held.pop_front() else { return StreamStep::Wait(None) };
        if held.event {
            for ahead in &mut self.turns {
                ahead.turn.events = ahead.turn.events.map(|n| n.saturating_sub(1));
            }
        }
        StreamStep::Send(Ok(held.line))
    }

    /// The last revision that this watch may show; `None` when it does not read the past.
    fn horizon(&self) -> Option<u64> {
        let rule = self.lag.as_ref()?;
        self.faults.ask(|plan| plan.horizon(rule, self.faults.store.revision()))
    }

    /// Splits a chunk into lines, and keeps those that the rules leave.
    fn take(&mut self, chunk: &Bytes) {
        let mut rest = chunk.clone();
        while let Some(end) = rest.iter().position(|b| *b == b'\n') {
            let line = rest.split_to(end + 1);
            let kind = kind_of(&line).to_owned();
            let parsed = || serde_json::from_slice::<Value>(&line).unwrap_or_default();
            let decision = self.faults.ask(|plan| plan.event(&self.meeting, &kind, || place_of(&parsed())));
            let EventFaultDecision { dropped: false, copies, delay } = decision else { continue };
            let revision = if self.lag.is_some() { revision_of(&parsed()) } else { 0 };
            // A later line is not sent before an earlier one.
            let due = (Instant::now() + delay).max(self.held.back().map_or_else(Instant::now, |h| h.due));
            let event = matches!(kind.as_str(), "ADDED" | "MODIFIED" | "DELETED");
            self.held.extend((0..copies).map(|_| Held { line: line.clone(), due, revision, event }));
        }
    }
}

/// The next chunk; pending for ever after the last one.
async fn more(lines: &mut Option<Lines>) -> Option<Bytes> {
    match lines {
        Some(lines) => lines.next().await.map(|chunk| match chunk {
            Ok(chunk) => chunk,
        }),
        None => std::future::pending().await,
    }
}

/// The type of an event, which is its first field.
fn kind_of(line: &[u8]) -> &str {
    let text = std::str::from_utf8(line).unwrap_or_default();
    text.strip_prefix("{\"type\":\"").and_then(|t| t.split('"').next()).unwrap_or_default()
}

fn revision_of(event: &Value) -> u64 {
    let at = |pointer: &str| event.pointer(pointer).and_then(Value::as_str);
    let text = at("/object/metadata/resourceVersion").or_else(|| at("/object/rows/0/object/metadata/resourceVersion"));
    text.and_then(|t| t.parse().ok()).unwrap_or(0)
}
