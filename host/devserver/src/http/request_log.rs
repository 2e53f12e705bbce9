//! Request log of the server, for tests.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Mutex, PoisonError},
};

/// One answered request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestRecord {
    /// The verb in Kubernetes' terms: get, list, watch, create, update, patch, apply, delete, deletecollection; for requests without
    /// objects, the HTTP method in lower case.
    pub verb: String,
    /// The HTTP method.
    pub method: String,
    /// Path and query, as sent.
    pub path: String,
    /// The User-Agent header, empty when there was none.
    pub user_agent: String,
    /// The user of the request: `system:admin` without credentials; empty when unknown.
    pub user: String,
    /// The HTTP status of the response; 0 when a fault rule cut the connection.
    pub status: u16,
}

/// A bounded log; the counts are not bounded by it.
#[derive(Debug)]
pub(crate) struct RequestLog {
    capacity: usize,
    state: Mutex<RequestLogState>,
}

#[derive(Debug, Default)]
struct RequestLogState {
    records: VecDeque<RequestRecord>,
    counts: BTreeMap<String, u64>,
}

impl RequestLog {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity, state: Mutex::default() }
    }

    pub(crate) fn record(&self, record: RequestRecord) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        *state.counts.entry(record.verb.clone()).or_default() += 1;
        state.records.push_back(record);
        if state.records.len() > self.capacity {
            state.records.pop_front();
        }
    }

    pub(crate) fn records(&self) -> Vec<RequestRecord> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).records.iter().cloned().collect()
    }

    pub(crate) fn counts(&self) -> BTreeMap<String, u64> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).counts.clone()
    }
}
