//! The smallest guest there is: it wants nothing, of ConfigMaps with the label `idler=true`. For measuring what a plugin costs
//! that has nothing to do.
//!
//! Its manifest stands behind the marker `oarlock-idler-manifest:`. Its name there, `idler-0000`, may be written over with another
//! one as long: so a thousand plugins cost one build.

#[cfg(target_arch = "wasm32")]
mod guest {
    use oarlock_guest::raw::{Error, Guest, Observation, Outcome, Request};

    const MARKER: &str = "oarlock-idler-manifest:";
    static MANIFEST: &str = concat!(
        "oarlock-idler-manifest:",
        r#"{"apiVersion":"oarlock.dev/v1alpha1","kind":"PluginManifest","name":"idler-0000","version":"1","#,
        r#""primaries":[{"version":"v1","kind":"ConfigMap","labelSelector":"idler=true"}],"workers":1,"resyncSeconds":3600}"#,
    );

    struct Idler;

    oarlock_guest::export_raw!(Idler);

    impl Guest for Idler {
        fn describe() -> String {
            std::hint::black_box(MANIFEST).get(MARKER.len()..).unwrap_or_default().to_owned()
        }

        fn get_desired(_: Request) -> Result<Option<String>, Error> {
            Ok(None)
        }

        fn get_actual(_: Request) -> Result<Observation, Error> {
            Ok(Observation { state: None, status: None, requeue_after_ms: None })
        }

        fn patch(_: Request, _: Option<String>, _: Option<String>) -> Result<Outcome, Error> {
            Ok(Outcome { changes: Vec::new(), events: Vec::new(), warnings: Vec::new(), requeue_after_ms: None })
        }
    }
}
