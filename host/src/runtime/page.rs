//! What the page at the admin address shows, from the parts of the host.

use crate::admin::page::{Live, Page, Sessions, States};
use crate::cases::recorded_states;
use crate::controller::FlightRecorder;
use crate::lifecycle::Handle;
use serde_json::json;
use std::sync::Arc;

/// * `recorder` - None: the host records nothing.
pub(super) fn of(handle: &Handle, recorder: Option<FlightRecorder>) -> Page {
    let (of_objects, of_versions) = (handle.clone(), handle.clone());
    Page {
        sessions: Sessions::default(),
        live: Live::default(),
        list_objects: Arc::new(move |plugin, query| of_objects.controller(plugin)?.list_objects(query)),
        versions: Arc::new(move |plugin| of_versions.versions(plugin)),
        states: states(recorder),
    }
}

fn states(recorder: Option<FlightRecorder>) -> States {
    Arc::new(move |query, reconcile| {
        let found = recorder.as_ref()?.find(&query);
        let record = found.iter().find(|record| {
            let recorded = record.tape.recorded();
            let id = recorded.request.as_ref().map(|request| &*request.correlation_id);
            reconcile.is_none_or(|wanted| id == Some(wanted))
        })?;
        let id = record.tape.recorded().request.as_ref().map(|request| request.correlation_id.clone());
        Some(json!({"reconcile": id, "plugin": record.plugin, "states": recorded_states(record)?}))
    })
}
