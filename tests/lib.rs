//! End-to-end harness and story.
