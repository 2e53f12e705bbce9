//! Fault injection from the view of a plain client.

use std::time::Duration;

use oarlock_devserver::{
    Options,
    faults::{Rule, Rules},
};
use serde_json::{Value, json};

use crate::{Answer, Next, Server};

mod documented;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const FAULTS: &str = "/_oarlock/faults";

fn map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
}

impl Server {
    /// Adds rules in YAML.
    fn faults(&self, rules: &str) -> Vec<String> {
        self.running.faults().add(Rules::parse(rules).unwrap()).unwrap()
    }

    /// Creates a ConfigMap and returns its version.
    async fn make(&self, name: &str) -> u64 {
        let answer = self.json("POST", MAPS, map(name)).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        answer.version()
    }

    /// Sends a request as a client with this name; `None` when the connection ends without a response.
    async fn ask(&self, agent: &str, method: &str, path: &str, body: Value) -> Option<Answer> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let headers = [("user-agent", agent), ("content-type", "application/json")];
        self.try_send(&headers, method, path, body).await.ok()
    }

    async fn admin(&self, method: &str, path: &str, body: &str) -> Answer {
        self.send_with(&[("x-oarlock-faults", "1")], method, &format!("{FAULTS}{path}"), body.to_owned()).await
    }

    async fn names(&self, query: &str) -> Vec<String> {
        let list = self.get(&format!("{MAPS}{query}")).await.json();
        let items = list["items"].as_array().unwrap_or_else(|| panic!("{list}"));
        let names = items.iter().map(|i| i["metadata"]["name"].as_str().unwrap().to_owned());
        names.filter(|n| n != "kube-root-ca.crt").collect()
    }
}

#[tokio::test]
async fn an_answer_is_replaced_before_the_write_or_after_it() {
    let server = Server::start().await;
    server.faults(
        "[{requests: {verbs: [create], name: ''}, times: 1, fault: {answer: {code: 429, retryAfterSeconds: 7}}},
          {requests: {verbs: [create]}, times: 1, fault: {answer: {code: 504, afterEffect: true, message: gone}}},
          {requests: {resource: secrets}, fault: {answer: {code: 409, reason: AlreadyExists}}}]",
    );
    let busy = server.json("POST", MAPS, map("a")).await;
    let told = busy.json();
    assert_eq!((busy.status, busy.retry_after.as_deref()), (429, Some("7")));
    assert_eq!((&told["kind"], &told["reason"]), (&json!("Status"), &json!("TooManyRequests")));
    assert_eq!(told["details"]["retryAfterSeconds"], 7);
    assert_eq!(server.names("").await, Vec::<String>::new());

    let late = server.json("POST", MAPS, map("a")).await;
    assert_eq!((late.status, &late.json()["message"]), (504, &json!("gone")));
    assert_eq!(server.names("").await, ["a"]);

    let taken = server.get("/api/v1/namespaces/default/secrets").await;
    assert_eq!((taken.status, &taken.json()["reason"]), (409, &json!("AlreadyExists")));
    assert_eq!(server.get("/version").await.status, 200);
}

#[tokio::test]
async fn a_connection_is_cut_before_the_write_or_after_it() {
    let server = Server::start().await;
    server.faults(
        "[{requests: {verbs: [create]}, times: 1, fault: {cut: {}}},
          {requests: {verbs: [delete]}, times: 1, fault: {cut: {afterEffect: true}}}]",
    );
    assert!(server.ask("c", "POST", MAPS, map("a")).await.is_none());
    assert_eq!(server.names("").await, Vec::<String>::new());
    server.make("a").await;
    assert!(server.ask("c", "DELETE", &format!("{MAPS}/a"), Value::Null).await.is_none());
    assert_eq!(server.names("").await, Vec::<String>::new());
    let cut: Vec<String> = server.running.requests().into_iter().filter(|r| r.status == 0).map(|r| r.verb).collect();
    assert_eq!(cut, ["create", "delete"]);
}

#[tokio::test]
async fn a_held_request_is_cut_when_its_rule_goes_and_a_late_one_is_answered() {
    let server = Server::start().await;
    server.faults("[{id: h, requests: {verbs: [create]}, times: 1, fault: {hang: {afterEffect: true}}}]");
    let held = server.ask("c", "POST", MAPS, map("a"));
    let meanwhile = async {
        server.until(&format!("{MAPS}/a"), 200).await;
        assert!(server.running.faults().remove("h"));
    };
    assert!(tokio::join!(held, meanwhile).0.is_none());

    // The first response waits for the end of its delay; the second is created meanwhile.
    server.faults("{requests: {name: a}, times: 1, fault: {delay: {milliseconds: 300, afterEffect: true}}}");
    let path = format!("{MAPS}/a");
    let (late, _) = tokio::join!(server.get(&path), async {
        while server.running.faults().rules()[0].struck == 0 {
            tokio::task::yield_now().await;
        }
        server.json("DELETE", &path, Value::Null).await
    });
    assert_eq!(late.status, 200);
    server.faults("{requests: {name: b}, fault: {delay: {milliseconds: 300}}}");
    let path = format!("{MAPS}/b");
    let (late, _) = tokio::join!(server.get(&path), server.make("b"));
    assert_eq!(late.status, 200, "it is carried out after its delay");
}

#[tokio::test]
async fn a_slow_body_comes_in_pieces_and_whole() {
    let server = Server::start().await;
    server.make("a").await;
    server.faults("{fault: {slowBody: {bytes: 100, milliseconds: 1}}}");
    assert_eq!(server.names("").await, ["a"]);
}

#[tokio::test]
async fn a_client_that_crashed_after_a_write_is_cut_until_the_rule_goes() {
    let server = Server::start().await;
    server.faults("{id: c, requests: {userAgent: ctl/*}, skip: 1, fault: {crash: {}}}");
    let watching = [("user-agent", "ctl/1")];
    let path = format!("{MAPS}?watch=1");
    let watch = server.try_send(&watching, "GET", &path, "");
    let writes = async {
        while !server.running.requests().iter().any(|r| r.verb == "watch") {
            tokio::task::yield_now().await;
        }
        assert_eq!(server.ask("ctl/1", "POST", MAPS, map("a")).await.unwrap().status, 201);
        assert!(server.ask("ctl/1", "POST", MAPS, map("b")).await.is_none());
    };
    let (watch, ()) = tokio::join!(watch, writes);
    assert!(watch.is_err(), "its watches are cut as well");
    assert_eq!(server.names("").await, ["a", "b"], "the last write is there, and others are served");
    assert!(server.ask("ctl/1", "GET", MAPS, Value::Null).await.is_none());
    assert!(server.ask("ctl/1", "GET", "/version", Value::Null).await.is_none());
    assert_eq!(server.ask("ctl/2", "GET", MAPS, Value::Null).await.unwrap().status, 200);
    assert!(server.running.faults().rules()[0].crashed);
    assert_eq!(server.admin("DELETE", "/c", "").await.status, 200);
    assert_eq!(server.ask("ctl/1", "GET", MAPS, Value::Null).await.unwrap().status, 200);
}

#[tokio::test]
async fn a_crash_kills_a_real_process_only_where_that_is_allowed() {
    let mut victim = tokio::process::Command::new("sleep").arg("600").kill_on_drop(true).spawn().unwrap();
    let rule = format!("{{fault: {{crash: {{kill: {}}}}}}}", victim.id().unwrap());
    let server = Server::start().await;
    let refused = server.admin("POST", "", &rule).await;
    assert_eq!(refused.status, 403);
    assert!(refused.text.contains("--faults-may-kill"), "{}", refused.text);

    let server = Server::with(Options::default().faults_may_kill(true)).await;
    assert_eq!(server.admin("POST", "", &rule).await.status, 201);
    assert!(server.ask("ctl/1", "POST", MAPS, map("a")).await.is_none());
    let end = tokio::time::timeout(Duration::from_secs(20), victim.wait()).await.unwrap().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&end), Some(9));
    assert_eq!(server.ask("other", "GET", &format!("{MAPS}/a"), Value::Null).await.unwrap().status, 200);
}

#[tokio::test]
async fn i9_reads_come_from_the_past_and_writes_do_not() {
    let server = Server::start().await;
    let old = server.make("a").await;
    server.faults("{id: frozen, fault: {stale: {}}}");
    let new = server.make("b").await;
    assert_eq!(server.names("").await, ["a"]);
    assert_eq!(server.names("?resourceVersion=0").await, ["a"]);
    assert_eq!(server.get(MAPS).await.version(), old);
    assert_eq!(server.get(&format!("{MAPS}/b")).await.status, 404);
    assert_eq!(server.json("POST", MAPS, map("b")).await.status, 409);
    // The request names a version that this server has not seen: too large, as for a server that lags behind.
    let ahead = server.get(&format!("{MAPS}?resourceVersion={new}")).await;
    assert_eq!((ahead.status, ahead.text.contains("Too large resource version")), (504, true));

    let mut watch = server.watch(&format!("{MAPS}?watch=1&resourceVersion=0")).await;
    assert_eq!(watch.event().await, ("ADDED".into(), "a".into()));
    assert!(watch.is_silent(100).await, "it is not told what is not seen");
    assert!(server.running.faults().remove("frozen"));
    assert_eq!(watch.event().await, ("ADDED".into(), "b".into()));
    assert_eq!(server.names("").await, ["a", "b"]);
}

#[tokio::test]
async fn i9_a_server_that_lags_by_versions_follows_and_keeps_its_floor() {
    let server = Server::start().await;
    let first = server.make("a").await;
    for name in ["b", "c"] {
        server.make(name).await;
    }
    server.faults("{id: lag, fault: {stale: {versions: 2}}}");
    assert_eq!(server.names("").await, ["a"]);
    let mut watch = server.watch(&format!("{MAPS}?watch=1&resourceVersion={first}")).await;
    server.make("d").await;
    assert_eq!(watch.event().await, ("ADDED".into(), "b".into()));
    assert_eq!(server.names("").await, ["a", "b"]);
    assert!(watch.is_silent(100).await, "it is not told what is not seen");
    assert!(server.running.faults().remove("lag"));
    assert_eq!(watch.event().await, ("ADDED".into(), "c".into()));
    let floor = server.running.faults();
    floor
        .strike(Rule::new(oarlock_devserver::faults::Fault::Stale {
            versions: Some(3),
            not_older_than: Some(first + 2),
            cached_only: true,
        }))
        .unwrap();
    assert_eq!(server.names("?resourceVersion=0").await, ["a", "b", "c"]);
    assert_eq!(server.names("").await, ["a", "b", "c", "d"], "a consistent read is not cached");
}

#[tokio::test]
async fn i3_a_compacted_log_is_gone_for_those_who_begin_and_stays_for_those_who_follow() {
    let server = Server::start().await;
    let old = server.make("a").await;
    let page = {
        server.make("b").await;
        server.get(&format!("{MAPS}?limit=1")).await.json()
    };
    let mut follows = server.watch(&format!("{MAPS}?watch=1&resourceVersion={old}")).await;
    assert_eq!(follows.event().await, ("ADDED".into(), "b".into()));
    server.make("c").await;
    server.faults("{times: 1, fault: {compact: {}}}");
    let mut late = server.watch(&format!("{MAPS}?watch=1&resourceVersion={old}")).await;
    let Next::Event(kind, status) = late.next().await else { panic!("no event") };
    assert_eq!((kind.as_str(), &status["code"]), ("ERROR", &json!(410)));
    assert_eq!(late.next().await, Next::End);
    let token = page["metadata"]["continue"].as_str().unwrap();
    assert_eq!(server.get(&format!("{MAPS}?limit=1&continue={token}")).await.status, 410, "i4");
    assert_eq!(follows.event().await, ("ADDED".into(), "c".into()));
    server.make("d").await;
    assert_eq!(follows.event().await, ("ADDED".into(), "d".into()));
    let now = server.get(MAPS).await.version();
    let mut again = server.watch(&format!("{MAPS}?watch=1&resourceVersion={now}")).await;
    server.make("e").await;
    assert_eq!(again.event().await, ("ADDED".into(), "e".into()));
}

#[tokio::test]
async fn i6_i7_events_are_dropped_told_twice_and_held_up() {
    let server = Server::start().await;
    let mut watch = server.watch(&format!("{MAPS}?watch=1")).await;
    server.faults(
        "[{events: {types: [DELETED]}, times: 1, fault: {dropEvents: {}}},
          {events: {name: twice}, fault: {duplicateEvents: {}}},
          {events: {name: late}, fault: {delayEvents: {milliseconds: 200}}}]",
    );
    server.make("a").await;
    for _ in 0..2 {
        server.json("DELETE", &format!("{MAPS}/a"), Value::Null).await;
        server.make("a").await;
    }
    let mut seen = Vec::new();
    for _ in 0..4 {
        seen.push(watch.event().await.0);
    }
    assert_eq!(seen, ["ADDED", "ADDED", "DELETED", "ADDED"]);
    server.make("twice").await;
    assert_eq!([watch.event().await.1, watch.event().await.1], ["twice", "twice"]);
    let begin = tokio::time::Instant::now();
    server.make("late").await;
    server.make("behind").await;
    assert_eq!([watch.event().await.1, watch.event().await.1], ["late", "behind"]);
    assert!(begin.elapsed() >= Duration::from_millis(200), "not before its delay is over");
}

#[tokio::test]
async fn i5_bookmarks_are_withheld() {
    let server = Server::start().await;
    server.make("a").await;
    let query =
        "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1";
    let text = async || server.get(&format!("{MAPS}?{query}")).await.text;
    assert!(text().await.contains("BOOKMARK"));
    server.faults("{events: {types: [BOOKMARK]}, fault: {dropEvents: {}}}");
    let text = text().await;
    assert!(text.contains("ADDED") && !text.contains("BOOKMARK"), "{text}");
}

#[tokio::test]
async fn i1_a_watch_ends_after_so_many_events_in_order_or_not() {
    let server = Server::start().await;
    for (cut, end) in [("false", Next::End), ("true", Next::Cut)] {
        server.running.faults().clear();
        let version = server.get(MAPS).await.version();
        server.faults(&format!("{{times: 1, fault: {{closeWatch: {{afterEvents: 1, cut: {cut}}}}}}}"));
        let mut watch = server.watch(&format!("{MAPS}?watch=1&resourceVersion={version}")).await;
        let names = ["a", "b"].map(|n| format!("{n}-{cut}"));
        for name in &names {
            server.make(name).await;
        }
        assert_eq!(watch.event().await.1, names[0]);
        assert_eq!(watch.next().await, end);
        let mut next = server.watch(&format!("{MAPS}?watch=1&resourceVersion={version}")).await;
        assert_eq!([next.event().await.1, next.event().await.1], names, "the next watch is not struck");
    }
}

#[tokio::test]
async fn i3_a_running_watch_is_told_410() {
    let server = Server::start().await;
    let version = server.get(MAPS).await.version();
    let mut watch = server.watch(&format!("{MAPS}?watch=1&resourceVersion={version}")).await;
    server.make("a").await;
    assert_eq!(watch.event().await.1, "a");
    server.faults("{fault: {expireWatch: {afterMilliseconds: 20}}}");
    let Next::Event(kind, status) = watch.next().await else { panic!("no event") };
    assert_eq!((kind.as_str(), &status["code"], &status["reason"]), ("ERROR", &json!(410), &json!("Expired")));
    assert_eq!(watch.next().await, Next::End);
}

#[tokio::test]
async fn i2_a_stalled_watch_says_nothing_past_its_own_end_and_then_goes_on() {
    let server = Server::start().await;
    let version = server.get(MAPS).await.version();
    server.make("a").await;
    // Its first event stalls the watch, regardless of the duration of the steps before and after.
    server.faults("{id: s, requests: {resource: configmaps}, fault: {stallWatch: {afterEvents: 1}}}");
    let mut watch = server.watch(&format!("{MAPS}?watch=1&resourceVersion={version}&timeoutSeconds=2")).await;
    assert_eq!(watch.event().await.1, "a");
    server.make("b").await;
    // Longer than its own timeout.
    assert!(watch.is_silent(2300).await);
    assert!(server.running.faults().remove("s"));
    assert_eq!(watch.event().await.1, "b");
    assert_eq!(watch.next().await, Next::End);
}

#[tokio::test]
async fn rules_are_listed_with_what_they_did_and_removed_one_by_one() {
    let server = Server::start().await;
    let added = server.admin("POST", "", "[{id: a, skip: 1, fault: {cut: {}}}, {fault: {compact: {}}}]").await;
    assert_eq!((added.status, added.json()), (201, json!({"ids": ["a", "rule-1"]})));
    assert_eq!(server.get(MAPS).await.status, 200);
    assert!(server.ask("c", "GET", MAPS, Value::Null).await.is_none());
    let shown = server.get(&format!("{FAULTS}/a")).await.json();
    assert_eq!(
        shown,
        json!({"id": "a", "skip": 1, "fault": {"cut": {"afterEffect": false}}, "matched": 2, "struck": 1,
        "crashed": false})
    );
    let again = server.admin("POST", "", "[{fault: {cut: {}}}, {id: a, fault: {cut: {}}}]").await;
    assert_eq!(again.status, 400);
    assert!(again.text.contains("fault rule 2, id: there is a rule"), "{}", again.text);
    assert_eq!(server.admin("DELETE", "/a", "").await.json()["rules"].as_array().unwrap().len(), 1);
    assert_eq!(server.admin("DELETE", "/a", "").await.status, 404);
    assert_eq!(server.admin("DELETE", "", "").await.json(), json!({"rules": []}));
    assert!(!server.running.requests().iter().any(|r| r.path.contains("_oarlock")), "not among the requests");
}

#[tokio::test]
async fn nobody_changes_rules_by_accident_or_without_the_right_to() {
    let server = Server::start().await;
    assert_eq!(server.json("POST", FAULTS, json!({"fault": {"cut": {}}})).await.status, 403);
    assert_eq!(server.json("DELETE", FAULTS, Value::Null).await.status, 403);
    let headers = [("x-oarlock-faults", "1"), ("impersonate-user", "jane")];
    assert_eq!(server.send_with(&headers, "POST", FAULTS, "{fault: {cut: {}}}").await.status, 403);
    assert_eq!(server.send_with(&headers, "GET", FAULTS, "").await.status, 403);
    assert_eq!(server.admin("PUT", "", "").await.status, 405);
    assert_eq!(server.get("/_oarlock/faultsx").await.status, 404);
    assert_eq!(server.get("/_oarlock").await.status, 404);
}

#[tokio::test]
async fn garbage_is_refused_and_changes_nothing() {
    let server = Server::start().await;
    let deep = "[".repeat(100_000);
    let bodies = ["{", "7", "[7]", "\u{0}", "{fault: {cut: {}}, more: 1}", "[{fault: {cut: {}}}, {fault: {}}]", &deep];
    for body in bodies {
        let answer = server.admin("POST", "", body).await;
        assert_eq!((answer.status, &answer.json()["reason"]), (400, &json!("BadRequest")), "{body:.20}");
    }
    assert_eq!(server.admin("POST", "", "").await.json(), json!({"ids": []}));
    assert_eq!(server.get(FAULTS).await.json(), json!({"rules": []}));
}

#[tokio::test]
async fn rules_that_are_there_from_the_start_strike_the_first_request() {
    let rules = Rules::parse("{requests: {path: /version}, times: 1, fault: {answer: {code: 503}}}").unwrap();
    let server = Server::with(Options::default().faults(rules)).await;
    assert_eq!(server.get("/version").await.status, 503);
    assert_eq!(server.get("/version").await.status, 200);
}
