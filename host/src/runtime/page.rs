//! What the page at the admin address shows, from the parts of the host.

use crate::admin::page::{HideSecrets, Live, Page, Sessions, States};
use crate::cases::{recorded_states, without_secrets};
use crate::controller::FlightRecorder;
use crate::grants::Grants;
use crate::lifecycle::Handle;
use serde_json::{Value, json};
use std::sync::Arc;

/// * `recorder` - None: the host records nothing.
pub(super) fn of(handle: &Handle, recorder: Option<FlightRecorder>) -> Page {
    let (of_objects, of_versions) = (handle.clone(), handle.clone());
    Page {
        sessions: Sessions::default(),
        live: Live::default(),
        list_objects: Arc::new(move |plugin, query| of_objects.controller(plugin)?.list_objects(query)),
        versions: Arc::new(move |plugin| of_versions.versions(plugin)),
        hide_secrets: hide_secrets(handle.clone(), recorder.clone()),
        states: states(recorder),
    }
}

fn states(recorder: Option<FlightRecorder>) -> States {
    Arc::new(move |query, reconcile| {
        let found = recorder.as_ref()?.find(&query);
        let mut wanted = found.iter().filter(|(record, _)| {
            let recorded = record.tape.recorded();
            let id = recorded.request.as_ref().map(|request| &*request.correlation_id);
            reconcile.is_none_or(|wanted| id == Some(wanted))
        });
        let (record, known) = wanted.next()?;
        let id = record.tape.recorded().request.as_ref().map(|request| request.correlation_id.clone());
        Some(json!({"reconcile": id, "plugin": record.plugin, "states": recorded_states(record, known)?}))
    })
}

/// The secrets of a plugin are those of its grant, and those that it saw lately.
fn hide_secrets(handle: Handle, recorder: Option<FlightRecorder>) -> HideSecrets {
    Arc::new(move |plugins, document| {
        plugins.iter().fold(document, |document: Value, plugin| {
            let version = handle.controller(plugin).and_then(|controller| controller.current());
            let none = Grants::none();
            let grants = version.as_ref().map_or(&none, |version| &*version.loaded().guest.grants);
            let known = recorder.as_ref().map(|recorder| recorder.known(plugin)).unwrap_or_default();
            without_secrets(document, grants, &known)
        })
    })
}
