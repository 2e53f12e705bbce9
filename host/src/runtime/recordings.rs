//! Recordings of reconciles: as cases for `/recordings`, and for `/explain`.

use crate::admin::{Explain, Recordings};
use crate::cases::recorded_case;
use crate::controller::{FlightRecorder, RecordQuery};
use crate::lifecycle::Handle;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// * `recorder` - None: the host records nothing.
pub(super) fn of(recorder: Option<FlightRecorder>) -> Recordings {
    Arc::new(move |query| {
        let Some(recorder) = &recorder else {
            return Err("the host records nothing (--recorder-mib 0)".to_owned());
        };
        let found = recorder.find(&query);
        let cases = found.iter().filter_map(|record| recorded_case(record).transpose());
        let cases: Vec<_> = cases.collect::<Result<_, _>>().map_err(|e| e.to_string())?;
        if cases.is_empty() {
            return Err(nothing(&query));
        }
        let mut names: BTreeMap<String, usize> = BTreeMap::new();
        let named = cases.into_iter().map(|case| {
            // A reconcile with several instances has several recordings.
            let number = names.entry(case.name.clone()).and_modify(|number| *number += 1).or_insert(1);
            let name = if *number > 1 { format!("{}-{number}", case.name) } else { case.name };
            json!({"name": name, "case": case.text})
        });
        let cases: Vec<_> = named.collect();
        Ok(json!({ "recordings": cases }))
    })
}

/// What the plugins have to do with an object.
pub(super) fn explain(handle: Handle) -> Explain {
    Arc::new(move |kind, key| {
        let controllers = handle.controllers();
        let running = controllers.iter().filter_map(|controller| controller.explain(kind, key));
        let plugins: Vec<Value> = running.chain(handle.waiting(kind)).collect();
        let mut writes: Vec<Value> =
            controllers.iter().flat_map(|controller| controller.explain_writes(kind, key)).collect();
        // The newest first.
        writes.sort_by_cached_key(|write| std::cmp::Reverse(write.get("at").map(Value::to_string)));
        let object = format!("{} {key}", kind.trim_end_matches('.'));
        (!plugins.is_empty() || !writes.is_empty())
            .then(|| json!({"object": object, "plugins": plugins, "writes": writes}))
    })
}

fn nothing(query: &RecordQuery) -> String {
    let by = query.plugin.as_ref().map(|plugin| format!(" by plugin {plugin}")).unwrap_or_default();
    format!(
        "no recording of {} {}{by}: the host keeps the latest failures and changes, and a sample of the rest, of the plugins that it leads, \
         and none of a reconcile that ends before the plugin is called, or that the host was too busy to finish; oarlock explain has the last \
         ones, oarlock reconcile makes a new one",
        query.kind, query.key
    )
}
