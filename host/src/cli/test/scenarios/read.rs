//! Reading of scenario files: every mistake has its line, its column, and what is allowed.

use super::super::text_of;
use super::faults::Strike;
use super::format::{Documents, Operation, Scenario};
use super::located::Located;
use super::words::none_or;
use super::yaml::{Place, all_parsed, one_line, parsed};
use oarlock::cases::{StubText, stubs_of};
use oarlock::plugin::HttpStub;
use oarlock_manifest::Limits;
use serde_json::Value;
use serde_saphyr::Spanned;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A scenario that can be played.
pub(super) struct Script {
    /// Its file, as the user named the folder.
    pub(super) shown: String,
    pub(super) path: PathBuf,
    /// The text of the file.
    pub(super) text: String,
    pub(super) description: String,
    pub(super) config: BTreeMap<String, String>,
    /// The place of each value of `config`.
    pub(super) config_places: BTreeMap<String, Place>,
    pub(super) limits: Option<Limits>,
    pub(super) start: jiff::Timestamp,
    /// The objects that exist before the host starts, with the line of each.
    pub(super) cluster: Vec<(u64, Value)>,
    pub(super) stubs: Vec<StubText>,
    pub(super) steps: Vec<Numbered>,
}

impl Script {
    /// The files of its `swap` steps, with the place of each: `FILE:LINE:COLUMN`.
    pub(super) fn swaps(&self) -> impl Iterator<Item = (Option<PathBuf>, String)> {
        self.steps.iter().filter_map(|step| match &step.operation {
            Operation::Swap(swap) => {
                Some((swap.file.clone(), format!("{}:{}:{}", self.shown, step.place.line, step.place.column)))
            }
            _ => None,
        })
    }

    /// Refuses a key of the configuration that no version of the plugin has.
    ///
    /// * `plugin` - its name.
    /// * `keys` - of all versions.
    pub(super) fn check_config(&self, plugin: &str, keys: &BTreeSet<String>) -> anyhow::Result<()> {
        let Some((key, place)) = self.config_places.iter().find(|(key, _)| !keys.contains(*key)) else { return Ok(()) };
        let known = keys.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let why = format!("config: plugin {plugin} has no key {key:?}; there are {}", none_or(&known));
        Err(place.error(&self.shown, &why))
    }

    /// Whether a step lets a second host take over.
    pub(super) fn has_takeover(&self) -> bool {
        self.steps.iter().any(|step| matches!(step.operation, Operation::Takeover))
    }
}

/// A step with its place.
pub(super) struct Numbered {
    pub(super) place: Place,
    pub(super) name: String,
    pub(super) operation: Operation,
    /// Of a write, `assert` or `error`.
    pub(super) documents: Vec<Located>,
}

/// The time of day when a scenario starts that names none.
const START: jiff::Timestamp = jiff::Timestamp::constant(1_767_225_600, 0);

/// Reads a scenario.
///
/// # Errors
///
/// `FILE:LINE:COLUMN: what is wrong`, in one line.
pub(super) fn read(path: &Path) -> anyhow::Result<Script> {
    let script = parse(path, text_of(path)?)?;
    for step in &script.steps {
        if matches!(step.operation, Operation::Assert(_) | Operation::Error(_))
            && let Some(field) = step.documents.iter().find_map(|document| expression("", &document.value))
        {
            let why = format!("resource{field}: expressions of chainsaw are not supported");
            return Err(step.place.error(&script.shown, &why));
        }
    }
    Ok(script)
}

/// Reads the text of a scenario. Errors as in [`read`].
///
/// * `path` - of the file, for its errors and the files that it names.
pub(super) fn parse(path: &Path, text: String) -> anyhow::Result<Script> {
    let shown = path.display().to_string();
    let scenario: Scenario = parsed(&shown, &text)?;
    let folder = path.parent().unwrap_or_else(|| Path::new(""));
    let mut cluster = Vec::new();
    for documents in scenario.cluster {
        let place = Place::of(documents.referenced);
        let Documents { resource, file } = documents.value;
        let found = those(folder, resource, file).map_err(|why| place.error(&shown, &why))?;
        cluster.extend(found.into_iter().map(|document| (place.line, document.value)));
    }
    let mut stubs = Vec::new();
    for stub in scenario.http {
        let place = Place::of(stub.referenced);
        stubs.extend(usable(folder, vec![stub.value]).map_err(|why| place.error(&shown, &why))?);
    }
    for recording in scenario.recordings {
        let place = Place::of(recording.referenced);
        stubs.extend(recorded(folder, &recording.value).map_err(|why| place.error(&shown, &why))?);
    }
    let place = Place::of(scenario.steps.referenced);
    if scenario.steps.value.is_empty() {
        return Err(place.error(&shown, "steps: a scenario has at least one step"));
    }
    let mut known: Vec<String> = stubs.iter().flat_map(StubText::collections).collect();
    let mut steps = Vec::new();
    for step in scenario.steps.value {
        let place = Place::of(step.referenced);
        let name = step.value.name.clone();
        let operation = step.value.operation().map_err(|why| place.error(&shown, &why))?;
        let (operation, documents) = checked(folder, operation, &known).map_err(|why| place.error(&shown, &why))?;
        if let Operation::Stub(stubs) = &operation {
            known.extend(stubs.iter().flat_map(StubText::collections));
        }
        steps.push(Numbered { place, name, operation, documents });
    }
    no_fault_without_services(&stubs, &steps).map_err(|(place, why)| place.error(&shown, why))?;
    let places = scenario.config.iter().map(|(key, value)| (key.clone(), Place::of(value.referenced)));
    let config_places = places.collect();
    let config = scenario.config.into_iter().map(|(key, value)| (key, value.value)).collect();
    let start = scenario.start.map_or(START, |start| start.0);
    let (description, limits, path) = (scenario.description, scenario.limits, path.to_owned());
    Ok(Script { shown, path, text, description, config, config_places, limits, start, cluster, stubs, steps })
}

/// A fault of services in a scenario that never has any would not strike.
fn no_fault_without_services(stubs: &[StubText], steps: &[Numbered]) -> Result<(), (Place, &'static str)> {
    let adds = |step: &Numbered| matches!(&step.operation, Operation::Stub(stubs) if !stubs.is_empty());
    if !stubs.is_empty() || steps.iter().any(adds) {
        return Ok(());
    }
    let fault = |step: &&Numbered| matches!(&step.operation, Operation::Fault(fault) if fault.http.is_some());
    match steps.iter().find(fault) {
        Some(step) => Err((step.place, "http: the scenario has no services: add one to its http")),
        None => Ok(()),
    }
}

/// Stubs that make sense, with those of files.
fn usable(folder: &Path, stubs: Vec<StubText>) -> Result<Vec<StubText>, String> {
    let mut all = Vec::new();
    for stub in stubs {
        match stub.file() {
            Some(file) => all.extend(services(&folder.join(file)).map_err(|error| format!("{error:#}"))?),
            None => {
                let _usable: HttpStub = stub.stub()?;
                all.push(stub);
            }
        }
    }
    Ok(all)
}

/// The stubs of a file: the list that `http` has in a scenario.
///
/// # Errors
///
/// `FILE:LINE:COLUMN: what is wrong`, in one line.
pub(in crate::cli) fn services(path: &Path) -> anyhow::Result<Vec<StubText>> {
    let shown = path.display().to_string();
    let stubs: Vec<Spanned<StubText>> = parsed(&shown, &text_of(path)?)?;
    let mut all = Vec::new();
    for stub in stubs {
        let place = Place::of(stub.referenced);
        let file = stub.value.file().map(|_| "file: stubs of a file name no other file".to_owned());
        let _usable: HttpStub = file.map_or_else(|| stub.value.stub(), Err).map_err(|why| place.error(&shown, &why))?;
        all.push(stub.value);
    }
    Ok(all)
}

/// An operation whose parts make sense, and its documents.
///
/// * `known` - URLs of collections.
fn checked(folder: &Path, mut operation: Operation, known: &[String]) -> Result<(Operation, Vec<Located>), String> {
    let documents = match &mut operation {
        Operation::Write(_, write) => {
            let several = std::mem::take(&mut write.resources);
            match (several.is_empty(), &write.resource, &write.file) {
                (false, None, None) => typed(several)?,
                (false, ..) => return Err(ONE_OF_WRITE.to_owned()),
                (true, ..) => those(folder, write.resource.take(), write.file.take())?,
            }
        }
        Operation::Assert(check) if check.collection.is_some() || check.of_records() => {
            check.of_service(known, true).map(|()| Vec::new())?
        }
        Operation::Error(check) if check.collection.is_some() || check.of_records() => {
            check.of_service(known, false).map(|()| Vec::new())?
        }
        Operation::Assert(check) | Operation::Error(check) => those(folder, check.resource.take(), check.file.take())?,
        Operation::Stub(stubs) => {
            *stubs = usable(folder, std::mem::take(stubs))?;
            Vec::new()
        }
        Operation::Swap(swap) => {
            swap.file = swap.file.take().map(|file| folder.join(file));
            Vec::new()
        }
        Operation::Fault(fault) => {
            let _usable: Strike = fault.strike()?;
            Vec::new()
        }
        Operation::Logs(logs) if logs.without.is_empty() => {
            return Err("logs.without: needs a part of a line, at least one character".to_owned());
        }
        Operation::Wait(wait) => {
            let named = [wait.r#for.deletion.is_some(), wait.r#for.condition.is_some(), wait.r#for.json_path.is_some()];
            if named.into_iter().filter(|named| *named).count() != 1 {
                return Err("for: needs one of deletion, condition and jsonPath".to_owned());
            }
            if let Some(path) = &wait.r#for.json_path {
                oarlock_jsonpath::JsonPath::parse(&path.path).map_err(|error| format!("for.jsonPath.path: {error}"))?;
            }
            Vec::new()
        }
        _ => Vec::new(),
    };
    Ok((operation, documents))
}

/// The documents of `resource` or `file`.
fn those(folder: &Path, resource: Option<Located>, file: Option<String>) -> Result<Vec<Located>, String> {
    let documents = match (resource, file) {
        (Some(resource), None) => vec![resource],
        (None, Some(file)) => {
            let path = folder.join(&file);
            let documents = text_of(&path).and_then(|text| all_parsed(&path.display().to_string(), &text));
            let documents: Vec<Value> = documents.map_err(|error| format!("{error:#}"))?;
            let documents = documents.into_iter().filter(|document| !document.is_null());
            documents.map(|value| Located { value, ..Located::default() }).collect()
        }
        _ => return Err("needs one of resource and file".to_owned()),
    };
    typed(documents)
}

/// The path of a field whose name is an expression in chainsaw, `(length(spec.ports)): 2`. As the name of a field it would never match, so that
/// an `error` would always hold. None: there is none.
fn expression(path: &str, value: &Value) -> Option<String> {
    const FREE: [&str; 5] = ["data", "stringData", "binaryData", "annotations", "labels"];
    match value {
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(at, item)| expression(&format!("{path}[{at}]"), item))
        }
        Value::Object(fields) => {
            fields.iter().filter(|(name, _)| !FREE.contains(&name.as_str())).find_map(|(name, field)| {
                let at = format!("{path}.{name}");
                if name.starts_with(['(', '~']) { Some(at) } else { expression(&at, field) }
            })
        }
        _ => None,
    }
}

/// What a write needs.
const ONE_OF_WRITE: &str = "needs one of resource, resources and file";

/// Documents with a kind.
fn typed(documents: Vec<Located>) -> Result<Vec<Located>, String> {
    for document in &documents {
        let has = |field: &str| document.value.get(field).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
        if !has("apiVersion") || !has("kind") {
            return Err("resource: needs apiVersion and kind".to_owned());
        }
    }
    Ok(documents)
}

fn recorded(folder: &Path, file: &str) -> Result<Vec<StubText>, String> {
    let path = folder.join(file);
    let text = text_of(&path).map_err(|error| format!("{error:#}"))?;
    stubs_of(&text).map_err(|error| format!("{}: {}", path.display(), one_line(&error.to_string())))
}
