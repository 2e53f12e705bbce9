//! What neither the host nor the API server may do, whatever a plugin wants.

use super::verdict::{Finding, Oracle};
use crate::harness::World;

/// No panic of the host or of the API server, and no 5xx in what the API server answered to the host.
///
/// # Errors
///
/// What did not hold.
pub fn unharmed(world: &World) -> Result<(), Finding> {
    let found = |text| Err(Finding::new(Oracle::Unharmed, text));
    if let Err(panics) = world.no_panic() {
        return found(format!("{panics:#}"));
    }
    let journal = world.kubernetes_gate.journal();
    let mut failures = journal.iter().filter(|one| one.status.is_some_and(|status| status.is_server_error()));
    failures.next().map_or(Ok(()), |first| found(format!("the API server failed: {first}")))
}
