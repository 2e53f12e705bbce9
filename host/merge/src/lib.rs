//! Strategic merge patch, server-side apply and field ownership, as Kubernetes has them.
