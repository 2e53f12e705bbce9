//! Decision about faults: a pure function of the rules, their counters, and the present request.

use std::{collections::BTreeSet, time::Duration};

use serde_json::Value;

use super::rule::{Events, Fault, Requests, Rule};

/// The attributes of a request for rules.
#[derive(Debug, Clone, Default)]
pub(crate) struct Meeting {
    pub(crate) verb: String,
    pub(crate) path: String,
    /// Its objects; `None` for discovery and other paths.
    pub(crate) place: Option<Place>,
    pub(crate) client: Client,
    pub(crate) dry_run: bool,
    /// Whether Kubernetes may serve it from its watch cache.
    pub(crate) cached: bool,
}

/// The objects of a request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Place {
    pub(crate) group: String,
    pub(crate) resource: String,
    pub(crate) subresource: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// The identity of a client.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Client {
    pub(crate) user_agent: String,
    pub(crate) user: String,
}

/// The faults of a request.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct FaultDecision {
    pub(crate) compact: bool,
    pub(crate) stale: Option<Stale>,
    pub(crate) before: Duration,
    pub(crate) after: Duration,
    /// Bytes per piece, and the time between pieces.
    pub(crate) slow: Option<(usize, Duration)>,
    pub(crate) end: Option<End>,
}

impl FaultDecision {
    /// The rule by which a watch reads the past.
    /// The revision of a read, when a rule sets one.
    pub(crate) fn past(&self) -> Option<u64> {
        self.stale.as_ref().map(|stale| stale.revision)
    }

    pub(crate) fn lag(&self) -> Option<String> {
        self.stale.as_ref().map(|s| s.rule.clone())
    }
}

/// A read of the past.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stale {
    pub(crate) rule: String,
    pub(crate) revision: u64,
}

/// The replacement of a response.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum End {
    Answer { code: u16, reason: Option<String>, message: Option<String>, retry_after: Option<u64>, after_effect: bool },
    Hang { rule: String, after_effect: bool },
    Cut { after_effect: bool },
    Crash { kill: Option<i32> },
}

/// A fault of a watch, and when it is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Turn {
    pub(crate) rule: String,
    pub(crate) kind: TurnKind,
    pub(crate) events: Option<u64>,
    pub(crate) time: Option<Duration>,
}

/// See [`Turn`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnKind {
    Close,
    Cut,
    Expire,
    /// For this duration, or until the rule is removed.
    Stall(Option<Duration>),
}

/// The faults of an event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct EventFaultDecision {
    pub(crate) dropped: bool,
    pub(crate) copies: usize,
    pub(crate) delay: Duration,
}

/// A rule and its counters.
#[derive(Debug, Clone)]
pub(crate) struct Active {
    pub(crate) rule: Rule,
    pub(crate) matched: u64,
    pub(crate) struck: u64,
    /// The crashed client.
    pub(crate) crashed: Option<Client>,
    /// The revision at which the rule was added.
    since: u64,
    random: fastrand::Rng,
}

impl Active {
    /// Counts a match and returns whether the rule applies.
    fn applies(&mut self) -> bool {
        self.matched += 1;
        if self.matched <= self.rule.skip || self.rule.times.is_some_and(|t| self.struck >= t) {
            return false;
        }
        if let Some(probability) = self.rule.probability
            && self.random.f64() >= probability
        {
            return false;
        }
        self.struck += 1;
        true
    }

    /// The revision at which reads are answered.
    fn horizon(&self, now: u64) -> Option<u64> {
        let Fault::Stale { versions, not_older_than, .. } = &self.rule.fault else { return None };
        let then = versions.map_or(self.since, |behind| now.saturating_sub(behind));
        Some(then.max(not_older_than.unwrap_or(0)).min(now))
    }

    fn is_for(&self, meeting: &Meeting) -> bool {
        let fault = &self.rule.fault;
        let able = match fault {
            Fault::Crash { .. } => !meeting.dry_run,
            Fault::Stale { cached_only: true, .. } => meeting.cached,
            _ => true,
        };
        let verb = fault.verbs().is_none_or(|verbs| meeting.place.is_some() && verbs.contains(&meeting.verb.as_str()));
        able && verb && requested(&self.rule.requests, meeting)
    }
}

/// The rules in their order of evaluation.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    rules: Vec<Active>,
    named: u64,
}

impl Plan {
    /// Adds all rules and returns their ids, or the index of the first one with a used id.
    pub(crate) fn add(&mut self, rules: Vec<Rule>, revision: u64) -> Result<Vec<String>, usize> {
        let mut taken: BTreeSet<String> = self.rules.iter().map(|a| a.rule.id.clone()).collect();
        if let Some(at) = rules.iter().position(|r| !r.id.is_empty() && !taken.insert(r.id.clone())) {
            return Err(at);
        }
        let mut ids = Vec::with_capacity(rules.len());
        for mut rule in rules {
            while rule.id.is_empty() {
                self.named += 1;
                let id = format!("rule-{}", self.named);
                if taken.insert(id.clone()) {
                    rule.id = id;
                }
            }
            ids.push(rule.id.clone());
            let random = fastrand::Rng::with_seed(rule.seed);
            self.rules.push(Active { rule, matched: 0, struck: 0, crashed: None, since: revision, random });
        }
        Ok(ids)
    }

    /// Removes a rule; false when the id is unknown.
    pub(crate) fn remove(&mut self, id: &str) -> bool {
        let before = self.rules.len();
        self.rules.retain(|a| a.rule.id != id);
        self.rules.len() < before
    }

    pub(crate) fn clear(&mut self) {
        self.rules.clear();
    }

    pub(crate) fn rules(&self) -> &[Active] {
        &self.rules
    }

    /// Whether there is a rule of that id.
    pub(crate) fn holds(&self, id: &str) -> bool {
        self.rules.iter().any(|a| a.rule.id == id)
    }

    /// The faults of a request at this revision.
    pub(crate) fn request(&mut self, meeting: &Meeting, revision: u64) -> Option<FaultDecision> {
        if let Some(rule) = self.rules.iter_mut().find(|a| a.crashed.as_ref() == Some(&meeting.client)) {
            rule.struck += 1;
            return Some(FaultDecision { end: Some(End::Cut { after_effect: false }), ..FaultDecision::default() });
        }
        let mut decision = FaultDecision::default();
        for active in &mut self.rules {
            let replaces = matches!(
                active.rule.fault,
                Fault::Answer { .. } | Fault::Hang { .. } | Fault::Cut { .. } | Fault::Crash { .. }
            );
            let later = active.rule.fault.is_about_events() || active.rule.fault.is_about_watches();
            if later || (replaces && decision.end.is_some()) || !active.is_for(meeting) || !active.applies() {
                continue;
            }
            apply(active, &mut decision, &meeting.client, revision);
        }
        (decision != FaultDecision::default()).then_some(decision)
    }

    /// The faults of a watch from rules that are new to it; their ids are added to `met`.
    pub(crate) fn watch(&mut self, meeting: &Meeting, met: &mut BTreeSet<String>) -> Vec<Turn> {
        let mut turns = Vec::new();
        for active in &mut self.rules {
            if !active.rule.fault.is_about_watches() || !active.is_for(meeting) || !met.insert(active.rule.id.clone()) {
                continue;
            }
            if active.applies() {
                turns.extend(turn(&active.rule));
            }
        }
        turns
    }

    /// The faults of a watch event; `object` is only called when a rule needs it.
    pub(crate) fn event(
        &mut self,
        meeting: &Meeting,
        kind: &str,
        object: impl Fn() -> (String, String),
    ) -> EventFaultDecision {
        let mut decision = EventFaultDecision { copies: 1, ..EventFaultDecision::default() };
        for active in self.rules.iter_mut().filter(|a| a.rule.fault.is_about_events()) {
            if !active.is_for(meeting) || !chosen(&active.rule.events, kind, &object) || !active.applies() {
                continue;
            }
            match active.rule.fault {
                Fault::DropEvents {} => decision.dropped = true,
                Fault::DuplicateEvents {} => decision.copies += 1,
                Fault::DelayEvents { milliseconds } => decision.delay += Duration::from_millis(milliseconds),
                _ => {}
            }
        }
        decision
    }

    /// The last revision that a watch of the past may show; `None` when the rule is gone.
    pub(crate) fn horizon(&self, id: &str, now: u64) -> Option<u64> {
        self.rules.iter().find(|a| a.rule.id == id)?.horizon(now)
    }

    /// Whether a client has crashed.
    pub(crate) fn crashed(&self, client: &Client) -> bool {
        self.rules.iter().any(|a| a.crashed.as_ref() == Some(client))
    }
}

/// Adds the effect of a rule to the faults of a request.
fn apply(active: &mut Active, decision: &mut FaultDecision, client: &Client, revision: u64) {
    let rule = active.rule.id.clone();
    match active.rule.fault.clone() {
        Fault::Compact {} => decision.compact = true,
        Fault::Stale { .. } => decision.stale = active.horizon(revision).map(|revision| Stale { rule, revision }),
        Fault::Delay { milliseconds, after_effect: false } => decision.before += Duration::from_millis(milliseconds),
        Fault::Delay { milliseconds, after_effect: true } => decision.after += Duration::from_millis(milliseconds),
        Fault::SlowBody { bytes, milliseconds } => decision.slow = Some((bytes, Duration::from_millis(milliseconds))),
        Fault::Answer { code, reason, message, retry_after_seconds: retry_after, after_effect } => {
            decision.end = Some(End::Answer { code, reason, message, retry_after, after_effect });
        }
        Fault::Hang { after_effect } => decision.end = Some(End::Hang { rule, after_effect }),
        Fault::Cut { after_effect } => decision.end = Some(End::Cut { after_effect }),
        Fault::Crash { kill } => {
            active.crashed = Some(client.clone());
            decision.end = Some(End::Crash { kill });
        }
        _ => {}
    }
}

fn turn(rule: &Rule) -> Option<Turn> {
    let (kind, events, time) = match rule.fault {
        Fault::CloseWatch { after_events, after_milliseconds, cut: true } => {
            (TurnKind::Cut, after_events, after_milliseconds)
        }
        Fault::CloseWatch { after_events, after_milliseconds, cut: false } => {
            (TurnKind::Close, after_events, after_milliseconds)
        }
        Fault::ExpireWatch { after_events, after_milliseconds } => (TurnKind::Expire, after_events, after_milliseconds),
        Fault::StallWatch { after_events, after_milliseconds, milliseconds } => {
            (TurnKind::Stall(milliseconds.map(Duration::from_millis)), after_events, after_milliseconds)
        }
        _ => return None,
    };
    Some(Turn { rule: rule.id.clone(), kind, events, time: time.map(Duration::from_millis) })
}

fn requested(on: &Requests, meeting: &Meeting) -> bool {
    let fits = |pattern: &Option<String>, text: &str| pattern.as_deref().is_none_or(|p| glob(p, text));
    if !fits(&on.path, &meeting.path)
        || !fits(&on.user_agent, &meeting.client.user_agent)
        || !fits(&on.user, &meeting.client.user)
    {
        return false;
    }
    match &meeting.place {
        None => {
            let objects = [&on.group, &on.resource, &on.subresource, &on.namespace, &on.name];
            on.verbs.is_empty() && objects.iter().all(|o| o.is_none())
        }
        Some(place) => {
            (on.verbs.is_empty() || on.verbs.contains(&meeting.verb))
                && fits(&on.group, &place.group)
                && fits(&on.resource, &place.resource)
                && fits(&on.subresource, &place.subresource)
                && fits(&on.namespace, &place.namespace)
                && fits(&on.name, &place.name)
        }
    }
}

fn chosen(events: &Events, kind: &str, object: &impl Fn() -> (String, String)) -> bool {
    let named = events.types.iter().any(|t| t == kind);
    if !(named || events.types.is_empty() && matches!(kind, "ADDED" | "MODIFIED" | "DELETED")) {
        return false;
    }
    if events.namespace.is_none() && events.name.is_none() {
        return true;
    }
    let (namespace, name) = object();
    let fits = |pattern: &Option<String>, text: &str| pattern.as_deref().is_none_or(|p| glob(p, text));
    fits(&events.namespace, &namespace) && fits(&events.name, &name)
}

/// Whether `pattern`, in which `*` is any sequence of characters, matches all of `text`.
pub(super) fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

/// Namespace and name of the object in an event; for a table, of its first row.
pub(crate) fn place_of(event: &Value) -> (String, String) {
    let meta = event.pointer("/object/rows/0/object/metadata").or_else(|| event.pointer("/object/metadata"));
    let text = |key: &str| meta.and_then(|m| m.get(key)).and_then(Value::as_str).unwrap_or_default().to_owned();
    (text("namespace"), text("name"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::Rules;

    fn plan(text: &str) -> Plan {
        let mut plan = Plan::default();
        plan.add(Rules::parse(text).unwrap().into_vec(), 100).unwrap();
        plan
    }

    fn meeting(verb: &str, resource: &str, name: &str) -> Meeting {
        let place = Place { resource: resource.into(), namespace: "ns".into(), name: name.into(), ..Place::default() };
        let client = Client { user_agent: "a/1".into(), user: "jane".into() };
        Meeting { verb: verb.into(), path: "/p".into(), place: Some(place), client, ..Meeting::default() }
    }

    fn cuts(plan: &mut Plan, meeting: &Meeting) -> bool {
        plan.request(meeting, 100).is_some_and(|s| matches!(s.end, Some(End::Cut { .. })))
    }

    #[test]
    fn a_star_matches_any_run() {
        for (pattern, text, expect) in [
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("a*", "abc", true),
            ("*c", "abc", true),
            ("a*c", "abc", true),
            ("a*c", "ac", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*a", "a", false),
            ("ab", "abc", false),
            ("a*b", "abc", false),
        ] {
            assert_eq!(glob(pattern, text), expect, "{pattern} on {text}");
        }
    }

    #[test]
    fn every_part_of_a_request_is_compared() {
        let of = meeting("create", "configmaps", "");
        for (on, expect) in [
            ("{}", true),
            ("{verbs: [create, get]}", true),
            ("{verbs: [get]}", false),
            ("{resource: config*}", true),
            ("{resource: secrets}", false),
            ("{group: ''}", true),
            ("{group: apps}", false),
            ("{subresource: ''}", true),
            ("{subresource: status}", false),
            ("{namespace: ns}", true),
            ("{namespace: ''}", false),
            ("{name: ''}", true),
            ("{name: x}", false),
            ("{path: /p}", true),
            ("{path: /q}", false),
            ("{userAgent: a/*}", true),
            ("{userAgent: b/*}", false),
            ("{user: jane}", true),
            ("{user: kim}", false),
        ] {
            let mut plan = plan(&format!("{{requests: {on}, fault: {{cut: {{}}}}}}"));
            assert_eq!(cuts(&mut plan, &of), expect, "{on}");
        }
    }

    #[test]
    fn requests_that_are_not_about_objects_only_meet_rules_that_name_none() {
        let other = Meeting { verb: "get".into(), path: "/version".into(), ..Meeting::default() };
        for (on, expect) in [("{}", true), ("{path: /v*}", true), ("{verbs: [get]}", false), ("{name: '*'}", false)] {
            assert_eq!(cuts(&mut plan(&format!("{{requests: {on}, fault: {{cut: {{}}}}}}")), &other), expect, "{on}");
        }
        let stale = plan("{fault: {stale: {}}}").request(&other, 100);
        assert_eq!(stale, None);
    }

    #[test]
    fn a_rule_waits_then_strikes_then_is_used_up() {
        let mut plan = plan("{skip: 1, times: 2, fault: {cut: {}}}");
        let struck: Vec<bool> = (0..5).map(|_| cuts(&mut plan, &meeting("get", "pods", "p"))).collect();
        assert_eq!(struck, [false, true, true, false, false]);
        assert_eq!((plan.rules()[0].matched, plan.rules()[0].struck), (5, 2));
    }

    #[test]
    fn the_same_seed_strikes_the_same_requests() {
        let run = |seed: u64| {
            let mut plan = plan(&format!("{{probability: 0.5, seed: {seed}, fault: {{cut: {{}}}}}}"));
            (0..200).map(|_| cuts(&mut plan, &meeting("get", "pods", "p"))).collect::<Vec<bool>>()
        };
        assert_eq!(run(7), run(7));
        assert_ne!(run(7), run(8));
        let struck = run(7).into_iter().filter(|s| *s).count();
        assert!((60..140).contains(&struck), "{struck}");
    }

    #[test]
    fn delays_add_up_and_the_first_end_wins() {
        let mut plan = plan(
            "[{fault: {delay: {milliseconds: 5}}}, {fault: {answer: {code: 503}}}, {fault: {cut: {}}}, {fault: {delay: \
             {milliseconds: 7}}}]",
        );
        let decision = plan.request(&meeting("get", "pods", "p"), 100).unwrap();
        assert_eq!(decision.before, Duration::from_millis(12));
        assert!(matches!(decision.end, Some(End::Answer { code: 503, .. })));
        assert_eq!(plan.rules()[2].matched, 0, "what the first one answered, the second one does not see");
    }

    #[test]
    fn after_its_crash_only_that_client_is_cut_until_the_rule_goes() {
        let mut plan = plan("{id: c, skip: 1, requests: {resource: pods}, fault: {crash: {}}}");
        let mut write = meeting("create", "pods", "");
        let dry = Meeting { dry_run: true, ..write.clone() };
        assert_eq!(plan.request(&dry, 100), None);
        assert_eq!(plan.request(&meeting("get", "pods", "p"), 100), None);
        assert_eq!(plan.request(&write, 100), None);
        assert_eq!(plan.request(&write, 100).unwrap().end, Some(End::Crash { kill: None }));
        assert!(cuts(&mut plan, &meeting("get", "secrets", "s")) && plan.crashed(&write.client));
        write.client.user = "kim".into();
        assert!(!plan.crashed(&write.client));
        assert!(plan.remove("c") && !plan.remove("c"));
        assert!(!cuts(&mut plan, &meeting("get", "secrets", "s")));
    }

    #[test]
    fn the_past_is_so_many_versions_behind_or_stands_still_and_has_a_floor() {
        let read = meeting("list", "pods", "");
        let at = |text: &str, now: u64| {
            plan(&format!("{{fault: {{stale: {text}}}}}")).request(&read, now).map(|s| s.stale.unwrap().revision)
        };
        assert_eq!(at("{}", 150), Some(100));
        assert_eq!(at("{versions: 20}", 150), Some(130));
        assert_eq!(at("{versions: 20, notOlderThan: 140}", 150), Some(140));
        assert_eq!(at("{notOlderThan: 999}", 150), Some(150));
        assert_eq!(at("{cachedOnly: true}", 150), None);
    }

    #[test]
    fn each_watch_meets_a_rule_once_and_events_are_counted_over_all() {
        let mut plan =
            plan("[{id: w, times: 2, fault: {closeWatch: {}}}, {skip: 1, times: 1, fault: {dropEvents: {}}}]");
        let watch = meeting("watch", "pods", "");
        let mut met = BTreeSet::new();
        assert_eq!(plan.watch(&watch, &mut met).len(), 1);
        assert_eq!(plan.watch(&watch, &mut met).len(), 0);
        assert_eq!(plan.watch(&watch, &mut BTreeSet::new()).len(), 1);
        assert_eq!(plan.watch(&watch, &mut BTreeSet::new()).len(), 0);
        let mut dropped = |kind: &str| plan.event(&watch, kind, || ("ns".into(), "p".into())).dropped;
        assert_eq!(["BOOKMARK", "ADDED", "ADDED", "ADDED"].map(&mut dropped), [false, false, true, false]);
    }

    #[test]
    fn events_are_chosen_by_type_and_object() {
        let decision = |events: &str, kind: &str| {
            let mut plan = plan(&format!("{{events: {events}, fault: {{dropEvents: {{}}}}}}"));
            plan.event(&meeting("watch", "pods", ""), kind, || ("ns".into(), "web-1".into())).dropped
        };
        assert!(decision("{types: [BOOKMARK]}", "BOOKMARK") && !decision("{}", "BOOKMARK"));
        assert!(decision("{name: web-*, namespace: ns}", "ADDED") && !decision("{name: db-*}", "ADDED"));
        assert!(!decision("{types: [DELETED]}", "ADDED"));
    }

    #[test]
    fn rules_without_a_name_get_one_that_is_free() {
        let mut plan = plan("[{fault: {cut: {}}}, {id: rule-1, fault: {cut: {}}}, {fault: {cut: {}}}]");
        let ids: Vec<&str> = plan.rules().iter().map(|a| a.rule.id.as_str()).collect();
        assert_eq!(ids, ["rule-2", "rule-1", "rule-3"]);
        let taken = Rules::parse("[{fault: {cut: {}}}, {id: rule-2, fault: {cut: {}}}]").unwrap().into_vec();
        assert_eq!((plan.add(taken, 0), plan.rules().len()), (Err(1), 3), "all or none");
    }
}
