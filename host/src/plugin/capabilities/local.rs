//! The imports `cache`, `config` and `log`, which need neither the network nor the API server.

use crate::plugin::bindings::{cache, config, log};
use crate::plugin::instance::State;
use crate::plugin::tape::Seen;
use crate::secrets::KnownSecrets;
use std::time::Duration;

/// Longest log line, its fields included, in bytes.
const LINE_LIMIT_BYTES: usize = 4096;

impl cache::Host for State {
    async fn get(&mut self, key: String) -> wasmtime::Result<Option<Vec<u8>>> {
        self.saw_outside = true;
        if self.run.reads.is_none() {
            return Ok(None);
        }
        if let Some(replayed) = self.run.replay.as_ref().and_then(|replay| replay.cache_get(&key)) {
            return Ok(replayed);
        }
        let value = self.guest.cache.get(&key);
        if let Some(tape) = &self.run.tape {
            tape.push(Seen::CacheGet(key, value.clone()));
        }
        Ok(value)
    }

    async fn set(&mut self, key: String, value: Vec<u8>, ttl_ms: u64) -> wasmtime::Result<()> {
        if self.run.reads.is_none() || self.run.forgets {
            return Ok(());
        }
        if self.run.replay.as_ref().is_some_and(|replay| replay.cache_set(&key, &value, ttl_ms)) {
            return Ok(());
        }
        self.guest.cache.set(&key, value.clone(), Duration::from_millis(ttl_ms));
        if let Some(tape) = &self.run.tape {
            tape.push(Seen::CacheSet(key, value, ttl_ms));
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
        let line = line(&message, &fields, &self.guest.secrets);
        if matches!(level, log::Level::Error) {
            self.keep_error_line(&line);
        }
        self.log_line(level, &line);
        Ok(())
    }
}

impl State {
    /// Writes one log line, within the log limits of this reconcile.
    pub(in crate::plugin) fn log_line(&mut self, level: log::Level, line: &str) {
        let (lines, bytes) = (self.limits().log_lines, (self.limits().log_kib as usize) << 10);
        let (plugin, key, correlation_id) = (&self.guest.plugin, &self.run.key, &self.run.correlation_id);
        let room = bytes.saturating_sub(self.spent.log_bytes);
        if self.spent.log_lines >= lines || room == 0 {
            if !std::mem::replace(&mut self.spent.log_dropped, true) {
                tracing::warn!(
                    plugin,
                    key,
                    correlation_id,
                    lines,
                    kib = bytes >> 10,
                    "further log lines of this reconcile are dropped (limits.logLines, limits.logKib)"
                );
            }
            return;
        }
        oarlock_simulation::logged(line);
        if matches!(level, log::Level::Debug) && !tracing::enabled!(target: "plugin", tracing::Level::DEBUG) {
            return;
        }
        if !self.shared.flood.admits(plugin) {
            return;
        }
        self.spent.log_lines += 1;
        self.spent.log_bytes += line.len();
        if let Some(tape) = &self.run.tape {
            let level = match level {
                log::Level::Debug => "debug",
                log::Level::Info => "info",
                log::Level::Warn => "warn",
                log::Level::Error => "error",
            };
            tape.push(Seen::Log(level, line.to_owned()));
        }
        match level {
            log::Level::Debug => tracing::debug!(target: "plugin", plugin, key, correlation_id, "{line}"),
            log::Level::Info => tracing::info!(target: "plugin", plugin, key, correlation_id, "{line}"),
            log::Level::Warn => tracing::warn!(target: "plugin", plugin, key, correlation_id, "{line}"),
            log::Level::Error => tracing::error!(target: "plugin", plugin, key, correlation_id, "{line}"),
        }
    }
}

/// Message and fields in one line, without secrets. Only the part within the limit is copied, and as much as a secret there may need.
fn line(message: &str, fields: &[(String, String)], secrets: &KnownSecrets) -> String {
    let reach = LINE_LIMIT_BYTES.saturating_add(secrets.longest());
    let mut line = crate::shorten(message, reach).to_owned();
    for (name, value) in fields {
        if line.len() >= reach {
            break;
        }
        for part in [" ", name, "=", value] {
            line.push_str(crate::shorten(part, reach));
        }
    }
    crate::quoted(&secrets.hide(&line, LINE_LIMIT_BYTES), LINE_LIMIT_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_message_and_fields_cut_off() {
        let field = |name: &str, value: String| (name.to_owned(), value);
        let secrets = KnownSecrets::default();
        assert_eq!(line("a\nb", &[field("c", "d".to_owned())], &secrets), r"a\nb c=d");
        let long = line("m", &[field("a", "x".repeat(1 << 20)), field("b", String::new())], &secrets);
        assert!(long.starts_with("m a=xx") && long.len() <= LINE_LIMIT_BYTES, "{}", long.len());
    }

    #[test]
    fn a_secret_in_a_line_is_replaced_also_where_the_line_is_cut() {
        let secrets = KnownSecrets::default();
        let value = "canary-of-a-value\nin two lines".to_owned();
        secrets.learn_values([&value].into_iter());
        let fields = [("a".to_owned(), value.clone()), (value.clone(), "b".to_owned())];
        let short = line(&value, &fields, &secrets);
        assert!(!short.contains("canary") && short.matches("oarlock-secret-").count() == 3, "{short}");
        for before in LINE_LIMIT_BYTES - value.len()..=LINE_LIMIT_BYTES {
            let cut = line(&"x".repeat(before), &fields, &secrets);
            assert!(!cut.contains("can") && cut.len() <= LINE_LIMIT_BYTES, "{before}: {cut}");
        }
    }
}
