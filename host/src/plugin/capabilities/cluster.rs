//! `cluster`: reads through the host's caches.

use super::DESCRIBING;
use crate::api::Selector;
use crate::apply::WriteError;
use crate::informer::{ListOptions, Object};
use crate::plugin::bindings::{cluster, types};
use crate::plugin::instance::{State, key_from, kind_from};
use crate::plugin::reads::{ReadError, Reads};
use std::sync::Arc;

type Answer<T> = wasmtime::Result<Result<T, types::Error>>;

impl State {
    fn reads(&self) -> Result<Arc<Reads>, types::Error> {
        self.run.reads.clone().ok_or_else(|| types::Error::Terminal(DESCRIBING.to_owned()))
    }
}

impl cluster::Host for State {
    async fn get_object(&mut self, kind: types::GroupVersionKind, key: types::ObjectKey) -> Answer<Option<String>> {
        Ok(match self.reads() {
            Ok(reads) => reads.get(&kind_from(kind), &key_from(key)).await.map(|o| o.as_ref().map(text)).map_err(error),
            Err(e) => Err(e),
        })
    }

    async fn list_objects(
        &mut self,
        kind: types::GroupVersionKind,
        options: cluster::ListOptions,
    ) -> Answer<Vec<String>> {
        let label_selector = match options.label_selector.parse::<Selector>() {
            Ok(selector) => selector,
            Err(e) => {
                let message = format!("label selector {:?}: {e}", options.label_selector);
                return Ok(Err(types::Error::Terminal(message)));
            }
        };
        let options = ListOptions {
            namespace: Some(options.namespace).filter(|n| !n.is_empty()),
            label_selector: Some(label_selector).filter(|s| !s.is_empty()),
            owner_uid: Some(options.owner_uid).filter(|u| !u.is_empty()),
            limit: usize::try_from(options.limit).ok().filter(|l| *l > 0),
        };
        Ok(match self.reads() {
            Ok(reads) => {
                let found = reads.list(&kind_from(kind), &options).await;
                found.map(|list| list.iter().map(text).collect()).map_err(error)
            }
            Err(e) => Err(e),
        })
    }

    async fn get_applied(&mut self, kind: types::GroupVersionKind, key: types::ObjectKey) -> Answer<Option<String>> {
        Ok(match self.reads() {
            Ok(reads) => {
                let applied = reads.get_applied(&kind_from(kind), &key_from(key)).await;
                applied.map(|o| o.map(|v| v.to_string())).map_err(error)
            }
            Err(e) => Err(e),
        })
    }

    async fn get_live(&mut self, kind: types::GroupVersionKind, key: types::ObjectKey) -> Answer<Option<String>> {
        Ok(match self.reads() {
            Ok(reads) => {
                reads.get_live(&kind_from(kind), &key_from(key)).await.map(|o| o.as_ref().map(text)).map_err(error)
            }
            Err(e) => Err(e),
        })
    }
}

fn text(object: &Arc<Object>) -> String {
    object.json().to_string()
}

fn error(error: ReadError) -> types::Error {
    match error {
        ReadError::Refused(message) | ReadError::Failed(WriteError::Denied(message)) => types::Error::Terminal(message),
        ReadError::Stale(message) => types::Error::Transient(types::Retry { delay_ms: None, message }),
        ReadError::Failed(e) => {
            let delay_ms = match &e {
                WriteError::TooManyRequests { retry_after: Some(delay), .. } => {
                    Some(u64::try_from(delay.as_millis()).unwrap_or(u64::MAX))
                }
                _ => None,
            };
            types::Error::Transient(types::Retry { delay_ms, message: e.to_string() })
        }
    }
}
