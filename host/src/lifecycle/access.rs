//! RBAC checks of a plugin's grant. The host asks the API server when it loads a version, logs missing permissions once, and shows them
//! until they are allowed.

use super::Message;
use super::candidate::{CandidateVersion, Granting};
use super::registry::Task;
use crate::apply::access::{self, RequiredPermissions};
use crate::apply::{RequestSender, WriteIdentity};
use crate::controller::{Journals, Shared};
use crate::lease::Leases;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

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

impl Access {
    /// Stores and logs the missing permissions.
    pub(super) fn answered(&mut self, plugin: &str, required: Arc<RequiredPermissions>, missing: Vec<String>) {
        if missing.is_empty() {
            self.allowed = Some(required);
            if !self.missing.is_empty() {
                tracing::info!(plugin, "the API server now allows everything in the grant");
            }
        } else if missing != self.missing {
            let missing = missing.join("; ");
            tracing::warn!(
                plugin,
                missing,
                "the API server does not allow everything in the grant: apply the output of oarlock rbac"
            );
        }
        self.missing = missing;
    }
}

/// Asks the API server for the permissions of plugins. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct AccessChecker {
    requests: Arc<RequestSender>,
    leases: Leases,
    /// Namespace of the journals of canaries.
    journals: Option<Arc<str>>,
    messages: mpsc::UnboundedSender<Message>,
}

impl AccessChecker {
    pub(super) fn new(shared: &Shared, messages: mpsc::UnboundedSender<Message>) -> Self {
        let journals = shared.journals.as_ref().map(Journals::namespace);
        Self { requests: Arc::clone(shared.writer.requests()), leases: shared.leases.clone(), journals, messages }
    }

    /// Checks the permissions of a version, unless the API server allowed exactly these before.
    ///
    /// * `known` - the result of the last check.
    pub(super) fn check(&self, known: &mut Access, candidate: &CandidateVersion) {
        let Granting::Grant { grants, .. } = &candidate.granting else { return };
        let (requests, messages, name) =
            (Arc::clone(&self.requests), self.messages.clone(), candidate.name().to_owned());
        let write_identity = WriteIdentity::new(&name, Arc::new(*grants.clone()));
        let plural = |kind: &oarlock_manifest::Kind| candidate.plurals.get(kind).cloned();
        let required = Arc::new(access::required_permissions(
            &requests,
            &write_identity,
            &candidate.manifest(),
            &plural,
            self.leases.namespace(),
            self.journals.as_deref(),
        ));
        if known.allowed.as_ref() == Some(&required) {
            return;
        }
        known.allowed = None;
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
        known.task = Some(Task(task.abort_handle()));
    }
}
