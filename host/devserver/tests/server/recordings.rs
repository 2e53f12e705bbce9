//! What a real API server answered, replayed. Skipped, with a line that says so, where there is no Python.

use std::path::Path;

use oarlock_devserver::Options;
use serde_json::Value;
use tokio::process::Command;

use crate::Server;

/// Areas and the share of steps, in percent, that has to be answered alike.
const AREAS: &[(&str, u64)] = &[
    ("apply", 98),
    // The recorded server knows nobody without credentials; this one takes him for the administrator.
    ("auth", 94),
    ("crd", 99),
    ("crud", 99),
    ("discovery", 100),
    ("metadata", 100),
    ("patch", 98),
    ("table", 100),
    ("watch", 100),
];

#[tokio::test]
async fn answers_are_those_of_a_real_api_server() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance");
    let server = Server::with(Options::default().controllers(false)).await;
    let mut command = Command::new("python3");
    command.arg(folder.join("replay.py")).args(["--server", &server.running.url(), "--lenient-messages", "--json"]);
    command.args(["--jobs", "8"]);
    for (area, _) in AREAS {
        command.args(["--only", &format!("{area}/*")]);
    }
    let output = match command.output().await {
        Ok(output) => output,
        Err(error) => {
            eprintln!("skipped: python3 cannot be started: {error}");
            return;
        }
    };
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stderr)));
    for (area, share) in AREAS {
        let count = |key: &str| report["areas"][area][key].as_u64().unwrap();
        let (passed, all) = (count("stepsPassed"), count("steps"));
        assert!(passed * 100 >= all * share, "{area}: {passed} of {all} steps\n{:#}", report["failures"]);
    }
}
