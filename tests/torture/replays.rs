//! Recorded reconciles of the torture replay: `/recordings`, of which `oarlock record` makes files, then `oarlock test` with the version
//! that was recorded.

use super::guest::formed;
use super::kinds::Kind;
use super::swaps::Swapper;
use crate::harness::{Cluster, HttpClient, oarlock, text};
use anyhow::{Context, Result};
use bytes::Bytes;
use http::Method;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Between two questions to the host.
const PAUSE: Duration = Duration::from_millis(2);

/// What came of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Replays {
    pub(super) cases: usize,
    pub(super) failures: Vec<String>,
}

/// The recorded reconciles, by their names.
#[derive(Clone, Debug, Default)]
pub(super) struct Recordings(BTreeMap<String, (Kind, String)>);

impl Recordings {
    /// Collects recordings of all objects, again and again, until there are enough.
    ///
    /// * `admin` - of the host, which may be another one after each question.
    pub(super) async fn collect(
        &mut self,
        cluster: &Cluster,
        namespace: &str,
        admin: impl Fn() -> Option<HttpClient>,
        enough: usize,
    ) -> Result<()> {
        while self.0.len() < enough {
            for kind in Kind::ALL {
                for object in cluster.list(&kind.path(namespace)).await? {
                    tokio::time::sleep(PAUSE).await;
                    if let Some(admin) = admin() {
                        self.ask(&admin, kind, namespace, &text(&object, "/metadata/name")).await;
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds the recordings of one object. A host that is killed does not answer.
    async fn ask(&mut self, admin: &HttpClient, kind: Kind, namespace: &str, object: &str) {
        let path = format!(
            "/recordings?kind={}&namespace={namespace}&name={object}&plugin={}&last=30",
            kind.kind(),
            kind.plugin()
        );
        let Ok(answer) = admin.send(Method::GET, &path, &[("x-oarlock-action", "1")], Bytes::new()).await else {
            return;
        };
        let Ok(found) = answer.json() else { return };
        for case in found.get("recordings").and_then(Value::as_array).into_iter().flatten() {
            self.0.insert(text(case, "/name"), (kind, text(case, "/case")));
        }
    }

    /// Replays them, each with its version.
    pub(super) async fn replay(&self, swapper: &Swapper<'_>, folder: &Path) -> Result<Replays> {
        let mut versions: BTreeMap<(&str, &str), Vec<(&String, &String)>> = BTreeMap::new();
        for (name, (kind, case)) in &self.0 {
            let version = case.lines().find_map(|line| line.trim().strip_prefix("pluginVersion: "));
            let version = version.context("a case without pluginVersion")?.trim_matches(['"', '\'']);
            versions.entry((kind.plugin(), version)).or_default().push((name, case));
        }
        let mut replays = Replays { cases: self.0.len(), ..Replays::default() };
        for ((plugin, version), cases) in versions {
            let folder = folder.join(format!("{plugin}-{version}"));
            fs::create_dir_all(&folder)?;
            for (name, case) in cases {
                fs::write(folder.join(format!("{name}.yaml")), case)?;
            }
            let (kind, form) = swapper.placed(version).with_context(|| format!("nobody placed {plugin} {version}"))?;
            let file = folder.with_extension("wasm");
            fs::write(&file, formed(swapper.guest(), &kind.role(version), form)?)?;
            let (file, folder) = (file.display().to_string(), folder.display().to_string());
            let ran = oarlock(&["test", &file, "--cases", &folder]).await?;
            if !ran.status.success() {
                let said = String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
                replays.failures.push(format!("{plugin} {version}: {said}"));
            }
        }
        Ok(replays)
    }
}
