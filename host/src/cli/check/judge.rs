//! Programs of a plugin, in simulated time, and what must hold after them.

use super::super::test::scenarios::{Plugin, Seen, Trial, attempt};
use super::campaign::{Referee, side_by_side};
use super::compare::{Difference, World};
use super::oracles::{Found, Oracle, deletions, existing, failing, generations, given_up, left, secret, trap};
use super::program::{GONE, Program, SETTLE, Traits, is_fault, last, mended, passes, reference};
use super::records::Records;
use super::source::text;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// Reconciles of an object in each minute in which nothing happens, from which on they count as a loop.
const LOOP: usize = 60;

/// The shortest time without a change that a program waits for a write.
const QUIET: u64 = 600;

/// The longest time without a change that a program waits for a write.
const LONGEST_QUIET: u64 = 2 * 3600;

/// What is the same for all programs of a check.
pub(super) struct Judge {
    pub(super) plugin: Plugin,
    /// Objects that exist before the host starts; definitions first.
    pub(super) cluster: Vec<Value>,
    /// Stubs of HTTP services.
    pub(super) services: Vec<Value>,
    /// The file of the version before it.
    previous: Option<String>,
    /// Values of Secrets among these.
    pub(super) secrets: Vec<String>,
    /// Worlds without faults, by their last objects.
    references: Mutex<BTreeMap<String, Arc<Seen>>>,
    /// Set when the user ends the check.
    pub(super) stop: Arc<AtomicBool>,
}

impl Judge {
    pub(super) fn new(plugin: Plugin, cluster: Vec<Value>, services: Vec<Value>, previous: Option<String>) -> Self {
        let secrets = super::inputs::secrets(&cluster);
        let (references, stop) = Default::default();
        Self { plugin, cluster, services, previous, secrets, references, stop }
    }

    /// Prepares the world once, and again for each of these objects.
    ///
    /// # Errors
    ///
    /// A sentence: the API server rejects an object of the cluster, the host does not start, or the plugin answers for none of the objects.
    pub(super) fn rehearse(&self, objects: &[Value]) -> anyhow::Result<()> {
        let trial = self.play(&[json!({"advance": "1s"})], &[])?;
        if let (Some((_, lines)), false) = (trial.failure, trial.interrupted) {
            anyhow::bail!("--crd, --cluster: {}", lines.join("; "));
        }
        // Side by side: a plugin that does not answer takes its deadline in real time.
        let tried = side_by_side(objects.len(), |number| {
            let object = objects.get(usize::try_from(number).ok()?)?;
            Some(self.no_answer(object))
        })?;
        match tried.first() {
            Some(Some(why)) if tried.iter().all(Option::is_some) && !self.stopped() => {
                let why = oarlock::text::one_line(why);
                anyhow::bail!("the plugin answers for none of {} objects: {why}", tried.len())
            }
            _ => Ok(()),
        }
    }

    /// Why the plugin gives no valid answer for an object. None: it does.
    fn no_answer(&self, object: &Value) -> anyhow::Result<Option<String>> {
        let steps = [json!({"apply": {"resource": object}}), json!({"advance": "10s"})];
        let trial = self.play(&steps, &[steps.len() - 1])?;
        let interrupted = trial.failure.filter(|_| trial.interrupted).map(|(_, lines)| lines.join("; "));
        let trapped = || trial.seen.first().and_then(trap).map(|found| found.lines.join("; "));
        Ok(interrupted.or_else(trapped))
    }

    fn play(&self, steps: &[Value], looks: &[usize]) -> anyhow::Result<Trial> {
        let cluster: Vec<Value> = self.cluster.iter().map(|object| json!({"resource": object})).collect();
        // JSON is YAML.
        attempt(&self.plugin, json!({"cluster": cluster, "http": self.services, "steps": steps}).to_string(), looks)
    }

    /// Simulated time in which nothing may be written: the plugin looks at everything again meanwhile, but for programs with a takeover.
    /// Their hosts renew Leases all the time, which takes more computing time than the rest of the program.
    fn quiet(&self, steps: &[Value]) -> String {
        let resync = u64::from(self.plugin.manifest.resync_seconds);
        let longest = if steps.iter().any(|step| step.get("takeover").is_some()) { QUIET } else { LONGEST_QUIET };
        format!("{}s", resync.saturating_mul(5).div_euclid(4).clamp(QUIET, longest))
    }

    /// What a step that failed says.
    fn failed(&self, steps: &[Value], at: usize, quiet: usize, lines: Vec<String>, interrupted: bool) -> Found {
        let step = steps.get(at).cloned().unwrap_or_default();
        let waits = step.pointer("/wait/for/deletion").is_some();
        let loops = at == quiet && lines.iter().any(|line| line.starts_with("reconciles:"));
        let writes = at == quiet && lines.iter().any(|line| line.starts_with("writes:"));
        let unanswered = interrupted || lines.iter().any(|line| line.starts_with("no stub answers"));
        let (oracle, checks) = if unanswered {
            (Oracle::Unanswered, Vec::new())
        } else if writes {
            (Oracle::Quiet, vec![json!({"advance": SETTLE}), json!({"quiet": {"for": self.quiet(steps)}})])
        } else if loops {
            (Oracle::Loop, vec![json!({"advance": SETTLE}), step.clone()])
        } else if waits {
            let object = step.get("wait").cloned().unwrap_or_default();
            let named = json!({"apiVersion": text(&object, "/apiVersion"), "kind": text(&object, "/kind"),
                "metadata": {"name": text(&object, "/name"), "namespace": object.get("namespace")}});
            let delete = json!({"delete": {"ref": reference(&named, &json!({}))}});
            let deleted = steps.iter().take(at).skip(quiet).any(|earlier| *earlier == delete);
            (Oracle::Deletion, if deleted { vec![delete, step.clone()] } else { Vec::new() })
        } else {
            (Oracle::Step, Vec::new())
        };
        let shape = match oracle {
            Oracle::Deletion => text(&step, "/wait/kind").to_owned(),
            Oracle::Step => step.as_object().and_then(|step| step.keys().next().cloned()).unwrap_or_default(),
            _ => String::new(),
        };
        Found { oracle, shape, lines, checks }
    }

    /// What must hold when nothing is left to do.
    fn settled(&self, program: &Program, last: &BTreeMap<String, Value>, seen: &Seen) -> anyhow::Result<Option<Found>> {
        let objects = existing(last, seen);
        let Some(reference) = self.reference(&objects)? else { return Ok(None) };
        let excused = failing(&reference, &objects);
        let mut differences = differences(seen, &reference, &excused);
        let before = differences.len();
        differences.retain(|one| !self.keeps(one, last));
        if differences.len() < before
            && let Some(undisturbed) = self.undisturbed(program)?
        {
            let kept = self::differences(seen, &undisturbed, &excused);
            differences.extend(kept.into_iter().filter(|one| self.keeps(one, last)));
        }
        if let Some(first) = differences.first() {
            let lines = differences.iter().take(5).map(|one| one.line.clone()).collect();
            let checks = vec![first.step.clone()];
            return Ok(Some(Found { oracle: Oracle::LastState, shape: first.shape.clone(), lines, checks }));
        }
        Ok(generations(&objects, seen))
    }

    /// Whether a difference is one of an object of the program that the plugin changes at admission: it keeps what it got when it was written.
    fn keeps(&self, difference: &Difference, last: &BTreeMap<String, Value>) -> bool {
        let Some([_, kind, _, name]) = &difference.id else { return false };
        let lower = kind.to_lowercase();
        let stem = lower.strip_suffix('y').unwrap_or(&lower);
        let plurals = [lower.clone(), format!("{lower}s"), format!("{lower}es"), format!("{stem}ies"), "*".to_owned()];
        let mut changes = self.plugin.manifest.admission.iter().filter(|rule| !rule.validate);
        last.get(name).is_some_and(|object| text(object, "/kind") == kind)
            && changes.any(|rule| rule.resources.iter().any(|resource| plurals.contains(resource)))
    }

    /// The world after a program without its faults. None: it has none, or does not come to its end. Versions replace one another in both.
    fn undisturbed(&self, program: &Program) -> anyhow::Result<Option<Seen>> {
        let disturbs = |step: &&Value| (is_fault(step) || step.get("heal").is_some()) && step.get("swap").is_none();
        let mut steps: Vec<Value> = program.steps.iter().filter(|step| !disturbs(step)).cloned().collect();
        if steps.len() == program.steps.len() {
            return Ok(None);
        }
        steps.push(json!({"advance": SETTLE}));
        let looks = [steps.len() - 1];
        Ok(self.play(&steps, &looks)?.seen.pop())
    }

    /// What events and objects say that they should not.
    fn told(&self, seen: &Seen) -> Option<Found> {
        trap(seen).or_else(|| secret(seen, &self.secrets))
    }

    /// Finds an object that the plugin gave up because of a fault that passes.
    fn given_up(&self, program: &Program, seen: &Seen) -> anyhow::Result<Option<Found>> {
        let mut given = given_up(seen);
        if given.is_empty() || !passes(&program.steps) {
            return Ok(None);
        }
        let Some(undisturbed) = self.undisturbed(program)? else { return Ok(None) };
        let rightly = given_up(&undisturbed);
        given.retain(|object, _| !rightly.contains_key(object));
        Ok(given.into_iter().next().map(|((kind, name), message)| {
            let about = json!({"kind": kind, "name": name});
            let resource =
                json!({"apiVersion": "v1", "kind": "Event", "reason": "TerminalError", "involvedObject": about});
            let checks = vec![json!({"error": {"resource": resource, "timeout": "1s"}})];
            let lines = vec![format!("{kind} {name}: {message}")];
            Found { oracle: Oracle::Classified, shape: kind, lines, checks }
        }))
    }

    /// Finds objects and records that remain after all deletions.
    fn left(&self, last: &BTreeMap<String, Value>, seen: &Seen) -> anyhow::Result<Option<Found>> {
        let Some(before) = self.reference(&[])? else { return Ok(None) };
        if let Some(found) = left(&before, last, seen) {
            return Ok(Some(found));
        }
        // Records of others must still be there.
        let differences = Records::of(seen, &before).differences(&BTreeSet::new());
        let Some(first) = differences.first() else { return Ok(None) };
        let mut checks = deletions(last);
        checks.push(first.step.clone());
        let lines = differences.iter().take(5).map(|one| one.line.clone()).collect();
        Ok(Some(Found { oracle: Oracle::Leftovers, shape: first.shape.clone(), lines, checks }))
    }

    /// The world of these objects alone, without faults. None: it does not come about.
    fn reference(&self, objects: &[Value]) -> anyhow::Result<Option<Arc<Seen>>> {
        let key = Value::from(objects.to_vec()).to_string();
        let known = self.references.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if known.is_some() {
            return Ok(known);
        }
        let mut steps: Vec<Value> = objects.iter().map(|object| json!({"apply": {"resource": object}})).collect();
        steps.push(json!({"advance": SETTLE}));
        let looks = [steps.len() - 1];
        let seen = self.play(&steps, &looks)?.seen.pop().map(Arc::new);
        if let Some(seen) = &seen {
            let mut known = self.references.lock().unwrap_or_else(PoisonError::into_inner);
            if known.len() >= KNOWN {
                known.clear();
            }
            known.insert(key, Arc::clone(seen));
        }
        Ok(seen)
    }
}

/// The differences of two worlds.
fn differences(seen: &Seen, wanted: &Seen, excused: &BTreeSet<String>) -> Vec<Difference> {
    let records = Records::of(seen, wanted);
    let (found, expected) = (World::of(seen, &records.found), World::of(wanted, &records.wanted));
    // First the records: objects name them, by ids that no step can name.
    let mut all = records.differences(excused);
    all.extend(found.differences(&expected, excused));
    all
}

/// Worlds that a check remembers.
const KNOWN: usize = 64;

/// Most programs that are played for one finding.
const TRIES: usize = 160;

/// The same for a plugin that does not answer: each takes its deadline in real time.
const SLOW_TRIES: usize = 12;

/// Simulated time before a minute in which nothing may happen, while a finding of a world that never rests is shrunk. Its scenario waits
/// for the whole time.
const RESTLESS: &str = "1m";

impl Judge {
    /// Plays a program.
    ///
    /// * `aim` - of what is sought alone. None: everything.
    /// * `work` - the reconciles are added to it.
    fn attempt(&self, program: &Program, aim: Option<Oracle>, work: &mut u64) -> anyhow::Result<Option<Found>> {
        let last = last(&program.steps);
        let mut steps = program.steps.clone();
        steps.extend(mended(&steps));
        let restless = aim == Some(Oracle::Loop);
        steps.push(json!({"advance": if restless { RESTLESS } else { SETTLE }}));
        let settled = steps.len() - 1;
        // At a resync all objects come at once.
        let per_minute = LOOP * last.len().max(1);
        let minute = || "1m".to_owned();
        let span = if restless { minute() } else { self.quiet(&steps) };
        steps.push(json!({"quiet": {"for": span, "reconcilesPerMinute": per_minute}}));
        let quiet = steps.len() - 1;
        if restless {
            let trial = self.play(&steps, &[])?;
            *work += trial.reconciles;
            let failure = trial.failure.filter(|(at, _)| *at == quiet);
            return Ok(failure.map(|(at, lines)| self.failed(&steps, at, quiet, lines, trial.interrupted)));
        }
        steps.extend(program.teardown.iter().cloned());
        steps.extend(last.values().map(|object| json!({"delete": {"ref": reference(object, &json!({}))}})));
        steps.extend(mended(&steps));
        let waits = last
            .values()
            .map(|object| json!({"wait": reference(object, &json!({"for": {"deletion": {}}, "timeout": GONE}))}));
        steps.extend(waits);
        steps.push(json!({"advance": SETTLE}));
        let end = steps.len() - 1;
        let trial = self.play(&steps, &[settled, end])?;
        *work += trial.reconciles;
        let mut told = trial.seen.first().and_then(|seen| self.told(seen));
        if let (None, Some(seen)) = (&told, trial.seen.first()) {
            told = self.given_up(program, seen)?;
        }
        // A world that does not rest has no end to compare.
        let restless = trial.failure.as_ref().is_some_and(|(at, _)| *at == quiet);
        let found = match (told, trial.seen.first()) {
            (None, Some(seen)) if !restless => self.settled(program, &last, seen)?,
            (told, _) => told,
        };
        if found.is_some() {
            return Ok(found);
        }
        if let Some((at, lines)) = trial.failure {
            return Ok(Some(self.failed(&steps, at, quiet, lines, trial.interrupted)));
        }
        let Some(seen) = trial.seen.get(1) else { return Ok(None) };
        if let Some(found) = self.told(seen) {
            return Ok(Some(found));
        }
        self.left(&last, seen)
    }
}

impl Referee for Judge {
    fn stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    fn traits(&self) -> Traits {
        let previous = self.previous.clone();
        let (services, reviews) = (!self.services.is_empty(), !self.plugin.manifest.admission.is_empty());
        Traits { services, reviews, takeovers: true, swaps: true, previous }
    }

    fn judge(&self, program: &Program) -> anyhow::Result<Option<Found>> {
        self.attempt(program, None, &mut 0)
    }

    fn shows(&self, program: &Program, oracle: Oracle, work: &mut u64) -> anyhow::Result<Option<Found>> {
        self.attempt(program, Some(oracle), work)
    }

    fn tries(&self, oracle: Oracle) -> usize {
        if oracle == Oracle::Unanswered { SLOW_TRIES } else { TRIES }
    }

    /// The program, the least that lets the controller recover, and the checks.
    fn scenario(&self, program: &Program, _original: &Program, found: &Found) -> anyhow::Result<(Program, bool)> {
        let mut plain = program.steps.clone();
        let checks = deleting(&plain, program, &found.checks);
        if !checks.is_empty() {
            plain.extend(mended(&plain));
        }
        let whole = |settled: bool| -> Vec<Value> {
            let settle = settled.then(|| json!({"advance": SETTLE}));
            plain.iter().cloned().chain(settle).chain(checks.iter().cloned()).collect()
        };
        // A scenario has at least one step.
        let short = whole(plain.is_empty() && checks.is_empty());
        for steps in [short.clone(), whole(true)] {
            let failed = self.play(&steps, &[])?.failure;
            if failed.is_some_and(|(at, _)| at + 1 == steps.len()) {
                return Ok((Program { steps, ..Program::default() }, true));
            }
        }
        Ok((Program { steps: short, ..Program::default() }, false))
    }
}

/// The checks, with the faults of the deletions before them.
fn deleting(steps: &[Value], program: &Program, checks: &[Value]) -> Vec<Value> {
    let at = checks.iter().rposition(|check| check.get("delete").is_some());
    let (Some(at), false) = (at, program.teardown.is_empty()) else { return checks.to_vec() };
    let mut all: Vec<Value> = mended(steps);
    all.extend(program.teardown.iter().cloned());
    all.extend(checks.iter().take(at + 1).cloned());
    all.extend(mended(&program.teardown));
    all.extend(checks.iter().skip(at + 1).cloned());
    all
}
