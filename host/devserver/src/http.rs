//! The wire: requests, bodies in JSON, YAML and protobuf, responses, watches as streams of lines, and HTTPS.

pub(crate) mod body;
pub(crate) mod decode;
pub(crate) mod encode;
pub(crate) mod https;
pub(crate) mod negotiate;
pub(crate) mod origin;
pub(crate) mod protobuf;
pub(crate) mod query;
pub(crate) mod request;
pub(crate) mod request_log;
pub(crate) mod response;
pub(crate) mod watch;
