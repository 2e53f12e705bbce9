//! A Kubernetes controller host: informers, workqueue and writes in one process, reconcilers as WebAssembly components.

pub mod admin;
pub mod api;
pub mod informer;
pub mod logging;
pub mod metrics;
pub mod workqueue;
