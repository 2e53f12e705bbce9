//! Attachments of a plugin file: definitions of its kinds, a default grant and documentation, in custom sections beside the code.

use crate::grants::Grants;
use crate::oci;
use data_encoding::HEXLOWER;
use oarlock_manifest::{Kind, PluginGrant};
use oarlock_schema::Crd;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::sync::Arc;

/// A JSON list of CustomResourceDefinitions.
const DEFINITIONS: &str = "oarlock:definitions";
/// A grant file, in YAML.
const GRANT: &str = "oarlock:grant";
/// A text in Markdown.
const DOCUMENTATION: &str = "oarlock:documentation";

/// Most definitions of a file.
const MOST_DEFINITIONS: usize = 64;

/// Largest definition, in bytes of JSON: an API server stores no larger object.
const DEFINITION_BYTES: usize = 1 << 20;

/// Largest section of each name, in bytes.
const SECTION_BYTES: [(&str, usize); 3] = [(DEFINITIONS, 8 << 20), (GRANT, 256 << 10), (DOCUMENTATION, 1 << 20)];

/// Longest sentence about a fault.
const FAULT_BYTES: usize = 1024;

/// Why attachments cannot be read or made: a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AttachmentError(String);

fn fault(text: &str) -> AttachmentError {
    AttachmentError(crate::quoted(text, FAULT_BYTES))
}

/// The attachments of a plugin file.
#[derive(Clone, Debug, Default)]
pub struct Attachments {
    /// The definitions of its kinds.
    pub definitions: Vec<Definition>,
    /// The default grant: a grant file in YAML, to be read and completed by a person. The host never uses it.
    pub grant: Option<String>,
    /// The documentation, in Markdown.
    pub documentation: Option<String>,
}

/// A CustomResourceDefinition in a plugin file. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    name: String,
    kind: String,
    json: Arc<str>,
}

impl Definition {
    /// The definition, without status, unknown fields, and metadata of a cluster.
    ///
    /// # Errors
    ///
    /// An API server would refuse the definition, or it is too large.
    pub fn new(document: &Value) -> Result<Self, AttachmentError> {
        let document = &as_written(document);
        let crd = Crd::parse(document).map_err(|errors| {
            let name = document.pointer("/metadata/name").and_then(Value::as_str).unwrap_or("without a name");
            let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            fault(&format!("an API server would refuse definition {name}: {}", errors.join("; ")))
        })?;
        let json = document.to_string();
        if json.len() > DEFINITION_BYTES {
            let size = json.len();
            return Err(fault(&format!(
                "definition {} has {size} bytes as JSON; the limit is {DEFINITION_BYTES}",
                crd.name
            )));
        }
        Ok(Self { name: crd.name, kind: crd.names.kind, json: json.into() })
    }

    /// `<plural>.<group>`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The resource of a kind. None: it is another definition's.
    #[must_use]
    pub fn plural_of(&self, kind: &Kind) -> Option<&str> {
        let (plural, group) = self.name.split_once('.')?;
        (group == kind.group && self.kind == kind.kind).then_some(plural)
    }

    /// The whole definition.
    #[must_use]
    pub fn document(&self) -> Value {
        serde_json::from_str(&self.json).unwrap_or_default()
    }

    /// The beginning of the SHA-256 of its JSON, in hex: 16 characters.
    #[must_use]
    pub fn digest(&self) -> String {
        let digest = Sha256::digest(self.json.as_bytes());
        HEXLOWER.encode(digest.get(..8).unwrap_or_default())
    }

    /// The names of its versions, in order.
    #[must_use]
    pub fn versions(&self) -> Vec<String> {
        Crd::parse(&self.document())
            .map(|crd| crd.versions.into_iter().map(|version| version.name).collect())
            .unwrap_or_default()
    }
}

/// The part of a definition that an author writes.
fn as_written(document: &Value) -> Value {
    let mut written = document.clone();
    oarlock_schema::prune_crd(&mut written);
    if let Some(fields) = written.as_object_mut() {
        fields.remove("status");
    }
    if let Some(metadata) = written.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|field, _| ["name", "labels", "annotations"].contains(&field.as_str()));
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
        }
    }
    written
}

impl Attachments {
    /// Reads the attachments of a file.
    ///
    /// # Errors
    ///
    /// The file is no WebAssembly, or an attachment is invalid or too large.
    pub fn read(wasm: &[u8]) -> Result<Self, AttachmentError> {
        let mut found = Self::default();
        for (name, content) in oci::custom_sections(wasm).map_err(|text| fault(&text))? {
            let Some((_, limit)) = SECTION_BYTES.iter().find(|(known, _)| *known == name) else { continue };
            if content.len() > *limit {
                let size = content.len();
                return Err(fault(&format!("custom section {name} has {size} bytes; the limit is {limit}")));
            }
            let text = std::str::from_utf8(content);
            let text = text.map_err(|_utf8| fault(&format!("custom section {name} is not UTF-8")))?;
            let once = |one: &mut Option<String>| match one.replace(text.to_owned()) {
                None => Ok(()),
                Some(_) => Err(fault(&format!("the file has two custom sections {name}"))),
            };
            match name {
                GRANT => once(&mut found.grant)?,
                DOCUMENTATION => once(&mut found.documentation)?,
                _ => found.add_definitions(text)?,
            }
        }
        if let Some(grant) = &found.grant {
            check_grant(grant)?;
        }
        Ok(found)
    }

    fn add_definitions(&mut self, json: &str) -> Result<(), AttachmentError> {
        let list: Vec<Value> = serde_json::from_str(json)
            .map_err(|e| fault(&format!("custom section {DEFINITIONS} is no JSON list of definitions: {e}")))?;
        for document in &list {
            self.add_definition(Definition::new(document)?)?;
        }
        Ok(())
    }

    /// # Errors
    ///
    /// There is a definition of this name, or there are too many.
    pub fn add_definition(&mut self, definition: Definition) -> Result<(), AttachmentError> {
        if self.definitions.iter().any(|other| other.name == definition.name) {
            return Err(fault(&format!("there are two definitions {}", definition.name)));
        }
        if self.definitions.len() == MOST_DEFINITIONS {
            return Err(fault(&format!("there are more than {MOST_DEFINITIONS} definitions")));
        }
        self.definitions.push(definition);
        Ok(())
    }

    /// The file with these attachments instead of those that it has.
    ///
    /// # Errors
    ///
    /// As [`Self::read`].
    pub fn attach(&self, wasm: &[u8]) -> Result<Vec<u8>, AttachmentError> {
        let list: Vec<&str> = self.definitions.iter().map(|definition| &*definition.json).collect();
        let definitions = (!list.is_empty()).then(|| format!("[{}]", list.join(",")));
        let added = [
            (DEFINITIONS, definitions.as_deref()),
            (GRANT, self.grant.as_deref()),
            (DOCUMENTATION, self.documentation.as_deref()),
        ];
        let added: Vec<(&str, &[u8])> =
            added.into_iter().filter_map(|(name, text)| Some((name, text?.as_bytes()))).collect();
        let ours = |name: &str| SECTION_BYTES.iter().any(|(known, _)| *known == name);
        let new = oci::with_custom_sections(wasm, ours, &added).map_err(|text| fault(&text))?;
        // The reader's checks and limits are those of the writer.
        Self::read(&new)?;
        Ok(new)
    }
}

fn check_grant(text: &str) -> Result<(), AttachmentError> {
    let grant: PluginGrant =
        serde_saphyr::from_str(text).map_err(|e| fault(&format!("the default grant is no grant file: {e}")))?;
    Grants::without_secrets(&grant).map(drop).map_err(|e| fault(&format!("the default grant: {}", crate::chain(&e))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const FILE: &[u8] = b"\0asm\x01\0\0\0";

    fn definition(plural: &str) -> Value {
        let schema = json!({"type": "object", "properties": {"spec": {"type": "object"}}});
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.s.io")},
            "spec": {"group": "s.io", "scope": "Namespaced", "names": {"plural": plural, "kind": "Network"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}})
    }

    fn with(definitions: &Value) -> Vec<u8> {
        let text = definitions.to_string();
        oci::with_custom_sections(FILE, |_| false, &[(DEFINITIONS, text.as_bytes())]).unwrap()
    }

    #[test]
    fn attachments_come_back_as_they_were() {
        let mut attachments = Attachments::default();
        attachments.add_definition(Definition::new(&definition("networks")).unwrap()).unwrap();
        attachments.documentation = Some("# Networks".to_owned());
        attachments.grant = Some("# Read me\napiVersion: oarlock.dev/v1alpha1\nkind: PluginGrant\n".to_owned());
        let file = attachments.attach(FILE).unwrap();
        let found = Attachments::read(&file).unwrap();
        assert_eq!(found.definitions, attachments.definitions);
        assert_eq!(found.definitions[0].document(), definition("networks"));
        assert_eq!(found.definitions[0].versions(), ["v1"]);
        let mut of_cluster = definition("networks");
        of_cluster["metadata"]["uid"] = json!("u");
        of_cluster["status"] = json!({"storedVersions": ["v1"]});
        of_cluster["spec"]["preserved"] = json!(true);
        assert_eq!(Definition::new(&of_cluster).unwrap(), found.definitions[0]);
        assert_eq!((&found.documentation, &found.grant), (&attachments.documentation, &attachments.grant));
        assert_eq!(attachments.attach(&file).unwrap(), file, "attached twice");
        assert_eq!(Attachments::default().attach(&file).unwrap(), FILE);
        assert!(Attachments::read(FILE).unwrap().definitions.is_empty());
    }

    #[test]
    fn what_no_api_server_takes_is_named() {
        let mut bad = definition("networks");
        bad["spec"]["versions"][0]["schema"] = Value::Null;
        let large = json!({"type": "object", "description": "x".repeat(DEFINITION_BYTES)});
        let mut too_large = definition("networks");
        too_large["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = large;
        for (list, part) in [
            (json!({}), "is no JSON list of definitions"),
            (json!([{"metadata": {"name": "x"}}]), "an API server would refuse definition x: "),
            (json!([bad]), "an API server would refuse definition networks.s.io: spec.versions[0].schema"),
            (json!([too_large]), "the limit is 1048576"),
            (json!([definition("networks"), definition("networks")]), "there are two definitions networks.s.io"),
        ] {
            let error = Attachments::read(&with(&list)).unwrap_err().to_string();
            assert!(error.contains(part) && error.len() < 2048, "{error}");
        }
        let many: Vec<Value> = (0..=MOST_DEFINITIONS).map(|number| definition(&format!("n{number}"))).collect();
        let error = Attachments::read(&with(&json!(many))).unwrap_err().to_string();
        assert_eq!(error, "there are more than 64 definitions");
        for (section, content, part) in [
            (GRANT, &b"apiVersion: v1"[..], "the default grant is no grant file"),
            (GRANT, b"apiVersion: v1\nkind: PluginGrant", "the default grant: expected apiVersion"),
            (DOCUMENTATION, b"\xff", "is not UTF-8"),
            (DOCUMENTATION, &vec![b' '; (1 << 20) + 1], "the limit is 1048576"),
        ] {
            let file = oci::with_custom_sections(FILE, |_| false, &[(section, content)]).unwrap();
            let error = Attachments::read(&file).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        let twice = [(GRANT, &b""[..]), (GRANT, b"")];
        let error = Attachments::read(&oci::with_custom_sections(FILE, |_| false, &twice).unwrap()).unwrap_err();
        assert_eq!(error.to_string(), "the file has two custom sections oarlock:grant");
    }
}
