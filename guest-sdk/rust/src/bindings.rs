//! Bindings of the contract from `wit-bindgen`. Plugins name these types through [`raw`](crate::raw) and the curated names of the crate;
//! this module is public only because the export macro, expanded in the plugin's crate, needs the paths.

/// The exports of a plugin that converts.
pub mod converter {
    wit_bindgen::generate!({
        path: "../../wit",
        world: "converter",
        pub_export_macro: true,
        export_macro_name: "export_raw_converter",
        default_bindings_module: "oarlock_guest::bindings::converter",
    });
}

wit_bindgen::generate!({
    path: "../../wit",
    world: "plugin",
    pub_export_macro: true,
    export_macro_name: "export_raw",
    default_bindings_module: "oarlock_guest::bindings",
    additional_derives: [PartialEq],
});
