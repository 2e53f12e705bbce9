//! T1: a small JSON Patch at admission that becomes much memory, depth or time.

use super::{asking, attacker, grant, options};
use crate::admission::{allowed, door, review};
use anyhow::{Result, ensure};
use oarlock_tests::harness::{World, text, with_world};
use serde_json::json;
use std::sync::Arc;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t1_a_json_patch_that_explodes_is_refused_and_the_host_lives() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let admission = json!([{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"],
            "sideEffects": "None", "timeoutSeconds": 10}]);
        world.plugins.grant("attacker", &grant().all_admission())?;
        world.plugins.place("attacker.wasm", &attacker(|manifest| manifest["admission"] = admission)?)?;
        world.start_host_with(&["--admission-addr", "127.0.0.1:0"]).await?;
        let door = door(&world).await?;
        for (bomb, reason) in [
            (json!({"kind": "copy", "doublings": 30}), "copies of more than"),
            (json!({"kind": "deep", "levels": 100}), "arrays and objects in each other"),
            (json!({"kind": "insert", "doublings": 14, "n": 20_000}), "at most 10000"),
        ] {
            let response = door.ask("/mutate/attacker/0", &review(&asking("bomb", &json!({"bomb": bomb})))).await?;
            ensure!(!allowed(&response) && text(&response, "/status/message").contains(reason), "{bomb}: {response}");
        }
        let response = door.ask("/mutate/attacker/0", &review(&asking("harmless", &json!({})))).await?;
        ensure!(allowed(&response), "{response}");
        Ok(())
    })
    .await
}
