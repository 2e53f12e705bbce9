//! The plugin's configuration.

use oarlock_guest::{Error, Manifest, Result, config};
use serde_json::json;
use std::time::Duration;

const CONFIG_NAMESPACE: &str = "configNamespace";
const INJECT_BY_DEFAULT: &str = "injectByDefault";
const INJECT_HOST_NETWORK: &str = "injectHostNetwork";
const ORDER: &str = "order";
const INIT_ORDER: &str = "initOrder";
const WORKLOAD_MODE: &str = "workloadMode";
const ROLLOUT_SECONDS: &str = "rolloutSeconds";

/// Position of injected containers among the Pod's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Before them.
    First,
    /// After them.
    Last,
}

/// The configuration from the grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Namespace of the ConfigMaps `envoy-initializer` and `envoy`.
    pub(crate) config_namespace: String,
    /// Whether injection is on for Pods and namespaces without a setting.
    pub(crate) by_default: bool,
    /// Whether Pods with hostNetwork are injected without an explicit setting.
    pub(crate) host_network: bool,
    /// Order of containers.
    pub(crate) order: Order,
    /// Order of init containers, including native sidecars.
    pub(crate) init_order: Order,
    /// Whether the templates of annotated workloads are patched.
    pub(crate) workload_mode: bool,
    /// Longest time for which one workload's rollout delays the next.
    pub(crate) rollout: Duration,
}

impl Settings {
    /// Declares every configuration key.
    pub(crate) fn declare(manifest: Manifest) -> Manifest {
        let switch = |default: &str, what: &str| json!({"type": "string", "enum": ["true", "false"], "default": default, "description": what});
        let order =
            |what: &str| json!({"type": "string", "enum": ["first", "last"], "default": "last", "description": what});
        let text = |default: &str, what: &str| json!({"type": "string", "default": default, "description": what});
        manifest
            .config_property(CONFIG_NAMESPACE, text("default", "Where the ConfigMaps envoy-initializer and envoy are"))
            .config_property(INJECT_BY_DEFAULT, switch("false", "Inject where neither Pod nor namespace says anything"))
            .config_property(
                INJECT_HOST_NETWORK,
                switch("false", "Inject Pods with hostNetwork that do not ask for it"),
            )
            .config_property(ORDER, order("Where injected containers stand among a Pod's own"))
            .config_property(INIT_ORDER, order("Where injected init containers stand among a Pod's own"))
            .config_property(WORKLOAD_MODE, switch("false", "Patch the Pod templates of annotated workloads"))
            .config_property(ROLLOUT_SECONDS, text("600", "Longest wait for one workload before the next is patched"))
    }

    /// Reads the configuration. The failure policy decides about requests while it is invalid.
    ///
    /// # Errors
    ///
    /// Transient, with the invalid key.
    pub(crate) fn read() -> Result<Self> {
        let seconds = config::get(ROLLOUT_SECONDS).unwrap_or_else(|| "600".to_owned());
        let rollout = seconds.parse::<u64>().ok().filter(|&seconds| seconds > 0);
        let rollout =
            rollout.ok_or_else(|| nonsense(ROLLOUT_SECONDS, &seconds, "a whole number of seconds, at least 1"))?;
        Ok(Self {
            config_namespace: config::get(CONFIG_NAMESPACE).unwrap_or_else(|| "default".to_owned()),
            by_default: switch(INJECT_BY_DEFAULT)?,
            host_network: switch(INJECT_HOST_NETWORK)?,
            order: order(ORDER)?,
            init_order: order(INIT_ORDER)?,
            workload_mode: switch(WORKLOAD_MODE)?,
            rollout: Duration::from_secs(rollout),
        })
    }
}

fn switch(key: &str) -> Result<bool> {
    match config::get(key).as_deref() {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(other) => Err(nonsense(key, other, "true or false")),
    }
}

fn order(key: &str) -> Result<Order> {
    match config::get(key).as_deref() {
        None | Some("last") => Ok(Order::Last),
        Some("first") => Ok(Order::First),
        Some(other) => Err(nonsense(key, other, "first or last")),
    }
}

fn nonsense(key: &str, value: &str, wanted: &str) -> Error {
    Error::transient(format_args!("the plugin's configuration {key}: {value:?} is not {wanted}"))
}
