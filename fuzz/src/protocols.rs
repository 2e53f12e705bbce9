//! What API servers, registries and guests send.

use crate::{head, lines};
use oarlock::fuzzing;

/// A line with path and query, and the body.
pub(crate) fn admission_review(data: &[u8]) {
    let (target, body) = head(data);
    if let Ok(target) = std::str::from_utf8(target) {
        fuzzing::review(target, body);
    }
}

/// A line that is a list, and the lines of a watch.
pub(crate) fn list_watch(data: &[u8]) {
    let (list, watch) = head(data);
    fuzzing::list(list);
    fuzzing::watch(watch);
}

/// A line of values of a header with tabs between them, a reference, and a document.
pub(crate) fn oci(data: &[u8]) {
    let (header, rest) = head(data);
    let (reference, document) = head(rest);
    fuzzing::answer(header, document);
    if let Ok(reference) = std::str::from_utf8(reference) {
        fuzzing::reference(reference);
    }
    fuzzing::document(document);
}

/// Method, URL, a namespace, a name, a document to write, and a header per line.
pub(crate) fn requests(data: &[u8]) {
    let Some([method, url, namespace, name, document]) = lines(data) else { return };
    let text = std::str::from_utf8(data).unwrap_or_default();
    let headers = text.split('\n').skip(5).filter_map(|line| line.split_once(':'));
    fuzzing::request(method, url, headers);
    fuzzing::write(&serde_json::from_str(document).unwrap_or_default(), namespace, name);
}
