//! Generated bindings of the WIT contract. Only [`instance`](super::instance), the loader and the capabilities name these types.

mod generated {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "plugin",
        imports: { default: async | trappable },
        exports: { default: async },
    });
}

mod converter {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "converter",
        exports: { default: async },
    });
}

pub(crate) use converter::{Converter, ConverterIndices};
pub(crate) use generated::exports::oarlock::reconciler::reconcile;
pub(crate) use generated::oarlock::reconciler::{cache, cluster, config, http, log, merge, types};
pub(crate) use generated::{Plugin, PluginIndices};
