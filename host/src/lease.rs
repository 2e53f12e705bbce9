//! Who reconciles what, when several hosts run: one Lease per plugin, and one for what hosts do as such.
//!
//! Whoever holds a plugin's Lease has a [`Term`]: a span of time that ends by itself unless the API server confirms the Lease again. No
//! write and no HTTP request of a plugin begins outside of a term, and those under way are cut off at its end. The others are
//! standbys: their caches are filled and their components compiled, they answer admission, and wait.
//!
//! The Leases' own requests go over a connection of their own and are made by a thread of their own: nothing a plugin does
//! keeps them waiting. Without [`Options`] there are no Leases, and every term lasts for ever.
//!
//! # Source
//!
//! The algorithm is client-go's, `tools/leaderelection/leaderelection.go`: a Lease that has not changed for as long as it says may be
//! taken, by the clock of whoever looks, and every update is guarded by the resourceVersion. What differs: a holder gives up at once when
//! its Lease is gone or another's, and its time counts from before the request that renewed it.

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

/// The Lease of what a host does as such: the webhook configurations, and events about initializers.
pub const HOST_LEASE: &str = "oarlock";

/// The Lease of a plugin.
#[must_use]
pub fn name_of(plugin: &str) -> String {
    format!("oarlock-{plugin}")
}

/// How Leases are used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Where the Leases are.
    pub namespace: String,
    /// Who this is, for people. A random part is added, so that no two processes are taken for one.
    pub identity: String,
    /// When they are renewed and lost.
    pub timing: Timing,
}

/// How long a Lease lasts, and what follows from it. By default as client-go's: 15, 10 and 2 seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Others may take a Lease that they have not seen change for this long.
    pub lease_duration: Duration,
    /// Its holder stops when it could not renew it for this long.
    pub renew_deadline: Duration,
    /// Between two attempts.
    pub retry_period: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { lease_duration: seconds(15), renew_deadline: seconds(10), retry_period: seconds(2) }
    }
}

impl Timing {
    /// Says what is wrong with it, if anything is: a holder must have stopped before others take over, and have tried more than once.
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

/// Between two attempts to take a Lease there is up to this share of the retry period more.
const JITTER: f64 = 1.2;

/// The Leases of this host. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Leases {
    office: Option<Arc<Office>>,
}

impl Leases {
    /// No Leases: this is the only host.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Begins to look after Leases, in a thread of its own. It ends with the process.
    ///
    /// # Errors
    ///
    /// The API server's address or credentials cannot be used, or there is no thread to be had.
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

    /// The place of a plugin; it does not compete for its Lease before [`Seat::compete`].
    #[must_use]
    pub fn seat(&self, plugin: &str) -> Seat {
        match &self.office {
            Some(office) => office.seat(&name_of(plugin)),
            None => Seat::for_ever(),
        }
    }

    /// The place of the host itself, competing.
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

    /// As whom this host holds Leases. None: there are no Leases.
    #[must_use]
    pub fn identity(&self) -> Option<&str> {
        self.office.as_ref().map(|office| office.identity())
    }

    /// Where the Leases are. None: there are none.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.office.as_ref().map(|office| office.namespace())
    }

    /// Takes no further Lease; those that are held stay until their seats release them.
    pub fn stop_taking(&self) {
        if let Some(office) = &self.office {
            office.stop_taking();
        }
    }
}

#[cfg(test)]
mod tests;
