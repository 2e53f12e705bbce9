//! Who may see what: sessions, other pages, other machines, and clients that stall. Without a browser.

use super::{address, token};
use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use http::Method;
use oarlock_tests::harness::{Answer, SOON, World, WorldOptions, eventually, oarlock, text, with_world};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

async fn asked(world: &World, method: Method, path: &str, headers: &[(&str, &str)]) -> Result<Answer> {
    world.host(async |host| host.admin().send(method, path, headers, Bytes::new()).await).await
}

async fn admin(world: &World) -> Result<SocketAddr> {
    let base = world.host(async |host| Ok(host.admin().base().to_owned())).await?;
    Ok(base.trim_start_matches("http://").parse()?)
}

/// Opens the live view. Returns the connection after the head of the response, and the head.
async fn live(address: SocketAddr) -> Result<(TcpStream, String)> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(format!("GET /page/events HTTP/1.1\r\nhost: {address}\r\n\r\n").as_bytes()).await?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        timeout(SOON, stream.read_exact(&mut byte)).await.context("no response")??;
        head.extend(byte);
    }
    Ok((stream, String::from_utf8(head)?))
}

/// Reads until a text has come.
async fn until(stream: &mut TcpStream, wanted: &str) -> Result<String> {
    let (mut all, mut part) = (Vec::new(), [0; 4096]);
    loop {
        let read = timeout(SOON, stream.read(&mut part)).await.context("nothing comes")??;
        ensure!(read > 0, "it ended after {}", String::from_utf8_lossy(&all));
        all.extend_from_slice(part.get(..read).unwrap_or_default());
        let said = String::from_utf8_lossy(&all);
        if said.contains(wanted) {
            return Ok(said.into_owned());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_and_actions_need_a_session_of_this_page() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        world.create_network("blue", "10.6.0.0/24", "10.6.0.1").await?;
        world.ready("blue").await?;
        let (token, base) = (token(&world).await?, format!("http://{}", admin(&world).await?));
        let bearer = format!("Bearer {token}");
        let object = format!("kind=Network&namespace={}&name=blue", world.namespace);
        let paths = [
            "/page/plugins/network".to_owned(),
            "/page/plugins/network/objects?limit=5".to_owned(),
            "/page/plugins/network/versions".to_owned(),
            "/page/plugins/network/log".to_owned(),
            format!("/page/object?{object}"),
            format!("/page/states?{object}&plugin=network"),
            format!("/explain?{object}"),
            format!("/recordings?{object}"),
        ];
        let own = [("authorization", bearer.as_str())];
        for path in &paths {
            let found = eventually(SOON, path, || async {
                let answer = asked(&world, Method::GET, path, &own).await?;
                ensure!(answer.status == 200, "{} {}", answer.status, answer.text());
                Ok(answer)
            })
            .await?;
            ensure!(found.text().contains("blue") || found.text().contains("network"), "{path}: {}", found.text());
            for (headers, status) in [
                (&[][..], 403),
                (&[("authorization", "Bearer")], 401),
                (&[("authorization", "Bearer wrong")], 401),
                (&[("authorization", token.as_str())], 401),
                (&[own[0], ("origin", "http://evil.example")], 403),
                (&[own[0], ("origin", "null")], 403),
                (&[own[0], ("sec-fetch-site", "cross-site")], 403),
                (&[own[0], ("host", "evil.example")], 403),
                (&[own[0], ("origin", base.as_str()), ("sec-fetch-site", "same-origin")], 200),
            ] {
                let answer = asked(&world, Method::GET, path, headers).await?;
                ensure!(answer.status == status, "{path} {headers:?}: {} {}", answer.status, answer.text());
                let leaks = status != 200 && answer.text().contains("blue") && path.contains("objects");
                ensure!(!leaks, "{}", answer.text());
            }
            ensure!(asked(&world, Method::POST, path, &own).await?.status == 405, "{path}");
        }
        // The page promotes and aborts; it neither confirms nor opens sessions.
        for (path, status) in [
            ("/plugins/network/promote", 409),
            ("/plugins/network/abort", 409),
            ("/plugins/network/confirm", 403),
            ("/plugins/network/release-finalizers", 403),
            ("/plugins/network/plan", 403),
            ("/page/session", 403),
        ] {
            let answer = asked(&world, Method::POST, path, &own).await?;
            ensure!(answer.status == status, "{path}: {} {}", answer.status, answer.text());
            let from_another = [own[0], ("origin", "http://evil.example")];
            ensure!(asked(&world, Method::POST, path, &from_another).await?.status == 403, "{path}");
        }
        // A page cannot open a session, not even the host's own.
        let page = [("x-oarlock-action", "1"), ("origin", base.as_str())];
        ensure!(asked(&world, Method::POST, "/page/session", &page).await?.status == 403);
        // Neither of the many that follow is the first one.
        for _ in 0..16 {
            self::token(&world).await?;
        }
        ensure!(
            asked(&world, Method::GET, &paths[0], &own).await?.status == 401,
            "of too many sessions the oldest ends"
        );
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_files_of_the_page_are_cached_by_their_tag_and_allow_nothing_else() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        let index = asked(&world, Method::GET, "/", &[]).await?.text();
        let mut files = vec!["/".to_owned(), "/page/app.js".to_owned()];
        files.extend(index.split('"').filter(|part| part.starts_with("/page/")).map(str::to_owned));
        ensure!(files.len() > 12, "{files:?}");
        for file in files {
            let answer = asked(&world, Method::GET, &file, &[]).await?;
            let header = |name: &str| {
                answer.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
            };
            ensure!(answer.status == 200, "{file}: {}", answer.status);
            let policy = header("content-security-policy");
            ensure!(
                policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'")
                    && !policy.contains("-inline")
                    && !policy.contains("-eval"),
                "{policy}"
            );
            ensure!(
                policy.contains("frame-ancestors 'none'")
                    && policy.contains("form-action 'none'")
                    && policy.contains("base-uri 'none'")
            );
            ensure!(header("x-content-type-options") == "nosniff" && header("referrer-policy") == "no-referrer");
            for word in [
                " style=",
                "onclick=",
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "eval(",
                "document.write",
                "https://",
            ] {
                ensure!(!answer.text().contains(word), "{file} has {word}");
            }
            let tag = header("etag");
            let again = asked(&world, Method::GET, &file, &[("if-none-match", &tag)]).await?;
            ensure!(again.status == 304 && again.body.is_empty() && !tag.is_empty(), "{file}: {}", again.status);
            ensure!(asked(&world, Method::GET, &file, &[("if-none-match", "\"other\"")]).await?.status == 200);
            ensure!(asked(&world, Method::POST, &file, &[]).await?.status == 405);
        }
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_live_view_shows_numbers_to_all_and_has_room_for_sixteen() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        world.create_network("blue", "10.6.0.0/24", "10.6.0.1").await?;
        world.ready("blue").await?;
        let admin = admin(&world).await?;
        let (mut first, head) = live(admin).await?;
        ensure!(head.contains(" 200 ") && head.to_lowercase().contains("content-type: text/event-stream"), "{head}");
        let snapshot = until(&mut first, "event: changes").await?;
        ensure!(snapshot.contains("event: plugins") && snapshot.contains(r#""id":"network""#), "{snapshot}");
        ensure!(!snapshot.contains("blue"), "no object without a session: {snapshot}");
        // A reconcile is a change.
        world.create_network("green", "10.7.0.0/24", "10.7.0.1").await?;
        until(&mut first, r#""objects":2"#).await?;
        let mut others = Vec::new();
        for _ in 1..16 {
            let (stream, head) = live(admin).await?;
            ensure!(head.contains(" 200 "), "{head}");
            others.push(stream);
        }
        let refused = asked(&world, Method::GET, "/page/events", &[]).await?;
        ensure!(refused.status == 503 && refused.text().contains("16 pages"), "{}", refused.text());
        for headers in [[("origin", "http://evil.example")], [("sec-fetch-site", "cross-site")]] {
            ensure!(asked(&world, Method::GET, "/page/events", &headers).await?.status == 403);
        }
        // Who goes makes room.
        drop(others);
        eventually(SOON, "room again", || async {
            let (_stream, head) = live(admin).await?;
            ensure!(head.contains(" 200 "), "{head}");
            Ok(())
        })
        .await?;
        // The host does not wait for those who look.
        let (status, _) = world.stop_host(Duration::from_secs(60)).await?;
        ensure!(status.success(), "{status}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_of_objects_are_read_one_after_the_other_with_problems_first() -> Result<()> {
    with_world(crate::plan::ALONE, async |world: Arc<World>| {
        world.plugins.grant("misfit", &super::misfit_grant(&world))?;
        world.plugins.file("misfit.wasm", &oarlock_tests::harness::misfit_version("1", "")?)?;
        crate::rollouts::objects(&world, 12, 3).await?;
        for (name, mode) in [("o5", "transient"), ("o11", "terminal"), ("o7", "never-equal")] {
            let path = format!("/api/v1/namespaces/{}/configmaps/{name}", world.namespace);
            let patch = serde_json::json!({"metadata": {"annotations": {"misfit/mode": mode}}});
            world.cluster.merge_patch(&path, &patch).await?;
        }
        world.start_host().await?;
        let bearer = format!("Bearer {}", token(&world).await?);
        let page = async |query: &str| -> Result<Value> {
            let path = format!("/page/plugins/misfit/objects?{query}");
            let answer = asked(&world, Method::GET, &path, &[("authorization", &bearer)]).await?;
            ensure!(answer.status == 200, "{path}: {} {}", answer.status, answer.text());
            answer.json()
        };
        let names = |page: &Value| -> Vec<String> {
            let objects = page["objects"].as_array().into_iter().flatten();
            objects.map(|object| text(object, "/name")).collect()
        };
        let first = eventually(SOON, "the problems to be known", || async {
            let first = page("limit=5").await?;
            let found = names(&first);
            ensure!(
                found.len() == 5 && found.starts_with(&["o11".to_owned(), "o5".to_owned(), "o7".to_owned()]),
                "{found:?}"
            );
            ensure!(
                text(&first, "/objects/0/error").contains("gives up") && first["objects"][0]["failed"] == true,
                "{first}"
            );
            ensure!(first["objects"][2]["outOfSync"] == true && first["counts"]["all"] == 12, "{first}");
            // Others are out of sync until their first reconcile has ended.
            let (problems, differ) = (names(&page("state=problem").await?), names(&page("state=out-of-sync").await?));
            ensure!(problems == ["o11", "o5", "o7"] && differ == ["o7"], "{problems:?} {differ:?}");
            Ok(first)
        })
        .await?;
        let (mut all, mut next) = (names(&first), text(&first, "/next"));
        while !next.is_empty() {
            let cursor: String = url::form_urlencoded::byte_serialize(next.as_bytes()).collect();
            let further = page(&format!("limit=5&after={cursor}")).await?;
            all.extend(names(&further));
            next = text(&further, "/next");
        }
        let mut sorted = all.clone();
        sorted.sort();
        sorted.dedup();
        ensure!(all.len() == 12 && sorted.len() == 12, "each once: {all:?}");
        for (query, expected) in [
            ("state=failed", &["o11", "o5"][..]),
            ("state=out-of-sync", &["o7"]),
            ("state=problem", &["o11", "o5", "o7"]),
            ("state=paused", &[]),
            ("search=FRAGILE%3Dtrue", &["o0", "o3", "o6", "o9"]),
            ("search=o1&kind=ConfigMap", &["o11", "o1", "o10"]),
            ("kind=Secret", &[]),
            ("namespace=elsewhere", &[]),
        ] {
            let found = names(&page(query).await?);
            ensure!(found == expected, "{query}: {found:?}");
        }
        for bad in ["after=%5B%5D", "state=broken", "limit=many"] {
            let path = format!("/page/plugins/misfit/objects?{bad}");
            ensure!(asked(&world, Method::GET, &path, &[("authorization", &bearer)]).await?.status == 400, "{bad}");
        }
        ensure!(
            asked(&world, Method::GET, "/page/plugins/nobody/objects", &[("authorization", &bearer)]).await?.status
                == 404
        );
        Ok(())
    })
    .await
}

/// Waits until the page counts these objects of the misfit as failed.
async fn failed(world: &World, bearer: &str, expected: &[&str]) -> Result<()> {
    eventually(SOON, &format!("{expected:?} to have failed"), || async {
        let page = "/page/plugins/misfit/objects?state=failed";
        let found = asked(world, Method::GET, page, &[("authorization", bearer)]).await?.json()?;
        let objects = found.pointer("/objects").and_then(Value::as_array).into_iter().flatten();
        let names: Vec<String> = objects.map(|object| text(object, "/name")).collect();
        ensure!(names == expected && found.pointer("/counts/failed") == Some(&json!(expected.len())), "{found:#}");
        Ok(())
    })
    .await
}

/// With a finalizer: without one, the key of an object that went runs once more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_that_failed_and_is_the_plugins_no_more_is_not_shown_as_failed() -> Result<()> {
    with_world(crate::plan::ALONE, async |world: Arc<World>| {
        world.plugins.grant("misfit", &super::misfit_grant(&world).cleanup())?;
        let misfit = oarlock_tests::harness::misfit_with("1", "", |manifest| {
            if let Some(fields) = manifest.as_object_mut() {
                fields.insert("cleanup".to_owned(), true.into());
            }
        })?;
        world.plugins.file("misfit.wasm", &misfit)?;
        crate::rollouts::objects(&world, 2, 0).await?;
        let path = format!("/api/v1/namespaces/{}/configmaps/o1", world.namespace);
        let fails = serde_json::json!({"metadata": {"annotations": {"misfit/mode": "terminal"}}});
        world.cluster.merge_patch(&path, &fails).await?;
        world.start_host().await?;
        let bearer = format!("Bearer {}", token(&world).await?);
        failed(&world, &bearer, &["o1"]).await?;
        let left = serde_json::json!({"metadata": {"labels": {"misfit": null}, "finalizers": null}});
        world.cluster.merge_patch(&path, &left).await?;
        failed(&world, &bearer, &[]).await
    })
    .await
}

/// Without a finalizer, the key of an object that went runs once more. That run may fail for good, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_whose_last_reconcile_failed_for_good_is_not_shown_as_failed() -> Result<()> {
    with_world(crate::plan::ALONE, async |world: Arc<World>| {
        world.plugins.grant("misfit", &super::misfit_grant(&world))?;
        world.plugins.file("misfit.wasm", &oarlock_tests::harness::misfit_version("1", "")?)?;
        crate::rollouts::objects(&world, 2, 0).await?;
        let path = format!("/api/v1/namespaces/{}/configmaps/o1", world.namespace);
        let fails = serde_json::json!({"metadata": {"annotations": {"misfit/mode": "terminal"}}});
        world.cluster.merge_patch(&path, &fails).await?;
        world.start_host().await?;
        let bearer = format!("Bearer {}", token(&world).await?);
        failed(&world, &bearer, &["o1"]).await?;
        world.cluster.delete(&path).await?;
        failed(&world, &bearer, &[]).await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_says_what_to_do_when_there_is_no_host() -> Result<()> {
    // Nobody listens there; a port that was free before may be another test's by now.
    let output = oarlock(&["ui", "--no-browser", "--admin-addr", "127.0.0.1:1"]).await?;
    let said = String::from_utf8(output.stderr)?;
    ensure!(!output.status.success() && said.contains("no host answers") && said.contains("port-forward"), "{said}");
    with_world(WorldOptions { network: false, crd: false, ..WorldOptions::default() }, async |world: Arc<World>| {
        ensure!(address(&world).await?.contains("/#token="));
        Ok(())
    })
    .await
}
