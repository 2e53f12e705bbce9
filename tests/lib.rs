//! What the end-to-end tests, the demo and the torture share: the harness that starts real processes and looks at what they do,
//! the story they play, and the torture itself.

pub mod harness;
pub mod story;
pub mod torture;
