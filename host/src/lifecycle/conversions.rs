//! Conversions of plugins: who converts for a definition, and the end of conversions that definitions depend on.
//!
//! The API server cannot read the objects of a definition while its conversion webhook does not answer. Therefore the conversions of a
//! plugin outlive it, without its permissions, until a person confirms their end.

use super::candidate::CandidateVersion;
use super::registry::Registry;
use crate::controller::{Controller, Converter};
use std::collections::BTreeMap;
use std::sync::Arc;

impl Registry {
    /// The conversions of a plugin that runs, is about to, or ended.
    pub(super) fn converter(&self, plugin: &str) -> Option<Arc<Converter>> {
        let running = self.plugins.get(plugin).and_then(|plugin| plugin.controller.converter());
        running.or_else(|| self.ended_converters.get(plugin).cloned())
    }

    /// The conversions by definition. Of two plugins, the one that runs converts.
    pub(super) fn converters(&self) -> BTreeMap<String, Arc<Converter>> {
        let running = self.plugins.values().filter_map(|plugin| plugin.controller.converter());
        let mut converters = BTreeMap::new();
        for converter in self.ended_converters.values().cloned().chain(running) {
            for definition in converter.definitions() {
                converters.insert(definition.clone(), Arc::clone(&converter));
            }
        }
        converters
    }

    /// The number of objects of definitions that this host converts for.
    pub(super) fn objects_of(&self, definitions: &[String]) -> usize {
        definitions.iter().filter_map(|definition| self.converted.get(definition)).sum()
    }

    /// Keeps the conversions of a plugin that ends, if definitions depend on them. Returns a message for people.
    pub(super) fn keep_converter(&mut self, name: &str, controller: &Controller) -> Option<String> {
        let converter = controller.converter()?;
        if !converter.definitions().iter().any(|definition| self.converted.contains_key(definition)) {
            return None;
        }
        let message = self.ended_converter(&converter);
        self.ended_converters.insert(name.to_owned(), converter);
        Some(message)
    }

    /// Why the conversions of an ended plugin continue, and what to do.
    pub(super) fn ended_converter(&self, converter: &Converter) -> String {
        let (plugin, definitions) = (converter.plugin(), converter.definitions());
        let (names, objects) = (definitions.join(", "), self.objects_of(definitions));
        format!(
            "plugin {plugin} ended, but still converts for {names} ({objects} objects): put its file and its grant back, or run \
             oarlock confirm {plugin}, after which objects change their apiVersion only"
        )
    }

    /// A conversion that a candidate drops although a definition depends on it, and the number of objects.
    pub(super) fn drops_conversion(
        &self,
        controller: &Controller,
        candidate: &CandidateVersion,
    ) -> Option<(String, usize)> {
        let (converter, kept) = (controller.converter()?, candidate.conversions());
        let dropped = |name: &&String| self.converted.contains_key(*name) && !kept.contains(name);
        let dropped: Vec<String> = converter.definitions().iter().filter(dropped).cloned().collect();
        let objects = self.objects_of(&dropped);
        (!dropped.is_empty()).then(|| (format!("the conversion of {}", dropped.join(", ")), objects))
    }

    /// Forgets ended conversions that a running plugin does instead, and those that no definition depends on any longer: the end was
    /// confirmed on another host, or the definition is gone.
    pub(super) fn forget_unused_converters(&mut self) {
        let running: Vec<Arc<Converter>> =
            self.plugins.values().filter_map(|plugin| plugin.controller.converter()).collect();
        let replaced =
            |definition: &String| running.iter().any(|converter| converter.definitions().contains(definition));
        let needed = |definition: &String| self.converted.contains_key(definition) && !replaced(definition);
        self.ended_converters.retain(|_, ended| ended.definitions().iter().any(needed));
    }
}

/// Ends the conversions of an ended plugin. Returns a line for people.
pub(super) fn confirm_end(registry: &mut Registry, name: &str) -> Result<String, String> {
    let Some(ended) = registry.ended_converters.remove(name) else {
        return Err(format!("plugin {name} converts for no definition after its end"));
    };
    let (definitions, objects) = (ended.definitions().join(", "), registry.objects_of(ended.definitions()));
    tracing::warn!(plugin = name, definitions, objects, "the conversions of a removed plugin end");
    Ok(format!("plugin {name} converts no longer for {definitions}; {objects} objects change their apiVersion only"))
}
