//! An embedded Kubernetes API server for development and tests.
