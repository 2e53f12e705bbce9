//! Conversions that fail, and requests that are none.

use super::{create, grant, options, path, read, started};
use anyhow::{Context, Result, ensure};
use base64::Engine as _;
use http::Method;
use oarlock_tests::harness::{Grant, HttpClient, SOON, World, built_plugin, eventually, text, with_world};
use serde_json::{Value, json};
use std::{fs, sync::Arc};

/// Only the request for the object fails, with a message about it; others go on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_that_cannot_be_converted_fails_alone_and_says_why() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        started(&world).await?;
        create(&world, "v2", "good", &json!({"sizes": [1, 2]})).await?;
        for (name, expected) in [
            ("trap-1", "plugin converter (version 1): Gauge NAMESPACE/trap-1 cannot be converted to convert.example.com/v1: the plugin trapped"),
            ("refuse-1", "spec.size: refused as asked"),
            ("rename-1", "another metadata.name than the object has"),
            ("version-1", "apiVersion \"v0\" instead of \"convert.example.com/v1\""),
            ("huge-1", "limits.memoryMib"),
            ("loop-1", "did not finish convert"),
        ] {
            if name == "loop-1" {
                world.plugins.grant("converter", &grant().limits(|limits| limits.deadline_seconds = 3))?;
                world.logged("the new grant", |line| line.text.contains("limits: deadlineSeconds 3")).await?;
            }
            create(&world, "v2", name, &json!({"sizes": [1]})).await?;
            let error = read(&world, "v1", name).await.err().with_context(|| format!("{name} was converted"))?;
            let (error, expected) = (format!("{error:#}"), expected.replace("NAMESPACE", &world.namespace));
            ensure!(error.contains(&expected), "{name}: {error}");
            ensure!(error.contains("conversion webhook for convert.example.com/v2, Kind=Gauge failed"), "{error}");
            ensure!(read(&world, "v1", "good").await?["spec"] == json!({"size": 1}), "after {name}");
            world.cluster.delete(&path(&world, "v2", name)).await?;
        }
        // An unauthenticated client could have invented all of this: it is no strike against the plugin.
        let plugin = world.host(async |host| host.plugin("converter").await).await?;
        ensure!(text(&plugin, "/state") == "active", "{plugin}");
        let labels = ["plugin=\"converter\"", "result=\"failed\""];
        let failed = world.host(async |host| host.metric("oarlock_conversions_total", &labels).await).await?;
        ensure!(failed >= 6.0, "{failed}");
        Ok(())
    })
    .await
}

/// The address of the host, from the definition.
async fn door(world: &World) -> Result<HttpClient> {
    let definition = world.cluster.get(super::DEFINITION).await?.context("no definition")?;
    let config = definition.pointer("/spec/conversion/webhook/clientConfig").context("no clientConfig")?;
    let bundle = base64::prelude::BASE64_STANDARD.decode(text(config, "/caBundle"))?;
    let base = text(config, "/url").split('/').take(3).collect::<Vec<_>>().join("/");
    HttpClient::with_ca(&base, &bundle)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_is_no_conversion_gets_an_error_and_harms_nothing() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        started(&world).await?;
        let door = door(&world).await?;
        let gauge = json!({"apiVersion": "convert.example.com/v2", "kind": "Gauge", "metadata": {"name": "a"}, "spec": {"sizes": [1]}});
        let review = |desired: &str, objects: Value| {
            json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
                "request": {"uid": "u", "desiredAPIVersion": desired, "objects": objects}})
        };
        for (path, body, status) in [
            ("/convert/converter", review("convert.example.com/v1", json!([gauge])), 200),
            ("/convert/converter", review("convert.example.com/v1", json!([])), 200),
            ("/convert/converter", review("v1", json!([gauge])), 400),
            ("/convert/converter", review("convert.example.com/v1", json!([1])), 400),
            ("/convert/converter", json!({}), 400),
            ("/convert/nobody", review("convert.example.com/v1", json!([gauge])), 404),
            ("/convert/", review("convert.example.com/v1", json!([gauge])), 404),
            ("/convert/converter/0", review("convert.example.com/v1", json!([gauge])), 404),
        ] {
            let answer = door.json(Method::POST, path, &[], &body).await?;
            ensure!(answer.status.as_u16() == status, "{path} {body}: {} {}", answer.status, answer.text());
        }
        // Of a group that the grant does not name.
        let other = json!({"apiVersion": "other.example.com/v2", "kind": "Gauge", "metadata": {"name": "a"}});
        let answer = door.json(Method::POST, "/convert/converter", &[], &review("other.example.com/v1", json!([other]))).await?;
        let answer = answer.json()?;
        ensure!(text(&answer, "/response/result/status") == "Failure", "{answer}");
        ensure!(text(&answer, "/response/result/message").contains("names no definition of the group"), "{answer}");
        ensure!(answer["response"]["convertedObjects"] == json!([]), "{answer}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_waits_for_the_grant_of_its_conversions_and_only_one_converts() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        started(&world).await?;
        let waits = async |part: &str| {
            eventually(SOON, part, || async {
                let plugin = world.host(async |host| host.plugin("second").await).await?;
                ensure!(plugin.to_string().contains(part), "{plugin}");
                Ok(())
            })
            .await
        };
        // The same code under another name. Status and conversion have their plugin already.
        let verbs = ["get", "list", "watch", "patch"];
        let resources = ["gauges", "gauges/status"];
        let less = Grant::nothing().rule("convert.example.com", &resources, &verbs).name("second");
        world.plugins.grant("second", &less)?;
        world.plugins.place("second.wasm", &fs::read(built_plugin("converter")?)?)?;
        waits("conversions: gauges.convert.example.com").await?;
        world.plugins.grant("second", &less.manage_status().conversion("gauges.convert.example.com"))?;
        waits("only one can").await
    })
    .await
}
