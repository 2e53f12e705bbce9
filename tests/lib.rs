//! What the end-to-end tests, the demo, the torture and the operation sequences share: the harness that starts real processes and
//! looks at what they do, the story they play, and the torture, the soak and the sequences themselves.

pub mod fuzz_plugin;
pub mod harness;
pub mod soak;
pub mod story;
pub mod torture;
