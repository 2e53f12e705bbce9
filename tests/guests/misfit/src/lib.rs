//! A guest that misbehaves in the way its configuration names; for tests of the host.
