//! The writes of a reconcile, for its log line.

#[derive(Default)]
pub(super) struct Written {
    first: Vec<String>,
    more: usize,
}

impl Written {
    /// The log line lists this many.
    const LISTED: usize = 8;

    /// * `what` - verb and object.
    pub(super) fn note(&mut self, what: impl FnOnce() -> String) {
        if self.first.len() < Self::LISTED {
            self.first.push(what());
        } else {
            self.more += 1;
        }
    }

    /// Comma-separated; none when nothing was written.
    pub(super) fn list(&self) -> Option<String> {
        let more = if self.more > 0 { format!(" and {} more", self.more) } else { String::new() };
        (!self.first.is_empty()).then(|| format!("{}{more}", self.first.join(", ")))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.first.is_empty()
    }
}
