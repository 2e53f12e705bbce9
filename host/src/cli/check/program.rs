//! Programs of a check: which steps, in which order, with which faults. Pure: the same seed and number give the same program.

mod faults;

pub(super) use faults::{is_fault, passes};

use super::source::{Source, text};
use fastrand::Rng;
use faults::is_past;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Objects of one program.
const NAMES: [&str; 3] = ["check-a", "check-b", "check-c"];

/// Operations of one program.
const OPERATIONS: std::ops::Range<usize> = 4..14;

/// Most changes of an object in a moment.
const BURST: usize = 6;

/// Simulated time in which a controller must converge, also after a fault.
pub(super) const SETTLE: &str = "5m";

/// Simulated time in which a deletion must end.
pub(super) const GONE: &str = "10m";

/// What a program must know of the controller.
#[derive(Clone, Debug, Default)]
pub(super) struct Traits {
    /// There are HTTP services, which faults strike as well.
    pub(super) services: bool,
    /// It reviews objects: no write crashes it.
    pub(super) reviews: bool,
    /// A second host can take over from the first.
    pub(super) takeovers: bool,
    /// It is a plugin, whose versions replace one another.
    pub(super) swaps: bool,
    /// The file of the version before it.
    pub(super) previous: Option<String>,
}

/// The steps of one case, in the format of scenarios.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Program {
    pub(super) steps: Vec<Value>,
    /// Faults during the deletions at the end.
    pub(super) teardown: Vec<Value>,
}

impl Program {
    /// The number of its steps.
    pub(super) fn len(&self) -> usize {
        self.steps.len() + self.teardown.len()
    }
}

/// One object while the program is drawn.
#[derive(Default)]
struct Drawn {
    current: Option<Value>,
    earlier: Vec<Value>,
    going: bool,
}

/// Draws the program of a case.
///
/// # Errors
///
/// See [`Source::object`].
pub(super) fn program(sources: &[Source], traits: &Traits, seed: u64, number: u64) -> anyhow::Result<Program> {
    let mut random = Rng::with_seed(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(number));
    let mut drawn: [Drawn; NAMES.len()] = Default::default();
    let objects = random.usize(1..=NAMES.len());
    let mut steps: Vec<Value> = Vec::new();
    let mut faulty = random.u8(..100) < 60;
    let operations = random.usize(OPERATIONS);
    // At the beginning objects are created: most can be half done.
    let strikes_at = if random.u8(..100) < 25 { 0 } else { random.usize(..operations) };
    let upgraded_at = (traits.previous.is_some() && random.u8(..100) < 70).then(|| random.usize(1..=operations));
    let mut travels_at = None;
    for at in 0..operations {
        if upgraded_at == Some(at) {
            steps.extend(mended(&steps));
            steps.push(json!({"swap": {}}));
        }
        let existing: Vec<usize> =
            (0..).zip(&drawn).filter_map(|(at, one)| one.current.is_some().then_some(at)).collect();
        if faulty && at >= strikes_at {
            let struck = traits.faults(&mut random);
            let past = struck.iter().any(is_past);
            // A past without objects is none.
            if !past || !existing.is_empty() {
                steps.extend(struck);
                faulty = false;
                // The host goes on with the present, and starts again in the past.
                travels_at = past.then(|| at + random.usize(1..4));
            }
        }
        if travels_at == Some(at) && !mended(&steps).is_empty() {
            steps.push(json!({"restart": {"crash": true}}));
        }
        let (from, to) = (random.usize(..objects), random.usize(..objects));
        let changes = travels_at.is_some_and(|travels_at| at < travels_at);
        let from = random.choice(existing).filter(|_| changes).unwrap_or(from);
        let kinds = sources.len().max(1);
        let Some(source) = sources.get(from % kinds) else { continue };
        if random.u8(..100) < 6 && from % kinds == to % kinds && renamed(source, &mut drawn, from, to, &mut steps) {
            continue;
        }
        let other: Vec<Value> = drawn.iter().filter_map(|one| one.current.clone()).collect();
        let (Some(one), Some(name)) = (drawn.get_mut(from), NAMES.get(from)) else { continue };
        one.operation(source, name, &other.iter().collect::<Vec<_>>(), &mut random, &mut steps)?;
        traits.hosts(&mut random, travels_at.is_some(), &mut steps);
    }
    let teardown = if random.u8(..100) < 30 { traits.faults(&mut random) } else { Vec::new() };
    // After the last operation the end of each program swaps.
    if let (Some(previous), Some(_)) = (&traits.previous, upgraded_at) {
        steps.insert(0, json!({"swap": {"file": previous}}));
    }
    Ok(Program { steps, teardown })
}

impl Traits {
    /// What happens to the hosts after an operation: time passes, faults end, or a host or version replaces another.
    ///
    /// * `travels` - a host starts in the past, or did so.
    fn hosts(&self, random: &mut Rng, travels: bool, steps: &mut Vec<Value>) {
        match random.u8(..100) {
            0..8 => steps.push(json!({"advance": random.choice(["1s", "40s", "3m"])})),
            // A host that starts while a crash is due would not come up.
            8..15 if !mended(steps).is_empty() => steps.extend(mended(steps)),
            8..12 => steps.push(json!({"restart": {}})),
            12..15 => steps.push(json!({"restart": {"crash": true}})),
            // A second host that starts in the past would not be up to date with the first.
            15..21 if self.takeovers && !travels => {
                let mut mended = mended(steps);
                // The first host is down, and the second one must come up.
                if mended.pop_if(|step| step.get("restart").is_some()).is_some() {
                    steps.extend(mended);
                }
                steps.push(json!({"takeover": {}}));
            }
            21..24 if self.swaps => {
                steps.extend(mended(steps));
                steps.push(json!({"swap": {}}));
            }
            _ => {}
        }
    }
}

impl Drawn {
    fn operation(
        &mut self,
        source: &Source,
        name: &str,
        others: &[&Value],
        random: &mut Rng,
        steps: &mut Vec<Value>,
    ) -> anyhow::Result<()> {
        let apply = |object: &Value| json!({"apply": {"resource": object}});
        let Some(current) = self.current.clone() else {
            if self.going {
                steps.extend(mended(steps));
                steps.push(json!({"wait": reference(&source.object(random, name, None, &[])?, &json!({"for": {"deletion": {}}, "timeout": GONE}))}));
                self.going = false;
            }
            let back = random.choice(&self.earlier).cloned().filter(|_| random.u8(..100) < 30);
            let object = match back {
                Some(object) => object,
                None => source.object(random, name, None, others)?,
            };
            steps.push(apply(&object));
            self.current = Some(object);
            return Ok(());
        };
        let drawn = source.object(random, name, Some(&current), others)?;
        match random.u8(..100) {
            0..15 => {
                if let Some(broken) = source.invalid(random, &drawn, Some(&current)) {
                    steps.push(json!({"apply": {"resource": broken, "rejected": ""}}));
                    return Ok(());
                }
            }
            15..35 => {
                steps.push(json!({"delete": {"ref": reference(&current, &json!({}))}}));
                self.earlier.extend(self.current.take());
                self.going = true;
                return Ok(());
            }
            35..50 => {
                let back = random.choice(&self.earlier).cloned();
                if let Some(back) = back.filter(|back| source.accepts(Some(&current), back)) {
                    steps.push(apply(&back));
                    self.earlier.extend(self.current.replace(back));
                    return Ok(());
                }
            }
            50..58 => {
                let mut all = vec![drawn];
                for _ in 0..random.usize(1..BURST) {
                    all.push(source.object(random, name, all.last(), others)?);
                }
                self.earlier.extend(self.current.take());
                steps.push(json!({"apply": {"resources": all}}));
                self.current = all.pop();
                self.earlier.extend(all);
                return Ok(());
            }
            _ => {}
        }
        steps.push(apply(&drawn));
        self.earlier.extend(self.current.replace(drawn));
        Ok(())
    }
}

/// Deletes an object, and creates the same under another name at once: it takes over what the first one named. False: this cannot be.
fn renamed(source: &Source, drawn: &mut [Drawn], from: usize, to: usize, steps: &mut Vec<Value>) -> bool {
    let taken = drawn.get(to).is_none_or(|other| other.current.is_some() || other.going);
    let (false, Some(name), Some(one)) = (taken, NAMES.get(to), drawn.get_mut(from)) else { return false };
    let Some(current) = one.current.take() else { return false };
    let object = source.renamed(&current, name);
    if !source.is_of(&object) || !source.accepts(None, &object) {
        one.current = Some(current);
        return false;
    }
    steps.push(json!({"delete": {"ref": reference(&current, &json!({}))}}));
    steps.push(json!({"apply": {"resource": object}}));
    one.earlier.push(current);
    one.going = true;
    if let Some(other) = drawn.get_mut(to) {
        other.current = Some(object);
    }
    true
}

/// The objects that a step applies.
pub(super) fn documents(step: &Value) -> Vec<&Value> {
    let several = step.pointer("/apply/resources").and_then(Value::as_array).into_iter().flatten();
    step.pointer("/apply/resource").into_iter().chain(several).collect()
}

/// The steps that end the faults of others: a crashed host starts again, the API server is sound, and the newest version runs.
pub(super) fn mended(steps: &[Value]) -> Vec<Value> {
    let (mut crashed, mut faulty, mut apart, mut old) = (false, false, false, false);
    for step in steps {
        let has = |operation: &str| step.get(operation).is_some();
        crashed |= step.pointer("/fault/fault/crash").is_some();
        faulty |= has("fault");
        apart |= has("takeover");
        if let Some(swap) = step.get("swap") {
            old = swap.get("file").is_some();
        }
        if has("heal") {
            (faulty, apart) = (false, false);
        }
        // A crashed host stays down until then, and a fault that lasts may crash the next one.
        crashed &= faulty || !(has("restart") || has("takeover"));
    }
    let heal = (faulty || apart).then(|| json!({"heal": {}}));
    let restart = crashed.then(|| json!({"restart": {"crash": true}}));
    heal.into_iter().chain(restart).chain(old.then(|| json!({"swap": {}}))).collect()
}

/// The objects that the steps leave, by name.
pub(super) fn last(steps: &[Value]) -> BTreeMap<String, Value> {
    let mut last = BTreeMap::new();
    for step in steps {
        if step.get("apply").is_some_and(|write| write.get("rejected").is_none()) {
            let named = |object: &Value| (text(object, "/metadata/name").to_owned(), object.clone());
            last.extend(documents(step).into_iter().map(named));
        } else if let Some(delete) = step.get("delete") {
            last.remove(text(delete, "/ref/name"));
        }
    }
    last
}

/// The reference of a step to an object, with more fields of the step.
pub(super) fn reference(object: &Value, more: &Value) -> Value {
    let mut named = json!({
        "apiVersion": text(object, "/apiVersion"), "kind": text(object, "/kind"), "name": text(object, "/metadata/name"),
    });
    if let Some(fields) = named.as_object_mut() {
        if let Some(namespace) = object.pointer("/metadata/namespace") {
            fields.insert("namespace".to_owned(), namespace.clone());
        }
        fields.extend(more.as_object().cloned().unwrap_or_default());
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    fn programs() -> Vec<Program> {
        drawn(&Traits { takeovers: true, ..Traits::default() })
    }

    fn drawn(traits: &Traits) -> Vec<Program> {
        let text = include_str!("../../../../tests/fixtures/check/crd.yaml");
        let definition: Value = serde_saphyr::from_str(text).unwrap();
        let kinds = [("check.oarlock.test/v1".to_owned(), "Site".to_owned())];
        let sources = super::super::source::sources(&kinds, &[definition], &[]).unwrap();
        (0..200).map(|number| program(&sources, traits, 3, number).unwrap()).collect()
    }

    fn spec_and_name(object: &Value) -> (Option<Value>, String) {
        (object.get("spec").cloned(), text(object, "/metadata/name").to_owned())
    }

    #[test]
    fn objects_are_renamed_at_once() {
        let renames = programs().iter().any(|program| {
            let mut live = BTreeMap::new();
            program.steps.windows(2).any(|pair| {
                if let Some(object) = pair[0].pointer("/apply/resource") {
                    live.insert(text(object, "/metadata/name").to_owned(), object.clone());
                }
                let (deleted, created) = (pair[0].pointer("/delete/ref/name"), pair[1].pointer("/apply/resource"));
                let before = deleted.and_then(Value::as_str).and_then(|name| live.get(name));
                before.zip(created).is_some_and(|(before, created)| {
                    let ((spec, name), (same, other)) = (spec_and_name(before), spec_and_name(created));
                    spec == same && name != other
                })
            })
        });
        assert!(renames);
    }

    #[test]
    fn changes_come_in_bursts_whose_last_one_counts() {
        let all = programs();
        let bursts = all.iter().flat_map(|program| &program.steps).filter(|step| documents(step).len() > 1);
        let sizes: Vec<usize> = bursts.clone().map(|step| documents(step).len()).collect();
        assert!(sizes.len() > 20 && sizes.iter().all(|size| (2..=BURST).contains(size)), "{sizes:?}");
        for burst in bursts {
            let written = documents(burst);
            let last = last(std::slice::from_ref(burst));
            assert_eq!(last.into_values().collect::<Vec<_>>(), [(*written.last().unwrap()).clone()]);
        }
    }

    /// A second host takes over, also while a fault lasts, and the first one gets its connection back at the end.
    #[test]
    fn hosts_take_over() {
        let takes_over = |step: &Value| step.get("takeover").is_some();
        let all = programs();
        let taken: Vec<&Program> = all.iter().filter(|program| program.steps.iter().any(takes_over)).collect();
        assert!(taken.len() > 20 && taken.len() < 120, "{}", taken.len());
        let mut under_a_fault = 0;
        for program in taken {
            let at = program.steps.iter().rposition(takes_over).unwrap();
            let healed = program.steps[at..].iter().any(|step| step.get("heal").is_some());
            assert!(healed || mended(&program.steps).contains(&json!({"heal": {}})), "{:?}", program.steps);
            under_a_fault += usize::from(!mended(&program.steps[..at]).is_empty());
        }
        assert!(under_a_fault > 5, "{under_a_fault}");
        assert!(is_fault(&json!({"takeover": {}})));
    }

    /// Most begin with the version before. The new one takes over between operations, or after the last one.
    #[test]
    fn versions_are_upgraded_in_the_middle() {
        let all = drawn(&Traits { previous: Some("old.wasm".to_owned()), swaps: true, ..Traits::default() });
        let is_write = |step: &Value| step.get("apply").or(step.get("delete")).is_some();
        let (mut begun, mut middle, mut last) = (0, 0, 0);
        for Program { steps, .. } in &all {
            if steps[0] != json!({"swap": {"file": "old.wasm"}}) {
                continue;
            }
            begun += 1;
            match steps.iter().position(|step| *step == json!({"swap": {}})) {
                Some(at) => {
                    middle += usize::from([&steps[..at], &steps[at..]].iter().all(|some| some.iter().any(is_write)))
                }
                None => last += usize::from(mended(steps).contains(&json!({"swap": {}}))),
            }
        }
        assert!((100..180).contains(&begun) && middle > begun / 2 && last > 3, "{begun} {middle} {last}");
    }

    /// A host starts again while the API server shows it the past, and the end is always sound.
    #[test]
    fn hosts_start_in_the_past() {
        let all = programs();
        let travels = all.iter().filter(|program| {
            let from = program.steps.iter().position(is_past);
            let later = from.map(|from| &program.steps[from + 1..]).unwrap_or_default();
            let restart = later.iter().position(|step| step.get("restart").is_some());
            let heal = later.iter().position(|step| step.get("heal").is_some()).unwrap_or(later.len());
            restart.is_some_and(|restart| restart > 0 && restart < heal)
        });
        assert!(travels.count() > 5);
    }
}
