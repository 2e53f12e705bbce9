//! RBAC checks of a plugin's grant. The host asks the API server when it loads a version, logs missing permissions once, and shows them
//! until they are allowed.

use super::registry::{CandidateVersion, Granting, Plugin, Task};
use super::{Lifecycle, Message, lock};
use crate::apply::WriteIdentity;
use crate::apply::access::{self, RequiredPermissions};
use std::sync::Arc;
use std::time::Duration;

/// Interval of repeated checks while a permission is missing.
const AGAIN: Duration = Duration::from_secs(15);

/// The result of a plugin's RBAC checks.
#[derive(Debug, Default)]
pub(super) struct Access {
    /// Missing permissions, one line each; see [`access::check`].
    pub(super) missing: Vec<String>,
    /// The permissions of the last check in which none was missing.
    allowed: Option<Arc<RequiredPermissions>>,
    /// The running check; a new check aborts it.
    task: Option<Task>,
}

impl Lifecycle {
    /// Checks the permissions of a version, unless the API server allowed exactly these before.
    pub(super) fn ask_access(&self, plugin: &mut Plugin, candidate: &CandidateVersion) {
        let Granting::Grant { grants, .. } = &candidate.granting else { return };
        let (requests, messages, name) =
            (Arc::clone(self.shared.writer.requests()), self.messages.clone(), candidate.name().to_owned());
        let write_identity = WriteIdentity::new(&name, Arc::new(*grants.clone()));
        let plural = |kind: &oarlock_manifest::Kind| candidate.plurals.get(kind).cloned();
        let required = Arc::new(access::required_permissions(
            &requests,
            &write_identity,
            &candidate.manifest(),
            &plural,
            self.shared.leases.namespace(),
        ));
        if plugin.access.allowed.as_ref() == Some(&required) {
            return;
        }
        plugin.access.allowed = None;
        let task = tokio::spawn(async move {
            loop {
                let missing = access::check(&requests, &write_identity, &required).await;
                let done = missing.is_empty();
                let sent =
                    messages.send(Message::Access { plugin: name.clone(), required: Arc::clone(&required), missing });
                if done || sent.is_err() {
                    return;
                }
                tokio::time::sleep(AGAIN).await;
            }
        });
        plugin.access.task = Some(Task(task.abort_handle()));
    }

    /// Stores and logs the missing permissions.
    pub(super) fn access(&mut self, name: &str, required: Arc<RequiredPermissions>, missing: Vec<String>) {
        let mut registry = lock(&self.registry);
        let Some(plugin) = registry.plugins.get_mut(name) else { return };
        if missing.is_empty() {
            plugin.access.allowed = Some(required);
            if !plugin.access.missing.is_empty() {
                tracing::info!(plugin = name, "the API server now allows everything in the grant");
            }
        } else if missing != plugin.access.missing {
            let missing = missing.join("; ");
            tracing::warn!(
                plugin = name,
                missing,
                "the API server does not allow everything in the grant: apply the output of oarlock rbac"
            );
        }
        plugin.access.missing = missing;
    }
}
