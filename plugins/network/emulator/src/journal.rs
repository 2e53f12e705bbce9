//! Journal of requests and responses.

use std::collections::VecDeque;

use serde::Serialize;
use serde_json::Value;

/// One request the emulator received.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// Counts from 1 over both services, in the order of arrival, without gaps.
    pub number: u64,
    /// Time of arrival, RFC 3339 with fractions of a second.
    pub time: String,
    /// HTTP method.
    pub method: String,
    /// Path without the query; Keystone's begin with `/v3`.
    pub path: String,
    /// Raw query, empty if there was none.
    pub query: String,
    /// The body if it was JSON. Keystone's are not kept, because they contain passwords.
    pub body: Option<Value>,
    /// Status of the response; `None` without one (reset, hanging) or before it.
    pub status: Option<u16>,
    /// Time from arrival to the head of the answer.
    pub milliseconds: u64,
    /// The fault of the request.
    pub fault: Option<&'static str>,
}

/// The newest requests, up to a capacity.
#[derive(Debug)]
pub(crate) struct Journal {
    entries: VecDeque<Request>,
    capacity: usize,
    last: u64,
}

impl Journal {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { entries: VecDeque::new(), capacity: capacity.max(1), last: 0 }
    }

    /// Records an arrival and returns its number.
    pub(crate) fn open(&mut self, mut request: Request) -> u64 {
        self.last += 1;
        request.number = self.last;
        if self.entries.len() >= self.capacity {
            self.entries.pop_front();
        }
        self.entries.push_back(request);
        self.last
    }

    /// Records the response, unless the entry is gone already.
    pub(crate) fn close(&mut self, number: u64, status: Option<u16>, milliseconds: u64) {
        if let Some(entry) = self.entries.iter_mut().rev().find(|e| e.number == number) {
            entry.status = status;
            entry.milliseconds = milliseconds;
        }
    }

    pub(crate) fn entries(&self) -> Vec<Request> {
        self.entries.iter().cloned().collect()
    }

    /// Removes the entries; numbering continues.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_entries_are_dropped() {
        let mut journal = Journal::new(2);
        let request = Request {
            number: 0,
            time: String::new(),
            method: "GET".to_owned(),
            path: "/".to_owned(),
            query: String::new(),
            body: None,
            status: None,
            milliseconds: 0,
            fault: None,
        };
        for _ in 0..3 {
            journal.open(request.clone());
        }
        journal.close(1, Some(200), 1);
        journal.close(3, Some(201), 1);
        let seen: Vec<_> = journal.entries().iter().map(|e| (e.number, e.status)).collect();
        assert_eq!(seen, [(2, None), (3, Some(201))]);
    }
}
