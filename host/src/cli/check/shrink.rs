//! The shortest program that fails for the same reason, and its scenario.

use super::campaign::Referee;
use super::oracles::{Found, Oracle, named};
use super::program::{Program, documents};
use super::source::Source;
use serde_json::{Value, json};
use tokio::time::Instant;

/// A finding with its scenario.
#[derive(Clone, Debug)]
pub(super) struct Shrunk {
    pub(super) oracle: Oracle,
    pub(super) shape: String,
    pub(super) lines: Vec<String>,
    /// The steps of the scenario.
    pub(super) scenario: Program,
    /// Whether the scenario fails as a test. False: it needs something that no step says.
    pub(super) fails: bool,
}

/// Shrinks a finding.
///
/// # Errors
///
/// See [`Referee::judge`].
pub(super) fn shrink<R: Referee>(
    referee: &R,
    sources: &[Source],
    program: Program,
    found: Found,
) -> anyhow::Result<Shrunk> {
    let (oracle, left, original) = (found.oracle, referee.tries(found.oracle), program.clone());
    let until = referee.patience().map(|patience| Instant::now() + patience);
    let mut shrinking = Shrinking { referee, oracle, program, found, left, work: 0, until };
    shrinking.teardown()?;
    shrinking.steps()?;
    shrinking.bursts()?;
    shrinking.values(sources)?;
    shrinking.steps()?;
    let Shrinking { program, found, .. } = shrinking;
    // The user does not wait for another one.
    let (scenario, fails) = match referee.stopped() {
        true => (program.clone(), false),
        false => referee.scenario(&program, &original, &found)?,
    };
    Ok(Shrunk { oracle: named(found.oracle, &program), shape: found.shape, lines: found.lines, scenario, fails })
}

struct Shrinking<'j, R> {
    referee: &'j R,
    oracle: Oracle,
    program: Program,
    found: Found,
    left: usize,
    /// Reconciles so far.
    work: u64,
    until: Option<Instant>,
}

/// Most reconciles that are played to shrink one finding: a controller that never rests has hundreds in each minute.
const MOST_WORK: u64 = 50_000;

impl<R: Referee> Shrinking<'_, R> {
    /// Takes a program if it fails in the same way.
    fn accepts(&mut self, program: Program) -> anyhow::Result<bool> {
        let late = self.until.is_some_and(|until| Instant::now() >= until);
        if self.left == 0 || late || self.referee.stopped() || self.work >= MOST_WORK || program == self.program {
            return Ok(false);
        }
        self.left -= 1;
        let shown = match self.referee.shows(&program, self.oracle, &mut self.work) {
            Err(_) if self.referee.stopped() => return Ok(false),
            shown => shown?,
        };
        match shown {
            // Any step can fail in some way: of a step that fails, the reason counts.
            Some(found)
                if found.oracle == self.oracle && (found.oracle != Oracle::Step || found.lines == self.found.lines) =>
            {
                (self.program, self.found) = (program, found);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn teardown(&mut self) -> anyhow::Result<()> {
        let program = Program { teardown: Vec::new(), ..self.program.clone() };
        self.accepts(program).map(drop)
    }

    /// Leaves out steps: halves first, single ones last.
    fn steps(&mut self) -> anyhow::Result<()> {
        let mut size = self.program.steps.len().div_ceil(2);
        while size > 0 {
            let (mut from, mut shorter) = (0, false);
            while from < self.program.steps.len() {
                let steps = &self.program.steps;
                let rest = steps.iter().take(from).chain(steps.iter().skip(from + size)).cloned().collect();
                if self.accepts(Program { steps: rest, ..self.program.clone() })? {
                    shorter = true;
                } else {
                    from += size;
                }
            }
            if size > 1 || !shorter {
                size /= 2;
            }
        }
        Ok(())
    }

    /// Leaves out changes of those that come in a moment.
    fn bursts(&mut self) -> anyhow::Result<()> {
        for at in 0..self.program.steps.len() {
            let several = |program: &Program| -> Vec<Value> {
                let step = program.steps.get(at).filter(|step| step.pointer("/apply/resources").is_some());
                step.map(documents).into_iter().flatten().cloned().collect()
            };
            let mut one = 0;
            while one < several(&self.program).len() {
                let mut all = several(&self.program);
                all.remove(one);
                let apply = match all.as_slice() {
                    [single] => json!({"resource": single}),
                    _ => json!({"resources": all}),
                };
                let mut program = self.program.clone();
                let Some(step) = program.steps.get_mut(at) else { break };
                *step = json!({"apply": apply});
                if !self.accepts(program)? {
                    one += 1;
                }
            }
        }
        Ok(())
    }

    /// Leaves out fields of objects, as long as the API server accepts the rest.
    fn values(&mut self, sources: &[Source]) -> anyhow::Result<()> {
        let mut at = 0;
        while at < self.program.steps.len() {
            let mut places = Vec::new();
            if let Some(object) = self.program.steps.get(at).and_then(|step| step.pointer("/apply/resource")) {
                fields(object, "", 0, &mut places);
            }
            for place in places {
                let mut program = self.program.clone();
                let Some(object) = program.steps.get_mut(at).and_then(|step| step.pointer_mut("/apply/resource"))
                else {
                    break;
                };
                let Some((parent, name)) = place.rsplit_once('/') else { continue };
                let Some(parent) = object.pointer_mut(parent).and_then(Value::as_object_mut) else { continue };
                let name = name.replace("~1", "/").replace("~0", "~");
                if parent.remove(&name).is_none() {
                    continue;
                }
                let valid = sources.iter().any(|source| source.is_of(object) && source.accepts(None, object));
                if valid {
                    self.accepts(program)?;
                }
            }
            at += 1;
        }
        Ok(())
    }
}

/// Pointers to the fields of an object that may go, outer ones first.
fn fields(value: &Value, pointer: &str, depth: usize, places: &mut Vec<String>) {
    for (name, field) in value.as_object().into_iter().flatten() {
        let kept = match depth {
            0 => ["apiVersion", "kind", "metadata"].contains(&name.as_str()),
            _ => false,
        };
        let at = format!("{pointer}/{}", oarlock_schema::draw::escape(name));
        if !kept {
            places.push(at.clone());
            if depth < 3 {
                fields(field, &at, depth + 1, places);
            }
        }
    }
}
