//! New versions, put in place one after the other.

use super::guest::{Form, Mode, formed};
use super::kinds::Kind;
use super::ledger::Ledger;
use super::random::Random;
use crate::harness::PluginDir;
use anyhow::Result;
use std::time::Duration;
use tokio::time::{Instant, MissedTickBehavior, interval};

/// How many of a hundred versions are broken.
const BROKEN: usize = 25;

/// After a kill swaps are not counted this long: they wait for the host to start.
const START: Duration = Duration::from_secs(3);

/// A version that was put in place.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    kind: Kind,
    version: String,
    form: Form,
    at: Instant,
}

/// Puts versions in place.
pub(super) struct Swapper<'a> {
    plugins: &'a PluginDir,
    guest: Vec<u8>,
    random: Random,
    placed: Vec<Placed>,
}

/// How swaps went.
#[derive(Clone, Debug, Default)]
pub(super) struct Swaps {
    /// Versions put in place.
    pub(super) placed: usize,
    /// Of them, versions the host should not keep.
    pub(super) broken: usize,
    /// Good versions that were replaced before they did anything.
    pub(super) overtaken: usize,
    /// From the file in place to the first reconcile on it, of good versions, but for those that a start of the host fell into.
    pub(super) times: Vec<Duration>,
}

impl<'a> Swapper<'a> {
    /// * `guest` - the changeling as it is built.
    pub(super) fn new(plugins: &'a PluginDir, guest: Vec<u8>, seed: u64) -> Self {
        Self { plugins, guest, random: Random::new(seed, 0), placed: Vec::new() }
    }

    /// The changeling as it is built.
    pub(super) fn guest(&self) -> &[u8] {
        &self.guest
    }

    /// What was put in place as a version.
    pub(super) fn placed(&self, version: &str) -> Option<(Kind, Form)> {
        let placed = self.placed.iter().find(|placed| placed.version == version)?;
        Some((placed.kind, placed.form))
    }

    /// Puts a version of every plugin in place, all of them good; answers its name.
    pub(super) fn place_all(&mut self) -> Result<Vec<(Kind, String)>> {
        let mut placed = Vec::new();
        for kind in Kind::ALL {
            placed.push((kind, self.place_good(kind)?));
        }
        Ok(placed)
    }

    /// Puts a good version of a plugin in place; answers its name.
    pub(super) fn place_good(&mut self, kind: Kind) -> Result<String> {
        self.place(kind, Form::Whole(Mode::Ok))
    }

    /// Swaps one plugin after the other.
    ///
    /// * `pause` - between two swaps.
    pub(super) async fn swap(&mut self, pause: Duration, end: Instant) -> Result<()> {
        let mut turns = interval(pause);
        turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for kind in Kind::ALL.iter().cycle() {
            turns.tick().await;
            if Instant::now() >= end {
                break;
            }
            let form = self.form();
            self.place(*kind, form)?;
        }
        Ok(())
    }

    /// How it went.
    ///
    /// * `kills` - when the host was killed.
    pub(super) fn outcome(&self, ledger: &Ledger, kills: &[Instant]) -> Swaps {
        let mut swaps = Swaps { placed: self.placed.len(), ..Swaps::default() };
        for (at, placed) in self.placed.iter().enumerate() {
            if !placed.form.is_good() {
                swaps.broken += 1;
                continue;
            }
            let first = ledger.books(|books| books.first(placed.kind.plugin(), &placed.version));
            let Some(first) = first else {
                let replaced = self.placed.iter().skip(at + 1).any(|later| later.kind == placed.kind);
                swaps.overtaken += usize::from(replaced);
                continue;
            };
            if !kills.iter().any(|kill| placed.at < *kill + START && *kill < first) {
                swaps.times.push(first - placed.at);
            }
        }
        swaps
    }

    fn place(&mut self, kind: Kind, form: Form) -> Result<String> {
        let version = format!("{}", self.placed.len());
        let bytes = formed(&self.guest, &kind.role(&version), form)?;
        self.plugins.place(&format!("{}.wasm", kind.plugin()), &bytes)?;
        self.placed.push(Placed { kind, version: version.clone(), form, at: Instant::now() });
        Ok(version)
    }

    fn form(&mut self) -> Form {
        if !self.random.percent(BROKEN) {
            return Form::Whole(if self.random.percent(5) { Mode::Slow } else { Mode::Ok });
        }
        match self.random.below(6) {
            0 => Form::Truncated,
            1 => Form::Text,
            2 => Form::Whole(Mode::Trap),
            3 => Form::Whole(Mode::TrapSome),
            4 => Form::Whole(Mode::Loop),
            _ => Form::Whole(Mode::BadAnswer),
        }
    }
}
