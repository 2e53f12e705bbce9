//! What registries answer when something is wrong: each is told in words that help, loses nothing, and is tried again where that
//! makes sense.

use super::trust::{puller, stands};
use super::{Stage, client, idler, options, push, reference, refusal};
use anyhow::{Context, Result, ensure};
use http::{Method, StatusCode};
use oarlock::oci::{self, Client, Digest, Options, Puller, Reference, Trust, Wanted};
use oarlock_tests::harness::{Action, Gate, Rule, SOON, Tripwire, Upstream, eventually};
use serde_json::json;
use std::{collections::HashMap, fs, sync::Arc, time::Duration};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

impl Stage {
    /// Why it cannot be pulled while something is done to requests of a kind; afterwards it can.
    async fn error(&self, path: &str, action: Action) -> Result<oci::Error> {
        let patient = Client::new(options())?;
        // On a busy machine a second may be too short for anything else.
        let client = match action {
            Action::Silence | Action::Trickle { .. } => {
                Client::new(oci::ClientOptions { timeout: Duration::from_secs(1), ..options() })?
            }
            _ => Client::new(options())?,
        };
        let rule = self.gate.rule(Rule::every(action).path(path));
        let error = refusal(&client, &Trust::default(), &self.reference).await?;
        drop(rule);
        let file = self.folder.path().join("whole.wasm");
        oci::pull(&patient, &Trust::default(), &self.reference, &file)
            .await
            .with_context(|| format!("after {error}"))?;
        Ok(error)
    }
}

fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Result<Action> {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Ok(Action::Answer { status: StatusCode::from_u16(status)?, headers, body: body.to_owned().into() })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_status_is_told_and_tried_again_where_it_may_pass() -> Result<()> {
    let stage = Stage::new().await?;
    let denied = json!({"errors": [{"code": "DENIED", "message": "not\nyours"}]}).to_string();
    for (status, headers, body, says, passes) in [
        (401, vec![], "", "asks for no login that is known", false),
        (
            401,
            vec![("www-authenticate", "Basic realm=\"x\"")],
            "",
            "there is none for it in the docker configuration",
            false,
        ),
        (
            401,
            vec![("www-authenticate", "Bearer realm=\"http://r.example/token\"")],
            "",
            "only https is followed",
            false,
        ),
        (403, vec![], denied.as_str(), r"forbids it: DENIED not\nyours", false),
        (404, vec![], "<html>", "not found at", false),
        (429, vec![("retry-after", "17")], "", "limits the rate of requests", true),
        (500, vec![], "", "answers 500", true),
        (503, vec![("retry-after", "3")], "", "answers 503", true),
        (400, vec![], "", "answers 400", false),
        (302, vec![("location", "http://r.example/elsewhere")], "", "to http://r.example: only https", false),
        (307, vec![("location", "?again=1")], "", "more than 5 times", false),
        (307, vec![], "", "does not say where to", false),
    ] {
        for path in ["/manifests/", "/blobs/"] {
            let error = stage.error(path, answer(status, &headers, body)?).await?;
            ensure!(error.to_string().contains(says) && error.passes() == passes, "{status} {path}: {error}");
            ensure!(!error.to_string().contains('\n'), "{error}");
            let pause =
                headers.iter().find(|(name, _)| *name == "retry-after").and_then(|(_, value)| value.parse().ok());
            ensure!(error.retry_after() == pause.map(Duration::from_secs), "{status}: {:?}", error.retry_after());
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logins_go_to_the_registry_and_whom_it_names_and_no_answer_of_theirs_harms() -> Result<()> {
    let stage = Stage::new().await?;
    let elsewhere = Gate::open(Upstream::Http(stage.gate.url()), Tripwire::default()).await?;
    let asks = [("www-authenticate", &*format!("Bearer realm=\"{}/token\"", elsewhere.url()))];
    let _asking = elsewhere.rule(Rule::every(answer(401, &asks, "")?));
    let away = format!("{}/storage", elsewhere.url());
    let error = stage.error("/blobs/", answer(302, &[("location", &away)], "")?).await?;
    ensure!(error.to_string().contains("which asks for a login"), "{error}");
    ensure!(elsewhere.journal().iter().all(|one| one.path == "/storage"), "{:?}", elsewhere.journal());
    let asks = [("www-authenticate", &*format!("Bearer realm=\"{}/token\"", stage.gate.url()))];
    for (token, says) in [
        ("{\"token\": \"x\", \"expires_in\": 18446744073709551615}", "the login is not accepted"),
        ("{\"token\": \"x\\u0000\"}", "bytes no header can have"),
        ("{\"token\": \"\"}", "without a token"),
        ("<html>", "does not answer with a token"),
    ] {
        let _tokens = stage.gate.rule(Rule::every(answer(200, &[], token)?).path("/token"));
        let error = stage.error("/manifests/", answer(401, &asks, "")?).await?;
        ensure!(error.to_string().contains(says), "{token}: {error}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silence_cuts_and_slowness_end_in_time() -> Result<()> {
    let stage = Stage::new().await?;
    for path in ["/manifests/", "/blobs/"] {
        let silent = stage.error(path, Action::Silence).await?;
        ensure!(silent.to_string().contains("does not answer within 1 s") && silent.passes(), "{silent}");
        let cut = stage.error(path, Action::Cut).await?;
        ensure!(cut.to_string().contains("no response from 127.0.0.1") && cut.passes(), "{cut}");
    }
    let slow = Action::Trickle { body: vec![b' '; 4096].into(), pause: Duration::from_secs(2) };
    let slow = stage.error("/blobs/", slow).await?;
    ensure!(slow.to_string().contains("does not answer within 1 s"), "{slow}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bytes_that_are_not_those_that_were_named_are_refused() -> Result<()> {
    let stage = Stage::new().await?;
    let wrong = Digest::of(b"wrong").to_string();
    let lie = answer(200, &[("docker-content-digest", &wrong)], "{}")?;
    let error = stage.error("/manifests/", lie).await?;
    ensure!(error.to_string().contains(&format!("not {wrong}")) && error.refuses(), "{error}");
    let nonsense = answer(200, &[("docker-content-digest", "md5:1")], "{}")?;
    let error = stage.error("/manifests/", nonsense).await?;
    ensure!(error.to_string().contains("is not sha256:"), "{error}");
    // As long as it should be, and longer, and shorter.
    let length = idler("idler-0000", "1")?.len();
    let other = answer(200, &[], &"x".repeat(length))?;
    let error = stage.error("/blobs/", other).await?;
    ensure!(error.to_string().contains("its digest is") && error.refuses() && error.passes(), "{error}");
    for (bytes, found) in [(length + 9, length + 1), (length - 1, length - 1), (0, 0)] {
        let error = stage.error("/blobs/", answer(200, &[], &"x".repeat(bytes))?).await?;
        ensure!(
            error.to_string().contains(&format!("received {found} bytes, but the manifest says {length}")),
            "{error}"
        );
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_manifest_may_have_4_mib_and_must_be_one() -> Result<()> {
    let stage = Stage::new().await?;
    let huge = format!("{{\"schemaVersion\": 2, \"x\": \"{}\"}}", "x".repeat(4 << 20));
    let error = stage.error("/manifests/", answer(200, &[], &huge)?).await?;
    ensure!(error.to_string().contains("larger than the limit of 4194304 bytes"), "{error}");
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for (body, says) in [
        ("", "cannot be read"),
        ("<html>", "cannot be read"),
        (deep.as_str(), "cannot be read"),
        ("{\"schemaVersion\": 2}", "no layer"),
        (
            "{\"schemaVersion\": 2, \"layers\": [{\"mediaType\": \"application/wasm\", \"digest\": \"sha256:../../x\", \"size\": 1}]}",
            "64 digits",
        ),
        (
            "{\"schemaVersion\": 2, \"layers\": [{\"mediaType\": \"application/wasm\", \"digest\": \"sha256:x\", \"size\": -1}]}",
            "cannot be read",
        ),
    ] {
        let error = stage.error("/manifests/", answer(200, &[], body)?).await?;
        ensure!(error.to_string().contains(says) && error.refuses(), "{body:.60}: {error}");
    }
    Ok(())
}

/// Answers paths with bytes as they are, and closes.
async fn raw(answers: HashMap<String, Vec<u8>>) -> Result<String> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?.to_string();
    let answers = Arc::new(answers);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let answers = Arc::clone(&answers);
            tokio::spawn(async move {
                let (mut head, mut piece) = (Vec::new(), [0; 1024]);
                while !head.windows(4).any(|end| end == b"\r\n\r\n") {
                    match stream.read(&mut piece).await {
                        Ok(count @ 1..) => head.extend_from_slice(piece.get(..count).unwrap_or_default()),
                        _ => return,
                    }
                }
                let head = String::from_utf8_lossy(&head).into_owned();
                let path = head.split(' ').nth(1).unwrap_or_default();
                let bytes = answers.iter().find(|(part, _)| path.contains(*part)).map(|(_, bytes)| bytes.clone());
                let _ = stream.write_all(&bytes.unwrap_or_default()).await;
            });
        }
    });
    Ok(address)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lengths_that_are_lies_are_found_out() -> Result<()> {
    let wasm = idler("idler-0000", "1")?;
    let layer = json!({"mediaType": "application/wasm", "digest": Digest::of(&wasm).to_string(), "size": wasm.len()});
    let manifest = json!({"schemaVersion": 2, "layers": [layer]}).to_string();
    let with = |length: usize, body: &[u8]| {
        // Without it, the client would send its next request on this connection, which may be closed by then.
        [format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n").as_bytes(), body].concat()
    };
    let good = with(manifest.len(), manifest.as_bytes());
    for (manifest, blob, says) in [
        (good.clone(), with(wasm.len(), &wasm[..wasm.len() / 2]), "no response from"),
        (good.clone(), with(wasm.len() * 2, &wasm), "no response from"),
        (good.clone(), with(wasm.len() / 2, &wasm), "received"),
        (good.clone(), with(usize::MAX, b"x"), "no response from"),
        (good, b"HTTP/1.1 200 OK\r\ncontent-length: nonsense\r\n\r\n".to_vec(), "no response from"),
        (with(1 << 40, b"{"), Vec::new(), "manifest of"),
        (b"not http at all\r\n\r\n".to_vec(), Vec::new(), "no response from"),
        (Vec::new(), Vec::new(), "no response from"),
    ] {
        let address = raw(HashMap::from([("/manifests/".to_owned(), manifest), ("/blobs/".to_owned(), blob)])).await?;
        let error = refusal(&client()?, &Trust::default(), &reference(&address, "a:v1")?).await?;
        ensure!(error.to_string().contains(says), "{says}: {error}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_puller_comes_through_trouble_and_asks_no_more_than_it_must() -> Result<()> {
    let stage = Stage::new().await?;
    let address = stage.gate.url().replace("http://", "");
    // A layer that is cut short, a manifest that is nonsense.
    let rules = [
        stage.gate.rule(Rule::every(answer(200, &[], "x")?).path("/blobs/").times(1)),
        stage
            .gate
            .rule(Rule::every(answer(200, &[], "nonsense")?).methods(&[Method::GET]).path("/manifests/").times(1)),
    ];
    let (_puller, statuses) = puller(stage.folder.path(), &address, Trust::default()).await?;
    let healthy = |now: &oci::PullStatus| now.content.is_some() && now.refused.is_none() && now.problem.is_none();
    stands(&statuses, "the plugin, at last", healthy).await?;
    drop(rules);
    // From here on it asks what the tag points to, and nothing else; what is named by its digest needs nothing.
    let mark = stage.gate.mark();
    eventually(SOON, "two polls", || async {
        ensure!(stage.gate.since(mark).len() >= 2, "{}", stage.gate.since(mark).len());
        Ok(())
    })
    .await?;
    let asked = stage.gate.since(mark);
    ensure!(asked.iter().all(|one| one.method == Method::HEAD), "{asked:?}");
    // A tag that is gone loses nothing.
    let gone = stage.gate.rule(Rule::every(answer(404, &[], "")?).path("/manifests/"));
    let now = stands(&statuses, "the loss to be told", |now| now.problem.is_some()).await?;
    ensure!(now.content.is_some() && now.refused.is_none(), "{now:?}");
    drop(gone);
    let second = push(stage.registry.address(), "a:v1", "2", None).await?;
    stands(&statuses, "the second version", |now| {
        healthy(now) && now.content.as_ref().is_some_and(|content| content.manifest == second.manifest)
    })
    .await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reference_by_digest_is_pulled_once_and_never_asked_about_again() -> Result<()> {
    let stage = Stage::new().await?;
    let first = client()?.resolve(&stage.reference).await?.context("no digest")?;
    push(stage.registry.address(), "a:v1", "2", None).await?;
    let wanted = |plugin: &str, reference: Reference| Wanted { plugin: plugin.to_owned(), reference };
    let plugins = vec![wanted("fixed", stage.reference.at(&first)), wanted("moving", stage.reference.clone())];
    let (cache, poll) = (stage.folder.path().join("cache"), Duration::from_secs(1));
    let options = Options { plugins, cache, client: options(), trust: Trust::default(), poll };
    let puller = Puller::start(options).await?;
    let statuses = puller.pull_statuses();
    eventually(SOON, "both", || async {
        ensure!(statuses.now().values().all(|now| now.content.is_some()), "{:?}", statuses.now());
        Ok(())
    })
    .await?;
    let now = statuses.now();
    let fixed =
        now.values().find(|now| now.plugin == "fixed").and_then(|now| now.content.clone()).context("no content")?;
    ensure!(fixed.manifest == first && fs::read(&fixed.path)? == idler("idler-0000", "1")?);
    let mark = stage.gate.mark();
    eventually(SOON, "two polls", || async {
        ensure!(stage.gate.since(mark).len() >= 2);
        Ok(())
    })
    .await?;
    ensure!(stage.gate.since(mark).iter().all(|one| one.path.ends_with("/v1")), "{:?}", stage.gate.since(mark));
    Ok(())
}
