//! docs/operations.md on a Kubernetes node: a kubelet, containerd, kube-proxy and DNS, with hosts that are Pods.
//!
//! `make test-node` starts the node and this program in it (tests/node/test.sh). The bodies share the node and run in the order of the list; each
//! brings the cluster to the state it begins with. `ONLY=part,part` runs those whose name contains one of them.

mod changes;
mod install;
mod leaders;
mod node;
mod overlays;
mod stories;
mod traffic;
mod uninstall;

use anyhow::{Context, Result, ensure};
use futures::future::LocalBoxFuture;
use node::Node;
use std::process::ExitCode;
use tokio::time::Instant;

/// How a body ended that did not fail.
enum Outcome {
    /// It ran.
    Ran,
    /// It could not run here: why.
    Skipped(String),
}

type Body = for<'n> fn(&'n Node) -> LocalBoxFuture<'n, Result<Outcome>>;

/// A list of bodies with their names.
macro_rules! bodies {
    ($($module:ident :: $name:ident,)*) => {
        &[$((concat!(stringify!($module), "::", stringify!($name)), |node| Box::pin($module::$name(node)))),*]
    };
}

const BODIES: &[(&str, Body)] = bodies![
    install::d4_kind_names_the_image_as_the_base_does,
    install::the_commands_install_two_hosts_that_are_ready,
    stories::a_deployment_gets_its_network_and_its_pods_run,
    stories::a_network_of_v2_is_converted_through_the_service,
    stories::a_pod_gets_a_port_and_one_that_names_no_network_is_refused,
    stories::d7_the_example_of_injection_runs_with_the_base,
    stories::the_page_of_a_host_in_a_pod_opens_through_a_forwarded_port,
    traffic::a_destination_that_is_added_reaches_envoy,
    changes::grants_and_secrets_take_effect_without_a_restart,
    changes::d6_a_narrowed_grant_leaves_no_failing_keys,
    changes::d11_an_upgrade_and_its_undo,
    changes::no_review_is_lost_in_a_rolling_update_under_load,
    changes::an_eviction_waits_for_the_other_host,
    leaders::a_killed_leader_is_replaced,
    leaders::d10_a_hung_leader_is_replaced_and_killed_without_the_grace_of_a_pod,
    install::monitoring_finds_every_host,
    overlays::development_is_one_host_that_says_more,
    overlays::d5_plugins_of_a_config_map_are_swapped_and_brought_back,
    overlays::plugins_of_a_volume_are_swapped,
    overlays::d9_plugins_of_an_image,
    overlays::plugins_of_a_registry,
    uninstall::d2_networks_in_use_stop_the_uninstallation_at_its_first_command,
    uninstall::d1_nothing_is_left_and_pods_that_name_a_network_are_taken_again,
    uninstall::finalizers_are_removed_by_hand,
];

#[expect(clippy::print_stdout, reason = "this is the runner")]
fn main() -> Result<ExitCode> {
    if std::env::var_os("OARLOCK_NODE").is_none() {
        println!("node: nothing is run without a node; `make test-node` starts one");
        return Ok(ExitCode::SUCCESS);
    }
    let only = std::env::var("ONLY").unwrap_or_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let (mut ran, mut skipped, mut failed, began) = (0, Vec::new(), Vec::new(), Instant::now());
    let node = runtime.block_on(Node::join()).context("the node")?;
    let wanted = |name: &str| only.split(',').any(|part| name.contains(part));
    let chosen: Vec<_> = BODIES.iter().filter(|(name, _)| wanted(name)).collect();
    ensure!(!chosen.is_empty(), "no body has a name with {only:?}");
    for (name, body) in chosen {
        let began = Instant::now();
        let ended = runtime.block_on(async {
            let ended = body(&node).await;
            if ended.is_err() {
                node.keep_what_was_said(name).await;
            }
            ended
        });
        let seconds = began.elapsed().as_secs_f32();
        match ended {
            Ok(Outcome::Ran) => {
                ran += 1;
                println!("ok       {name} ({seconds:.1} s)");
            }
            Ok(Outcome::Skipped(why)) => {
                println!("skipped  {name}: {why}");
                skipped.push(*name);
            }
            Err(error) => {
                println!("FAILED   {name} ({seconds:.1} s)\n         {error:#}");
                failed.push(*name);
            }
        }
    }
    println!(
        "node: {ran} bodies ran, {} failed{}, {} skipped{}, {:.0} s",
        failed.len(),
        listed(&failed),
        skipped.len(),
        listed(&skipped),
        began.elapsed().as_secs_f32()
    );
    Ok(if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn listed(names: &[&str]) -> String {
    if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) }
}
