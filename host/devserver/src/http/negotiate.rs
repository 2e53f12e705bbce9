//! Content negotiation: the form of a response.

use crate::model::status::{ApiError, Result};

/// The shape of an object in a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// The object itself.
    Object,
    /// A table of `meta.k8s.io`, in this version.
    Table(&'static str),
    /// Metadata only, in this version of `meta.k8s.io`.
    Partial(&'static str),
}

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Format {
    pub(crate) yaml: bool,
    pub(crate) shape: Shape,
}

impl Format {
    /// JSON, untransformed.
    pub(crate) const JSON: Self = Self { yaml: false, shape: Shape::Object };

    /// The Content-Type of the answer.
    pub(crate) fn content_type(self) -> &'static str {
        if self.yaml { "application/yaml" } else { "application/json" }
    }
}

/// One alternative of an Accept header.
#[derive(Debug)]
pub(crate) struct Clause<'a> {
    pub(crate) media_type: &'a str,
    params: Vec<(&'a str, &'a str)>,
}

impl<'a> Clause<'a> {
    /// A parameter, if present.
    pub(crate) fn param(&self, key: &str) -> Option<&'a str> {
        self.params.iter().find(|(k, _)| *k == key).map(|(_, v)| *v)
    }

    fn quality(&self) -> u16 {
        let q: f32 = self.param("q").and_then(|q| q.parse().ok()).unwrap_or(1.0);
        // In thousandths; values outside 0..1 are clamped.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped before")]
        let thousandths = (q.clamp(0.0, 1.0) * 1000.0) as u16;
        thousandths
    }
}

/// The alternatives of an Accept header, best first.
pub(crate) fn clauses(accept: &str) -> Vec<Clause<'_>> {
    let mut out: Vec<Clause<'_>> = accept
        .split(',')
        .map(|clause| {
            let mut parts = clause.split(';').map(str::trim);
            let media_type = parts.next().unwrap_or_default();
            Clause { media_type, params: parts.filter_map(|p| p.split_once('=')).collect() }
        })
        .collect();
    out.sort_by_key(|c| std::cmp::Reverse(c.quality()));
    out
}

/// Chooses the form of a response. `transform`: tables and metadata are possible here.
pub(crate) fn format(accept: &str, transform: bool) -> Result<Format> {
    choose(accept, transform, What::One)
}

/// The form of a list response.
pub(crate) fn list_format(accept: &str) -> Result<Format> {
    choose(accept, true, What::List)
}

/// The form of the objects in a watch.
pub(crate) fn stream_format(accept: &str) -> Result<Format> {
    choose(accept, true, What::Stream)
}

/// The type of response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    One,
    List,
    Stream,
}

fn choose(accept: &str, transform: bool, what: What) -> Result<Format> {
    if accept.is_empty() {
        return Ok(Format::JSON);
    }
    let mut known_type = false;
    for clause in clauses(accept) {
        let yaml = match clause.media_type {
            "application/json" | "*/*" | "application/*" => false,
            "application/yaml" => true,
            _ => continue,
        };
        known_type = true;
        let shape = match (clause.param("as"), clause.param("g"), clause.param("v")) {
            (None, ..) => Shape::Object,
            (Some(shape), Some("meta.k8s.io"), Some(version)) if transform => {
                let version = match version {
                    "v1" => "v1",
                    "v1beta1" => "v1beta1",
                    _ => continue,
                };
                match shape {
                    "Table" => Shape::Table(version),
                    "PartialObjectMetadata" if what == What::List => {
                        let message = "you requested PartialObjectMetadata, but the requested object is a list";
                        return Err(ApiError::wrong_shape(message));
                    }
                    "PartialObjectMetadata" => Shape::Partial(version),
                    "PartialObjectMetadataList" if what == What::One => {
                        let message = "you requested PartialObjectMetadataList, but the requested object is not a list";
                        return Err(ApiError::wrong_shape(message));
                    }
                    "PartialObjectMetadataList" => Shape::Partial(version),
                    _ => continue,
                }
            }
            _ => continue,
        };
        return Ok(Format { yaml, shape });
    }
    Err(ApiError::not_acceptable(known_type))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_acceptable_clause_wins() {
        let kubectl = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
        assert_eq!(format(kubectl, true).unwrap().shape, Shape::Table("v1"));
        assert_eq!(format(kubectl, false).unwrap().shape, Shape::Object);
        let protobuf = "application/vnd.kubernetes.protobuf,application/json";
        assert_eq!(format(protobuf, true).unwrap(), Format::JSON);
        let chair = "application/json;as=Chair;v=v1;g=meta.k8s.io,application/json";
        assert_eq!(format(chair, true).unwrap(), Format::JSON);
        assert!(format("application/json;as=Table;v=v9;g=meta.k8s.io", true).is_err());
        assert!(format("application/xml", true).is_err());
        assert!(format("text/html, application/yaml;q=0.5, */*;q=0.1", true).unwrap().yaml);
    }
}
