//! The format of a plugin in a registry.
//!
//! # Source
//!
//! CNCF TAG Runtime, "Wasm OCI Artifact layout": one layer of `application/wasm`, and a config of `application/vnd.wasm.config.v0+json`.
//! Artifacts of `oras push` and of older tools are accepted as well.

use super::reference::Digest;
use super::sections::custom_sections;
use super::{Error, LAYER_BYTES};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use wasmparser::{Encoding, Parser, Payload};

/// The media type of written manifests.
pub(super) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// The media types of accepted manifests.
pub(super) const MANIFESTS: &str = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, \
     application/vnd.docker.distribution.manifest.v2+json, application/vnd.docker.distribution.manifest.list.v2+json";

/// The media type of an index.
pub(super) const INDEX: &str = "application/vnd.oci.image.index.v1+json";

const CONFIG: &str = "application/vnd.wasm.config.v0+json";

const WASM: &str = "application/wasm";

/// Media types of WebAssembly layers: those of the layout, of wasm-to-oci, and of containerd's shims.
const WASM_LAYERS: [&str; 3] = [
    WASM,
    "application/vnd.wasm.content.layer.v1+wasm",
    "application/vnd.bytecodealliance.wasm.component.layer.v0+wasm",
];

/// The annotation with the file name, if the tool set it.
const TITLE: &str = "org.opencontainers.image.title";

/// The custom sections of a file that become annotations of its manifest, as in <https://docs.rs/wasm-metadata>. Their content has the form of
/// the annotation: <https://specs.opencontainers.org/image-spec/annotations/>.
const ANNOTATIONS: [(&str, &str); 7] = [
    ("authors", "org.opencontainers.image.authors"),
    ("description", "org.opencontainers.image.description"),
    ("homepage", "org.opencontainers.image.url"),
    ("licenses", "org.opencontainers.image.licenses"),
    ("revision", "org.opencontainers.image.revision"),
    ("source", "org.opencontainers.image.source"),
    ("version", "org.opencontainers.image.version"),
];

/// Longest value of an annotation, in bytes; the rest is cut off.
const ANNOTATION_BYTES: usize = 4 << 10;

/// A descriptor: digest and size of a part of an artifact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// Digest of the bytes.
    pub digest: Digest,
    /// Number of bytes.
    pub size: u64,
}

/// The target of a manifest.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// The WebAssembly file.
    Layer(Descriptor),
    /// A manifest in an index.
    Manifest(Digest),
}

/// The used fields of a manifest or an index.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    schema_version: u32,
    #[serde(default)]
    layers: Vec<Part>,
    #[serde(default)]
    manifests: Vec<Part>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    #[serde(default)]
    media_type: String,
    digest: String,
    size: u64,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
    #[serde(default)]
    platform: Platform,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Platform {
    architecture: String,
}

impl Part {
    fn descriptor(&self) -> Result<Descriptor, Error> {
        let digest = self.digest.parse().map_err(Error::Artifact)?;
        Ok(Descriptor { digest, size: self.size })
    }

    /// Whether the layer is WebAssembly: by its media type, or by its file name where the tool set no specific type.
    fn is_wasm(&self) -> bool {
        let named = self.annotations.get(TITLE).is_some_and(|name| name.ends_with(".wasm"));
        let unknown = ["", "application/octet-stream", "application/vnd.oci.image.layer.v1.tar"];
        WASM_LAYERS.contains(&self.media_type.as_str()) || (named && unknown.contains(&self.media_type.as_str()))
    }
}

/// The target of a manifest.
///
/// # Errors
///
/// The document is no manifest, or its content is not one WebAssembly file.
pub(super) fn content(manifest: &[u8]) -> Result<Content, Error> {
    let document: Document =
        serde_json::from_slice(manifest).map_err(|e| Error::Artifact(format!("its manifest cannot be read: {e}")))?;
    if document.schema_version != 2 {
        return Err(Error::Artifact(format!("its manifest is of version {}, not 2", document.schema_version)));
    }
    match (document.layers.as_slice(), document.manifests.as_slice()) {
        ([], []) => Err(Error::Artifact("its manifest has no layer".to_owned())),
        (layers, []) => layer(layers).map(Content::Layer),
        ([], manifests) => of_index(manifests).map(Content::Manifest),
        _ => Err(Error::Artifact("it is a manifest and an index at once".to_owned())),
    }
}

fn layer(layers: &[Part]) -> Result<Descriptor, Error> {
    let mut wasm = layers.iter().filter(|layer| layer.is_wasm());
    let (Some(layer), None) = (wasm.next(), wasm.next()) else {
        let types: Vec<String> = layers.iter().take(5).map(|layer| oarlock_text::one_line(&layer.media_type)).collect();
        let count = layers.iter().filter(|layer| layer.is_wasm()).count();
        let types = types.join(", ");
        return Err(Error::Artifact(format!("{count} of its {} layers are WebAssembly ({types})", layers.len())));
    };
    let descriptor = layer.descriptor()?;
    if descriptor.size > LAYER_BYTES {
        return Err(Error::TooLarge { what: format!("layer {}", descriptor.digest), limit_bytes: LAYER_BYTES });
    }
    Ok(descriptor)
}

/// The manifest for WebAssembly in an index, or its only manifest.
fn of_index(manifests: &[Part]) -> Result<Digest, Error> {
    let of_wasm: Vec<&Part> = manifests.iter().filter(|part| part.platform.architecture == "wasm").collect();
    match (of_wasm.as_slice(), manifests) {
        ([only], _) => Ok(only.descriptor()?.digest),
        ([], [only]) => Ok(only.descriptor()?.digest),
        (several, all) => {
            let (count, all) = (several.len(), all.len());
            Err(Error::Artifact(format!("it is an index, and {count} of its {all} manifests are for WebAssembly")))
        }
    }
}

/// A plugin as an artifact. The same file always gives the same bytes, so that pushing it again changes nothing.
pub(super) struct Packed {
    pub(super) config: Bytes,
    pub(super) manifest: Bytes,
}

/// * `more` - annotations of the manifest, in addition to those of the file's own custom sections, which win.
///
/// # Errors
///
/// The bytes are no WebAssembly file.
pub(super) fn pack(wasm: &[u8], file_name: &str, more: &BTreeMap<String, String>) -> Result<Packed, Error> {
    let layer = Digest::of(wasm);
    let described = describe(wasm)?;
    let os = if described.is_some() { "wasip2" } else { "wasip1" };
    // The config needs a time; the time of the push would give the same file another digest.
    let mut config = serde_json::Map::new();
    config.insert("created".to_owned(), json!("1970-01-01T00:00:00Z"));
    config.insert("architecture".to_owned(), json!("wasm"));
    config.insert("os".to_owned(), json!(os));
    config.insert("layerDigests".to_owned(), json!([layer.to_string()]));
    if let Some(Component { imports, exports }) = described {
        config.insert("component".to_owned(), json!({"imports": imports, "exports": exports}));
    }
    let config = Value::Object(config).to_string();
    let mut manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": {"mediaType": CONFIG, "digest": Digest::of(config.as_bytes()).to_string(), "size": config.len()},
        "layers": [{
            "mediaType": WASM, "digest": layer.to_string(), "size": wasm.len(), "annotations": {TITLE: file_name},
        }],
    });
    let annotations = annotations(wasm, more)?;
    if !annotations.is_empty()
        && let Some(fields) = manifest.as_object_mut()
    {
        fields.insert("annotations".to_owned(), json!(annotations));
    }
    Ok(Packed { config: config.into(), manifest: manifest.to_string().into() })
}

fn annotations(wasm: &[u8], more: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>, Error> {
    let mut annotations = more.clone();
    for (name, content) in custom_sections(wasm).map_err(Error::Artifact)? {
        let known = ANNOTATIONS.iter().find(|(section, _)| *section == name);
        if let Some((_, annotation)) = known
            && let Ok(text) = std::str::from_utf8(content)
        {
            annotations.insert((*annotation).to_owned(), text.to_owned());
        }
    }
    for text in annotations.values_mut() {
        *text = oarlock_text::shorten(text, ANNOTATION_BYTES).to_owned();
    }
    Ok(annotations)
}

/// Names of a component's imports and exports.
#[derive(Default)]
struct Component {
    imports: Vec<String>,
    exports: Vec<String>,
}

/// None: the file is a core module, which the host converts into a component.
fn describe(wasm: &[u8]) -> Result<Option<Component>, Error> {
    let bad = |e: wasmparser::BinaryReaderError| Error::Artifact(format!("not a WebAssembly file: {e}"));
    let (mut component, mut depth) = (false, 0_usize);
    let mut found = Component::default();
    for payload in Parser::new(0).parse_all(wasm) {
        match payload.map_err(bad)? {
            Payload::Version { encoding, .. } => {
                component |= depth == 0 && encoding == Encoding::Component;
                depth += 1;
            }
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 1 => {
                for import in section {
                    found.imports.push(import.map_err(bad)?.name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(section) if depth == 1 => {
                for export in section {
                    found.exports.push(export.map_err(bad)?.name.name.to_owned());
                }
            }
            _ => {}
        }
    }
    Ok(component.then_some(found))
}

/// Whether the bytes begin with the WebAssembly header.
pub(super) fn is_wasm(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\0asm")
}

/// A manifest with small layers, for signatures.
pub(super) fn manifest_of(config: &[u8], config_type: &str, layers: &[Value]) -> Bytes {
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": {"mediaType": config_type, "digest": Digest::of(config).to_string(), "size": config.len()},
        "layers": layers,
    });
    manifest.to_string().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(kind: &str, digest: &Digest, more: &Value) -> Value {
        let mut part = json!({"mediaType": kind, "digest": digest.to_string(), "size": 5});
        part.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        part
    }

    fn read(document: &Value) -> Result<Content, String> {
        content(document.to_string().as_bytes()).map_err(|e| e.to_string())
    }

    #[test]
    fn what_tools_push_is_read() {
        let digest = Digest::of(b"\0asm");
        let wanted = Ok(Content::Layer(Descriptor { digest: digest.clone(), size: 5 }));
        let readme = part("text/markdown", &Digest::of(b"#"), &json!({"annotations": {TITLE: "README.md"}}));
        let title = json!({"annotations": {TITLE: "network.wasm"}});
        for layers in [
            json!([part("application/wasm", &digest, &json!({}))]),
            json!([part("application/vnd.wasm.content.layer.v1+wasm", &digest, &json!({})), readme]),
            json!([readme, part("application/vnd.oci.image.layer.v1.tar", &digest, &title)]),
            json!([part("application/octet-stream", &digest, &title)]),
        ] {
            assert_eq!(read(&json!({"schemaVersion": 2, "layers": layers})), wanted);
        }
    }

    #[test]
    fn an_index_leads_to_its_manifest_for_wasm() {
        let (one, other) = (Digest::of(b"1"), Digest::of(b"2"));
        let wasm = part(MANIFEST, &one, &json!({"platform": {"architecture": "wasm", "os": "wasip2"}}));
        let linux = part(MANIFEST, &other, &json!({"platform": {"architecture": "amd64", "os": "linux"}}));
        let index = |manifests: Value| read(&json!({"schemaVersion": 2, "manifests": manifests}));
        assert_eq!(index(json!([linux, wasm])), Ok(Content::Manifest(one.clone())));
        assert_eq!(index(json!([linux])), Ok(Content::Manifest(other)));
        assert!(index(json!([wasm, wasm])).unwrap_err().contains("2 of its 2"));
        assert!(index(json!([linux, linux])).unwrap_err().contains("0 of its 2"));
    }

    #[test]
    fn what_is_not_one_file_says_what_it_is() {
        let wasm = part(WASM, &Digest::of(b""), &json!({}));
        let large = json!({"mediaType": WASM, "digest": Digest::of(b"").to_string(), "size": LAYER_BYTES + 1});
        let outside = json!({"mediaType": WASM, "digest": "sha256:../../../etc/passwd", "size": 1});
        for (document, says) in [
            (json!({"schemaVersion": 2, "layers": [wasm, wasm]}), "2 of its 2 layers"),
            (
                json!({"schemaVersion": 2, "layers": [part("application/vnd.oci.image.layer.v1.tar+gzip", &Digest::of(b""), &json!({}))]}),
                "tar+gzip",
            ),
            (json!({"schemaVersion": 2, "layers": []}), "no layer"),
            (json!({"schemaVersion": 1, "fsLayers": []}), "version 1"),
            (json!({"schemaVersion": 2, "layers": [wasm], "manifests": [wasm]}), "at once"),
            (json!({"schemaVersion": 2, "layers": [large]}), "268435456 bytes"),
            (json!({"schemaVersion": 2, "layers": [outside]}), "etc/passwd"),
            (json!([]), "cannot be read"),
        ] {
            let error = read(&document).unwrap_err();
            assert!(error.contains(says), "{document}: {error}");
        }
    }

    #[test]
    fn custom_sections_of_the_file_become_annotations() {
        let sections = [
            ("description", &b"Makes networks."[..]),
            ("homepage", b"https://a.example"),
            ("producers", b"x"),
            ("source", b"\xff"),
        ];
        let file = crate::with_custom_sections(b"\0asm\x0d\0\x01\0", |_| false, &sections).unwrap();
        let more = ["org.opencontainers.image.description", "oarlock.dev/definitions"];
        let more = more.map(|name| (name.to_owned(), "x".repeat(5000))).into();
        let manifest: Value = serde_json::from_slice(&pack(&file, "a.wasm", &more).unwrap().manifest).unwrap();
        let expected = json!({"oarlock.dev/definitions": "x".repeat(ANNOTATION_BYTES),
            "org.opencontainers.image.description": "Makes networks.", "org.opencontainers.image.url": "https://a.example"});
        assert_eq!(manifest["annotations"], expected);
        let none: Value =
            serde_json::from_slice(&pack(b"\0asm\x0d\0\x01\0", "a", &BTreeMap::new()).unwrap().manifest).unwrap();
        assert_eq!(none.get("annotations"), None);
    }

    #[test]
    fn the_same_file_is_the_same_artifact() {
        let (component, none) = (b"\0asm\x0d\0\x01\0", BTreeMap::new());
        let (one, again) = (pack(component, "a.wasm", &none).unwrap(), pack(component, "a.wasm", &none).unwrap());
        assert_eq!((&one.config, &one.manifest), (&again.config, &again.manifest));
        let config: Value = serde_json::from_slice(&one.config).unwrap();
        assert_eq!((&config["os"], &config["architecture"]), (&json!("wasip2"), &json!("wasm")));
        let layer = Descriptor { digest: Digest::of(component), size: 8 };
        assert_eq!(content(&one.manifest).unwrap(), Content::Layer(layer));
        let module: Value = serde_json::from_slice(&pack(b"\0asm\x01\0\0\0", "m", &none).unwrap().config).unwrap();
        assert_eq!((&module["os"], module.get("component")), (&json!("wasip1"), None));
        assert!([&b"#!/bin/sh"[..], b"", &component[..6]].iter().all(|bytes| pack(bytes, "x", &none).is_err()));
    }
}
