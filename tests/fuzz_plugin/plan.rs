//! Which operations, in which order. Pure: the same seed and source give the same plan.

use super::source::{Expected, Source};
use crate::torture::Random;
use anyhow::Result;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a user does to one object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "operation", content = "value")]
pub enum Operation {
    /// Creates it, or puts this in its place. One that is being deleted is waited for first.
    Apply(Value),
    /// Deletes it, without waiting.
    Delete,
    /// As [`Apply`](Self::Apply), but while it is being deleted, or gone: whatever comes of it.
    EditWhileGoing(Value),
}

/// One operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// Which object.
    pub object: usize,
    /// What is done to it.
    #[serde(flatten)]
    pub operation: Operation,
    /// Wait until the plugin has settled before the next one.
    #[serde(default)]
    pub settle: bool,
    /// Why it was drawn, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// A whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// What it was drawn from, for people.
    pub seed: u64,
    /// How many objects there are.
    pub objects: usize,
    /// Seconds after which the host looks at everything again. Often: it can be seen that nothing is written then. Hardly ever:
    /// what is missed stays missed.
    pub resync_seconds: u32,
    /// In this order.
    pub steps: Vec<Step>,
}

impl Plan {
    /// Whether the host looks at everything again while it is played.
    pub(super) fn resyncs(&self) -> bool {
        self.resync_seconds <= OFTEN
    }
}

/// One object, while the plan is drawn.
#[derive(Clone, Debug, Default)]
struct Drawn {
    current: Option<Value>,
    going: bool,
    /// What it was, for going back.
    earlier: Vec<Value>,
}

/// Seconds between resyncs.
const OFTEN: u32 = 1;
/// Longer than any plan takes.
const HARDLY_EVER: u32 = 3600;

/// Draws a plan.
///
/// At its end most objects exist and are valid. With an odd seed the host resyncs every second, else hardly ever.
///
/// * `objects` - how many are worked on in turns.
/// * `steps` - how many operations; at the end come up to as many more as there are objects.
///
/// # Errors
///
/// When the source gives no valid object.
pub fn plan(source: &Source, seed: u64, objects: usize, steps: usize) -> Result<Plan> {
    let mut random = Random::new(seed, 1);
    let mut drawn = vec![Drawn::default(); objects];
    let mut all = Vec::new();
    for _ in 0..steps {
        let object = random.below(objects);
        let settle = random.percent(20);
        let Some(one) = drawn.get_mut(object) else { continue };
        let (operation, note) = one.operation(source, &mut random)?;
        all.push(Step { object, operation, settle, note });
    }
    for (object, one) in drawn.iter_mut().enumerate() {
        let gone = one.current.is_none() || one.going;
        if random.percent(if gone { 70 } else { 50 }) || (!gone && one.may_be_invalid(source)) {
            let (operation, note) = one.valid(source, &mut random)?;
            all.push(Step { object, operation, settle: false, note: format!("{note} in the end") });
        }
    }
    let resync_seconds = if seed.is_multiple_of(2) { HARDLY_EVER } else { OFTEN };
    Ok(Plan { seed, objects, resync_seconds, steps: all })
}

impl Drawn {
    fn operation(&mut self, source: &Source, random: &mut Random) -> Result<(Operation, String)> {
        let there = self.current.is_some() && !self.going;
        let chance = random.below(100);
        if !there {
            return match chance {
                0..15 => self.invalid(source, random),
                15..25 if self.going => {
                    let value = source.valid(random, self.current.as_ref())?;
                    Ok((Operation::EditWhileGoing(value), "edit while going".to_owned()))
                }
                _ => self.valid(source, random),
            };
        }
        match chance {
            0..40 => self.valid(source, random),
            40..60 => self.invalid(source, random),
            60..75 if !self.earlier.is_empty() => {
                let back = self.earlier.swap_remove(random.below(self.earlier.len()));
                Ok((self.becomes(source, back), "back".to_owned()))
            }
            60..80 => {
                let same = self.current.clone().unwrap_or_default();
                Ok((self.becomes(source, same), "the same again".to_owned()))
            }
            _ => {
                self.going = true;
                Ok((Operation::Delete, "delete".to_owned()))
            }
        }
    }

    fn valid(&mut self, source: &Source, random: &mut Random) -> Result<(Operation, String)> {
        let current = self.current.as_ref().filter(|_| !self.going);
        let note = if current.is_some() { "change" } else { "create" };
        let value = source.valid(random, current)?;
        Ok((self.becomes(source, value), note.to_owned()))
    }

    fn invalid(&mut self, source: &Source, random: &mut Random) -> Result<(Operation, String)> {
        let current = self.current.as_ref().filter(|_| !self.going);
        let Some(broken) = source.invalid(random, current)? else { return self.valid(source, random) };
        let note = format!("invalid: {} {}", broken.rule, broken.pointer);
        match source {
            // It is not refused for certain.
            Source::Examples { .. } => Ok((self.becomes(source, broken.object), note)),
            Source::Schema { .. } => Ok((Operation::Apply(broken.object), note)),
        }
    }

    fn becomes(&mut self, source: &Source, value: Value) -> Operation {
        let current = self.current.as_ref().filter(|_| !self.going);
        if matches!(source.expected(current, &value), Expected::Refused(_)) {
            // Back to what it can no longer be.
            return Operation::Apply(value);
        }
        let before = self.current.replace(value.clone()).filter(|_| !self.going);
        self.earlier.extend(before.filter(|before| *before != value));
        self.going = false;
        Operation::Apply(value)
    }

    fn may_be_invalid(&self, source: &Source) -> bool {
        self.current.as_ref().is_some_and(|current| source.expected(None, current) == Expected::Either)
    }
}
