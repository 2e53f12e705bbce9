//! The `cluster` import: reads through the host's caches.

use super::DESCRIBING;
use crate::api::{GroupVersionKind, Selector};
use crate::apply::WriteError;
use crate::informer::{ListOptions, Object};
use crate::plugin::bindings::{cluster, types};
use crate::plugin::instance::{State, key_from, kind_from};
use crate::plugin::reads::{ReadError, ReadObserver, Reads};
use crate::plugin::tape::{Found, Listed, Read, ReadFailure, Seen};
use std::sync::Arc;

/// Secrets of more bytes are learned on the threads for long computations.
const LARGE_BYTES: usize = 64 << 10;

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
        &mut self,
        kind: types::GroupVersionKind,
        options: cluster::ListOptions,
        indexed: Option<(String, String)>,
    ) -> Result<Vec<String>, types::Error> {
        let kind = kind_from(kind);
        let listed = Listed {
            namespace: options.namespace,
            label_selector: options.label_selector,
            owner_uid: options.owner_uid,
            limit: options.limit,
            indexed,
        };
        let read = Read::List(kind.clone(), Box::new(listed.clone()));
        self.answer(read, async |state| {
            let label_selector = Selector::bounded(&listed.label_selector).map_err(types::Error::Terminal)?;
            let found = state.read(async |reads| {
                let indexed = listed.indexed.map(|(index, value)| reads.index(&kind, &index, value)).transpose()?;
                let options = ListOptions {
                    namespace: Some(listed.namespace).filter(|n| !n.is_empty()),
                    label_selector: Some(label_selector).filter(|s| !s.is_empty()),
                    owner_uid: Some(listed.owner_uid).filter(|u| !u.is_empty()),
                    indexed,
                    limit: usize::try_from(listed.limit).ok().filter(|l| *l > 0),
                };
                state.observe(&kind, |observer| observer.list(&kind, &options));
                reads.list(&kind, &options).await
            });
            state.fitting(found.await?)
        })
        .await
    }

    /// The objects, if they fit into one read. The size is checked before anything is copied.
    fn fitting(&self, found: Vec<Arc<Object>>) -> Result<Found, types::Error> {
        let bytes = found.iter().map(|object| object.json().len()).sum();
        self.check_size(bytes, found.len())?;
        Ok(Found::Objects(found))
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

impl State {
    /// Answers a read from the recording; else reads, and records the answer.
    async fn answer(
        &mut self,
        read: Read,
        work: impl AsyncFnOnce(&Self) -> Result<Found, types::Error>,
    ) -> Result<Vec<String>, types::Error> {
        if let Some(replayed) = self.replayed(&read) {
            return replayed;
        }
        let found = work(self).await;
        if let Ok(found) = &found
            && read.is_of_secrets()
        {
            if found.texts().map(str::len).sum::<usize>() > LARGE_BYTES {
                self.meter.offload_now().await;
            }
            found.texts().for_each(|text| self.guest.secrets.learn_secret(text));
        }
        let answer =
            found.as_ref().map(|found| found.texts().map(str::to_owned).collect()).map_err(types::Error::clone);
        self.record_read(read, found);
        answer
    }

    /// The recorded answer of a read. None: reads are not replayed.
    pub(super) fn replayed(&self, read: &Read) -> Option<Result<Vec<String>, types::Error>> {
        let answer = self.run.replay.as_ref()?.read(self.phase, read)?;
        Some(answer.map_err(|failure| match failure {
            ReadFailure::Transient { delay_ms, message } => types::Error::Transient(types::Retry { delay_ms, message }),
            ReadFailure::Terminal(message) => types::Error::Terminal(message),
        }))
    }

    /// Records a read and its answer.
    pub(super) fn record_read(&self, read: Read, answer: Result<Found, types::Error>) {
        let Some(tape) = &self.run.tape else { return };
        let answer = answer.map_err(|error| match error {
            types::Error::Transient(types::Retry { delay_ms, message }) => ReadFailure::Transient { delay_ms, message },
            types::Error::Terminal(message) | types::Error::Denied(types::Denial { message, .. }) => {
                ReadFailure::Terminal(message)
            }
        });
        tape.push(Seen::Read(self.phase, read, answer));
    }
}

impl cluster::Host for State {
    async fn get_object(&mut self, kind: types::GroupVersionKind, key: types::ObjectKey) -> HostResult<Option<String>> {
        let (kind, key) = (kind_from(kind), key_from(key));
        let found = self.answer(Read::Get(kind.clone(), key.clone()), async |state| {
            state.observe(&kind, |observer| observer.object(&kind, &key));
            let found = state.read(async |reads| reads.get(&kind, &key).await).await?;
            state.fitting(found.into_iter().collect())
        });
        Ok(found.await.map(|mut texts| texts.pop()))
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
        let found = self.answer(Read::Applied(kind.clone(), key.clone()), async |state| {
            state.observe(&kind, |observer| observer.object(&kind, &key));
            let text = state.read(async |reads| reads.get_applied(&kind, &key).await).await?;
            state.check_size(text.as_ref().map_or(0, String::len), 1)?;
            Ok(Found::Text(text))
        });
        Ok(found.await.map(|mut texts| texts.pop()))
    }

    async fn get_live(&mut self, kind: types::GroupVersionKind, key: types::ObjectKey) -> HostResult<Option<String>> {
        let (kind, key) = (kind_from(kind), key_from(key));
        self.saw_outside = true;
        let found = self.answer(Read::Live(kind.clone(), key.clone()), async |state| {
            state.observe(&kind, |observer| observer.object(&kind, &key));
            let found = state.read(async |reads| reads.get_live(&kind, &key).await).await?;
            if let Some(observer) = &state.run.observer {
                observer.live(&kind, &key, found.as_deref());
            }
            state.fitting(found.into_iter().collect())
        });
        Ok(found.await.map(|mut texts| texts.pop()))
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
