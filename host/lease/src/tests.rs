//! Hosts that share Leases, with an API server for Leases only and a paused clock.

use super::elector::LeaderElector;
use super::{LeaderElection, Options, Timing};
use http::{Method, Request, Response};
use http_body_util::BodyExt as _;
use kube::client::Body;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;

const PATH: &str = "/apis/coordination.k8s.io/v1/namespaces/system/leases";

/// The Leases, with optimistic concurrency, and the hosts that are cut off.
#[derive(Clone, Default)]
struct Server(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    leases: BTreeMap<String, Value>,
    version: u64,
    cut_off: Vec<&'static str>,
    /// Hosts whose responses get lost; their requests still take effect.
    mute: Vec<&'static str>,
    /// Number of requests for a single Lease.
    asked: usize,
}

impl Server {
    fn client(&self, host: &'static str) -> kube::Client {
        let server = self.clone();
        let answer = move |request: Request<Body>| {
            let server = server.clone();
            async move {
                let (head, body) = request.into_parts();
                let body = body.collect().await.unwrap().to_bytes();
                if server.0.lock().unwrap().cut_off.contains(&host) {
                    std::future::pending::<()>().await;
                }
                let (status, answer) = server.answer(&head.method, head.uri.path(), &body);
                if server.0.lock().unwrap().mute.contains(&host) {
                    std::future::pending::<()>().await;
                }
                let response = Response::builder().status(status).body(Body::from(answer.to_string().into_bytes()));
                Ok::<_, Infallible>(response.unwrap())
            }
        };
        kube::Client::new(tower::service_fn(answer), "default")
    }

    fn answer(&self, method: &Method, path: &str, body: &[u8]) -> (u16, Value) {
        let mut state = self.0.lock().unwrap();
        let state = &mut *state;
        let name = path.strip_prefix(PATH).unwrap().trim_start_matches('/').to_owned();
        if *method == Method::GET {
            return match name.as_str() {
                "" => {
                    let ours =
                        |lease: &&Value| lease["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "oarlock";
                    (200, json!({"items": state.leases.values().filter(ours).collect::<Vec<_>>()}))
                }
                name => {
                    state.asked += 1;
                    state.leases.get(name).map_or((404, json!({})), |lease| (200, lease.clone()))
                }
            };
        }
        let mut lease: Value = serde_json::from_slice(body).unwrap();
        let sent = lease["metadata"]["name"].as_str().unwrap().to_owned();
        let there = state.leases.get(&sent);
        match (method, there) {
            (&Method::POST, None) => assert!(lease["metadata"].get("resourceVersion").is_none()),
            (&Method::POST, Some(_)) => return (409, json!({})),
            (_, None) => return (404, json!({})),
            (_, Some(there)) if there["metadata"]["resourceVersion"] != lease["metadata"]["resourceVersion"] => {
                return (409, json!({}));
            }
            _ => assert_eq!(sent, name),
        }
        state.version += 1;
        lease["metadata"]["resourceVersion"] = json!(state.version.to_string());
        state.leases.insert(sent, lease.clone());
        (200, lease)
    }

    fn edit(&self, lease: &str, change: impl FnOnce(&mut Value)) {
        let mut state = self.0.lock().unwrap();
        state.version += 1;
        let version = state.version.to_string();
        let lease = state.leases.get_mut(lease).unwrap();
        change(lease);
        lease["metadata"]["resourceVersion"] = json!(version);
    }

    fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.0.lock().unwrap());
    }

    fn holder(&self, lease: &str) -> String {
        let state = self.0.lock().unwrap();
        state.leases.get(lease).map(|lease| lease["spec"]["holderIdentity"].to_string()).unwrap_or_default()
    }
}

/// A host with elections for some controllers.
struct Host {
    elector: Arc<LeaderElector>,
    elections: BTreeMap<&'static str, LeaderElection>,
}

fn host(server: &Server, name: &'static str, controllers: &[&'static str]) -> Host {
    let options = Options { namespace: "system".to_owned(), identity: name.to_owned(), timing: Timing::default() };
    let elector = LeaderElector::new(options, server.client(name));
    let running = Arc::clone(&elector);
    tokio::spawn(async move { running.run().await });
    let election = |controller: &&'static str| {
        let election = elector.election(&super::name_of(controller));
        election.compete(&LeaderElection::version(name, "digest", "config"));
        (*controller, election)
    };
    let elections = controllers.iter().map(election).collect();
    Host { elector, elections }
}

impl Host {
    fn holds(&self, controller: &str) -> bool {
        self.elections[controller].guard().is_some()
    }

    fn held(&self) -> usize {
        self.elections.values().filter(|election| election.guard().is_some()).count()
    }
}

/// Advances the clock in small steps, and asserts after each that no controller has two holders.
async fn pass(hosts: &[&Host], time: Duration) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let mut holders: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for host in hosts {
            for (controller, _) in host.elections.iter().filter(|(_, election)| election.guard().is_some()) {
                holders.entry(controller).or_default().push(host.elector.identity());
            }
        }
        for (controller, holders) in holders {
            assert!(holders.len() < 2, "{controller} is held by {holders:?}");
        }
    }
}

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

#[tokio::test(start_paused = true)]
async fn one_host_takes_what_is_free_and_keeps_it() {
    let server = Server::default();
    let (a, b) = (host(&server, "a", &["p"]), host(&server, "b", &["p"]));
    pass(&[&a, &b], seconds(6)).await;
    let a_first = a.holds("p");
    assert_ne!(a_first, b.holds("p"));
    for _ in 0..20 {
        pass(&[&a, &b], seconds(6)).await;
        assert_eq!(a.holds("p"), a_first, "it is renewed");
    }
    let lease = server.0.lock().unwrap().leases["oarlock-p"].clone();
    assert_eq!(lease["metadata"]["annotations"]["oarlock.dev/plugin-version"], if a_first { "a" } else { "b" });
    assert_eq!(lease["spec"]["leaseTransitions"], 0);
}

#[tokio::test(start_paused = true)]
async fn l3_a_holder_that_cannot_reach_the_api_server_stops_before_another_begins() {
    let server = Server::default();
    let a = host(&server, "a", &["p"]);
    pass(&[&a], seconds(6)).await;
    assert!(a.holds("p"));
    let b = host(&server, "b", &["p"]);
    pass(&[&a, &b], seconds(6)).await;
    server.set(|state| state.cut_off.push("a"));
    let began = Instant::now();
    while a.holds("p") {
        pass(&[&a, &b], Duration::from_millis(50)).await;
    }
    assert!(began.elapsed() <= seconds(11), "{:?}", began.elapsed());
    assert!(!b.holds("p"), "l2: there is a time with none, and none with two");
    while !b.holds("p") {
        pass(&[&a, &b], Duration::from_millis(50)).await;
    }
    assert!(began.elapsed() <= seconds(21), "{:?}", began.elapsed());
    server.set(|state| state.cut_off.clear());
    pass(&[&a, &b], seconds(60)).await;
    assert!(b.holds("p") && !a.holds("p"), "it does not come back");
}

/// A host that resumes after a pause still believes that it holds the Lease.
#[tokio::test(start_paused = true)]
async fn l4_a_lease_that_another_took_meanwhile_is_not_taken_back() {
    let server = Server::default();
    let a = host(&server, "a", &["p"]);
    for round in 0..60 {
        pass(&[&a], seconds(10)).await;
        assert!(a.holds("p"), "{round}");
        pass(&[&a], Duration::from_millis(37 * round)).await;
        let other = format!("other-{round}");
        server.edit("oarlock-p", |lease| {
            lease["spec"]["holderIdentity"] = json!(other);
            lease["spec"]["renewTime"] = json!(other);
        });
        for _ in 0..140 {
            pass(&[&a], Duration::from_millis(100)).await;
            assert_eq!(server.holder("oarlock-p"), json!(other).to_string(), "{round}");
        }
        server.edit("oarlock-p", |lease| lease["spec"] = json!({"holderIdentity": "", "leaseDurationSeconds": 1}));
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_gets_lost_costs_no_lease() {
    let server = Server::default();
    let a = host(&server, "a", &["p"]);
    pass(&[&a], seconds(6)).await;
    server.set(|state| state.mute.push("a"));
    pass(&[&a], seconds(7)).await;
    server.set(|state| state.mute.clear());
    for _ in 0..60 {
        pass(&[&a], seconds(1)).await;
        assert!(a.holds("p"), "what it wrote itself is no reason to give up");
    }
    // The same when the lost response is the one to the acquisition.
    let server = Server::default();
    server.set(|state| state.mute.push("a"));
    let a = host(&server, "a", &["p"]);
    pass(&[&a], seconds(20)).await;
    server.set(|state| state.mute.clear());
    pass(&[&a], seconds(20)).await;
    assert!(a.holds("p"));
}

#[tokio::test(start_paused = true)]
async fn l8_what_is_given_back_is_taken_at_once_and_by_another() {
    let server = Server::default();
    let a = host(&server, "a", &["p"]);
    pass(&[&a], seconds(6)).await;
    let b = host(&server, "b", &["p"]);
    pass(&[&a, &b], seconds(6)).await;
    a.elections["p"].release().await;
    assert!(!a.holds("p"));
    assert_eq!(server.holder("oarlock-p"), "\"\"");
    pass(&[&a, &b], seconds(6)).await;
    assert!(b.holds("p"));
    b.elections["p"].leave().await;
    pass(&[&a, &b], seconds(60)).await;
    assert!(a.holds("p"), "who has left does not come back");
}

#[tokio::test(start_paused = true)]
async fn a_host_that_stops_takes_nothing_more() {
    let server = Server::default();
    let a = host(&server, "a", &["p", "q"]);
    a.elector.stop_acquiring();
    pass(&[&a], seconds(30)).await;
    assert_eq!(a.held(), 0);
}

#[tokio::test(start_paused = true)]
async fn two_hosts_with_one_identity_are_two() {
    let server = Server::default();
    let (a, b) = (host(&server, "same", &["p"]), host(&server, "same", &["p"]));
    pass(&[&a, &b], seconds(60)).await;
    assert_eq!(a.held() + b.held(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_host_without_controllers_gets_one() {
    let server = Server::default();
    let controllers = ["p", "q", "r", "s"];
    let a = host(&server, "a", &controllers);
    pass(&[&a], seconds(8)).await;
    assert_eq!(a.held(), 4);
    let b = host(&server, "b", &controllers);
    // The holder of a controller releases it on request.
    let gives = |election: LeaderElection| async move {
        loop {
            election.held().await.release_requested().await;
            election.release().await;
        }
    };
    for election in a.elections.values().chain(b.elections.values()) {
        tokio::spawn(gives(election.clone()));
    }
    pass(&[&a, &b], seconds(40)).await;
    assert_eq!((a.held(), b.held()), (3, 1));
    pass(&[&a, &b], seconds(120)).await;
    assert_eq!((a.held(), b.held()), (3, 1), "and no more than that");
}

#[test]
fn a_lease_that_somebody_spoils_is_nobodys_for_long_and_never_two_hosts() {
    let garbage: [fn(&mut Value); 7] = [
        |lease| lease["spec"] = json!({}),
        |lease| lease["spec"]["holderIdentity"] = json!(""),
        |lease| {
            lease["spec"] = json!({"holderIdentity": "ghost", "leaseDurationSeconds": i64::MAX, "renewTime": "soon"})
        },
        |lease| lease["spec"] = json!(["nonsense"]),
        |lease| lease["spec"]["holderIdentity"] = json!(7),
        |lease| lease["metadata"]["labels"] = json!({}),
        |lease| lease["metadata"]["annotations"] = json!({"oarlock.dev/wanted-by": "nobody-there"}),
    ];
    // Repeated, so that the edit meets the two hosts at different points between their refreshes.
    for (n, spoil) in garbage.into_iter().cycle().take(28).enumerate() {
        let round = async move {
            let server = Server::default();
            let (a, b) = (host(&server, "a", &["p"]), host(&server, "b", &["p"]));
            pass(&[&a, &b], seconds(8) + Duration::from_millis(530 * n as u64)).await;
            server.edit("oarlock-p", spoil);
            pass(&[&a, &b], seconds(20)).await;
            // The longest duration accepted from another client: five minutes.
            tokio::time::sleep(seconds(300)).await;
            assert_eq!(a.held() + b.held(), 1, "{n}");
        };
        // The hosts end with their runtime.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(round);
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_deleted_is_made_again() {
    let server = Server::default();
    let (a, b) = (host(&server, "a", &["p"]), host(&server, "b", &["p"]));
    pass(&[&a, &b], seconds(8)).await;
    for _ in 0..5 {
        server.set(|state| drop(state.leases.remove("oarlock-p")));
        pass(&[&a, &b], seconds(30)).await;
        assert_eq!(a.held() + b.held(), 1);
    }
}

/// The Lease of a controller that runs on no host any more, as after its uninstallation.
#[tokio::test(start_paused = true)]
async fn b13_a_deleted_lease_is_not_asked_for_for_ever() {
    let server = Server::default();
    let mut a = host(&server, "a", &["p", "q"]);
    let b = host(&server, "b", &["p"]);
    pass(&[&a, &b], seconds(8)).await;
    a.elections.remove("q").unwrap().leave().await;
    server.set(|state| drop(state.leases.remove("oarlock-q")));
    pass(&[&a, &b], seconds(60)).await;
    let before = server.0.lock().unwrap().asked;
    pass(&[&a, &b], seconds(120)).await;
    assert_eq!(server.0.lock().unwrap().asked, before, "requests for a Lease that is deleted");
    assert_eq!(a.held() + b.held(), 1);
    // A Lease that is created again is observed again.
    let c = host(&server, "c", &["q"]);
    pass(&[&a, &b, &c], seconds(10)).await;
    assert!(c.holds("q"));
}

/// Hosts cut off or mute, Leases deleted, edited or released, in random order: never two holders, and one holder when all is well again.
#[tokio::test(start_paused = true)]
async fn l2_whatever_happens_nobody_acts_beside_another() {
    for seed in 1..9u64 {
        let server = Server::default();
        let controllers = ["p", "q", "r"];
        let hosts =
            [host(&server, "a", &controllers), host(&server, "b", &controllers), host(&server, "c", &controllers)];
        let all: Vec<&Host> = hosts.iter().collect();
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut random = |below: u64| rng.u64(..below);
        for _ in 0..20 {
            let name = ["a", "b", "c"][usize::try_from(random(3)).unwrap()];
            let controller = controllers[usize::try_from(random(3)).unwrap()];
            match random(7) {
                0 => server.set(|state| state.cut_off.push(name)),
                1 => server.set(|state| state.mute.push(name)),
                2 => {
                    let election = hosts[usize::try_from(random(3)).unwrap()].elections[controller].clone();
                    tokio::spawn(async move { election.release().await });
                }
                3 => server.set(|state| {
                    if let Some(lease) = state.leases.get_mut(&super::name_of(controller)) {
                        lease["spec"]["renewTime"] = json!("1970-01-01T00:00:00.000000Z");
                    }
                }),
                _ => server.set(|state| {
                    state.cut_off.clear();
                    state.mute.clear();
                }),
            }
            pass(&all, Duration::from_millis(100 + random(12_000))).await;
        }
        server.set(|state| {
            state.cut_off.clear();
            state.mute.clear();
        });
        pass(&all, seconds(45)).await;
        assert_eq!(hosts.iter().map(Host::held).sum::<usize>(), 3, "seed {seed}");
    }
}

#[test]
fn timings_with_two_holders_are_refused() {
    let of = |lease: u64, renew: u64, retry: u64| {
        Timing { lease_duration: seconds(lease), renew_deadline: seconds(renew), retry_period: seconds(retry) }.check()
    };
    assert!(Timing::default().check().is_ok());
    assert!(of(3, 2, 0).is_err());
    for (lease, renew, retry) in [(10, 10, 2), (15, 4, 2), (9, 10, 1)] {
        assert!(of(lease, renew, retry).is_err(), "{lease} {renew} {retry}");
    }
}
