//! The order of injected containers.

/// Position of injected containers among the Pod's own.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    /// Before them.
    First,
    /// After them.
    Last,
}

#[derive(Debug)]
pub(crate) struct Settings {
    /// Order of containers.
    pub(crate) order: Order,
    /// Order of init containers.
    pub(crate) init_order: Order,
}
