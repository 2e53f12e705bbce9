//! The steps of a scenario.

use super::cluster::{Fault, namespace, text};
use super::format::{
    Check, Delete, ExpectedEvent, Heal, ObjectRef, Operation, Quiet, Restart, Span, Swap, Verb, Wait, Write,
};
use super::located::Located;
use super::matching::{Difference, differences};
use super::read::Numbered;
use super::update::Edit;
use super::words::{event, named, shown};
use super::world::World;
use http::Method;
use oarlock::api::Resource;
use oarlock::cases::{ExpectedRequest, StubText};
use oarlock_simulation::Simulation;
use serde_json::Value;
use std::time::Duration;
use tokio::time::Instant;

/// How long `assert`, `error` and `wait` wait, unless they say otherwise. As in chainsaw.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The first pause between two looks at an object; each further one is twice as long, up to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LAST_PAUSE: Duration = Duration::from_secs(1);

/// The clock moves at most this far before a look whether the plugin still answers.
const STRIDE: Duration = Duration::from_secs(60);

/// Events of an object that a failure shows.
const RECENT: usize = 5;

/// Plays steps on a world.
pub(super) struct Steps<'w, 'p> {
    pub(super) world: &'w mut World<'p>,
    pub(super) simulation: &'w Simulation,
    /// Whether differences become edits of the file.
    pub(super) update: bool,
    pub(super) edits: Vec<Edit>,
}

/// For people: what a step does.
pub(super) fn title(step: &Numbered) -> String {
    let documents: Vec<String> = step.documents.iter().map(|document| named(&document.value).to_string()).collect();
    let documents = documents.join(", ");
    match &step.operation {
        Operation::Write(verb, _) => format!("{} {documents}", verb.as_str()),
        Operation::Delete(delete) => format!("delete {}", delete.r#ref),
        Operation::Assert(Check { collection: Some(url), .. }) => format!("assert records of {url}"),
        Operation::Error(Check { collection: Some(url), .. }) => format!("error records of {url}"),
        Operation::Assert(_) => format!("assert {documents}"),
        Operation::Error(_) => format!("error {documents}"),
        Operation::Wait(wait) => format!("wait for {} of {}", wait.r#for, wait.named()),
        Operation::Events(events) => format!("events of {}", events.r#ref),
        Operation::Requests(_) => "requests".to_owned(),
        Operation::Stub(_) => "stub".to_owned(),
        Operation::Advance(span) => format!("advance {}", shown(*span)),
        Operation::Quiet(quiet) => format!("quiet for {}", shown(quiet.r#for.0)),
        Operation::Restart(Restart { crash: false }) => "restart".to_owned(),
        Operation::Restart(Restart { crash: true }) => "restart after a crash".to_owned(),
        Operation::Swap(Swap { file: None }) => "swap".to_owned(),
        Operation::Swap(Swap { file: Some(file) }) => format!("swap for {}", file.display()),
        Operation::Takeover => "takeover".to_owned(),
        Operation::Fault(rule) if rule.id.is_empty() => "fault".to_owned(),
        Operation::Fault(rule) => format!("fault {}", rule.id),
        Operation::Logs(logs) => format!("logs without {:?}", logs.without),
        Operation::Heal(heal) => format!("heal {}", heal.id.as_deref().unwrap_or("all")),
    }
}

impl Steps<'_, '_> {
    /// Plays one step, and what the host then does.
    pub(super) async fn play(&mut self, step: &Numbered) -> Result<(), Fault> {
        match &step.operation {
            Operation::Write(verb, write) => self.write(*verb, write, &step.documents).await?,
            Operation::Delete(delete) => self.delete(delete).await?,
            Operation::Assert(check @ Check { collection: Some(url), .. }) => self.assert_records(url, check).await?,
            Operation::Error(check @ Check { collection: Some(url), .. }) => self.error_records(url, check).await?,
            Operation::Assert(check) => self.assert(check, &step.documents).await?,
            Operation::Error(check) => self.error(check, &step.documents).await?,
            Operation::Wait(wait) => self.wait(wait).await?,
            Operation::Events(events) => self.events(step.place.line, &events.r#ref, &events.expect).await?,
            Operation::Requests(expected) => self.requests(step.place.line, expected)?,
            Operation::Stub(stubs) => self.stub(stubs)?,
            Operation::Advance(span) => self.advance(*span).await?,
            Operation::Quiet(quiet) => self.quiet(quiet).await?,
            Operation::Restart(Restart { crash }) => {
                self.world.end(*crash).await;
                self.world.start().await?;
            }
            Operation::Swap(Swap { file }) => self.world.swap(file.as_deref()).await?,
            Operation::Takeover => self.world.takeover().await?,
            Operation::Logs(logs) => {
                let lines = self.simulation.lines();
                if let Some(line) = lines.iter().find(|line| line.contains(&logs.without)) {
                    return Err(vec![format!("logs: expected no such line, found {}", oarlock::text::one_line(line))]);
                }
            }
            Operation::Fault(fault) => self.fault(fault).await?,
            Operation::Heal(Heal { id }) => self.heal(id.as_deref())?,
        }
        self.world.rest().await;
        self.sound()
    }

    /// Whether the plugin answers, and its services do.
    fn sound(&self) -> Result<(), Fault> {
        let mut lines: Fault = self.simulation.interruption().into_iter().collect();
        let unanswered = self.world.stubs.take_unanswered();
        lines.extend(unanswered.into_iter().map(|line| format!("no stub answers the request {line}: add one to http")));
        if lines.is_empty() { Ok(()) } else { Err(lines) }
    }

    async fn write(&mut self, verb: Verb, write: &Write, documents: &[Located]) -> Result<(), Fault> {
        for document in documents {
            let written = self.write_one(verb, write.subresource.as_deref(), &document.value).await?;
            judged(written, write.rejected.as_deref())?;
        }
        Ok(())
    }

    async fn write_one(
        &self,
        verb: Verb,
        subresource: Option<&str>,
        document: &Value,
    ) -> Result<Result<Value, kube::Error>, Fault> {
        let named = named(document);
        let resource = self.world.cluster.resource(&named.gvk()).await?;
        let place = namespace(&resource, &named.namespace);
        let needs_name = verb != Verb::Create || subresource.is_some();
        if needs_name && named.name.is_empty() {
            return Err(vec!["metadata.name is missing".to_owned()]);
        }
        let path = resource.path(place, needs_name.then_some(&named.name), subresource);
        let mut document = document.clone();
        let (method, query, content_type) = match verb {
            Verb::Apply => (Method::PATCH, "?fieldManager=oarlock-test&force=true", "application/apply-patch+yaml"),
            Verb::Create => (Method::POST, "?fieldManager=oarlock-test", "application/json"),
            Verb::Patch => (Method::PATCH, "?fieldManager=oarlock-test", "application/merge-patch+json"),
            Verb::Update => {
                self.add_resource_version(&named, &mut document).await?;
                (Method::PUT, "?fieldManager=oarlock-test", "application/json")
            }
        };
        if let Some(metadata) = document.get_mut("metadata").and_then(Value::as_object_mut)
            && resource.namespaced
        {
            metadata.insert("namespace".to_owned(), place.into());
        }
        Ok(self.world.cluster.send(method, &format!("{path}{query}"), content_type, &document).await)
    }

    /// An update without a resourceVersion replaces the object as it is.
    async fn add_resource_version(&self, named: &ObjectRef, document: &mut Value) -> Result<(), Fault> {
        let Some(metadata) = document.get_mut("metadata").and_then(Value::as_object_mut) else { return Ok(()) };
        if metadata.contains_key("resourceVersion") {
            return Ok(());
        }
        let present = self.world.cluster.get(named).await?;
        let version = present.as_ref().and_then(|object| object.pointer("/metadata/resourceVersion"));
        if let Some(version) = version {
            metadata.insert("resourceVersion".to_owned(), version.clone());
        }
        Ok(())
    }

    async fn delete(&mut self, delete: &Delete) -> Result<(), Fault> {
        let deleted = self.world.cluster.delete(&delete.r#ref).await?;
        judged(deleted, delete.rejected.as_deref())
    }

    async fn assert(&mut self, check: &Check, documents: &[Located]) -> Result<(), Fault> {
        for document in documents {
            let until = Deadline::of(check.timeout);
            loop {
                let found = self.closest(&document.value).await?;
                let (object, differing) = match found {
                    Some((object, differing)) if differing.is_empty() => {
                        drop(object);
                        break;
                    }
                    Some((object, differing)) => (Some(object), differing),
                    None => (None, Vec::new()),
                };
                if until.pause(self).await? {
                    continue;
                }
                if self.update && self.edited(document, &differing) {
                    break;
                }
                let mut lines: Fault = differing.iter().map(Difference::line).collect();
                if object.is_none() {
                    lines.push("no such object".to_owned());
                }
                lines.push(until.line());
                lines.extend(self.recent(&document.value).await);
                return Err(lines);
            }
        }
        Ok(())
    }

    /// Replaces the expected values by the found ones. False: that is not possible.
    pub(super) fn edited(&mut self, document: &Located, differing: &[Difference]) -> bool {
        let edits = differing.iter().map(|difference| {
            let place = document.scalars.get(&difference.path)?.clone();
            let old = document.value.pointer(&difference.path)?.clone();
            Some(Edit::Scalar { place, old, value: difference.found.clone()? })
        });
        let Some(edits) = edits.collect::<Option<Vec<_>>>().filter(|edits| !edits.is_empty()) else { return false };
        self.edits.extend(edits);
        true
    }

    async fn error(&mut self, check: &Check, documents: &[Located]) -> Result<(), Fault> {
        for document in documents {
            let until = Deadline::of(check.timeout);
            loop {
                let found = self.closest(&document.value).await?;
                let Some((object, _)) = found.filter(|(_, differing)| differing.is_empty()) else { break };
                if !until.pause(self).await? {
                    let lines = vec![format!("expected no such object, found {}", named(&object)), until.line()];
                    return Err(lines.into_iter().chain(self.recent(&document.value).await).collect());
                }
            }
        }
        Ok(())
    }

    /// The object of the name; without a name the one of the kind that differs least. None: there is none.
    async fn closest(&self, expected: &Value) -> Result<Option<(Value, Vec<Difference>)>, Fault> {
        let named = named(expected);
        let resource = self.world.cluster.resource(&named.gvk()).await?;
        let objects: Vec<Value> = if named.name.is_empty() {
            let mut objects =
                self.world.cluster.list_at(&resource.path(namespace(&resource, &named.namespace), None, None)).await;
            for object in &mut objects {
                typed(&resource, object);
            }
            objects
        } else {
            self.world.cluster.get(&named).await?.into_iter().collect()
        };
        let compared = objects.into_iter().map(|object| {
            let differing = differences(expected, &object);
            (object, differing)
        });
        Ok(compared.min_by_key(|(_, differing)| differing.len()))
    }

    async fn wait(&mut self, wait: &Wait) -> Result<(), Fault> {
        let (named, until) = (wait.named(), Deadline::of(wait.timeout));
        loop {
            let object = self.world.cluster.get(&named).await?;
            let Some(found) = wait.r#for.unmet(object.as_ref()) else { return Ok(()) };
            if !until.pause(self).await? {
                let lines = vec![found, until.line()];
                return Err(lines.into_iter().chain(self.recent_of(&named).await).collect());
            }
        }
    }

    async fn events(&mut self, line: u64, named: &ObjectRef, expected: &[ExpectedEvent]) -> Result<(), Fault> {
        // An object of a kind that there is not has no events.
        self.world.cluster.resource(&named.gvk()).await?;
        let found: Vec<Value> = self.world.events_of(named).await.iter().map(event).collect();
        let same = |(expected, found): (&ExpectedEvent, &Value)| expected.fits(found);
        if expected.len() == found.len() && expected.iter().zip(&found).all(same) {
            return Ok(());
        }
        if self.update {
            self.edits.push(Edit::List { line, field: "expect", items: found });
            return Ok(());
        }
        let mut lines = Vec::new();
        for at in 0..expected.len().max(found.len()) {
            match (expected.get(at), found.get(at)) {
                (Some(expected), Some(found)) if expected.fits(found) => {}
                (Some(expected), Some(found)) => lines.push(format!("[{at}]: expected {expected}, found {found}")),
                (Some(expected), None) => lines.push(format!("[{at}]: expected {expected}, found none")),
                (None, Some(found)) => lines.push(format!("[{at}]: expected none, found {found}")),
                (None, None) => {}
            }
        }
        Err(lines)
    }

    fn requests(&mut self, line: u64, expected: &[ExpectedRequest]) -> Result<(), Fault> {
        let sent = self.world.stubs.take_requests();
        let mut lines = Vec::new();
        for (at, pair) in expected.iter().zip(&sent).enumerate() {
            lines.extend(pair.0.faults(pair.1).into_iter().map(|fault| format!("[{at}]: {fault}")));
        }
        for (at, missing) in expected.iter().enumerate().skip(sent.len()) {
            lines.push(format!("[{at}]: expected {}, found none", missing.line()));
        }
        for (at, more) in sent.iter().enumerate().skip(expected.len()) {
            lines.push(format!("[{at}]: expected none, found {} {}", more.method, more.url));
        }
        if lines.is_empty() {
            return Ok(());
        }
        if self.update {
            let items = sent.iter().map(oarlock::cases::expected).collect();
            self.edits.push(Edit::List { line, field: "requests", items });
            return Ok(());
        }
        Err(lines)
    }

    fn stub(&self, stubs: &[StubText]) -> Result<(), Fault> {
        let stubs = stubs.iter().map(StubText::stub).collect::<Result<_, _>>().map_err(|why| vec![why])?;
        self.world.stubs.add(stubs);
        Ok(())
    }

    async fn advance(&self, span: Duration) -> Result<(), Fault> {
        let until = Instant::now() + span;
        while Instant::now() < until {
            tokio::time::sleep_until(until.min(Instant::now() + STRIDE)).await;
            self.sound()?;
        }
        Ok(())
    }

    /// Ends at the first minute that is not quiet: what writes all the time would take long.
    async fn quiet(&self, quiet: &Quiet) -> Result<(), Fault> {
        self.world.take_writes();
        let until = Instant::now() + quiet.r#for.0;
        while Instant::now() < until {
            let (began, before) = (Instant::now(), self.world.reconciles());
            self.advance(until.saturating_duration_since(began).min(STRIDE)).await?;
            let reconciles = self.world.reconciles().saturating_sub(before);
            let (count, first) = self.world.take_writes();
            let mut lines = Vec::new();
            if count > 0 {
                let within = shown(began.elapsed());
                lines.push(format!("writes: expected none, found {count} in {within}, although nothing changed"));
                lines.extend(first);
            }
            if let Some(most) = quiet.reconciles_per_minute.filter(|most| reconciles > u64::from(*most)) {
                lines.push(format!("reconciles: expected at most {most} in a minute, found {reconciles}"));
            }
            if !lines.is_empty() {
                return Err(lines);
            }
        }
        Ok(())
    }

    async fn recent(&self, document: &Value) -> Fault {
        self.recent_of(&named(document)).await
    }

    /// The last events of an object, a line each. An object without events may be missing because of another.
    async fn recent_of(&self, named: &ObjectRef) -> Fault {
        let own = if named.name.is_empty() { Vec::new() } else { self.world.events_of(named).await };
        let warnings = |mut events: Vec<Value>| {
            events.retain(|event| text(event, "/type") == "Warning");
            events
        };
        let events = if own.is_empty() { warnings(self.world.all_events().await) } else { own };
        let last = events.iter().skip(events.len().saturating_sub(RECENT)).map(|event| {
            let count = event.get("count").and_then(Value::as_u64).unwrap_or(1);
            let times = if count > 1 { format!(" ({count} times)") } else { String::new() };
            let [kind, name] = ["/involvedObject/kind", "/involvedObject/name"].map(|pointer| text(event, pointer));
            let [severity, reason, message] = ["/type", "/reason", "/message"].map(|pointer| text(event, pointer));
            format!("event of {kind} {name}: {severity} {reason}: {message}{times}")
        });
        let lines: Fault = last.collect();
        if lines.is_empty() { vec!["no events".to_owned()] } else { lines }
    }
}

/// The end of a wait in simulated time.
pub(super) struct Deadline {
    began: Instant,
    timeout: Duration,
    pause: std::cell::Cell<Duration>,
}

impl Deadline {
    pub(super) fn of(timeout: Option<Span>) -> Self {
        let timeout = timeout.map_or(TIMEOUT, |span| span.0);
        Self { began: Instant::now(), timeout, pause: std::cell::Cell::new(FIRST_PAUSE) }
    }

    /// Lets time pass. False: the time is over.
    pub(super) async fn pause(&self, steps: &Steps<'_, '_>) -> Result<bool, Fault> {
        steps.sound()?;
        let left = self.timeout.saturating_sub(self.began.elapsed());
        tokio::time::sleep(self.pause.get().min(left)).await;
        self.pause.set((self.pause.get() * 2).min(LAST_PAUSE));
        Ok(!left.is_zero())
    }

    pub(super) fn line(&self) -> String {
        format!("after {}", shown(self.timeout))
    }
}

/// Items of lists do not name their kind.
fn typed(resource: &Resource, object: &mut Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.insert("apiVersion".to_owned(), resource.gvk.api_version().to_string().into());
        fields.insert("kind".to_owned(), resource.gvk.kind.to_string().into());
    }
}

/// Whether the answer to a write is the expected one.
fn judged(answer: Result<Value, kube::Error>, rejected: Option<&str>) -> Result<(), Fault> {
    let said = match (answer, rejected) {
        (Ok(_), None) => return Ok(()),
        (Ok(_), Some(part)) => {
            return Err(vec![format!("rejected: expected {part:?}, but the API server accepted it")]);
        }
        (Err(kube::Error::Api(status)), _) => status.message.clone(),
        (Err(error), _) => error.to_string(),
    };
    match rejected {
        Some(part) if said.contains(part) => Ok(()),
        Some(part) => Err(vec![format!("rejected: expected {part:?}, found {said:?}")]),
        None => Err(vec![format!("the API server rejected it: {said}")]),
    }
}
