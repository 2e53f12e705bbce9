//! The demo: starts the API server, Neutron's emulator and the host as real processes, plays the story, and stays up.

use anyhow::{Context, Result};
use clap::Parser;
use oarlock_tests::{
    harness::{World, WorldOptions},
    story,
};
use std::process::ExitCode;
use tokio::signal::unix::{SignalKind, signal};

/// Plays the story of Oarlock on loopback, one line per step, and stays up to be tried.
///
/// Example: `demo --once` plays it, checks it, and exits.
#[derive(Debug, Parser)]
struct Arguments {
    /// Exit after the story: 0 when every step was true.
    #[arg(long)]
    once: bool,
}

#[tokio::main]
#[expect(clippy::print_stderr, reason = "where a program says why it failed")]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match interruptible(demo(&arguments)).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("demo: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Ends the future, and with it every process it started, at Ctrl-C and SIGTERM.
async fn interruptible(demo: impl Future<Output = Result<bool>>) -> Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut demo = std::pin::pin!(demo);
    tokio::select! {
        played = &mut demo => played.map(|_| ()),
        _ = interrupt.recv() => Ok(()),
        _ = terminate.recv() => Ok(()),
    }
}

/// Returns when the story is over and it is not to stay up.
#[expect(clippy::print_stdout, reason = "the demo's output")]
async fn demo(arguments: &Arguments) -> Result<bool> {
    println!("Oarlock demo: an API server, a Neutron, and a host, all on 127.0.0.1.\n");
    let options = WorldOptions {
        resync_seconds: 2,
        crd: false,
        network: true,
        host: false,
        keystone: false,
        namespace: None,
        demo: true,
    };
    let world = World::start(options).await?;
    story::furnish(&world)?;
    println!(
        "API server, Neutron ({}) and plugins are ready; logs are in {}\n",
        world.neutron.url(),
        world.folder().display()
    );
    let played = async {
        story::play(&world).await?;
        story::play_rollout(&world).await
    };
    if let Err(error) = played.await {
        let folder = world.keep();
        return Err(error).with_context(|| format!("the story is not true; logs are kept in {folder}"));
    }
    println!("\nThe story is over, and every step was true.");
    if arguments.once {
        return Ok(true);
    }
    let kubeconfig = world.cluster.kubeconfig().display();
    println!("\nEverything stays up until Ctrl-C. Try it:\n");
    println!("  export KUBECONFIG={kubeconfig}");
    println!("  kubectl apply -f plugins/network/example.yaml");
    println!("  kubectl get networks --watch\n");
    std::future::pending::<Result<bool>>().await
}
