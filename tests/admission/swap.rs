//! Versions change while reviews go on.

use super::{allowed, config_map, gatekeeper, grant, open, options, patch, review};
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{SOON, World, eventually, with_world};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_review_is_lost_or_answered_by_two_versions_while_files_are_swapped() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let door = Arc::new(open(&world, &grant()).await?);
        let done = Arc::new(AtomicBool::new(false));
        let askers: Vec<_> = (0..4)
            .map(|_| {
                let (door, done) = (Arc::clone(&door), Arc::clone(&done));
                tokio::spawn(async move {
                    let mut answers: Vec<String> = Vec::new();
                    while !done.load(Ordering::Relaxed) {
                        let response = door.ask("/mutate/gatekeeper/0", &review(&config_map("label"))).await?;
                        ensure!(allowed(&response), "{response}");
                        let says = patch(&response)?[0]["value"]["gate"].as_str().context("no label")?.to_owned();
                        // The version in the audit annotation is the one whose label it is.
                        ensure!(response["auditAnnotations"]["plugin"] == format!("gatekeeper {says}"), "{response}");
                        answers.push(says);
                    }
                    anyhow::Ok(answers)
                })
            })
            .collect();
        for version in ["v2", "v3", "v4"] {
            world.plugins.place("gatekeeper.wasm", &gatekeeper(version)?)?;
            eventually(SOON, version, || async {
                let response = door.ask("/mutate/gatekeeper/0", &review(&config_map("label"))).await?;
                ensure!(patch(&response)?[0]["value"]["gate"] == version, "{response}");
                Ok(())
            })
            .await?;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
        done.store(true, Ordering::Relaxed);
        for asker in askers {
            let answers = asker.await??;
            let mut turns = answers.clone();
            turns.dedup();
            ensure!(turns.len() <= 4 && turns.is_sorted_by_key(|says| says.replace("yes", "v1")), "{turns:?}");
            ensure!(!answers.is_empty(), "it never asked");
        }
        Ok(())
    })
    .await
}
