//! What the end-to-end tests and the demo share: the harness that starts real processes and looks at what they do, and the
//! story they play.

pub mod harness;
pub mod story;
