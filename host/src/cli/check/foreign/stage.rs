//! One world of a command: an embedded API server at a port, the command, and the steps of a program in real time.

use super::activity::{Activity, Call, Listener, Pace};
use crate::cli::check::compare::{identity, is_same_object};
use crate::cli::check::oracles::{Found, Oracle};
use crate::cli::check::program::documents;
use crate::cli::check::source::text;
use crate::cli::folder::Folder;
use crate::cli::group::Group;
use crate::cli::test::scenarios::{Cluster, ObjectRef, Seen, said};
use anyhow::Context as _;
use axum::extract::Request;
use axum::middleware::{self, Next};
use axum::response::Response;
use oarlock_devserver::faults::Rules;
use oarlock_devserver::{ClusterCopy, DevServer, Options, StaticTokens};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// The user of the command: faults find it by this name.
const USER: &str = "command";

/// Time between two looks.
const LOOK: Duration = Duration::from_millis(20);

/// Longest pause after a step in which nothing happens.
const PAUSE: Duration = Duration::from_secs(1);

/// Least real time in which a command must send its first request. It has as much as for everything else it must do.
const START: Duration = Duration::from_secs(30);

/// Real time in which a command that has something to do for an object begins.
const STIR: Duration = Duration::from_secs(15);

/// Requests in a second while nothing changes, from which on they count as a loop.
const LOOP: u64 = 5;

/// Lines of output of a command that ended, or that does nothing.
const LINES: usize = 4;

/// Why a program goes no further.
#[derive(Debug)]
pub(super) enum Halt {
    Found(Found),
    /// The machine fails, or the command cannot be used.
    Unusable(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Halt {
    fn from(error: E) -> Self {
        Self::Unusable(error.into())
    }
}

/// What halts with an oracle.
pub(super) fn halt<T>(oracle: Oracle, shape: impl Into<String>, lines: Vec<String>) -> Result<T, Halt> {
    Err(Halt::Found(Found { oracle, shape: shape.into(), lines, checks: Vec::new() }))
}

/// See the module. The process group ends with this.
pub(super) struct Stage {
    server: Arc<ClusterCopy>,
    serving: JoinHandle<()>,
    cluster: Cluster,
    activity: Activity,
    listener: Listener,
    /// With `{}` for the kubeconfig.
    command: String,
    secrets: Vec<String>,
    folder: Folder,
    group: Option<Group>,
    pub(super) hurry: Hurry,
}

/// How much time the command gets to do what it must.
#[derive(Clone, Debug, Default)]
pub(super) struct Hurry {
    pub(super) settle: Duration,
    /// What was found before needs less.
    pub(super) short: Duration,
    pub(super) known: BTreeSet<(Oracle, String)>,
}

impl Hurry {
    pub(super) fn bound(&self, oracle: Oracle, shape: &str) -> Duration {
        let known = self.known.contains(&(oracle, shape.to_owned()));
        if known { self.short.min(self.settle) } else { self.settle }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Stage {
    /// Starts an API server with objects, and the command. Must be called on a runtime.
    pub(super) async fn start(
        command: &str,
        (objects, secrets): (&[Value], &[String]),
        pace: &Arc<Pace>,
        hurry: Hurry,
    ) -> Result<Self, Halt> {
        let tokens = StaticTokens::parse(&format!("{USER},{USER},1,\"system:masters\"\n"))?;
        let server = Arc::new(DevServer::copy_of(Vec::new(), Options::default().tokens(tokens)));
        let activity = Activity::new(Arc::clone(pace));
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let serving = tokio::spawn(serve(listener, Arc::clone(&server), activity.clone()));
        let folder = Folder::create("check")?;
        std::fs::write(folder.path.join("kubeconfig"), kubeconfig(&format!("http://{address}")))?;
        let cluster = Cluster::new(kube::Client::new(server.router(), "default"));
        let (command, secrets) = (command.to_owned(), secrets.to_vec());
        let (listener, group) = Default::default();
        let mut stage = Self { server, serving, cluster, activity, listener, command, secrets, folder, group, hurry };
        for object in objects {
            let placed = stage.cluster.place(object).await;
            placed.map_err(|lines| anyhow::anyhow!("--cluster: {}", lines.join("; ")))?;
        }
        stage.run().await?;
        Ok(stage)
    }

    /// Starts the command, and waits for its first request.
    async fn run(&mut self) -> Result<(), Halt> {
        let kubeconfig = self.folder.path.join("kubeconfig").display().to_string();
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(self.command.replace("{}", &kubeconfig)).env("KUBECONFIG", &kubeconfig);
        let group = Group::tapped(shell, self.listener.tap(self.secrets.clone()))?;
        self.activity.runs(group.id());
        self.group = Some(group);
        let (_, before) = self.activity.counts();
        let bound = START.max(self.hurry.settle);
        let until = Instant::now() + bound;
        while self.activity.counts().1 == before && Instant::now() < until {
            self.look().await?;
        }
        if self.activity.counts().1 == before {
            let seconds = bound.as_secs();
            let output = self.group.as_ref().map(Group::output).unwrap_or_default();
            let said = last_lines(&output).join(" | ");
            let said = if said.is_empty() { String::new() } else { format!("; it printed: {said}") };
            let why = format!("the command sends no request to the API server within {seconds} s (--settle-seconds)");
            let how = "it gets KUBECONFIG, and the file's name in place of {}";
            return Err(Halt::Unusable(anyhow::anyhow!("{why}: {how}{said}")));
        }
        self.activity.begin();
        Ok(())
    }

    /// Ends the command.
    ///
    /// * `crash` - by force.
    async fn end(&mut self, crash: bool) {
        self.activity.runs(None);
        match self.group.take() {
            Some(group) if crash => group.kill().await,
            Some(group) => group.end().await,
            None => {}
        }
    }

    /// Ends the command as a signal does, and starts it again.
    pub(super) async fn restart(&mut self) -> Result<(), Halt> {
        self.end(false).await;
        self.run().await
    }

    /// Lets a moment pass. Halts if the command has ended by itself, or has said a secret.
    async fn look(&mut self) -> Result<(), Halt> {
        tokio::time::sleep(LOOK).await;
        if self.listener.heard() {
            return halt(Oracle::Secret, "output", vec!["the output of the command has the value of a Secret".into()]);
        }
        let over = match &mut self.group {
            Some(group) => group.is_over()?,
            None => false,
        };
        if !over {
            return Ok(());
        }
        let killed = self.activity.was_killed();
        self.activity.runs(None);
        let Some(mut group) = self.group.take() else { return Ok(()) };
        let ended = group.ended().await?;
        if killed {
            return Ok(());
        }
        let last = last_lines(&ended.output).into_iter();
        let lines = std::iter::once(format!("the command ended: {}", ended.status)).chain(last).collect();
        halt(Oracle::Exit, "", lines)
    }

    /// Plays a step of a program.
    pub(super) async fn step(&mut self, step: &Value) -> Result<(), Halt> {
        let (name, body) = step.as_object().and_then(|step| step.iter().next()).context("an empty step")?;
        match name.as_str() {
            "apply" => {
                if body.get("rejected").is_none() {
                    self.activity.begin();
                }
                for document in documents(step) {
                    let written = self.cluster.apply(document).await.map_err(rejected)?;
                    match (written, body.get("rejected").is_some()) {
                        (Err(error), false) => {
                            return Err(rejected(vec![format!("the API server rejected it: {}", said(&error))]));
                        }
                        (Ok(_), true) => {
                            return Err(rejected(vec!["the API server accepted an invalid object".into()]));
                        }
                        _ => {}
                    }
                }
            }
            "delete" => {
                let named: ObjectRef = serde_json::from_value(body.get("ref").cloned().unwrap_or_default())?;
                self.activity.begin();
                let deleted = self.cluster.delete(&named).await.map_err(rejected)?;
                if let Err(error) = deleted {
                    return Err(rejected(vec![format!("the API server rejected the deletion: {}", said(&error))]));
                }
            }
            "wait" => return self.gone(body).await,
            "advance" => return self.rest().await,
            "restart" => {
                self.end(body.get("crash").is_some()).await;
                self.run().await?;
            }
            "fault" => {
                self.activity.disturb();
                let mut rule = body.clone();
                let fields = rule.as_object_mut().context("no rule")?;
                let requests = fields.entry("requests").or_insert_with(|| json!({}));
                requests.as_object_mut().context("no requests")?.insert("user".into(), USER.into());
                self.server.faults().add(Rules::parse(&rule.to_string())?)?;
            }
            "heal" => self.server.faults().clear(),
            other => return Err(anyhow::anyhow!("unknown step {other:?}").into()),
        }
        self.pause().await
    }

    /// Waits until the command has likely reacted to a step.
    async fn pause(&mut self) -> Result<(), Halt> {
        let until = Instant::now() + self.hurry.settle.min(PAUSE * 10);
        let pause = (self.activity.quiet() / 2).min(PAUSE);
        while self.activity.idle() < pause && Instant::now() < until {
            self.look().await?;
        }
        Ok(())
    }

    /// Waits until the command has changed nothing for a while. Halts if it does not stop.
    pub(super) async fn rest(&mut self) -> Result<(), Halt> {
        let (began, (before, _)) = (Instant::now(), self.activity.counts());
        let bound = self.hurry.bound(Oracle::Quiet, "");
        while self.activity.idle() < self.activity.quiet() {
            self.look().await?;
            if began.elapsed() >= bound.max(self.activity.quiet() * 2) {
                let changes = self.activity.counts().0 - before;
                let within = began.elapsed().as_secs();
                let line = format!("changes: expected none, found {changes} in {within} s, although nothing changed");
                return halt(Oracle::Quiet, "", std::iter::once(line).chain(self.activity.recent()).collect());
            }
        }
        self.activity.rest();
        Ok(())
    }

    /// Waits until the command has changed something, but not for ever.
    pub(super) async fn stir(&mut self) -> Result<(), Halt> {
        let (until, (before, _)) = (Instant::now() + STIR.min(self.hurry.settle), self.activity.counts());
        while self.activity.counts().0 == before && Instant::now() < until {
            self.look().await?;
        }
        Ok(())
    }

    /// Watches a command that is done. Halts if it asks again and again.
    pub(super) async fn idle(&mut self) -> Result<(), Halt> {
        let (time, before) = (self.activity.quiet().max(Duration::from_secs(1)), self.activity.counts());
        let until = Instant::now() + time;
        while Instant::now() < until {
            self.look().await?;
        }
        let (changes, requests) = self.activity.counts();
        if changes != before.0 {
            // Slower than all before: from now on it gets more time.
            return self.rest().await;
        }
        let (requests, seconds) = (requests - before.1, time.as_secs().max(1));
        if requests <= LOOP * seconds {
            return Ok(());
        }
        let line = format!("requests: expected at most {LOOP} in a second, found {requests} in {seconds} s");
        halt(Oracle::Loop, "", vec![line])
    }

    /// Waits until an object does not exist.
    async fn gone(&mut self, named: &Value) -> Result<(), Halt> {
        let bound = self.hurry.bound(Oracle::Deletion, text(named, "/kind"));
        let (until, wanted) = (Instant::now() + bound, identity_of(named));
        while self.cluster.objects().await.iter().any(|object| is_same_object(object, &wanted)) {
            if Instant::now() >= until {
                let (kind, name, seconds) = (text(named, "/kind"), text(named, "/name"), bound.as_secs());
                return halt(Oracle::Deletion, kind, vec![format!("{kind} {name} is still there after {seconds} s")]);
            }
            self.look().await?;
        }
        Ok(())
    }

    /// Everything there is.
    pub(super) async fn seen(&self) -> Seen {
        let events = self.cluster.list_at("/api/v1/events").await;
        // The command's output is looked at as it comes.
        Seen { objects: self.cluster.objects().await, events, ..Seen::default() }
    }

    /// The versions of all objects.
    pub(super) async fn versions(&self) -> BTreeMap<String, String> {
        let objects = self.cluster.objects().await;
        let version = |object: &Value| text(object, "/metadata/resourceVersion").to_owned();
        objects.iter().map(|object| (identity(object).to_string(), version(object))).collect()
    }

    /// The last changes since the last step or start, for people.
    pub(super) fn recent(&self) -> Vec<String> {
        self.activity.recent()
    }
}

/// The last lines of an output.
fn last_lines(output: &str) -> Vec<String> {
    let lines: Vec<&str> = output.lines().filter(|line| !line.trim().is_empty()).collect();
    lines.iter().skip(lines.len().saturating_sub(LINES)).map(|line| (*line).to_owned()).collect()
}

fn rejected(lines: Vec<String>) -> Halt {
    Halt::Found(Found { oracle: Oracle::Step, shape: "apply".into(), lines, checks: Vec::new() })
}

/// The identity of what a step refers to.
fn identity_of(named: &Value) -> Value {
    let metadata = json!({"name": named.get("name"), "namespace": named.get("namespace")});
    identity(&json!({"apiVersion": named.get("apiVersion"), "kind": named.get("kind"), "metadata": metadata}))
}

fn kubeconfig(url: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\nclusters:\n- name: check\n  cluster: {{server: {url}, insecure-skip-tls-verify: \
         true}}\ncontexts:\n- name: check\n  context: {{cluster: check, user: check, namespace: \
         default}}\ncurrent-context: check\nusers:\n- name: check\n  user: {{token: {USER}}}\n"
    )
}

/// Serves the command: takes note of its requests, and kills it where a rule says so.
async fn serve(listener: TcpListener, server: Arc<ClusterCopy>, activity: Activity) {
    let router = server.router();
    let through = move |request: Request, next: Next| {
        let (server, activity) = (Arc::clone(&server), activity.clone());
        async move {
            let (call, before) = (Call::of(&request), server.revision());
            let response: Response = next.run(request).await;
            if call.writes() && server.faults().rules().iter().any(|rule| rule.crashed) {
                activity.kill();
            }
            activity.note(call, server.revision() != before);
            response
        }
    };
    // It ends with its task.
    let _ = axum::serve(listener, router.layer(middleware::from_fn(through))).await;
}
