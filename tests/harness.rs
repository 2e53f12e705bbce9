//! Real processes on loopback, gates in front of their servers, and helpers that look.
//!
//! Nothing here reads the host's memory: a test sees what a user sees (the API server, Neutron, the admin address, the log).

mod borrowed;
mod cluster;
mod control_plane;
mod gate;
mod host;
mod http_client;
mod identity;
mod markdown;
mod misfit;
mod narrator;
mod neutron;
mod operations;
mod plugins;
mod process;
mod registry;
mod text_guests;
mod tools;
mod wait;
mod world;

pub use cluster::{Cluster, code as api_code};
pub use control_plane::{ControlPlane, ControlPlaneOptions, Program};
pub(crate) use gate::lock;
pub use gate::{Action, Exchange, Gate, Rule, RuleHandle, Tripwire, Upstream};
pub use host::{Host, HostOptions};
pub use http_client::{Answer, HttpClient, trusting};
pub use identity::Identity;
pub use markdown::{Block, anchors, blocks, links};
pub use misfit::{misfit_describing, misfit_manifest, misfit_version, misfit_with};
pub use narrator::Narrator;
pub use neutron::{Login, Neutron, Pairs};
pub use operations::{OPERATIONS, SHIPPED, Shell, checkout, command_blocks, commands, commands_of_comment};
pub use plugins::{
    Grant, PluginDir, broken_plugins, built_plugin, go_was_built, network_grant_for, repository_root, tested_languages,
    with_another_digest,
};
pub use process::{LogLine, Process, oarlock, oarlock_binary};
pub use registry::{Door, PASSWORD, Registry};
pub use text_guests::{text_guest, text_manifest};
pub use tools::{said_by, tools};
pub use wait::{eventually, steady};
pub use world::{Ready, SOON, World, WorldOptions, ready, text, with_world};
