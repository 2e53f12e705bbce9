//! The `merge` import: strategic merge patch for guests in any language.

use crate::plugin::bindings::{merge, types};
use crate::plugin::instance::{State, kind_from};
use crate::plugin::tape::{Found, MergeFunction, Read};
use oarlock_merge::schema::Schema;
use oarlock_merge::steps::{Budget, MOST_STEPS};
use oarlock_merge::strategic;
use serde_json::Value;

type MergeResult = wasmtime::Result<Result<String, types::Error>>;

/// Documents larger than this together are merged on the plugin's own thread.
const LARGE_BYTES: usize = 64 << 10;

/// Longest error message of a merge, which quotes the documents.
const REASON_BYTES: usize = 1024;

impl merge::Host for State {
    async fn create_two_way(
        &mut self,
        kind: types::GroupVersionKind,
        original: String,
        modified: String,
    ) -> MergeResult {
        Ok(self
            .merged(
                (kind, MergeFunction::CreateTwoWay),
                [original, modified],
                |schema, [original, modified], budget| strategic::create_two_way(schema, original, modified, budget),
            )
            .await)
    }

    async fn create_three_way(
        &mut self,
        kind: types::GroupVersionKind,
        original: String,
        modified: String,
        current: String,
    ) -> MergeResult {
        Ok(self
            .merged(
                (kind, MergeFunction::CreateThreeWay),
                [original, modified, current],
                |schema, [original, modified, current], budget| {
                    strategic::create_three_way(schema, original, modified, current, budget)
                },
            )
            .await)
    }

    async fn apply_patch(&mut self, kind: types::GroupVersionKind, original: String, patch: String) -> MergeResult {
        Ok(self
            .merged((kind, MergeFunction::ApplyPatch), [original, patch], |schema, [original, patch], budget| {
                strategic::apply_patch(schema, original, patch, budget)
            })
            .await)
    }
}

impl State {
    /// Parses the documents, merges them by the kind's merge keys, and prints the result.
    async fn merged<const N: usize>(
        &mut self,
        (kind, function): (types::GroupVersionKind, MergeFunction),
        documents: [String; N],
        work: impl Fn(&Schema, &[Value; N], &Budget<'_>) -> Result<Value, strategic::Error> + Send + 'static,
    ) -> Result<String, types::Error> {
        let kind = kind_from(kind);
        if let Some(schema) = Schema::builtin(&kind.group, &kind.version, &kind.kind) {
            return self.merged_by(schema, documents, work).await;
        }
        let Some(reads) = self.run.reads.clone() else {
            return Err(types::Error::Terminal(format!("{kind} is no built-in kind")));
        };
        self.saw_outside = true;
        // The definition is no argument, so the answer is part of a recording.
        let recorded = self.run.tape.is_some() || self.run.replay.is_some();
        let read = recorded.then(|| Read::Merge(kind.clone(), function, documents.to_vec()));
        if let Some(replayed) = read.as_ref().and_then(|read| self.replayed(read)) {
            return replayed.map(|mut texts| texts.pop().unwrap_or_default());
        }
        let merged = match reads.merge_schema(&kind).await {
            Ok(schema) => self.merged_by(schema, documents, work).await,
            Err(error) => Err(super::cluster::error(error)),
        };
        if let Some(read) = read {
            self.record_read(read, merged.clone().map(|text| Found::Text(Some(text))));
        }
        merged
    }

    /// Merges by a schema: large documents on the plugin's own thread.
    async fn merged_by<const N: usize>(
        &self,
        schema: Schema,
        documents: [String; N],
        work: impl Fn(&Schema, &[Value; N], &Budget<'_>) -> Result<Value, strategic::Error> + Send + 'static,
    ) -> Result<String, types::Error> {
        let large = documents.iter().map(String::len).sum::<usize>() > LARGE_BYTES;
        let merge = move |budget: &Budget<'_>| {
            let mut parsed = std::array::from_fn(|_| Value::Null);
            for (slot, text) in parsed.iter_mut().zip(&documents) {
                *slot = serde_json::from_str(text).map_err(|e| format!("a document is not JSON: {e}"))?;
            }
            work(&schema, &parsed, budget).map(|merged| merged.to_string()).map_err(|e| e.to_string())
        };
        let merged = if large { self.run_blocking(merge).await } else { Some(merge(&Budget::of(MOST_STEPS))) };
        match merged {
            Some(merged) => merged.map_err(|e| types::Error::Terminal(crate::shorten(&e, REASON_BYTES).to_owned())),
            None => {
                let message = "the documents could not be merged within the deadline of the reconcile".to_owned();
                Err(types::Error::Transient(types::Retry { delay_ms: None, message }))
            }
        }
    }
}
