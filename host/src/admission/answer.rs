//! From an AdmissionReview to its response: choice of plugin, version and rule, and the failure policy.

use super::WebhookServer;
use super::initializers::{self, Initializer, Record};
use super::review::{AdmissionRequest, AdmissionResponse, Unreadable};
use crate::controller::{Admitted, Controller, PinnedVersion, Review, Verdict};
use crate::grants::Admission;
use crate::telemetry::Span;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Poll interval while a plugin or the initializers are still loading.
pub(super) const ASK_AGAIN: Duration = Duration::from_millis(20);

/// Time limits of a review.
#[derive(Clone, Copy, Debug)]
pub(super) struct Time {
    pub(super) arrived: Instant,
    /// When the response is due.
    pub(super) deadline: Instant,
}

/// The target of a request path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Path {
    /// A plugin's rule, by its index in the manifest.
    Rule { plugin: String, index: usize, validate: bool },
    /// All initializers that match the object.
    Initialize,
    /// A plugin's conversions.
    Convert { plugin: String },
}

impl Path {
    pub(super) fn parse(path: &str) -> Option<Self> {
        if path == super::webhooks::INITIALIZE {
            return Some(Self::Initialize);
        }
        if let Some(plugin) = path.strip_prefix("/convert/") {
            return (!plugin.is_empty() && !plugin.contains('/')).then(|| Self::Convert { plugin: plugin.to_owned() });
        }
        let mut parts = path.strip_prefix('/')?.split('/');
        let validate = match parts.next()? {
            "mutate" => false,
            "validate" => true,
            _ => return None,
        };
        let (plugin, index) = (parts.next()?.to_owned(), parts.next()?.parse().ok()?);
        parts.next().is_none().then_some(Self::Rule { plugin, index, validate })
    }

    /// The plugin to which the host charges a review on this path.
    pub(super) fn plugin(&self) -> &str {
        match self {
            Self::Rule { plugin, .. } | Self::Convert { plugin } => plugin,
            Self::Initialize => super::webhooks::INITIALIZE,
        }
    }
}

/// A running version, and its rule for the request.
struct Chosen {
    controller: Arc<Controller>,
    pinned: PinnedVersion,
    rule: Option<Admission>,
}

impl WebhookServer {
    /// Answers a review.
    pub(super) async fn answer(
        &self,
        path: &Path,
        admission_request: &AdmissionRequest,
        time: Time,
    ) -> Result<AdmissionResponse, Unreadable> {
        match path {
            Path::Rule { plugin, index, validate } => {
                let Some(chosen) = self
                    .choose(plugin, time.deadline, |rules| pick(rules, admission_request, *index, *validate))
                    .await?
                else {
                    let warning = format!("plugin {plugin} was removed from the host and was not asked");
                    return Ok(AdmissionResponse { warnings: vec![warning], ..AdmissionResponse::default() });
                };
                Ok(self.by_rule(&chosen, admission_request, *validate, time).await)
            }
            Path::Initialize => self.initialize(admission_request, time).await,
            Path::Convert { .. } => Err(Unreadable::new(400, "expected a ConversionReview")),
        }
    }

    /// Waits until the host can work on a review on this path: the plugin runs and its watches are in sync.
    ///
    /// # Errors
    ///
    /// 404 when the plugin does not exist, 503 when it is not ready in time.
    pub(super) async fn ready(&self, path: &Path, latest: Instant) -> Result<(), Unreadable> {
        let Path::Rule { plugin, .. } = path else { return self.known(latest).await.map(drop) };
        loop {
            // Held only for a moment, so that a replaced version can drain.
            match self.choose(plugin, latest, |_| None).await? {
                Some(chosen) if !chosen.pinned.synced() => {}
                _ => return Ok(()),
            }
            if Instant::now() + ASK_AGAIN >= latest {
                return Err(Unreadable::new(503, format!("the watches of plugin {plugin} are not in sync yet")));
            }
            tokio::time::sleep(ASK_AGAIN).await;
        }
    }

    /// The initializers. Waits until the host has read them.
    async fn known(&self, latest: Instant) -> Result<Vec<Initializer>, Unreadable> {
        loop {
            if let Some(all) = self.initializers() {
                return Ok(all);
            }
            if Instant::now() + ASK_AGAIN >= latest {
                return Err(Unreadable::new(503, "the InitializerConfigurations have not been read yet"));
            }
            tokio::time::sleep(ASK_AGAIN).await;
        }
    }

    /// The version that answers. None: the plugin was removed a moment ago, and the API server still calls it.
    async fn choose(
        &self,
        plugin: &str,
        deadline: Instant,
        pick: impl Fn(&[Admission]) -> Option<Admission>,
    ) -> Result<Option<Chosen>, Unreadable> {
        loop {
            if let Some(controller) = self.lifecycle.controller(plugin)
                && let Some(pinned) = controller.pin_version()
            {
                let rule = pick(pinned.rules());
                return Ok(Some(Chosen { controller, pinned, rule }));
            }
            if self.ended.lately(plugin) {
                return Ok(None);
            }
            if !self.lifecycle.may_come(plugin) && !self.lifecycle.runs(plugin) {
                return Err(Unreadable::new(404, format!("there is no plugin {plugin} on this host")));
            }
            if Instant::now() + ASK_AGAIN >= deadline {
                return Err(Unreadable::new(503, format!("plugin {plugin} is still being loaded")));
            }
            tokio::time::sleep(ASK_AGAIN).await;
        }
    }

    async fn by_rule(
        &self,
        chosen: &Chosen,
        admission_request: &AdmissionRequest,
        validate: bool,
        time: Time,
    ) -> AdmissionResponse {
        let Chosen { controller, pinned, rule } = chosen;
        let Some(rule) = rule else {
            // An earlier version had such a rule; this one has none that matches.
            return AdmissionResponse::default();
        };
        let review = review(
            admission_request,
            admission_request.object.clone(),
            admission_request.request(None),
            validate,
            time,
        );
        let mut answer = match controller.reviewer().admit(pinned, &review).await {
            Ok(Admitted { verdict, warnings }) => respond(controller.name(), verdict, warnings),
            Err(failure) => failed(rule, failure),
        };
        answer.audit.push(("plugin", format!("{} {}", controller.name(), pinned.version())));
        answer
    }

    /// Calls the initializers that match the object. Each gets the object as the ones before left it.
    async fn initialize(
        &self,
        admission_request: &AdmissionRequest,
        time: Time,
    ) -> Result<AdmissionResponse, Unreadable> {
        let all = self.known(time.deadline).await?;
        let due = initializers::of(&all, admission_request);
        let mut pending: Vec<String> = due.iter().map(|initializer| initializer.name.clone()).collect();
        let mut object = admission_request.object.clone();
        let mut answer = AdmissionResponse::default();
        answer.warnings.extend(initializers::unknown(&all, &object));
        let mut records = Vec::new();
        for initializer in due {
            let before = initializers::with_pending(object, &pending);
            let (after, warnings, record) =
                match self.run(initializer, admission_request, before, &pending, time).await? {
                    InitializerStep::Refused(refused) => return Ok(refused),
                    InitializerStep::Passed(after, warnings, record) => (after, warnings, record),
                };
            answer.warnings.extend(warnings);
            records.extend(Some(record).filter(|_| initializer.record));
            pending.remove(0);
            object = after;
        }
        answer.changed = Some(initializers::with_records(initializers::with_pending(object, &[]), &records));
        Ok(answer)
    }

    async fn run(
        &self,
        initializer: &Initializer,
        admission_request: &AdmissionRequest,
        object: Value,
        pending: &[String],
        time: Time,
    ) -> Result<InitializerStep, Unreadable> {
        let Initializer { name, plugin, .. } = initializer;
        let refused = |code, reason, why: String| {
            InitializerStep::Refused(AdmissionResponse::refused(code, reason, format!("initializer {name}: {why}")))
        };
        let granted = |rules: &[Admission]| {
            rules.iter().find(|rule| !rule.rule.validate && admission_request.is_for(rule)).cloned()
        };
        let chosen = match self.choose(plugin, time.deadline, granted).await {
            Ok(Some(chosen)) => chosen,
            Ok(None) => return Ok(refused(500, "InternalError", format!("its plugin {plugin} was removed"))),
            Err(unreadable) => return Ok(refused(500, "InternalError", unreadable.message)),
        };
        let Some(rule) = &chosen.rule else {
            let why = format!(
                "plugin {plugin} is not granted to answer the creation of {}",
                admission_request.resource.path()
            );
            return Ok(refused(403, "Forbidden", why));
        };
        let record = |result| Record {
            name: name.clone(),
            plugin: plugin.clone(),
            version: chosen.pinned.version().to_owned(),
            digest: chosen.pinned.digest().to_owned(),
            result,
        };
        let review = review(admission_request, object.clone(), admission_request.request(Some(pending)), false, time);
        let span = Span::internal("initializer");
        span.set("oarlock.initializer", || name.clone());
        let (verdict, warnings) = match span.within(chosen.controller.reviewer().admit(&chosen.pinned, &review)).await {
            Ok(Admitted { verdict, warnings }) => (verdict, warnings),
            Err(failure) => {
                let answer = failed(rule, failure);
                // Failure policy Ignore: the next initializer continues with the unchanged object.
                return Ok(match answer.refusal {
                    Some(refusal) => refused(refusal.code, &refusal.reason, refusal.message),
                    None => InitializerStep::Passed(object, answer.warnings, record("Ignored")),
                });
            }
        };
        let after = match verdict {
            Verdict::Allowed => object,
            Verdict::Changed(after) => after,
            Verdict::Denied { code, reason, message } => {
                return Ok(refused(code, &reason, format!("plugin {plugin}: {message}")));
            }
        };
        let rest = pending.get(1..).unwrap_or_default();
        Ok(match initializers::pending(&after) {
            Some(left) if left == rest => InitializerStep::Passed(after, warnings, record("Initialized")),
            Some(left) if left.contains(name) => {
                let why = format!(
                    "plugin {plugin} left it pending; it must take its own name off metadata.initializers.pending"
                );
                refused(500, "InternalError", why)
            }
            _ => {
                let why = format!("plugin {plugin} may take only its own name off metadata.initializers.pending");
                refused(500, "InternalError", why)
            }
        })
    }
}

/// Result of one initializer.
enum InitializerStep {
    Refused(AdmissionResponse),
    Passed(Value, Vec<String>, Record),
}

/// The rule of the path if it matches the request, else the first rule that matches: indexes change from version to version.
fn pick(rules: &[Admission], admission_request: &AdmissionRequest, index: usize, validate: bool) -> Option<Admission> {
    let fits = |rule: &&Admission| {
        rule.rule.validate == validate && !rule.only_as_initializer && admission_request.is_for(rule)
    };
    let meant = rules.iter().find(|rule| rule.index == index).filter(fits);
    meant.or_else(|| rules.iter().find(fits)).cloned()
}

fn review(
    admission_request: &AdmissionRequest,
    object: Value,
    request: Arc<str>,
    validate: bool,
    time: Time,
) -> Review {
    let uid = object.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default().to_owned();
    Review {
        kind: admission_request.kind.clone(),
        key: admission_request.key.clone(),
        uid,
        object,
        request,
        dry_run: admission_request.dry_run,
        subresource: admission_request.resource.subresource.clone(),
        validate,
        arrived: time.arrived,
        deadline: time.deadline,
        correlation_id: crate::shorten(&admission_request.uid, 36).to_owned(),
        authenticated: admission_request.authenticated,
    }
}

/// The response to a verdict.
fn respond(plugin: &str, verdict: Verdict, warnings: Vec<String>) -> AdmissionResponse {
    match verdict {
        Verdict::Allowed => AdmissionResponse { warnings, ..AdmissionResponse::default() },
        Verdict::Changed(after) => AdmissionResponse { changed: Some(after), warnings, ..AdmissionResponse::default() },
        Verdict::Denied { code, reason, message } => AdmissionResponse {
            warnings,
            ..AdmissionResponse::refused(code, &reason, format!("plugin {plugin}: {message}"))
        },
    }
}

/// The response when the plugin failed.
fn failed(rule: &Admission, failure: String) -> AdmissionResponse {
    if rule.rule.failure_policy.as_deref() == Some("Ignore") {
        let warning = format!("{failure} (ignored, as its failurePolicy says)");
        return AdmissionResponse { warnings: vec![warning], ignored: true, ..AdmissionResponse::default() };
    }
    AdmissionResponse { failed: true, ..AdmissionResponse::refused(500, "InternalError", failure) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_path_names_a_rule() {
        let rule = |plugin: &str, index, validate| Some(Path::Rule { plugin: plugin.to_owned(), index, validate });
        assert_eq!(Path::parse("/mutate/envoy/0"), rule("envoy", 0, false));
        assert_eq!(Path::parse("/validate/guard/12"), rule("guard", 12, true));
        assert_eq!(Path::parse("/initialize"), Some(Path::Initialize));
        for none in [
            "",
            "/",
            "/mutate",
            "/mutate/a",
            "/mutate/a/b",
            "/mutate/a/0/",
            "/mutate/a/-1",
            "/other/a/0",
            "/initialize/x",
        ] {
            assert_eq!(Path::parse(none), None, "{none}");
        }
    }

    #[test]
    fn the_rule_that_is_meant_is_taken_and_else_one_that_fits() {
        let rule = |index, operation: &str, validate: bool| Admission {
            index,
            rule: serde_json::from_value(json!({"operations": [operation], "apiGroups": [""], "apiVersions": ["v1"],
                "resources": ["pods"], "validate": validate}))
            .unwrap(),
            only_as_initializer: false,
        };
        let admission_request = AdmissionRequest::read(
            json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u",
                "kind": {"group": "", "version": "v1", "kind": "Pod"}, "operation": "CREATE", "object": {},
                "resource": {"group": "", "version": "v1", "resource": "pods"}}})
            .to_string()
            .as_bytes(),
        )
        .unwrap();
        let rules =
            [rule(0, "UPDATE", false), rule(1, "CREATE", false), rule(2, "CREATE", true), rule(3, "CREATE", false)];
        let picked = |index, validate| pick(&rules, &admission_request, index, validate).map(|rule| rule.index);
        assert_eq!(picked(3, false), Some(3));
        assert_eq!(picked(0, false), Some(1));
        assert_eq!(picked(9, false), Some(1));
        assert_eq!(picked(1, true), Some(2));
        assert_eq!(pick(&rules[..1], &admission_request, 0, false), None);
    }

    #[test]
    fn the_failure_policy_decides_what_a_failure_means() {
        let rule = |policy: Option<&str>| Admission {
            index: 0,
            rule: serde_json::from_value(json!({"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"],
                "resources": ["*"], "failurePolicy": policy}))
            .unwrap(),
            only_as_initializer: false,
        };
        for policy in [None, Some("Fail")] {
            let answer = failed(&rule(policy), "plugin p: too slow".to_owned());
            assert!(answer.failed && !answer.ignored);
            let refusal = answer.refusal.unwrap();
            assert_eq!((refusal.code, refusal.message.as_str()), (500, "plugin p: too slow"));
        }
        let ignored = failed(&rule(Some("Ignore")), "plugin p: too slow".to_owned());
        assert!(ignored.refusal.is_none() && ignored.warnings[0].starts_with("plugin p: too slow"));
    }
}
