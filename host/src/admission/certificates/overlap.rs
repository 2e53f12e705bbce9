//! CAs of files that follow each other: what is published, and from when a new certificate is served.
//!
//! A kubelet updates a mounted Secret up to two minutes after another kubelet. In that time one host may still serve a certificate of the CA
//! before, while another publishes the bundle that API servers trust. So each host publishes the CAs of the last hour, and serves a
//! certificate of a new CA when every host has had time to publish that.

use super::issue::LINES;
use std::time::Duration;
use tokio::time::Instant;
use x509_parser::pem::Pem;

/// How long a CA stays published after the file had it last.
const PUBLISHED: Duration = Duration::from_secs(3600);

/// How long a new CA is published before a certificate that it issued is served.
const PUBLISHED_FIRST: Duration = Duration::from_secs(120);

/// Most CAs that are published; the API server refuses large objects.
pub(super) const MOST: usize = 16;

/// The CAs that a file has and had.
#[derive(Debug, Default)]
pub(super) struct Overlap {
    /// Those of the file first, then the ones before, the newest first.
    known: Vec<Authority>,
    /// When the file had a new CA last. None: it has those of the start.
    changed: Option<Instant>,
}

#[derive(Debug)]
struct Authority {
    der: Vec<u8>,
    /// When it expires, in Unix seconds.
    not_after: i64,
    /// When the file had it last.
    seen: Instant,
}

impl Overlap {
    /// * `text` - the file, in PEM.
    pub(super) fn new(text: &str, now: Instant) -> Self {
        Self { known: authorities(text, now), changed: None }
    }

    /// The bundle to publish, and whether the file has a new CA.
    ///
    /// * `text` - the file, in PEM. Without a CA it is published as it is: API servers then trust the CAs of their machine.
    /// * `unix` - the time of day in Unix seconds.
    pub(super) fn bundle(&mut self, text: &str, now: Instant, unix: i64) -> (String, bool) {
        let mut known = authorities(text, now);
        let present = known.len();
        if present == 0 {
            return (text.to_owned(), false);
        }
        let is_new = known.iter().any(|authority| !self.known.iter().any(|other| other.der == authority.der));
        if is_new {
            self.changed = Some(now);
        }
        let before = std::mem::take(&mut self.known).into_iter().filter(|authority| {
            let recent = now.duration_since(authority.seen) < PUBLISHED && unix < authority.not_after;
            recent && !known.iter().any(|other| other.der == authority.der)
        });
        let before: Vec<_> = before.collect();
        known.extend(before);
        known.truncate(MOST.max(present));
        self.known = known;
        let mut bundle = text.to_owned();
        for authority in self.known.iter().skip(present) {
            if !bundle.ends_with('\n') {
                bundle.push('\n');
            }
            bundle += &pem::encode_config(&pem::Pem::new("CERTIFICATE", authority.der.as_slice()), LINES);
        }
        (bundle, is_new)
    }

    /// Whether a new certificate may be served in place of the present one.
    ///
    /// * `ends` - when the present one expires, in Unix seconds.
    pub(super) fn may_serve(&self, ends: i64, now: Instant, unix: i64) -> bool {
        unix >= ends || self.changed.is_none_or(|changed| now.duration_since(changed) >= PUBLISHED_FIRST)
    }
}

/// The certificates of a file, each once; what is none is left out.
fn authorities(text: &str, seen: Instant) -> Vec<Authority> {
    let mut all: Vec<Authority> = Vec::new();
    for block in Pem::iter_from_buffer(text.as_bytes()).flatten() {
        let Ok(certificate) = block.parse_x509() else { continue };
        let not_after = certificate.validity().not_after.timestamp();
        if !all.iter().any(|authority| authority.der == block.contents) {
            all.push(Authority { der: block.contents, not_after, seen });
        }
    }
    all
}
