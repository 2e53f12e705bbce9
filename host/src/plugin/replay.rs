//! Replay of a recorded reconcile: the imports answer a guest as they did then.
//!
//! A read, an HTTP request and a value of the cache are found by their arguments, so a changed guest may use them in another order. Whatever
//! was not recorded is a fault of the replay, with the call and its arguments.

use super::tape::{Clock, Phase, Read, ReadFailure, SendFailure, Sent, Ticks};
use bytes::Bytes;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Most faults of one replay; a guest may ask again and again.
const MOST_FAULTS: usize = 100;

/// Longest fault in bytes.
const FAULT_BYTES: usize = 4096;

/// A recorded read.
#[derive(Clone, Debug)]
pub struct RecordedRead {
    /// The call that read.
    pub during: Phase,
    /// The read.
    pub read: Read,
    /// The texts that the guest got.
    pub answer: Result<Vec<String>, ReadFailure>,
}

/// Returns the differences of a request.
pub type Faults = Box<dyn Fn(&Sent) -> Vec<String> + Send + Sync>;

/// Whether a value is the recorded one, which may contain placeholders.
pub type Same = fn(&[u8], &[u8]) -> bool;

/// A recorded exchange.
pub struct RecordedExchange {
    /// Method and URL.
    pub line: String,
    /// Whether a request has this method and URL.
    pub fits: Box<dyn Fn(&Sent) -> bool + Send + Sync>,
    /// The differences of a request.
    pub faults: Faults,
    /// The response.
    pub answer: Result<http::Response<Bytes>, SendFailure>,
}

impl std::fmt::Debug for RecordedExchange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecordedExchange").field("line", &self.line).finish_non_exhaustive()
    }
}

/// A recorded use of the cache.
#[derive(Clone, Debug)]
pub enum RecordedCache {
    /// `cache.get` of a key.
    Get(String, Option<Vec<u8>>),
    /// `cache.set` of a key, with the time to live in milliseconds.
    Set(String, Vec<u8>, u64),
}

/// What a replay answers with. Of a part that is `None`, the guest gets what it gets without a replay.
#[derive(Debug, Default)]
pub struct Answers {
    /// Reads of the cluster.
    pub reads: Option<Vec<RecordedRead>>,
    /// HTTP exchanges.
    pub http: Option<Vec<RecordedExchange>>,
    /// Uses of the cache.
    pub cache: Option<Vec<RecordedCache>>,
    /// What the wall clock shows.
    pub wall: Option<Ticks>,
    /// What the monotonic clock shows.
    pub monotonic: Option<Ticks>,
    /// Random bytes.
    pub random: Option<Vec<Vec<u8>>>,
    /// Whether the start of the instance is not recorded, because it served other reconciles before.
    pub unknown_start: bool,
    /// Compares values of the cache. None: they must be equal.
    pub same: Option<Same>,
}

/// The answers of one recorded reconcile.
#[derive(Debug)]
pub struct Replay {
    inner: Mutex<Playing>,
}

#[derive(Debug, Default)]
struct Playing {
    reads: Option<Vec<(RecordedRead, bool)>>,
    http: Option<Vec<RecordedExchange>>,
    cache: Option<Vec<(RecordedCache, bool)>>,
    clocks: [Option<Clockwork>; 2],
    random: Option<VecDeque<Vec<u8>>>,
    unknown_start: bool,
    same: Option<Same>,
    /// The random numbers that were not recorded.
    invented: u64,
    faults: Vec<String>,
}

#[derive(Debug, Default)]
struct Clockwork {
    left: VecDeque<(u64, u32)>,
    last: u64,
    /// Whether the guest asked more often than was recorded.
    late: bool,
}

impl Replay {
    /// Begins a replay.
    #[must_use]
    pub fn new(answers: Answers) -> Self {
        let clock = |ticks: Option<Ticks>| {
            ticks.map(|ticks| Clockwork {
                last: ticks.first().map_or(0, |(value, _)| *value),
                left: ticks.into(),
                late: false,
            })
        };
        Self {
            inner: Mutex::new(Playing {
                reads: answers.reads.map(|reads| reads.into_iter().map(|read| (read, false)).collect()),
                http: answers.http,
                cache: answers.cache.map(|cache| cache.into_iter().map(|one| (one, false)).collect()),
                clocks: [clock(answers.wall), clock(answers.monotonic)],
                random: answers.random.map(VecDeque::from),
                unknown_start: answers.unknown_start,
                same: answers.same,
                invented: 0,
                faults: Vec::new(),
            }),
        }
    }

    /// What the guest asked for that was not recorded, and which requests and values of the recording it did not send or set.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        let playing = self.playing();
        let mut faults = playing.faults.clone();
        for left in playing.http.iter().flatten() {
            faults.push(format!("http: {}: recorded, and not sent", left.line));
        }
        for (left, _) in playing.cache.iter().flatten().filter(|(_, used)| !used) {
            if let RecordedCache::Set(key, ..) = left {
                faults.push(format!("cache.set({key:?}): recorded, and not called"));
            }
        }
        faults
    }

    fn playing(&self) -> MutexGuard<'_, Playing> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer of a read. None: reads are not replayed.
    pub(super) fn read(&self, during: Phase, read: &Read) -> Option<Result<Vec<String>, ReadFailure>> {
        let mut playing = self.playing();
        let recorded = playing.reads.as_mut()?;
        // First what the same call read and has not read again yet. Then the last answer up to this call, and then the first one after it.
        let mut found = None;
        for (at, (one, used)) in recorded.iter().enumerate().filter(|(_, (one, _))| one.read == *read) {
            if one.during == during && !used {
                found = Some(at);
                break;
            }
            if one.during <= during || found.is_none() {
                found = Some(at);
            }
        }
        if let Some((one, used)) = found.and_then(|at| recorded.get_mut(at)) {
            *used = true;
            return Some(one.answer.clone());
        }
        playing.fault(&format!("{}: not recorded: {read}", during.as_str()));
        Some(Err(ReadFailure::Terminal(format!("not recorded: {read}"))))
    }

    /// The response to a request. None: HTTP is not replayed.
    pub(super) fn send(&self, sent: &Sent) -> Option<Result<http::Response<Bytes>, SendFailure>> {
        let mut playing = self.playing();
        let recorded = playing.http.as_mut()?;
        let fits = |one: &RecordedExchange| (one.fits)(sent);
        let exact = recorded.iter().position(|one| fits(one) && (one.faults)(sent).is_empty());
        let line = format!("{} {}", sent.method, sent.url);
        let Some(at) = exact.or_else(|| recorded.iter().position(fits)) else {
            playing.fault(&format!("http: {line}: not recorded"));
            return Some(Err(SendFailure::Unreachable("the case has no exchange for this request".to_owned())));
        };
        let exchange = recorded.remove(at);
        for fault in (exchange.faults)(sent) {
            playing.fault(&format!("http: {line}: {fault}"));
        }
        Some(exchange.answer)
    }

    /// The value of a key. None: the cache is not replayed.
    pub(super) fn cache_get(&self, key: &str) -> Option<Option<Vec<u8>>> {
        let mut playing = self.playing();
        let recorded = playing.cache.as_mut()?;
        let mut found = None;
        for (at, (one, used)) in recorded.iter().enumerate() {
            if let RecordedCache::Get(of, value) = one
                && of == key
            {
                found = Some((at, value.clone()));
                if !used {
                    break;
                }
            }
        }
        if let Some((at, value)) = found {
            if let Some((_, used)) = recorded.get_mut(at) {
                *used = true;
            }
            return Some(value);
        }
        playing.fault(&format!("not recorded: cache.get({key:?})"));
        Some(None)
    }

    /// Compares a value with the recorded one. False: the cache is not replayed.
    pub(super) fn cache_set(&self, key: &str, value: &[u8], ttl_ms: u64) -> bool {
        let mut playing = self.playing();
        let same = playing.same.unwrap_or(|a, b| a == b);
        let Some(recorded) = &mut playing.cache else { return false };
        let next =
            recorded.iter_mut().find(|(one, used)| matches!(one, RecordedCache::Set(of, ..) if of == key) && !used);
        let shown = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        let fault = match next {
            None => Some(format!("not recorded: cache.set({key:?}, {:?}, {ttl_ms} ms)", shown(value))),
            Some((RecordedCache::Set(_, expected, expected_ms), used)) => {
                *used = true;
                let differs = !same(expected, value) || *expected_ms != ttl_ms;
                differs.then(|| {
                    format!(
                        "cache.set({key:?}): expected {:?} for {expected_ms} ms, found {:?} for {ttl_ms} ms",
                        shown(expected),
                        shown(value)
                    )
                })
            }
            Some(_) => None,
        };
        if let Some(fault) = fault {
            playing.fault(&fault);
        }
        true
    }

    /// The value of a clock. None: clocks are not replayed. A guest that asks more often than was recorded gets the last value again.
    pub(super) fn tick(&self, during: Phase, clock: Clock) -> Option<u64> {
        let mut playing = self.playing();
        let unknown = playing.unknown_start && during == Phase::Start;
        let (index, name) = match clock {
            Clock::Wall => (0, "wall-clock"),
            Clock::Monotonic => (1, "monotonic-clock"),
        };
        let clockwork = playing.clocks.get_mut(index)?.as_mut()?;
        if unknown {
            return Some(clockwork.last);
        }
        let mut late = false;
        match clockwork.left.front_mut() {
            Some((value, times)) => {
                clockwork.last = *value;
                *times = times.saturating_sub(1);
                if *times == 0 {
                    clockwork.left.pop_front();
                }
            }
            None => late = !std::mem::replace(&mut clockwork.late, true),
        }
        let value = clockwork.last;
        if late {
            playing.fault(&format!("{}: not recorded: {name}.now() was called less often", during.as_str()));
        }
        Some(value)
    }

    /// So many random bytes. None: random numbers are not replayed. A guest that asks for others than were recorded gets invented ones,
    /// the same in each replay.
    pub(super) fn random(&self, during: Phase, length: usize) -> Option<Vec<u8>> {
        let mut playing = self.playing();
        let unknown = playing.unknown_start && during == Phase::Start;
        let recorded = playing.random.as_mut()?;
        if !unknown && recorded.front().is_some_and(|bytes| bytes.len() == length) {
            return recorded.pop_front();
        }
        if !unknown {
            playing.fault(&format!("{}: not recorded: {length} random bytes", during.as_str()));
        }
        let mut bytes = Vec::with_capacity(length);
        while bytes.len() < length {
            // SplitMix64: good enough for a seed of a hash map, and the same everywhere.
            playing.invented = playing.invented.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (playing.invented ^ (playing.invented >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            bytes.extend((mixed ^ (mixed >> 31)).to_le_bytes().iter().take(length - bytes.len()));
        }
        Some(bytes)
    }
}

impl Playing {
    fn fault(&mut self, fault: &str) {
        if self.faults.len() < MOST_FAULTS {
            self.faults.push(crate::quoted(fault, FAULT_BYTES));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{GroupVersionKind, ObjectKey};

    fn get(name: &str) -> Read {
        Read::Get(GroupVersionKind::new("", "v1", "ConfigMap"), ObjectKey::new("n", name))
    }

    fn read(during: Phase, name: &str, answer: &str) -> RecordedRead {
        RecordedRead { during, read: get(name), answer: Ok(vec![answer.to_owned()]) }
    }

    fn reads(reads: Vec<RecordedRead>) -> Replay {
        Replay::new(Answers { reads: Some(reads), ..Answers::default() })
    }

    #[test]
    fn a_read_gets_the_answer_of_its_call_also_in_another_order() {
        let recorded = || {
            reads(vec![
                read(Phase::GetDesired, "a", "1"),
                read(Phase::GetActual, "a", "2"),
                read(Phase::GetActual, "a", "3"),
                read(Phase::GetActualAgain, "a", "4"),
            ])
        };
        let asked = |replay: &Replay, phase| replay.read(phase, &get("a")).unwrap().unwrap().remove(0);
        let replay = recorded();
        let phases = [Phase::GetDesired, Phase::GetActual, Phase::GetActual, Phase::GetActualAgain];
        assert_eq!(phases.map(|phase| asked(&replay, phase)), ["1", "2", "3", "4"]);
        assert_eq!(phases.map(|phase| asked(&replay, phase)), ["1", "3", "3", "4"]);
        // A version that does not read in get-actual sees the later state after its patch.
        let replay = recorded();
        assert_eq!((asked(&replay, Phase::Start), asked(&replay, Phase::GetActualAgain)), ("1".into(), "4".into()));
        assert_eq!(asked(&replay, Phase::Patch), "3");
        assert!(replay.faults().is_empty());
    }

    #[test]
    fn what_was_not_recorded_is_a_fault_with_the_call_and_its_arguments() {
        let replay = Replay::new(Answers {
            reads: Some(vec![read(Phase::GetDesired, "a", "1")]),
            http: Some(Vec::new()),
            cache: Some(vec![RecordedCache::Set("k".into(), b"v".to_vec(), 5)]),
            wall: Some(vec![(7, 2)]),
            monotonic: Some(Vec::new()),
            random: Some(vec![vec![1, 2]]),
            ..Answers::default()
        });
        let refused = replay.read(Phase::GetActual, &get("b")).unwrap().unwrap_err();
        assert_eq!(refused, ReadFailure::Terminal("not recorded: cluster.get-object(v1, Kind=ConfigMap, n/b)".into()));
        let sent = Sent { method: "GET".into(), url: "http://x/".into(), headers: Vec::new(), body: Bytes::new() };
        replay.send(&sent).unwrap().unwrap_err();
        assert_eq!(replay.cache_get("k"), Some(None));
        let ticks = [(); 4].map(|()| replay.tick(Phase::Patch, Clock::Wall).unwrap());
        assert_eq!(ticks, [7, 7, 7, 7]);
        assert_eq!(replay.random(Phase::Patch, 2).unwrap(), [1, 2]);
        assert_eq!(replay.random(Phase::Patch, 9).unwrap().len(), 9);
        assert_eq!(
            replay.faults(),
            [
                "get-actual: not recorded: cluster.get-object(v1, Kind=ConfigMap, n/b)",
                "http: GET http://x/: not recorded",
                "not recorded: cache.get(\"k\")",
                "patch: not recorded: wall-clock.now() was called less often",
                "patch: not recorded: 9 random bytes",
                "cache.set(\"k\"): recorded, and not called",
            ]
        );
    }

    #[test]
    fn a_guest_that_asks_without_end_fills_no_memory() {
        let replay = reads(Vec::new());
        for _ in 0..10_000 {
            replay.read(Phase::GetDesired, &get(&"x".repeat(100_000))).unwrap().unwrap_err();
        }
        let faults = replay.faults();
        assert!(faults.len() == MOST_FAULTS && faults.iter().all(|fault| fault.len() <= FAULT_BYTES + 16));
    }
}
