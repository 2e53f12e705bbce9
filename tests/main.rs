//! End-to-end tests: one target, one module per behaviour. `tests/README.md` says which promise each test holds.

mod admin;
mod api_server;
mod appliers;
mod caches;
mod command_line;
mod compiling;
mod crash;
mod fuzz_itself;
mod harness_itself;
mod hot_swap;
mod impersonation;
mod inspect;
mod invariants;
mod kubernetes_faults;
mod layering;
mod neutron_faults;
mod operation_sequences;
mod plugin_faults;
mod plugin_files;
mod pod_network;
mod rbac;
mod sandbox;
mod shutdown;
mod staleness;
mod the_story;
mod torture_itself;
