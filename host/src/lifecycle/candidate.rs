//! A version that may run: its code, and the grant beside its file.

use crate::grants::{Grants, guess_plural};
use crate::plugin::{Component, Definition};
use oarlock_manifest::{Kind, PluginGrant, PluginManifest};
use std::collections::HashMap;
use std::sync::Arc;

/// The compiled content of a file.
#[derive(Clone, Debug)]
pub(super) struct Compiled {
    pub(super) component: Component,
    /// Contains the plugin's name, which is never the guest's own claim: [`identity::name`](crate::plugin::identity::name).
    pub(super) manifest: PluginManifest,
    /// The name that the guest claims.
    pub(super) says: String,
    /// The definitions in the file.
    pub(super) definitions: Arc<[Definition]>,
}

/// A candidate version: its code, and the grant beside its file.
#[derive(Clone, Debug)]
pub(super) struct CandidateVersion {
    pub(super) compiled: Compiled,
    /// The resources of its kinds, as far as the API server serves them.
    pub(super) plurals: Arc<HashMap<Kind, String>>,
    pub(super) granting: Granting,
}

/// The grant beside a plugin.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Granting {
    /// No grant file.
    Nothing,
    /// A grant file.
    Grant {
        /// As written, to show differences.
        grant: Box<PluginGrant>,
        /// Validated.
        grants: Box<Grants>,
        /// Permissions that the manifest asks for and the grant lacks, one line each.
        missing: Vec<String>,
    },
}

impl CandidateVersion {
    pub(super) fn name(&self) -> &str {
        &self.compiled.manifest.name
    }

    pub(super) fn digest(&self) -> &str {
        &self.compiled.component.digest
    }

    /// The digests of code and configuration that a Lease names.
    pub(super) fn published(&self) -> (String, String) {
        let config = match &self.granting {
            Granting::Grant { grants, .. } => grants.config_digest(),
            Granting::Nothing => String::new(),
        };
        (self.digest().to_owned(), config)
    }

    /// The definitions for which the version may convert.
    pub(super) fn conversions(&self) -> Vec<String> {
        match &self.granting {
            Granting::Grant { grants, .. } => grants.conversions(&self.compiled.manifest),
            Granting::Nothing => Vec::new(),
        }
    }

    /// A grant with the configuration of this version.
    pub(super) fn with_config(&self, granting: &Granting) -> Granting {
        let (Granting::Grant { grant: before, grants: of_before, .. }, Granting::Grant { grant, grants, .. }) =
            (&self.granting, granting)
        else {
            return granting.clone();
        };
        let (config, secret_files) = (before.config.clone(), before.secret_files.clone());
        let grants = Box::new(grants.with_config_of(of_before));
        let missing = self.missing(&grants);
        Granting::Grant { grant: Box::new(PluginGrant { config, secret_files, ..(**grant).clone() }), grants, missing }
    }

    /// Permissions that the manifest asks for and `grants` lacks.
    pub(super) fn missing(&self, grants: &Grants) -> Vec<String> {
        grants.missing(&self.compiled.manifest, &|kind| self.plurals.get(kind).cloned())
    }

    /// The manifest reduced to the grant. It has primaries and watches only where list and watch are granted, and omits those granted
    /// nowhere. It has finalizer and status only if they are granted.
    pub(super) fn manifest(&self) -> PluginManifest {
        let mut manifest = self.compiled.manifest.clone();
        let Granting::Grant { grants, .. } = &self.granting else { return manifest };
        grants.withhold(&mut manifest);
        let places = |kind: &Kind, asked: &[String], names: &[String]| {
            let plural = self.plurals.get(kind).cloned().unwrap_or_else(|| guess_plural(&kind.kind));
            grants.namespaces(&kind.group, &plural, asked, names)
        };
        manifest.primaries.retain_mut(|primary| match places(&primary.gvk(), &primary.namespaces, &[]) {
            None => true,
            Some(namespaces) => {
                primary.namespaces = namespaces;
                !primary.namespaces.is_empty()
            }
        });
        manifest.watches.retain_mut(|watch| match places(&watch.gvk(), &watch.namespaces, &watch.names) {
            None => true,
            Some(namespaces) => {
                // The grant may allow some of several names; it allows at least one where there is a namespace.
                let granted = |name: &String| {
                    let place = places(&watch.gvk(), &watch.namespaces, std::slice::from_ref(name));
                    place.is_none_or(|namespaces| !namespaces.is_empty())
                };
                let names: Vec<String> = watch.names.iter().filter(|name| granted(name)).cloned().collect();
                watch.names = names;
                watch.namespaces = namespaces;
                !watch.namespaces.is_empty()
            }
        });
        manifest
    }

    /// Whether both have the same code and the same grant.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.digest() == other.digest() && self.granting == other.granting
    }
}
