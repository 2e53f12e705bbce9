//! Identity of a plugin: its name is the file stem, the name of the registry source, or the `name` of the grant.
//!
//! ServiceAccount, Lease, finalizer, field manager, cache, metrics and events derive from it. The host compares the guest's name with it
//! and never adopts the guest's: a file cannot take the identity of another plugin.

use super::directory::Candidate;
use super::validate::is_plugin_name;
use oarlock_manifest::PluginGrant;

/// Why a file has no usable plugin name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The name is no DNS label of at most 40 characters, or is the host's own name.
    #[error(
        "{name:?} cannot be the name of a plugin (a-z, 0-9, -; begins with a letter, at most 40 characters, not \"{HOST}\"): \
         rename {file}, or state another `name` in its grant {grant}",
        HOST = crate::apply::HOST
    )]
    Impossible {
        /// The invalid name.
        name: String,
        /// The plugin's file.
        file: String,
        /// Path of its grant.
        grant: String,
    },
    /// The grant states another name than the source that is pulled.
    #[error(
        "its grant {grant} states the name {stated}, but it is pulled as plugin {name}: leave `name` out, or pull it as {stated}={file}"
    )]
    Pulled {
        /// The name in the grant.
        stated: String,
        /// The name of the source.
        name: String,
        /// The reference.
        file: String,
        /// Path of its grant.
        grant: String,
    },
    /// The manifest has another name, and the grant does not settle the name.
    #[error(
        "it calls itself {says}, but plugin {name} is expected here: {remedy}, or state `name: {name}` in its grant {grant}"
    )]
    Differs {
        /// The name in the manifest.
        says: String,
        /// The plugin's name.
        name: String,
        /// The alternative to stating a name.
        remedy: String,
        /// Path of its grant.
        grant: String,
    },
}

/// The name of the plugin in a file.
///
/// * `grant` - the grant beside it, if any.
/// * `says` - the name in its manifest.
///
/// # Errors
///
/// See [`NameError`]: each says what to do.
pub fn name(candidate: &Candidate, grant: Option<&PluginGrant>, says: &str) -> Result<String, NameError> {
    let file = candidate.file_name.clone();
    let path = candidate.grant_path().display().to_string();
    let stated = grant.and_then(|grant| grant.name.clone());
    if let (Some(stated), Some(pulled)) = (&stated, &candidate.pulled)
        && *stated != pulled.plugin
    {
        return Err(NameError::Pulled { stated: stated.clone(), name: pulled.plugin.clone(), file, grant: path });
    }
    // An object says by its own name which plugin it is.
    let settled = stated.is_some() || candidate.declared.is_some();
    let name = stated.unwrap_or_else(|| candidate.own_name());
    if !is_plugin_name(&name) || name == crate::apply::HOST {
        return Err(NameError::Impossible { name, file, grant: path });
    }
    if !settled && name != says {
        let remedy = match &candidate.pulled {
            Some(_) => format!("pull it with --plugins {says}={file}"),
            None => format!("rename {file} to {says}.wasm and its grant with it"),
        };
        return Err(NameError::Differs { says: says.to_owned(), name, remedy, grant: path });
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::super::directory::Pulled;
    use super::*;
    use crate::grants::Grants;
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    fn file(name: &str) -> Candidate {
        Candidate::file(name.to_owned(), PathBuf::from("plugins").join(name))
    }

    fn stating(name: Option<&str>) -> PluginGrant {
        let manifest = serde_json::json!({"apiVersion": "oarlock.dev/v1alpha1", "kind": "PluginManifest", "name": "t", "version": "1"});
        let mut grant = Grants::asked(&serde_json::from_value(manifest).unwrap(), BTreeMap::new(), &|_| None);
        grant.name = name.map(str::to_owned);
        grant
    }

    #[test]
    fn t2_a_name_is_the_file_stem_or_what_the_grant_states() {
        assert_eq!(name(&file("network.wasm"), None, "network").unwrap(), "network");
        assert_eq!(name(&file("network.wasm"), Some(&stating(None)), "network").unwrap(), "network");
        assert_eq!(name(&file("v2.wasm"), Some(&stating(Some("network"))), "network").unwrap(), "network");
        assert_eq!(name(&file("a.wasm"), Some(&stating(Some("a"))), "network").unwrap(), "a");
    }

    #[test]
    fn t2_a_manifest_with_another_name_is_refused_and_the_error_says_what_to_do() {
        for grant in [None, Some(stating(None))] {
            let error = name(&file("a.wasm"), grant.as_ref(), "network").unwrap_err().to_string();
            for part in ["calls itself network", "plugin a is expected", "rename a.wasm to network.wasm", "`name: a`"] {
                assert!(error.contains(part), "{error}");
            }
        }
    }

    #[test]
    fn t2_a_name_that_is_none_is_refused() {
        for (candidate, stated) in
            [("My_Plugin.wasm", None), ("oarlock.wasm", None), ("a.wasm", Some("B!")), ("a.wasm", Some("oarlock"))]
        {
            let error = name(&file(candidate), Some(&stating(stated)), "a").unwrap_err();
            assert!(matches!(error, NameError::Impossible { .. }), "{error}");
        }
    }

    #[test]
    fn t2_what_is_pulled_has_the_name_of_its_source() {
        let pulled = Pulled { plugin: "a".to_owned(), digest: None, grant: PathBuf::from("a.yaml"), refused: None };
        let pulled = Candidate { pulled: Some(pulled), ..file("registry.example/team/a:1") };
        assert_eq!(name(&pulled, None, "a").unwrap(), "a");
        assert_eq!(name(&pulled, Some(&stating(Some("a"))), "b").unwrap(), "a");
        let error = name(&pulled, None, "b").unwrap_err().to_string();
        assert!(error.contains("--plugins b=registry.example/team/a:1"), "{error}");
        let error = name(&pulled, Some(&stating(Some("b"))), "b").unwrap_err();
        assert!(matches!(error, NameError::Pulled { .. }), "{error}");
    }
}
