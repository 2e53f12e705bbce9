//! The `cluster` import: reads through the host's caches.

use super::DESCRIBING;
use crate::api::{GroupVersionKind, Selector};
use crate::apply::WriteError;
use crate::informer::{ListOptions, Object};
use crate::plugin::bindings::{cluster, types};
use crate::plugin::instance::{State, key_from, kind_from};
use crate::plugin::reads::{ReadError, ReadObserver, Reads};
use std::sync::Arc;

type HostResult<T> = wasmtime::Result<Result<T, types::Error>>;

impl State {
    /// Passes a read to the observer, if it is one of a watched kind.
    fn observe(&self, kind: &GroupVersionKind, of: impl FnOnce(&dyn ReadObserver)) {
        if let (Some(reads), Some(observer)) = (&self.run.reads, &self.run.observer)
            && reads.watches(kind)
        {
            of(observer.as_ref());
        }
    }

    /// Runs a read with a deadline that leaves the guest time for the error.
    async fn read<T>(&self, work: impl AsyncFnOnce(&Reads) -> Result<T, ReadError>) -> Result<T, types::Error> {
        let Some(reads) = &self.run.reads else { return Err(types::Error::Terminal(DESCRIBING.to_owned())) };
        match tokio::time::timeout_at(self.patience(), work(reads)).await {
            Ok(read) => read.map_err(error),
            Err(_elapsed) => {
                let message = "the API server has not answered within the deadline of the reconcile".to_owned();
                Err(types::Error::Transient(types::Retry { delay_ms: None, message }))
            }
        }
    }

    /// * `indexed` - the name of an index, and a value in it.
    async fn list(
        &self,
        kind: types::GroupVersionKind,
        options: cluster::ListOptions,
        indexed: Option<(String, String)>,
    ) -> Result<Vec<String>, types::Error> {
        let label_selector = Selector::bounded(&options.label_selector).map_err(types::Error::Terminal)?;
        let kind = kind_from(kind);
        let found = self.read(async |reads| {
            let indexed = indexed.map(|(index, value)| reads.index(&kind, &index, value)).transpose()?;
            let options = ListOptions {
                namespace: Some(options.namespace).filter(|n| !n.is_empty()),
                label_selector: Some(label_selector).filter(|s| !s.is_empty()),
                owner_uid: Some(options.owner_uid).filter(|u| !u.is_empty()),
                indexed,
                limit: usize::try_from(options.limit).ok().filter(|l| *l > 0),
            };
            self.observe(&kind, |observer| observer.list(&kind, &options));
            reads.list(&kind, &options).await
        });
        self.texts(&found.await?)
    }

    /// The texts of the objects, if they fit into one read. The size is checked before anything is copied.
    fn texts(&self, found: &[Arc<Object>]) -> Result<Vec<String>, types::Error> {
        let bytes = found.iter().map(|object| object.json().len()).sum();
        self.check_size(bytes, found.len())?;
        Ok(found.iter().map(|object| object.json().to_string()).collect())
    }

    fn text(&self, found: Option<&Arc<Object>>) -> Result<Option<String>, types::Error> {
        self.texts(found.map(std::slice::from_ref).unwrap_or_default()).map(|mut texts| texts.pop())
    }

    fn check_size(&self, bytes: usize, objects: usize) -> Result<(), types::Error> {
        let limit = self.limits().read_kib;
        if bytes <= (limit as usize) << 10 {
            return Ok(());
        }
        let kib = bytes.div_ceil(1 << 10);
        Err(types::Error::Terminal(format!(
            "{objects} objects of {kib} KiB together; at most {limit} KiB are handed over at once (limits.readKib): list \
             fewer, by namespace, label, owner or limit"
        )))
    }
}

impl cluster::Host for State {
    async fn get_object(&mut self, kind: types::GroupVersionKind, key: types::ObjectKey) -> HostResult<Option<String>> {
        let (kind, key) = (kind_from(kind), key_from(key));
        self.observe(&kind, |observer| observer.object(&kind, &key));
        let found = self.read(async |reads| reads.get(&kind, &key).await).await;
        Ok(found.and_then(|found| self.text(found.as_ref())))
    }

    async fn list_objects(
        &mut self,
        kind: types::GroupVersionKind,
        options: cluster::ListOptions,
    ) -> HostResult<Vec<String>> {
        Ok(self.list(kind, options, None).await)
    }

    async fn list_indexed(
        &mut self,
        kind: types::GroupVersionKind,
        index: String,
        value: String,
        options: cluster::ListOptions,
    ) -> HostResult<Vec<String>> {
        Ok(self.list(kind, options, Some((index, value))).await)
    }

    async fn get_applied(
        &mut self,
        kind: types::GroupVersionKind,
        key: types::ObjectKey,
    ) -> HostResult<Option<String>> {
        let (kind, key) = (kind_from(kind), key_from(key));
        self.observe(&kind, |observer| observer.object(&kind, &key));
        let found = self.read(async |reads| reads.get_applied(&kind, &key).await).await;
        Ok(found.and_then(|text| self.check_size(text.as_ref().map_or(0, String::len), 1).map(|()| text)))
    }

    async fn get_live(&mut self, kind: types::GroupVersionKind, key: types::ObjectKey) -> HostResult<Option<String>> {
        let (kind, key) = (kind_from(kind), key_from(key));
        self.saw_outside = true;
        self.observe(&kind, |observer| observer.object(&kind, &key));
        let found = self.read(async |reads| reads.get_live(&kind, &key).await).await;
        Ok(found.and_then(|found| self.text(found.as_ref())))
    }
}

/// Converts a read error into the guest's error.
pub(super) fn error(error: ReadError) -> types::Error {
    match error {
        ReadError::Refused(message)
        | ReadError::Failed(WriteError::Denied(message) | WriteError::Malformed(message)) => {
            types::Error::Terminal(message)
        }
        ReadError::Stale(message) => types::Error::Transient(types::Retry { delay_ms: None, message }),
        ReadError::Failed(e) => {
            let delay_ms = match &e {
                WriteError::TooManyRequests { retry_after: Some(delay), .. } => Some(crate::milliseconds(*delay)),
                _ => None,
            };
            types::Error::Transient(types::Retry { delay_ms, message: e.to_string() })
        }
    }
}
