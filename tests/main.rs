//! End-to-end tests: one target, one module per behaviour.

mod harness_itself;
