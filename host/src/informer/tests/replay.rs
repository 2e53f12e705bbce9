//! Random histories with random faults: every subscriber, early or late, sees an ordered subsequence of each object's
//! states without gap or repetition, and ends at what the server has.

use super::*;
use crate::api::resource_version;
use proptest::prelude::*;
use serde_json::json;

#[derive(Debug, Clone)]
enum Step {
    Apply(u8),
    Delete(u8),
    /// Deleted and created again before anyone can look.
    Recreate(u8),
    /// The host writes or deletes; its answer may come after the event.
    Own {
        object: u8,
        delete: bool,
        late: bool,
    },
    /// The watch ends, or ends and its version has expired.
    Close {
        expired: bool,
        plain: bool,
    },
    /// Events get lost until the watch is opened again, or come again after it was.
    BlackHole,
    Repeats(bool),
    ExpiryInStream,
    Subscribe,
    Leave,
    /// The tasks get to run.
    Breathe(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0u8..6).prop_map(Step::Apply),
        3 => (0u8..6).prop_map(Step::Delete),
        1 => (0u8..6).prop_map(Step::Recreate),
        4 => (0u8..6, any::<bool>(), any::<bool>())
            .prop_map(|(object, delete, late)| Step::Own { object, delete, late }),
        2 => any::<(bool, bool)>().prop_map(|(expired, plain)| Step::Close { expired, plain }),
        1 => Just(Step::BlackHole),
        1 => any::<bool>().prop_map(Step::Repeats),
        1 => Just(Step::ExpiryInStream),
        2 => Just(Step::Subscribe),
        1 => Just(Step::Leave),
        4 => (1u8..40).prop_map(Step::Breathe),
    ]
}

fn name(i: u8) -> String {
    format!("n{}/o{}", i % 2, i / 2)
}

/// What the host wrote last of each object, and the answers that are still on their way.
#[derive(Default)]
struct Own {
    last: BTreeMap<ObjectKey, Answer>,
    under_way: Vec<Answer>,
}

#[derive(Clone)]
enum Answer {
    Object(Box<Object>),
    Gone { key: ObjectKey, uid: String },
}

impl Own {
    fn act(&mut self, server: &Server, name: &str, delete: bool) {
        let uid = server.world().objects.get(name).map(|o| o["metadata"]["uid"].as_str().unwrap().to_owned());
        match uid {
            Some(uid) if delete => {
                server.delete(name);
                self.under_way.push(Answer::Gone { key: key(name), uid });
            }
            _ => {
                let object = server.apply(name, &json!({}));
                self.under_way.push(Answer::Object(Box::new(Object::parse(&object.to_string()).unwrap())));
            }
        }
    }

    fn answers_arrive(&mut self, informers: &Informers) {
        for answer in self.under_way.drain(..) {
            match &answer {
                Answer::Object(object) => informers.record_object(&gvk(), object),
                Answer::Gone { key, uid } => informers.record_delete(&gvk(), key, uid),
            }
            self.last.insert(answer.key().clone(), answer);
        }
    }

    /// The store says that it is fresh only if it is.
    async fn check(&self, server: &Server, store: &Store) {
        for (key, answer) in &self.last {
            if store.fresh(key, Instant::now()).await.is_err() {
                continue;
            }
            let stored = store.get(key);
            match answer {
                Answer::Gone { uid, .. } => assert_ne!(stored.map(|o| o.uid().to_owned()).as_ref(), Some(uid), "{key}"),
                Answer::Object(written) => match stored {
                    Some(stored) => {
                        let seen = resource_version::at_least(stored.resource_version(), written.resource_version());
                        assert!(seen, "{key}: {} for {}", stored.resource_version(), written.resource_version());
                    }
                    None => assert!(server.deleted_since(key, written.resource_version()), "{key} was never deleted"),
                },
            }
        }
    }
}

impl Answer {
    fn key(&self) -> &ObjectKey {
        match self {
            Self::Object(object) => object.key(),
            Self::Gone { key, .. } => key,
        }
    }
}

async fn replay(steps: Vec<Step>) {
    let server = Server::new();
    server.apply(&name(0), &json!({}));
    let informers = informers(&server);
    let mut followers = vec![Follower::all(&informers)];
    let mut own = Own::default();
    for step in steps {
        match step {
            Step::Apply(i) => drop(server.apply(&name(i), &json!({"app": "web"}))),
            Step::Delete(i) => server.delete(&name(i)),
            Step::Recreate(i) => {
                server.delete(&name(i));
                server.apply(&name(i), &json!({}));
            }
            Step::Own { object, delete, late } => {
                own.act(&server, &name(object), delete);
                if !late {
                    own.answers_arrive(&informers);
                }
            }
            Step::Close { expired, plain } => {
                server.world().plain_gone = plain;
                server.world().black_hole = false;
                if expired {
                    server.compact();
                }
                server.close_watches();
            }
            Step::BlackHole => server.world().black_hole = true,
            Step::Repeats(on) => server.world().repeats = on,
            Step::ExpiryInStream => {
                server.send("ERROR", &json!({"kind": "Status", "code": 410, "reason": "Expired"}));
            }
            Step::Subscribe => followers.push(Follower::all(&informers)),
            Step::Leave => drop((followers.len() > 1).then(|| followers.remove(0))),
            Step::Breathe(times) => {
                for _ in 0..times {
                    tokio::time::advance(Duration::from_millis(50)).await;
                    if followers[0].store().synced() {
                        own.check(&server, followers[0].store()).await;
                    }
                }
                own.answers_arrive(&informers);
            }
        }
    }
    server.world().black_hole = false;
    server.close_watches();
    own.answers_arrive(&informers);
    for follower in &followers {
        follower.until_equal(&server).await;
    }
    let store = followers[0].store();
    own.check(&server, store).await;
    for namespace in ["n0", "n1"] {
        let options = ListOptions { namespace: Some(namespace.into()), ..ListOptions::default() };
        let scan: Vec<ObjectKey> = store.keys().into_iter().filter(|k| *k.namespace == *namespace).collect();
        assert_eq!(store.list(&options).iter().map(|o| o.key().clone()).collect::<Vec<_>>(), scan);
    }
}

proptest! {
    #[test]
    fn every_subscriber_sees_an_ordered_subsequence_and_ends_at_the_live_state(
        steps in proptest::collection::vec(step(), 0..60)
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(replay(steps));
    }
}
