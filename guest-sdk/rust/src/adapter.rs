//! Adapter from the typed trait to the contract's exports.

use crate::imports::log;
use crate::raw::{self, Guest};
use crate::{Context, Reconciler, Result};
use std::any::Any;
use std::cell::Cell;
use std::marker::PhantomData;
use std::rc::Rc;
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
        let cx = context(request);
        // By definition: the host does not call it, and plugins need not handle the case.
        if cx.deleting() {
            return Ok(None);
        }
        let state = R::default().desired(&cx)?;
        Ok(state.map(|state| serde_json::to_string(&state)).transpose().map_err(crate::Error::from)?)
    }

    fn get_actual(request: raw::Request) -> Result<raw::Observation, raw::Error> {
        log_panics();
        Ok(R::default().actual(&context(request))?.into_raw()?)
    }

    fn patch(
        request: raw::Request,
        desired: Option<String>,
        actual: Option<String>,
    ) -> Result<raw::Outcome, raw::Error> {
        log_panics();
        let (desired, actual) = (state(desired, "desired")?, state(actual, "actual")?);
        Ok(R::default().patch(&context(request), desired, actual)?.into_raw()?)
    }
}

/// The context of a request. All calls of one reconcile have the same request, so its object is decoded once.
fn context<T: 'static>(request: raw::Request) -> Rc<Context<T>> {
    thread_local! {
        static LAST: Cell<Option<Rc<dyn Any>>> = const { Cell::new(None) };
    }
    let last = LAST.take().and_then(|last| last.downcast::<Context<T>>().ok());
    let cx = last.filter(|last| *last.raw() == request).unwrap_or_else(|| Rc::new(Context::new(request)));
    LAST.set(Some(Rc::clone(&cx) as Rc<dyn Any>));
    cx
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
