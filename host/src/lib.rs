//! A Kubernetes controller host: informers, workqueue and writes in one process, reconcilers as WebAssembly components.

pub mod api;
pub mod informer;
pub mod metrics;
pub mod workqueue;
