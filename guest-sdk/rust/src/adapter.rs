//! Adapter from the typed trait to the contract's exports.

use crate::imports::log;
use crate::raw::{self, Guest};
use crate::{Context, Reconciler, Result};
use std::marker::PhantomData;
use std::sync::Once;

/// The exported side of a reconciler.
#[derive(Debug)]
pub struct Adapter<R>(PhantomData<R>);

impl<R: Reconciler> Guest for Adapter<R> {
    fn describe() -> String {
        log_panics();
        R::manifest().to_json()
    }

    fn get_desired(request: raw::Request) -> Result<Option<String>, raw::Error> {
        log_panics();
        let cx = Context::new(request);
        // By definition: the host does not call it, and plugins need not handle the case.
        if cx.deleting() {
            return Ok(None);
        }
        let state = R::default().desired(&cx)?;
        Ok(state.map(|state| serde_json::to_string(&state)).transpose().map_err(crate::Error::from)?)
    }

    fn get_actual(request: raw::Request) -> Result<raw::Observation, raw::Error> {
        log_panics();
        Ok(R::default().actual(&Context::new(request))?.into_raw()?)
    }

    fn patch(
        request: raw::Request,
        desired: Option<String>,
        actual: Option<String>,
    ) -> Result<raw::Outcome, raw::Error> {
        log_panics();
        let (desired, actual) = (state(desired, "desired")?, state(actual, "actual")?);
        Ok(R::default().patch(&Context::new(request), desired, actual)?.into_raw()?)
    }
}

fn state<S: serde::de::DeserializeOwned>(text: Option<String>, which: &str) -> Result<Option<S>> {
    let state = text.map(|text| serde_json::from_str(&text)).transpose();
    state.map_err(|error| crate::Error::from(error).context(format_args!("the {which} state")))
}

/// Logs the message and location of a panic before it becomes a trap, which carries no text. The typed trait calls this by itself.
///
/// Does nothing on targets other than wasm32: there the test harness reports panics.
pub fn log_panics() {
    static ONCE: Once = Once::new();
    if cfg!(target_arch = "wasm32") {
        ONCE.call_once(|| {
            std::panic::set_hook(Box::new(|panic| {
                log::log(log::Level::Error, &panic.to_string(), &[]);
            }));
        });
    }
}
