//! Conversion of objects by a plugin between the versions of a CustomResourceDefinition.

use super::Loaded;
use crate::lease::LeadershipGuard;
use crate::metrics::{Call, PluginMetrics};
use crate::plugin::{CallError, Pool, Run};
use serde_json::Value;
use std::sync::{Arc, PoisonError, RwLock};
use tokio::time::Instant;

/// Largest answer, in bytes of JSON, as large as the largest request.
const ANSWER_BYTES: usize = 16 << 20;

/// Objects to convert.
#[derive(Debug)]
pub struct Conversion {
    /// The API group of the objects.
    pub group: String,
    /// The API version to convert to, such as `example.com/v2`.
    pub desired: String,
    /// The objects, each with apiVersion, kind and metadata.
    pub objects: Vec<Value>,
    /// When the response is due.
    pub deadline: Instant,
    /// Connects the log lines of the conversion.
    pub correlation_id: String,
}

/// The conversions of one version of a plugin. They need no permission and no cache, and so outlive their version.
#[derive(Debug)]
pub struct Converter {
    plugin: String,
    /// The plugin's version, for messages.
    version: String,
    pool: Arc<Pool>,
    definitions: Vec<String>,
    metrics: PluginMetrics,
}

/// The converter of a plugin. Already the first version converts before its watches are in sync: they may be of the kind that it converts,
/// and then they are in sync only after a conversion.
#[derive(Debug, Default)]
pub(super) struct CurrentConverter(RwLock<Option<Arc<Converter>>>);

impl CurrentConverter {
    pub(super) fn set(&self, converter: Option<Arc<Converter>>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = converter;
    }

    pub(super) fn get(&self) -> Option<Arc<Converter>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Converter {
    /// None: the version does not convert.
    pub(super) fn new(loaded: &Loaded, plugin: &str, pool: &Arc<Pool>, metrics: &PluginMetrics) -> Option<Arc<Self>> {
        let definitions = loaded.guest.grants.conversions(&loaded.manifest);
        if definitions.is_empty() {
            return None;
        }
        let (plugin, version) = (plugin.to_owned(), loaded.manifest.version.clone());
        Some(Arc::new(Self { plugin, version, pool: Arc::clone(pool), definitions, metrics: metrics.clone() }))
    }

    /// The plugin's name.
    #[must_use]
    pub fn plugin(&self) -> &str {
        &self.plugin
    }

    /// The plugin's version.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The names of the definitions between whose versions it converts.
    #[must_use]
    pub fn definitions(&self) -> &[String] {
        &self.definitions
    }

    /// Converts objects, in order.
    ///
    /// # Errors
    ///
    /// Why not, in a sentence for the user whose request fails: with the plugin's name, and with the object.
    pub async fn convert(&self, conversion: Conversion) -> Result<Vec<Value>, String> {
        let fault = |why: &str| format!("plugin {} (version {}): {why}", self.plugin, self.version);
        let of_group = |name: &String| name.split_once('.').is_some_and(|(_, group)| group == conversion.group);
        if !self.definitions.iter().any(of_group) {
            return Err(fault(&format!("the grant names no definition of the group {}", conversion.group)));
        }
        match tokio::time::timeout_at(conversion.deadline, self.convert_all(conversion)).await {
            Ok(converted) => converted.map_err(|why| fault(&why)),
            Err(_elapsed) => Err(fault("the conversion did not finish in time")),
        }
    }

    async fn convert_all(&self, conversion: Conversion) -> Result<Vec<Value>, String> {
        let Conversion { desired, objects, deadline, correlation_id, .. } = conversion;
        let run = Run {
            // The only import that works is log.
            reads: None,
            observer: None,
            key: String::new(),
            correlation_id,
            dry_run: true,
            withheld: None,
            forgets: false,
            at_most: Some(deadline.saturating_duration_since(Instant::now())),
            guard: LeadershipGuard::for_ever(),
            tape: None,
            replay: None,
        };
        let mut instance = self.pool.take(run).await.map_err(|e| e.to_string())?;
        let (mut converted, mut bytes) = (Vec::with_capacity(objects.len()), 0);
        for object in objects {
            let text = object.to_string();
            let began = Instant::now();
            let answer = instance.convert(text, desired.clone()).await;
            self.metrics.called(Call::Convert, began.elapsed());
            let answer = answer.and_then(|(answer, size)| {
                bytes += size;
                checked(&object, answer, &desired)
            });
            let answer = answer.map_err(|error| {
                if let Some(cause) = error.cause() {
                    self.metrics.trapped(cause);
                }
                format!("{} cannot be converted to {desired}: {error}", name_of(&object))
            })?;
            if bytes > ANSWER_BYTES {
                return Err(format!("the converted objects are larger than {} MiB together", ANSWER_BYTES >> 20));
            }
            converted.push(answer);
        }
        self.pool.give_back(instance);
        Ok(converted)
    }
}

/// An object's kind, namespace and name, for messages.
fn name_of(object: &Value) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (kind, namespace, name) = (text("/kind"), text("/metadata/namespace"), text("/metadata/name"));
    let name = if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") };
    crate::quoted(&format!("{kind} {name}"), 400)
}

/// The answer, if it is the same object in the desired version. The API server checks the same, but does not name the plugin.
fn checked(object: &Value, answer: Value, desired: &str) -> Result<Value, CallError> {
    let bad = |reason: String| CallError::BadAnswer { call: "convert", reason: crate::quoted(&reason, 1024) };
    let found = answer.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    if found != desired {
        return Err(bad(format!("apiVersion {found:?} instead of {desired:?}")));
    }
    for pointer in ["/kind", "/metadata/name", "/metadata/namespace", "/metadata/uid"] {
        if object.pointer(pointer) != answer.pointer(pointer) {
            return Err(bad(format!(
                "another {} than the object has",
                pointer.trim_start_matches('/').replace('/', ".")
            )));
        }
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_answer_is_the_same_object_in_the_desired_version() {
        let object =
            json!({"apiVersion": "a/v1", "kind": "K", "metadata": {"name": "n", "namespace": "s", "uid": "u"}});
        let answer = |change: Value| {
            let mut answer = object.clone();
            answer["apiVersion"] = "a/v2".into();
            json_patch::merge(&mut answer, &change);
            checked(&object, answer, "a/v2").map_err(|e| e.to_string())
        };
        assert!(answer(json!({"spec": {"x": 1}, "metadata": {"labels": {"l": "1"}}})).is_ok());
        for (change, expected) in [
            (json!({"apiVersion": "a/v1"}), "apiVersion \"a/v1\" instead of \"a/v2\""),
            (json!({"kind": null}), "another kind"),
            (json!({"metadata": {"name": "m"}}), "another metadata.name"),
            (json!({"metadata": {"namespace": null}}), "another metadata.namespace"),
            (json!({"metadata": {"uid": "v"}}), "another metadata.uid"),
        ] {
            let error = answer(change).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        assert_eq!(name_of(&object), "K s/n");
    }
}
