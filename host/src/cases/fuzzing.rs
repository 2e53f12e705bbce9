//! Fuzzing of case files: see [`crate::fuzzing`].

use super::{object, parse, replay, request};

/// Reads a case file as `oarlock test` does, without its plugin.
pub fn case(text: &str) {
    let case = match parse(text) {
        Ok(case) => case,
        Err(error) => return assert!(!error.to_string().is_empty(), "an error without words"),
    };
    let _ = request("request", &case.request);
    let _ = replay::of_case(&case);
    for before in &case.before {
        let _ = request("before", &before.request);
        let _ = replay::of_before("before", before);
    }
    for document in case.applied.iter().chain(&case.cluster) {
        let _ = object("cluster", document);
    }
}
