//! `cache`, `config` and `log`: what needs neither the network nor the API server.

use crate::plugin::bindings::{cache, config, log};
use crate::plugin::instance::State;
use std::time::Duration;

/// Longest log line, its fields included, in bytes.
const LINE_LIMIT_BYTES: usize = 4096;

impl cache::Host for State {
    async fn get(&mut self, key: String) -> wasmtime::Result<Option<Vec<u8>>> {
        Ok(self.run.reads.as_ref().and_then(|_| self.guest.cache.get(&key)))
    }

    async fn set(&mut self, key: String, value: Vec<u8>, ttl_ms: u64) -> wasmtime::Result<()> {
        if self.run.reads.is_some() {
            self.guest.cache.set(&key, value, Duration::from_millis(ttl_ms));
        }
        Ok(())
    }
}

impl config::Host for State {
    async fn get(&mut self, key: String) -> wasmtime::Result<Option<String>> {
        Ok(self.run.reads.as_ref().and_then(|_| self.guest.grants.config().get(&key).cloned()))
    }

    async fn keys(&mut self) -> wasmtime::Result<Vec<String>> {
        Ok(match self.run.reads {
            Some(_) => self.guest.grants.config().keys().cloned().collect(),
            None => Vec::new(),
        })
    }
}

impl log::Host for State {
    async fn log(&mut self, level: log::Level, message: String, fields: Vec<(String, String)>) -> wasmtime::Result<()> {
        let limit = self.guest.grants.limits().log_lines;
        self.log_lines = self.log_lines.saturating_add(1);
        let (plugin, key, correlation_id) = (&self.guest.plugin, &self.run.key, &self.run.correlation_id);
        if self.log_lines > limit {
            if self.log_lines == limit.saturating_add(1) {
                tracing::warn!(plugin, key, correlation_id, limit, "further log lines of this reconcile are dropped");
            }
            return Ok(());
        }
        let mut line = message;
        for (name, value) in fields {
            if line.len() > LINE_LIMIT_BYTES {
                break;
            }
            line.push_str(&format!(" {name}={value}"));
        }
        let line = crate::shorten(&line, LINE_LIMIT_BYTES).replace(['\n', '\r'], " ");
        match level {
            log::Level::Debug => tracing::debug!(target: "plugin", plugin, key, correlation_id, "{line}"),
            log::Level::Info => tracing::info!(target: "plugin", plugin, key, correlation_id, "{line}"),
            log::Level::Warn => tracing::warn!(target: "plugin", plugin, key, correlation_id, "{line}"),
            log::Level::Error => tracing::error!(target: "plugin", plugin, key, correlation_id, "{line}"),
        }
        Ok(())
    }
}
