//! Leader election with Leases: acquire, renew, release, fencing. Each controller has one Lease; the host's own duties have another.
//!
//! The holder of a controller's Lease has a [`LeadershipGuard`], the fencing token. Leadership ends by itself unless the API server confirms a
//! renewal of the Lease. Writes and HTTP requests of a controller begin only within this leadership, and its end cancels those in flight. Hosts
//! without the Lease are standbys: they fill their caches, compile their components, answer admission reviews, and wait.
//!
//! Requests for Leases have a connection and a thread of their own, so no controller can delay them. Without [`Options`] the host uses no
//! Leases, and leadership lasts for ever.
//!
//! # Source
//!
//! The algorithm is that of client-go, `tools/leaderelection/leaderelection.go`. A host may acquire a Lease that did not change for the
//! Lease's duration, by the clock of that host. A resourceVersion guards every update. Oarlock differs in two points. A holder stops at
//! once when its Lease is deleted or acquired by another host, and its time counts from before the renewal request.

mod client;
mod election;
mod elector;
mod guard;
mod handover_hints;
mod rebalance;
mod record;

pub use election::LeaderElection;
pub use guard::LeadershipGuard;

use anyhow::Context as _;
use elector::LeaderElector;
use std::sync::Arc;
use std::time::Duration;

/// The Lease of the host's own duties: webhook configurations, and events about initializers.
pub const HOST_LEASE: &str = "oarlock";

/// The name of a controller's Lease.
#[must_use]
pub fn name_of(controller: &str) -> String {
    format!("oarlock-{controller}")
}

/// Configuration of leader election.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Namespace of the Leases.
    pub namespace: String,
    /// Name of this host, for people. The elector adds a random part, so that the identities of two processes always differ.
    pub identity: String,
    /// When the holder renews a Lease, and when it loses it.
    pub timing: Timing,
}

/// Durations of leader election. The defaults are those of client-go: 15, 10 and 2 seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Other hosts may acquire a Lease that did not change for this long.
    pub lease_duration: Duration,
    /// The holder stops when it could not renew the Lease for this long.
    pub renew_deadline: Duration,
    /// Time between two attempts.
    pub retry_period: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { lease_duration: seconds(15), renew_deadline: seconds(10), retry_period: seconds(2) }
    }
}

impl Timing {
    /// Validates the durations: a holder must stop before another host acquires the Lease, and must have tried to renew it more than
    /// once.
    ///
    /// # Errors
    ///
    /// A sentence for people.
    pub fn check(&self) -> Result<(), String> {
        let Self { lease_duration, renew_deadline, retry_period } = self;
        if renew_deadline >= lease_duration {
            return Err(format!(
                "the renew deadline ({renew_deadline:?}) must be shorter than the lease duration ({lease_duration:?}): else two hold it"
            ));
        }
        if retry_period.mul_f64(1.0 + JITTER) > *renew_deadline {
            return Err(format!(
                "the renew deadline ({renew_deadline:?}) must be longer than {:.1} retry periods ({retry_period:?})",
                1.0 + JITTER
            ));
        }
        if retry_period.is_zero() {
            return Err("the retry period must not be zero".to_owned());
        }
        Ok(())
    }
}

/// Jitter: two attempts are up to this share of the retry period further apart.
const JITTER: f64 = 1.2;

/// Leader election of this host. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Leases {
    elector: Option<Arc<LeaderElector>>,
}

impl Leases {
    /// No leader election: this is the only host.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Starts leader election on a thread of its own, which ends with the process.
    ///
    /// # Errors
    ///
    /// The address or the credentials of the API server cannot be used, or no thread can be started.
    pub async fn start(options: Options, client: oarlock_api::client::Options) -> anyhow::Result<Self> {
        let config = oarlock_api::client::load_config(&client).await?;
        let (started, elector) = tokio::sync::oneshot::channel();
        let work = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let Ok(runtime) = runtime else { return };
            runtime.block_on(async {
                let elector =
                    oarlock_api::client::renewing(client, config).map(|client| LeaderElector::new(options, client));
                let running = elector.as_ref().ok().map(Arc::clone);
                if started.send(elector).is_err() {
                    return;
                }
                if let Some(elector) = running {
                    elector.run().await;
                }
            });
        };
        std::thread::Builder::new().name("leases".to_owned()).spawn(work).context("no thread for the Leases")?;
        let elector = elector.await.context("the thread of the Leases ended")??;
        Ok(Self { elector: Some(elector) })
    }

    /// Leader election on the runtime of its caller, as long as the returned future runs. For a simulation, which has one thread: the clock
    /// of that runtime is the clock of the Leases.
    pub fn on_this_runtime(options: Options, client: kube::Client) -> (Self, impl Future<Output = ()>) {
        let elector = LeaderElector::new(options, client);
        let running = Arc::clone(&elector);
        (Self { elector: Some(elector) }, async move { running.run().await })
    }

    /// The [`LeaderElection`] of a controller. It competes for the Lease only after [`LeaderElection::compete`].
    #[must_use]
    pub fn election(&self, controller: &str) -> LeaderElection {
        match &self.elector {
            Some(elector) => elector.election(&name_of(controller)),
            None => LeaderElection::for_ever(),
        }
    }

    /// The [`LeaderElection`] of the host's own duties, which competes at once.
    #[must_use]
    pub fn host_election(&self) -> LeaderElection {
        match &self.elector {
            Some(elector) => {
                let election = elector.election(HOST_LEASE);
                election.compete(&[]);
                election
            }
            None => LeaderElection::for_ever(),
        }
    }

    /// The holder identity of this host. None: no leader election.
    #[must_use]
    pub fn identity(&self) -> Option<&str> {
        self.elector.as_ref().map(|elector| elector.identity())
    }

    /// Namespace of the Leases. None: no leader election.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.elector.as_ref().map(|elector| elector.namespace())
    }

    /// Stops acquiring Leases; the host keeps those it holds until their elections release them.
    pub fn stop_acquiring(&self) {
        if let Some(elector) = &self.elector {
            elector.stop_acquiring();
        }
    }
}

#[cfg(test)]
mod tests;
