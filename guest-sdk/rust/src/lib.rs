//! Write an Oarlock reconciler in Rust.
