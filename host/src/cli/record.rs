//! `oarlock record`: recorded reconciles of a running host, as cases.

use super::admin::{Admin, object_query, send};
use anyhow::{Context as _, bail};
use clap::Args;
use oarlock::api::ObjectKey;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use std::path::PathBuf;

/// The recorder of `oarlock run` and `oarlock dev`.
#[derive(Debug, Args)]
pub(super) struct RecorderArgs {
    /// Memory for recordings of reconciles, which oarlock record writes, in MiB. 0: nothing is recorded
    #[arg(long, value_name = "MIB", default_value_t = 8, value_parser = clap::value_parser!(u32).range(..=1024))]
    recorder_mib: u32,
}

impl RecorderArgs {
    pub(super) fn bytes(&self) -> usize {
        (self.recorder_mib as usize) << 20
    }
}

/// The options of `oarlock record`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  oarlock record Network default/example\n  oarlock record networks default/example --last 5 --plugin network -o cases\n  oarlock test network.wasm --cases cases"
)]
pub(super) struct RecordArgs {
    /// Kind of the object, as for kubectl: Network, networks or networks.samplecrd.k8s.io
    #[arg(value_name = "KIND")]
    kind: String,

    /// The object: NAMESPACE/NAME, or NAME for a cluster-scoped kind
    #[arg(value_name = "NAMESPACE/NAME")]
    object: ObjectKey,

    /// Only reconciles of this plugin
    #[arg(long, value_name = "NAME")]
    plugin: Option<String>,

    /// Number of recordings, the newest first
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    last: u32,

    /// Folder for the cases. It is created
    #[arg(short, long, value_name = "DIR", default_value = "cases")]
    output: PathBuf,

    #[command(flatten)]
    admin: Admin,
}

#[derive(Deserialize)]
struct Answer {
    recordings: Vec<Recording>,
}

#[derive(Deserialize)]
struct Recording {
    name: String,
    case: String,
}

pub(super) async fn run(args: RecordArgs) -> anyhow::Result<()> {
    let mut path = format!("/recordings?{}&last={}", object_query(&args.kind, &args.object), args.last);
    if let Some(plugin) = &args.plugin {
        path.push_str(&format!("&plugin={}", utf8_percent_encode(plugin, NON_ALPHANUMERIC)));
    }
    let text = send(&args.admin, "GET", &path).await?;
    let answer: Answer = serde_json::from_str(&text).context("the host's response is no list of recordings")?;
    let folder = &args.output;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create the folder {}", folder.display()))?;
    for Recording { name, case } in &answer.recordings {
        // The name of a file comes from another program.
        if name.is_empty() || name.starts_with('.') || name.contains(['/', '\\', '\0']) {
            bail!("the host's response has a recording with the name {name:?}, which is no file name");
        }
        let file = folder.join(format!("{name}.yaml"));
        std::fs::write(&file, case).with_context(|| format!("cannot write {}", file.display()))?;
        super::say(&format!("written  {}", file.display()))?;
    }
    super::say(&format!("replay with: oarlock test FILE.wasm --cases {}", folder.display()))
}
