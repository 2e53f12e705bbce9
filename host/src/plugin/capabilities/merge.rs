//! `merge`: strategic merge patch for every language.

use crate::plugin::bindings::{merge, types};
use crate::plugin::instance::{State, kind_from};
use oarlock_merge::{schema::Schema, strategic};
use serde_json::Value;

type Answer = wasmtime::Result<Result<String, types::Error>>;

/// Documents larger than this together are merged on the threads for what takes long.
const LARGE_BYTES: usize = 64 << 10;

impl merge::Host for State {
    async fn create_two_way(&mut self, kind: types::GroupVersionKind, original: String, modified: String) -> Answer {
        Ok(self
            .merged(kind, &[original, modified], |schema, [original, modified]| {
                strategic::create_two_way(schema, original, modified)
            })
            .await)
    }

    async fn create_three_way(
        &mut self,
        kind: types::GroupVersionKind,
        original: String,
        modified: String,
        current: String,
    ) -> Answer {
        Ok(self
            .merged(kind, &[original, modified, current], |schema, [original, modified, current]| {
                strategic::create_three_way(schema, original, modified, current)
            })
            .await)
    }

    async fn apply_patch(&mut self, kind: types::GroupVersionKind, original: String, patch: String) -> Answer {
        Ok(self
            .merged(kind, &[original, patch], |schema, [original, patch]| {
                strategic::apply_patch(schema, original, patch)
            })
            .await)
    }
}

impl State {
    /// Reads the documents, merges by the kind's own keys, prints the result.
    async fn merged<const N: usize>(
        &self,
        kind: types::GroupVersionKind,
        documents: &[String; N],
        work: impl Fn(&Schema, &[Value; N]) -> Result<Value, strategic::Error>,
    ) -> Result<String, types::Error> {
        let kind = kind_from(kind);
        let schema = match (Schema::builtin(&kind.group, &kind.version, &kind.kind), &self.run.reads) {
            (Some(schema), _) => schema,
            (None, Some(reads)) => reads.merge_schema(&kind).await.map_err(super::cluster::error)?,
            (None, None) => return Err(types::Error::Terminal(format!("{kind} is no built-in kind"))),
        };
        if documents.iter().map(String::len).sum::<usize>() > LARGE_BYTES {
            self.meter.step_aside().await;
        }
        let mut parsed = std::array::from_fn(|_| Value::Null);
        for (slot, text) in parsed.iter_mut().zip(documents) {
            *slot = serde_json::from_str(text)
                .map_err(|e| types::Error::Terminal(format!("a document is not JSON: {e}")))?;
        }
        work(&schema, &parsed).map(|v| v.to_string()).map_err(|e| types::Error::Terminal(e.to_string()))
    }
}
