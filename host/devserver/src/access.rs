//! Who may do what: users of requests, and RBAC.

pub(crate) mod authentication;
pub(crate) mod authorization;
