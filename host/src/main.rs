//! The `oarlock` command.
fn main() {}
