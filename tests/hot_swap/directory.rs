//! However a file comes, changes or goes, the right set of plugins runs in the end.

use super::{grant, next_is, object, options, plugin, runs, seen, set, started, transitions};
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{SOON, World, eventually, misfit_version, misfit_with, steady, text, with_world};
use serde_json::json;
use std::{fs, io::Write as _, os::unix::fs::symlink, sync::Arc, time::Duration};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn h2_a_file_that_is_copied_in_place_is_waited_out() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        started(&world).await?;
        object(&world, "steady", "", &json!({})).await?;
        let whole = misfit_version("2", "")?;
        let mut file = fs::File::create(world.plugins.path().join("misfit.wasm"))?;
        for (i, piece) in whole.chunks(whole.len() / 6 + 1).enumerate() {
            // Pauses shorter and longer than any quiet time a watcher could wait for.
            tokio::time::sleep(Duration::from_millis(50 * u64::try_from(i * i)?)).await;
            ensure!(text(&plugin(&world, "misfit").await?, "/version") == "1", "half a file ran");
            file.write_all(piece)?;
            file.flush()?;
        }
        drop(file);
        runs(&world, "misfit", "2").await?;
        ensure!(transitions(&world, "misfit", "draining").await? == 0, "the plugin ended in between");
        seen(&world, "steady", "first").await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn h2_what_editors_leave_is_no_plugin() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        started(&world).await?;
        let second = misfit_version("2", "")?;
        for name in ["misfit.wasm~", ".misfit.wasm.swp", "misfit.wasm.tmp", "4913", "#misfit.wasm#", "misfit.wasm.bak"]
        {
            world.plugins.file(name, &second)?;
        }
        // As editors save: away with the old, the new under its name, the backup gone.
        let at = |name: &str| world.plugins.path().join(name);
        fs::rename(at("misfit.wasm"), at("misfit.wasm~"))?;
        fs::write(at("misfit.wasm"), &second)?;
        fs::remove_file(at("misfit.wasm~"))?;
        runs(&world, "misfit", "2").await?;
        let all = world.host(async |host| host.plugins().await).await?;
        ensure!(all["plugins"].as_array().map(Vec::len) == Some(1), "{all}");
        ensure!(transitions(&world, "misfit", "draining").await? == 0, "the plugin ended in between");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn h2_a_mounted_configmap_swaps_by_its_symlink() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let at = |name: &str| world.plugins.path().join(name);
        world.plugins.grant("misfit", &grant(&world))?;
        let yaml = fs::read(at("misfit.yaml"))?;
        fs::remove_file(at("misfit.yaml"))?;
        // As the kubelet does it: a folder per state, `..data` points to it, and the files point through `..data`.
        let state = |folder: &str, version: &str| -> Result<()> {
            fs::create_dir(at(folder))?;
            fs::write(at(folder).join("misfit.wasm"), misfit_version(version, "")?)?;
            fs::write(at(folder).join("misfit.yaml"), &yaml)?;
            symlink(folder, at("..data_tmp"))?;
            Ok(fs::rename(at("..data_tmp"), at("..data"))?)
        };
        state("..2026_01", "1")?;
        for name in ["misfit.wasm", "misfit.yaml"] {
            symlink(format!("..data/{name}"), at(name))?;
        }
        world.start_host().await?;
        runs(&world, "misfit", "1").await?;
        state("..2026_02", "2")?;
        fs::remove_dir_all(at("..2026_01"))?;
        runs(&world, "misfit", "2").await?;
        ensure!(transitions(&world, "misfit", "draining").await? == 0, "the plugin ended in between");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn h2_the_whole_directory_may_go_and_come_back() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        started(&world).await?;
        object(&world, "steady", "", &json!({})).await?;
        seen(&world, "steady", "first").await?;
        let elsewhere = world.folder().join("elsewhere");
        fs::rename(world.plugins.path(), &elsewhere)?;
        eventually(SOON, "the plugin to end with its directory", || async {
            let all = world.host(async |host| host.plugins().await).await?;
            ensure!(all["plugins"].as_array().is_some_and(Vec::is_empty), "{all}");
            Ok(())
        })
        .await?;
        set(&world, "steady", "while it was away").await?;
        fs::rename(&elsewhere, world.plugins.path())?;
        runs(&world, "misfit", "1").await?;
        seen(&world, "steady", "while it was away").await?;
        world.plugins.place("misfit.wasm", &misfit_version("2", "")?)?;
        runs(&world, "misfit", "2").await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn h8_a_renamed_file_whose_grant_states_the_name_is_the_same_plugin_without_a_gap() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        started(&world).await?;
        world.plugins.grant("misfit", &grant(&world).name("misfit"))?;
        object(&world, "steady", "", &json!({})).await?;
        let at = |name: &str| world.plugins.path().join(name);
        fs::rename(at("misfit.yaml"), at("renamed.yaml"))?;
        fs::rename(at("misfit.wasm"), at("renamed.wasm"))?;
        eventually(SOON, "the plugin to go on from its new file", || async {
            let entry = plugin(&world, "misfit").await?;
            ensure!(text(&entry, "/file") == "renamed.wasm" && text(&entry, "/state") == "active", "{entry}");
            Ok(())
        })
        .await?;
        ensure!(transitions(&world, "misfit", "draining").await? == 0, "the plugin ended in between");
        set(&world, "steady", "after").await?;
        seen(&world, "steady", "after").await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn h8_a_grant_that_is_away_for_a_moment_while_its_plugin_loads_is_not_withdrawn() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        started(&world).await?;
        let at = |name: &str| world.plugins.path().join(name);
        // Each version takes a moment to compile, and finds no grant at the end of most of them. On a busy machine the grant may really be
        // away for longer than half a second.
        let mut longest = Duration::ZERO;
        for version in 2..6 {
            world.plugins.place("misfit.wasm", &misfit_version(&version.to_string(), "")?)?;
            for _ in 0..8 {
                let away = tokio::time::Instant::now();
                fs::rename(at("misfit.yaml"), at("misfit.yaml.away"))?;
                tokio::time::sleep(Duration::from_millis(250)).await;
                fs::rename(at("misfit.yaml.away"), at("misfit.yaml"))?;
                longest = longest.max(away.elapsed());
                tokio::time::sleep(Duration::from_millis(60)).await;
            }
            runs(&world, "misfit", &version.to_string()).await?;
        }
        let ended = transitions(&world, "misfit", "draining").await?;
        ensure!(ended == 0 || longest > Duration::from_millis(450), "the plugin ended in between");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn h8_of_two_files_of_one_plugin_the_one_that_runs_goes_on_and_the_other_takes_over_when_it_goes() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        started(&world).await?;
        // By name it would come first.
        world.plugins.grant("a", &grant(&world).name("misfit"))?;
        world.plugins.place("a.wasm", &misfit_version("2", "")?)?;
        eventually(SOON, "the other to be refused", || async {
            let entry = plugin(&world, "a.wasm").await?;
            ensure!(
                text(&entry, "/state") == "failed" && text(&entry, "/reason").contains("misfit already"),
                "{entry}"
            );
            Ok(())
        })
        .await?;
        steady(Duration::from_secs(1), "the one that runs", || async {
            let entry = plugin(&world, "misfit.wasm").await?;
            ensure!(text(&entry, "/state") == "active" && text(&entry, "/version") == "1", "{entry}");
            Ok(())
        })
        .await?;
        world.plugins.remove("misfit.wasm")?;
        runs(&world, "misfit", "2").await?;
        ensure!(transitions(&world, "misfit", "draining").await? == 0, "the plugin ended in between");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn h8_a_file_that_becomes_another_plugin_ends_the_one_before() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        started(&world).await?;
        world.plugins.grant("misfit", &grant(&world).name("other"))?;
        runs(&world, "other", "1").await?;
        eventually(SOON, "the plugin before to end", || async {
            let all = world.host(async |host| host.plugins().await).await?;
            let names: Vec<_> =
                all["plugins"].as_array().context("no list")?.iter().map(|p| text(p, "/name")).collect();
            ensure!(names == ["other"], "{all}");
            Ok(())
        })
        .await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_was_only_touched_swaps_nothing() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        started(&world).await?;
        let swaps = async || world.log(|line| line.text.contains("version swapped")).await.map(|lines| lines.len());
        world.plugins.place("misfit.wasm", &misfit_version("1", "")?)?;
        world.plugins.place("misfit.wasm", &misfit_with("2", "", |m| m["workers"] = json!(0))?)?;
        // What came before it has been gone through by now.
        next_is(&world, "misfit", "failed", "workers").await?;
        world.plugins.place("misfit.wasm", &misfit_version("1", "")?)?;
        eventually(SOON, "it to be what runs", || async {
            let entry = plugin(&world, "misfit").await?;
            ensure!(entry.get("next").is_none(), "{entry}");
            Ok(())
        })
        .await?;
        ensure!(swaps().await? == 0, "the same version was swapped");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn h6_a_file_that_is_replaced_faster_than_it_compiles_is_swapped_all_the_same() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        started(&world).await?;
        let mut version = 1;
        eventually(SOON, "another version to run while the file is replaced", || {
            version += 1;
            let placed = misfit_version(&version.to_string(), "").and_then(|v| world.plugins.place("misfit.wasm", &v));
            let world = &world;
            async move {
                placed?;
                let entry = plugin(world, "misfit").await?;
                ensure!(text(&entry, "/version") != "1", "{entry}");
                Ok(())
            }
        })
        .await?;
        runs(&world, "misfit", &version.to_string()).await
    })
    .await
}
