//! Handover hints in a released Lease: the newest objects that the previous leader reconciled or wrote. The caches of the next leader
//! must show them before it trusts these caches.

use serde_json::Value;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::Instant;

/// Age limit of an object: every working watch has delivered older changes.
const AGE: Duration = Duration::from_secs(30);

/// Most objects; the newest stay.
const MOST: usize = 100;

/// Most bytes of all objects together: each host reads the Lease every other second.
const BYTES: usize = 32 << 10;

/// The objects of one leadership, oldest first, each object once.
#[derive(Debug, Default)]
pub(super) struct HandoverHints(VecDeque<(Instant, String, Value)>);

impl HandoverHints {
    /// * `name` - name of the object; a new entry replaces an older one of the same name.
    pub(super) fn add(&mut self, name: String, object: Value) {
        let now = Instant::now();
        self.0.retain(|(at, before, _)| *before != name && now.saturating_duration_since(*at) < AGE);
        if self.0.len() >= MOST {
            self.0.pop_front();
        }
        self.0.push_back((now, name, object));
    }

    /// The text of the annotation. None: there are no objects.
    pub(super) fn text(&self) -> Option<String> {
        let now = Instant::now();
        let mut texts = VecDeque::new();
        let mut bytes = 0;
        for (_, _, object) in self.0.iter().rev().filter(|(at, _, _)| now.saturating_duration_since(*at) < AGE) {
            let text = object.to_string();
            bytes += text.len() + 1;
            if bytes > BYTES {
                break;
            }
            texts.push_front(text);
        }
        let texts: Vec<_> = texts.into();
        (!texts.is_empty()).then(|| format!("[{}]", texts.join(",")))
    }

    /// Parses the annotation. Malformed text gives an empty list.
    pub(super) fn read(text: &str) -> Vec<Value> {
        if text.len() > 2 * BYTES {
            return Vec::new();
        }
        let mut objects: Vec<Value> = serde_json::from_str(text).unwrap_or_default();
        objects.truncate(MOST);
        objects
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[tokio::test(start_paused = true)]
    async fn the_newest_is_left_of_each_and_not_more_than_a_lease_can_bear() {
        let mut handover_hints = HandoverHints::default();
        assert_eq!(handover_hints.text(), None);
        handover_hints.add("old".to_owned(), json!("old"));
        tokio::time::advance(AGE).await;
        for version in 1..=3 {
            handover_hints.add("a".to_owned(), json!({"a": version}));
        }
        handover_hints.add("b".to_owned(), json!("b"));
        let text = handover_hints.text().unwrap();
        assert_eq!(HandoverHints::read(&text), [json!({"a": 3}), json!("b")]);
        for n in 0..1000 {
            handover_hints.add(n.to_string(), json!(n));
        }
        let left = HandoverHints::read(&handover_hints.text().unwrap());
        assert_eq!((left.len(), left.last()), (MOST, Some(&json!(999))));
        for n in 0..200 {
            handover_hints.add(n.to_string(), json!("x".repeat(1000)));
        }
        let text = handover_hints.text().unwrap();
        assert!(text.len() < BYTES + 2 && HandoverHints::read(&text).len() > 30, "{}", text.len());
        tokio::time::advance(AGE).await;
        assert_eq!(handover_hints.text(), None);
    }

    #[test]
    fn what_is_not_understood_is_nothing() {
        for bad in ["", "7", "{}", "[1,", "null"] {
            assert!(HandoverHints::read(bad).is_empty(), "{bad}");
        }
        assert!(HandoverHints::read(&format!("[{}1]", "1,".repeat(50_000))).is_empty());
    }
}
