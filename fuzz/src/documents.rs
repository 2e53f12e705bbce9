//! What plugins and operators write.

use oarlock::fuzzing;

pub(crate) fn case(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        fuzzing::case(text);
    }
}

pub(crate) fn grant(data: &[u8]) {
    fuzzing::grant(data);
}

pub(crate) fn manifest(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        fuzzing::manifest(text);
    }
}
