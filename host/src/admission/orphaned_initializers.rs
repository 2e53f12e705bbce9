//! Initializers without an answering plugin: their objects cannot be created, and events on their configuration say why.

use super::initializers::{Initializer, InitializerConfiguration};
use crate::apply::WriteIdentity;
use crate::apply::events::{Event, Regarding};
use crate::controller::Shared;
use crate::lifecycle;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;
use tokio::time::Instant;

/// Grace period of a missing plugin: a renamed or replaced file is absent for less time.
const AWAY: Duration = Duration::from_secs(2);

/// Grace period of a plugin that may still be loading. It ends because loading may never finish.
const LOADING: Duration = Duration::from_secs(60);

/// Interval of repeated events: the API server deletes events after a while.
const REMIND: Duration = Duration::from_secs(3600);

/// The unanswered initializers, by the name of their configuration and their own name.
#[derive(Debug, Default)]
pub(super) struct OrphanedInitializers(HashMap<(String, String), Lack>);

#[derive(Debug)]
struct Lack {
    since: Instant,
    why: String,
    told: Option<Instant>,
}

/// An event to record.
type News<'a> = (&'a Regarding, Event);

impl OrphanedInitializers {
    /// Checks all initializers, records events about changes, and updates the metrics.
    ///
    /// * `write_identity` - writer of the events. None: another host writes them.
    pub(super) fn check(
        &mut self,
        all: &[InitializerConfiguration],
        lifecycle: &lifecycle::Handle,
        shared: &Shared,
        write_identity: Option<&WriteIdentity>,
    ) {
        let (news, counts) = self.news(all, Instant::now(), |initializer| {
            let plugin = &initializer.plugin;
            let Some(version) = lifecycle.controller(plugin).and_then(|controller| controller.current()) else {
                let patience = if lifecycle.may_come(plugin) { LOADING } else { AWAY };
                return Some((patience, format!("no plugin {plugin} runs on this host")));
            };
            let resource = initializer.unanswered_by(version.admission())?;
            Some((AWAY, format!("plugin {plugin} is not granted to answer the creation of {resource}")))
        });
        match write_identity {
            Some(write_identity) => {
                news.into_iter().for_each(|(about, event)| shared.recorder.record(write_identity, about, event))
            }
            None => self.0.clear(),
        }
        shared.metrics.set_unanswered(&counts);
    }

    /// The events to record, and the number of unanswered initializers of each configuration.
    ///
    /// * `lack` - grace period before the event, and why no plugin answers. None: a plugin answers.
    fn news<'a>(
        &mut self,
        all: &'a [InitializerConfiguration],
        now: Instant,
        lack: impl Fn(&Initializer) -> Option<(Duration, String)>,
    ) -> (Vec<News<'a>>, BTreeMap<&'a str, usize>) {
        let (mut news, mut counts, mut left) = (Vec::new(), BTreeMap::new(), HashMap::new());
        for InitializerConfiguration { name, about, initializers } in all {
            let mut unanswered = 0;
            for initializer in initializers {
                let key = (name.clone(), initializer.name.clone());
                let before = self.0.remove(&key);
                let Some((patience, why)) = lack(initializer) else {
                    if before.is_some_and(|lack| lack.told.is_some()) {
                        let message =
                            format!("initializer {}: plugin {} answers", initializer.name, initializer.plugin);
                        news.push((about, Event { warning: false, reason: "InitializerAnswered".to_owned(), message }));
                    }
                    continue;
                };
                unanswered += 1;
                let before = before.filter(|lack| lack.why == why);
                let mut lack = before.unwrap_or(Lack { since: now, why, told: None });
                let tell = match lack.told {
                    None => now.saturating_duration_since(lack.since) >= patience,
                    Some(told) => now.saturating_duration_since(told) >= REMIND,
                };
                if tell {
                    lack.told = Some(now);
                    let message =
                        format!("initializer {}: {}; what it is about cannot be created", initializer.name, lack.why);
                    news.push((about, Event { warning: true, reason: "InitializerUnanswered".to_owned(), message }));
                }
                left.insert(key, lack);
            }
            counts.insert(name.as_str(), unanswered);
        }
        self.0 = left;
        (news, counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::initializers::Selection;
    use crate::api::{GroupVersionKind, ObjectKey};

    fn configuration() -> Vec<InitializerConfiguration> {
        let initializer = |name: &str| Initializer {
            name: name.to_owned(),
            plugin: format!("of-{name}"),
            rules: Vec::new(),
            selection: Selection::Always,
            record: false,
        };
        let about = Regarding::named(GroupVersionKind::new("g", "v1", "K"), ObjectKey::new("", "c"), "uid");
        vec![InitializerConfiguration {
            name: "c".to_owned(),
            about,
            initializers: vec![initializer("a"), initializer("b")],
        }]
    }

    #[test]
    fn what_lasts_is_told_once_an_hour_and_its_end_once() {
        let (all, start) = (configuration(), Instant::now());
        let mut orphaned = OrphanedInitializers::default();
        let mut news_at = |seconds: u64, lack: Option<&str>| -> (Vec<String>, usize) {
            let lack = |one: &Initializer| lack.filter(|_| one.name == "b").map(|why| (AWAY, why.to_owned()));
            let (news, counts) = orphaned.news(&all, start + Duration::from_secs(seconds), lack);
            let told = news.into_iter().map(|(_, event)| format!("{}: {}", event.reason, event.message)).collect();
            (told, counts["c"])
        };
        let told = |why: &str| {
            vec![format!("InitializerUnanswered: initializer b: {why}; what it is about cannot be created")]
        };
        assert_eq!(news_at(0, Some("gone")), (vec![], 1));
        assert_eq!(news_at(1, None), (vec![], 0), "away for a moment");
        assert_eq!(news_at(2, Some("gone")), (vec![], 1));
        assert_eq!(news_at(4, Some("gone")), (told("gone"), 1));
        assert_eq!(news_at(5, Some("gone")), (vec![], 1));
        assert_eq!(news_at(4 + 3600, Some("gone")), (told("gone"), 1));
        assert_eq!(news_at(5000, Some("forbidden")), (vec![], 1));
        assert_eq!(news_at(5002, Some("forbidden")), (told("forbidden"), 1));
        let answered = vec!["InitializerAnswered: initializer b: plugin of-b answers".to_owned()];
        assert_eq!(news_at(5003, None), (answered, 0));
        assert_eq!(news_at(5004, None), (vec![], 0));
    }
}
