//! Replay of a real API server's recorded responses. Skipped, with a message, where Python is missing.

use std::path::Path;

use oarlock_devserver::{Options, StaticTokens};
use tokio::process::Command;

use crate::Server;

#[tokio::test]
async fn answers_are_those_of_a_real_api_server() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance");
    // The recorded server identified its administrator by a token, and applied RBAC to all others.
    let tokens = StaticTokens::parse("conformance,admin,admin,system:masters").unwrap();
    let server = Server::with(Options::default().controllers(false).anonymous_auth(true).tokens(tokens)).await;
    let mut command = Command::new("python3");
    command.arg(folder.join("figures.py")).args(["--server", &server.running.url(), "--token", "conformance"]);
    let output = match command.output().await {
        Ok(output) => output,
        Err(error) => {
            eprintln!("skipped: python3 cannot be started: {error}");
            return;
        }
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{errors}");
}
