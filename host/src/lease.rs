//! Leader election with Leases: acquire, renew, release, fencing. Each plugin has one Lease; the host's own duties have another.
//!
//! The holder of a plugin's Lease has a [`Term`], the fencing token. A term ends by itself unless the API server confirms a renewal of
//! the Lease. Writes and HTTP requests of a plugin begin only within a term, and its end cancels those in flight. Hosts without the Lease
//! are standbys: they fill their caches, compile their components, answer admission reviews, and wait.
//!
//! Requests for Leases have a connection and a thread of their own, so no plugin can delay them. Without [`Options`] the host uses no
//! Leases, and every term lasts for ever.
//!
//! # Source
//!
//! The algorithm is that of client-go, `tools/leaderelection/leaderelection.go`. A host may acquire a Lease that did not change for the
//! Lease's duration, by the clock of that host. A resourceVersion guards every update. Oarlock differs in two points. A holder stops at
//! once when its Lease is deleted or acquired by another host, and its time counts from before the renewal request.

mod bequest;
mod client;
mod office;
mod record;
mod seat;
mod share;
mod term;

pub use seat::Seat;
pub use term::Term;

use crate::api;
use anyhow::Context as _;
use office::Office;
use std::sync::Arc;
use std::time::Duration;

/// The Lease of the host's own duties: webhook configurations, and events about initializers.
pub const HOST_LEASE: &str = "oarlock";

/// The name of a plugin's Lease.
#[must_use]
pub fn name_of(plugin: &str) -> String {
    format!("oarlock-{plugin}")
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
    office: Option<Arc<Office>>,
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
    pub async fn start(options: Options, client: api::client::Options) -> anyhow::Result<Self> {
        let config = api::client::load_config(&client).await?;
        let (started, office) = tokio::sync::oneshot::channel();
        let work = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let Ok(runtime) = runtime else { return };
            runtime.block_on(async {
                let office = api::client::renewing(client, config).map(|client| Office::new(options, client));
                let running = office.as_ref().ok().map(Arc::clone);
                if started.send(office).is_err() {
                    return;
                }
                if let Some(office) = running {
                    office.run().await;
                }
            });
        };
        std::thread::Builder::new().name("leases".to_owned()).spawn(work).context("no thread for the Leases")?;
        let office = office.await.context("the thread of the Leases ended")??;
        Ok(Self { office: Some(office) })
    }

    /// The [`Seat`] of a plugin. It competes for the Lease only after [`Seat::compete`].
    #[must_use]
    pub fn seat(&self, plugin: &str) -> Seat {
        match &self.office {
            Some(office) => office.seat(&name_of(plugin)),
            None => Seat::for_ever(),
        }
    }

    /// The [`Seat`] of the host's own duties, which competes at once.
    #[must_use]
    pub fn host_seat(&self) -> Seat {
        match &self.office {
            Some(office) => {
                let seat = office.seat(HOST_LEASE);
                seat.compete(&[]);
                seat
            }
            None => Seat::for_ever(),
        }
    }

    /// The holder identity of this host. None: no leader election.
    #[must_use]
    pub fn identity(&self) -> Option<&str> {
        self.office.as_ref().map(|office| office.identity())
    }

    /// Namespace of the Leases. None: no leader election.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.office.as_ref().map(|office| office.namespace())
    }

    /// Stops acquiring Leases; the host keeps those it holds until their seats release them.
    pub fn stop_taking(&self) {
        if let Some(office) = &self.office {
            office.stop_taking();
        }
    }
}

#[cfg(test)]
mod tests;
