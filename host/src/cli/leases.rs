//! Command-line options of leader election.

use super::impersonation::namespace;
use clap::Args;
use oarlock::lease::{Options, Timing};
use std::time::Duration;

/// The file with the name of this machine or Pod.
const HOST_NAME: &str = "/proc/sys/kernel/hostname";

#[derive(Debug, Args)]
pub(super) struct LeaseArgs {
    /// Share the plugins with other hosts: for each plugin, a Lease in this namespace elects the host that reconciles [default: this is the
    /// only host]
    #[arg(long, value_name = "NAMESPACE", value_parser = namespace)]
    lease_namespace: Option<String>,

    /// Name of this host in Leases. The host adds a random part [default: the name of the Pod or the machine]
    #[arg(long, value_name = "NAME", requires = "lease_namespace")]
    identity: Option<String>,

    /// Time without a renewal after which another host takes over the Lease
    #[arg(long, value_name = "SECONDS", requires = "lease_namespace", default_value_t = seconds(Timing::default().lease_duration))]
    lease_duration_seconds: u32,

    /// Time without a successful renewal after which the leader stops reconciling
    #[arg(long, value_name = "SECONDS", requires = "lease_namespace", default_value_t = seconds(Timing::default().renew_deadline))]
    lease_renew_deadline_seconds: u32,

    /// Time between two attempts to acquire or renew a Lease
    #[arg(long, value_name = "SECONDS", requires = "lease_namespace", default_value_t = seconds(Timing::default().retry_period))]
    lease_retry_period_seconds: u32,
}

impl LeaseArgs {
    /// None: this is the only host.
    pub(super) fn options(self) -> anyhow::Result<Option<Options>> {
        let Some(namespace) = self.lease_namespace else { return Ok(None) };
        let timing = Timing {
            lease_duration: Duration::from_secs(self.lease_duration_seconds.into()),
            renew_deadline: Duration::from_secs(self.lease_renew_deadline_seconds.into()),
            retry_period: Duration::from_secs(self.lease_retry_period_seconds.into()),
        };
        timing.check().map_err(anyhow::Error::msg)?;
        Ok(Some(Options { namespace, identity: self.identity.unwrap_or_else(own_name), timing }))
    }
}

fn seconds(duration: Duration) -> u32 {
    u32::try_from(duration.as_secs()).unwrap_or(u32::MAX)
}

/// The name of the Pod or the machine.
pub(super) fn own_name() -> String {
    let pod = std::env::var("POD_NAME").ok();
    let name = pod.or_else(|| std::fs::read_to_string(HOST_NAME).ok());
    name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).unwrap_or_else(|| "oarlock".to_owned())
}
