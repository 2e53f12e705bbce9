//! ConversionReview v1: parsing of requests, conversion by a plugin, and responses.
//!
//! # Source
//!
//! k8s.io/apiextensions-apiserver `pkg/apis/apiextensions/v1/types.go`.

use super::WebhookServer;
use super::answer::ASK_AGAIN;
use super::review::Unreadable;
use crate::controller::{Conversion, Converter};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::time::Instant;

const API_VERSION: &str = "apiextensions.k8s.io/v1";

/// Longest uid and API version: they go into the response and into logs.
const LONGEST: usize = 320;

/// A parsed ConversionRequest.
#[derive(Debug)]
pub(super) struct ConversionRequest {
    uid: String,
    /// The API version to convert to, such as `example.com/v2`.
    desired: String,
    objects: Vec<Value>,
}

impl ConversionRequest {
    /// Parses the body of a request.
    pub(super) fn read(body: &[u8]) -> Result<Self, Unreadable> {
        let bad = |message: String| Unreadable::new(400, message);
        let mut review: Value =
            serde_json::from_slice(body).map_err(|e| bad(format!("the body is not JSON, or nested too deep: {e}")))?;
        let text = |pointer: &str| review.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (version, kind) = (text("/apiVersion"), text("/kind"));
        if version != API_VERSION || kind != "ConversionReview" {
            let found = format!("{}, {}", crate::quoted(&version, 100), crate::quoted(&kind, 100));
            return Err(bad(format!("expected apiVersion {API_VERSION} and kind ConversionReview, found {found}")));
        }
        let (uid, desired) = (text("/request/uid"), text("/request/desiredAPIVersion"));
        if uid.is_empty() || uid.len() > LONGEST {
            return Err(bad(format!("request.uid must have 1 to {LONGEST} characters")));
        }
        let Some((group, _)) = desired.split_once('/').filter(|(group, version)| {
            !group.is_empty() && !version.is_empty() && !version.contains('/') && desired.len() <= LONGEST
        }) else {
            return Err(bad(
                "request.desiredAPIVersion is not a group and a version, such as example.com/v2".to_owned()
            ));
        };
        let group = group.to_owned();
        let Some(Value::Array(objects)) = review.pointer_mut("/request/objects").map(Value::take) else {
            return Err(bad("request.objects is not a list".to_owned()));
        };
        if let Some((place, why)) =
            objects.iter().enumerate().find_map(|(place, object)| Some((place, fault(object, &group)?)))
        {
            return Err(bad(format!("request.objects[{place}] {why}")));
        }
        Ok(Self { uid, desired, objects })
    }

    /// The group of all objects.
    fn group(&self) -> &str {
        self.desired.split('/').next().unwrap_or_default()
    }
}

/// Why a value is not an object of a group.
fn fault(object: &Value, group: &str) -> Option<String> {
    if !object.is_object() {
        return Some("is not an object".to_owned());
    }
    let of_group = object.get("apiVersion").and_then(Value::as_str).and_then(|version| version.split_once('/'));
    if of_group.is_none_or(|(of, _)| of != group) {
        return Some(format!("is not of the group {} of desiredAPIVersion", crate::quoted(group, 100)));
    }
    let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
    (kind.is_empty() || !object.get("metadata").is_some_and(Value::is_object))
        .then(|| "has no kind or no metadata".to_owned())
}

impl WebhookServer {
    /// A plugin's conversions. Waits while the plugin is loading, but not for its watches: these may be of the kind to convert.
    ///
    /// # Errors
    ///
    /// 404 when the plugin does not exist or does not convert, 503 when it is not ready in time.
    pub(super) async fn converter(&self, plugin: &str, latest: Instant) -> Result<Arc<Converter>, Unreadable> {
        loop {
            if let Some(converter) = self.lifecycle.converter(plugin) {
                return Ok(converter);
            }
            // It may have come in the meantime.
            if !self.lifecycle.may_come(plugin) && self.lifecycle.converter(plugin).is_none() {
                return Err(Unreadable::new(404, format!("no plugin {plugin} on this host converts objects")));
            }
            if Instant::now() + ASK_AGAIN >= latest {
                return Err(Unreadable::new(503, format!("plugin {plugin} is still being loaded")));
            }
            tokio::time::sleep(ASK_AGAIN).await;
        }
    }

    /// Converts the objects of a request, and returns the ConversionReview to answer.
    pub(super) async fn convert(&self, converter: &Converter, request: ConversionRequest, deadline: Instant) -> Value {
        let (group, number) = (request.group().to_owned(), request.objects.len());
        let ConversionRequest { uid, desired, objects } = request;
        let correlation_id = crate::shorten(&uid, 64).to_owned();
        let conversion = Conversion { group, desired, objects, deadline, correlation_id };
        let converted = converter.convert(conversion).await;
        self.metrics.converted(converter.plugin(), converted.is_ok(), number);
        let response = match converted {
            Ok(objects) => json!({"uid": uid, "convertedObjects": objects, "result": {"status": "Success"}}),
            Err(message) => {
                tracing::warn!(plugin = converter.plugin(), error = message, "objects could not be converted");
                json!({"uid": uid, "convertedObjects": [], "result": {"status": "Failure", "message": message}})
            }
        };
        json!({"apiVersion": API_VERSION, "kind": "ConversionReview", "response": response})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn review(change: &Value) -> Value {
        let object = json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}});
        let mut review = json!({"apiVersion": API_VERSION, "kind": "ConversionReview",
            "request": {"uid": "u", "desiredAPIVersion": "example.com/v2", "objects": [object]}});
        json_patch::merge(&mut review, change);
        review
    }

    #[test]
    fn a_request_that_is_no_conversion_is_refused_with_the_field() {
        let read = |change: Value| {
            ConversionRequest::read(review(&change).to_string().as_bytes()).map_err(|error| error.message)
        };
        assert_eq!(read(json!({})).unwrap().objects.len(), 1);
        for (change, expected) in [
            (json!({"kind": "AdmissionReview"}), "found apiextensions.k8s.io/v1, AdmissionReview"),
            (json!({"request": {"uid": ""}}), "request.uid must have"),
            (json!({"request": {"uid": "x".repeat(LONGEST + 1)}}), "request.uid must have"),
            (json!({"request": {"desiredAPIVersion": "v2"}}), "request.desiredAPIVersion is not"),
            (json!({"request": {"desiredAPIVersion": "a/b/c"}}), "request.desiredAPIVersion is not"),
            (json!({"request": {"objects": {}}}), "request.objects is not a list"),
            (json!({"request": {"objects": [1]}}), "request.objects[0] is not an object"),
            (
                json!({"request": {"objects": [{"apiVersion": "other.com/v1", "kind": "Thing", "metadata": {}}]}}),
                "request.objects[0] is not of the group",
            ),
            (
                json!({"request": {"objects": [{"apiVersion": "example.com/v1", "kind": "Thing"}]}}),
                "request.objects[0] has no kind or no metadata",
            ),
        ] {
            let error = read(change).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        assert_eq!(ConversionRequest::read(b"{").unwrap_err().status, 400);
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(ConversionRequest::read(deep.as_bytes()).unwrap_err().status, 400);
    }
}
