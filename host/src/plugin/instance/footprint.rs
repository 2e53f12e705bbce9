//! Memory footprint of one store: linear memory and table elements, summed over everything in it.

use wasmtime::ResourceLimiter;

/// The limit that was exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    Memory,
    Table,
}

/// Sums of all linear memories and of all tables of a store.
#[derive(Debug)]
pub(in crate::plugin) struct Footprint {
    memory: Sum,
    table: Sum,
    refused: Option<Refused>,
}

#[derive(Debug)]
struct Sum {
    limit: usize,
    used: usize,
}

impl Sum {
    /// wasmtime calls this for each memory or table of the component, so the sum is kept here.
    fn grow(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> bool {
        if maximum.is_some_and(|maximum| desired > maximum) {
            // The growth fails by itself. The count never decreases: a guest could provoke a decrease, and exceed its limit.
            return true;
        }
        let total = self.used.saturating_add(desired.saturating_sub(current));
        let allowed = total <= self.limit;
        if allowed {
            self.used = total;
        }
        allowed
    }
}

impl Footprint {
    pub(super) fn new(memory_bytes: usize, table_elements: usize) -> Self {
        let sum = |limit| Sum { limit, used: 0 };
        Self { memory: sum(memory_bytes), table: sum(table_elements), refused: None }
    }

    /// The limit that was exceeded last, if any.
    pub(super) fn refused(&self) -> Option<Refused> {
        self.refused
    }

    /// Begins another reconcile: earlier refusals do not explain its failures.
    pub(super) fn forgive(&mut self) {
        self.refused = None;
    }

    /// The sum of all memories, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.memory.used
    }
}

impl ResourceLimiter for Footprint {
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        let allowed = self.memory.grow(current, desired, maximum);
        if !allowed {
            self.refused = Some(Refused::Memory);
        }
        Ok(allowed)
    }

    fn table_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        let allowed = self.table.grow(current, desired, maximum);
        if !allowed {
            self.refused = Some(Refused::Table);
        }
        Ok(allowed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p4_memories_and_tables_are_counted_together() {
        let mut footprint = Footprint::new(100, 10);
        assert!(footprint.memory_growing(0, 60, None).unwrap());
        assert!(footprint.memory_growing(0, 40, None).unwrap());
        assert!(footprint.table_growing(0, 10, None).unwrap());
        assert_eq!(footprint.refused(), None);
        assert!(!footprint.memory_growing(40, 41, None).unwrap());
        assert_eq!((footprint.refused(), footprint.memory_bytes()), (Some(Refused::Memory), 100));
        assert!(!footprint.table_growing(5, usize::MAX, None).unwrap());
        assert_eq!(footprint.refused(), Some(Refused::Table));
    }

    #[test]
    fn growth_that_fails_by_itself_is_not_counted_and_takes_nothing_back() {
        let mut footprint = Footprint::new(100, 10);
        assert!(footprint.memory_growing(0, 60, Some(70)).unwrap());
        assert!(footprint.memory_growing(60, 80, Some(70)).unwrap());
        footprint.memory_grow_failed(wasmtime::Error::msg("beyond its maximum")).unwrap();
        footprint.memory_grow_failed(wasmtime::Error::msg("overflow, never asked")).unwrap();
        assert_eq!(footprint.memory_bytes(), 60);
    }
}
