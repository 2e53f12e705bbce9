//! `oarlock types`.

use super::generated::Target;
use anyhow::{Context as _, anyhow, bail, ensure};
use clap::{Args, ValueEnum};
use http_body_util::{BodyExt as _, Limited};
use oarlock::api::client;
use oarlock_types::{Language, Model};
use serde_json::Value;
use std::{
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
};

/// Largest file with definitions, and largest OpenAPI document.
const FILE_BYTES: usize = 16 << 20;

/// The options of `oarlock types`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  oarlock types --crd crd.yaml --lang rust -o src/network.rs\n  oarlock types --crd crd.yaml --lang rust -o src/network.rs --check    # in CI: is the file up to date?\n  oarlock types --kind apps/v1/Deployment --lang ts"
)]
pub(super) struct TypesArgs {
    /// YAML or JSON file with the CustomResourceDefinition
    #[arg(long, value_name = "FILE", required_unless_present = "kind")]
    crd: Option<PathBuf>,

    /// Kind. With --crd: its name, where the file defines more than one. Without: a kind that the API server has, as VERSION/KIND or
    /// GROUP/VERSION/KIND: v1/Pod, apps/v1/Deployment
    #[arg(long)]
    kind: Option<String>,

    /// Version of the kind in --crd [default: the one that is stored]
    #[arg(long, requires = "crd")]
    version: Option<String>,

    /// Kubeconfig for --kind without --crd [default: as for kubectl: KUBECONFIG, ~/.kube/config, the Pod's ServiceAccount]
    #[arg(long, value_name = "FILE", conflicts_with = "crd")]
    kubeconfig: Option<PathBuf>,

    /// Context of the kubeconfig [default: its current context]
    #[arg(long, value_name = "NAME", conflicts_with = "crd")]
    context: Option<String>,

    /// Language of the types
    #[arg(long, value_enum)]
    lang: Lang,

    #[command(flatten)]
    target: Target,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Lang {
    /// Structs and enums of serde
    Rust,
    /// Interfaces of TypeScript
    Ts,
    /// Typed dictionaries
    Python,
    /// Structs with tags of encoding/json
    Go,
    /// A header with structs, for the SDK
    C,
}

impl From<Lang> for Language {
    fn from(lang: Lang) -> Self {
        match lang {
            Lang::Rust => Self::Rust,
            Lang::Ts => Self::TypeScript,
            Lang::Python => Self::Python,
            Lang::Go => Self::Go,
            Lang::C => Self::C,
        }
    }
}

pub(super) async fn run(args: TypesArgs) -> anyhow::Result<()> {
    let model = match (&args.crd, &args.kind) {
        (Some(file), kind) => of_file(file, kind.as_deref(), args.version.as_deref())
            .with_context(|| format!("cannot make types of {}", file.display()))?,
        (None, kind) => {
            let kind = kind.as_deref().unwrap_or_default();
            let options = client::Options { kubeconfig: args.kubeconfig, context: args.context };
            of_server(kind, &options).await.with_context(|| format!("cannot make types of {kind}"))?
        }
    };
    let text = model.write(args.lang.into());
    let source = args.crd.map_or_else(|| "the kind of the API server".to_owned(), |file| file.display().to_string());
    // A checkout may have other ends of lines.
    let normal = |found: &str| found.replace("\r\n", "\n");
    args.target.settle(&text, normal, &format!("it is not what this program makes of {source}"))
}

fn of_file(file: &Path, kind: Option<&str>, version: Option<&str>) -> anyhow::Result<Model> {
    Ok(Model::of_definition(&definition(&read(file)?, kind)?, version)?)
}

/// The types of a kind that an API server has, from its OpenAPI document of the group and version.
async fn of_server(kind: &str, options: &client::Options) -> anyhow::Result<Model> {
    let (group, version, kind) = group_version_kind(kind)?;
    let path = if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") };
    let client = client::build(client::load_config(options).await?)?;
    let request = http::Request::get(format!("/openapi/v3/{path}")).body(kube::client::Body::empty())?;
    let response = client.send(request).await?;
    match response.status() {
        http::StatusCode::OK => {}
        http::StatusCode::NOT_FOUND => bail!("the API server serves no {path}"),
        other => bail!("the API server answers {other} for /openapi/v3/{path}"),
    }
    let body = Limited::new(response.into_body(), FILE_BYTES).collect().await.map_err(|error| anyhow!(error))?;
    let document: Value = serde_json::from_slice(&body.to_bytes()).context("its OpenAPI document is not JSON")?;
    let schemas = document.pointer("/components/schemas").and_then(Value::as_object).context("no schemas")?;
    let wanted = serde_json::json!({"group": group, "version": version, "kind": kind});
    let is_wanted = |schema: &&Value| {
        let kinds = schema.get("x-kubernetes-group-version-kind").and_then(Value::as_array);
        kinds.is_some_and(|kinds| kinds.contains(&wanted))
    };
    let schema = schemas.values().find(is_wanted);
    let schema = schema.with_context(|| format!("the API server has no kind {kind} in {path}"))?;
    Ok(Model::of_schema(group, version, kind, schema, schemas)?)
}

/// Splits `VERSION/KIND` or `GROUP/VERSION/KIND`. The parts are safe in a path.
fn group_version_kind(text: &str) -> anyhow::Result<(&str, &str, &str)> {
    let parts: Vec<&str> = text.split('/').collect();
    let is_safe = |part: &&str| {
        !part.is_empty() && part.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.'))
    };
    ensure!(parts.iter().all(is_safe), "--kind {text:?} is not VERSION/KIND or GROUP/VERSION/KIND");
    match parts.as_slice() {
        [version, kind] => Ok(("", version, kind)),
        [group, version, kind] => Ok((group, version, kind)),
        _ => bail!("--kind without --crd is VERSION/KIND or GROUP/VERSION/KIND, such as apps/v1/Deployment"),
    }
}

/// The text of a file.
///
/// # Errors
///
/// The file cannot be read, or is too large.
pub(super) fn read(file: &Path) -> anyhow::Result<String> {
    read_from(File::open(file)?)
}

/// As [`read`], of anything that is open.
pub(super) fn read_from(file: impl std::io::Read) -> anyhow::Result<String> {
    let mut text = String::new();
    file.take(FILE_BYTES as u64 + 1).read_to_string(&mut text)?;
    ensure!(text.len() <= FILE_BYTES, "the file has more than {} MiB", FILE_BYTES >> 20);
    Ok(text)
}

/// The one definition of a text, or the one of a kind.
///
/// # Errors
///
/// The text is no YAML, or has none or several of them.
pub(super) fn definition(text: &str, kind: Option<&str>) -> anyhow::Result<Value> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text)?;
    let is_definition = |one: &Value| one.get("kind").and_then(Value::as_str) == Some("CustomResourceDefinition");
    let defined =
        |one: &Value| one.pointer("/spec/names/kind").and_then(Value::as_str).unwrap_or("(no kind)").to_owned();
    let mut found: Vec<Value> = documents.into_iter().filter(is_definition).collect();
    let known = found.iter().map(defined).collect::<Vec<_>>().join(", ");
    if let Some(kind) = kind {
        found.retain(|one| defined(one) == kind);
    }
    match (found.len(), found.pop(), kind) {
        (1, Some(only), _) => Ok(only),
        (0, _, Some(kind)) if !known.is_empty() => bail!("no CustomResourceDefinition of {kind}, but of {known}"),
        (0, ..) => bail!("no document is a CustomResourceDefinition"),
        _ => bail!("the file defines {known}: choose one with --kind"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_of_the_server_has_its_version() {
        assert_eq!(group_version_kind("v1/Pod").unwrap(), ("", "v1", "Pod"));
        assert_eq!(group_version_kind("apps/v1/Deployment").unwrap(), ("apps", "v1", "Deployment"));
        for text in ["Pod", "a/b/c/d", "apps//Deployment", "v1/..%2f", "apps/v1/Deployment?x", ""] {
            assert!(group_version_kind(text).is_err(), "{text}");
        }
    }

    const TWO: &str = "kind: Namespace\n---\nkind: CustomResourceDefinition\nspec: {names: {kind: A}}\n---\n\
                       kind: CustomResourceDefinition\nspec: {names: {kind: B}}\n";

    #[test]
    fn one_definition_is_chosen() {
        assert_eq!(definition(TWO, Some("B")).unwrap().pointer("/spec/names/kind").unwrap(), "B");
        for (text, kind, reason) in [
            (TWO, None, "the file defines A, B: choose one with --kind"),
            (TWO, Some("C"), "no CustomResourceDefinition of C, but of A, B"),
            ("kind: Namespace\n", None, "no document is a CustomResourceDefinition"),
        ] {
            assert_eq!(definition(text, kind).unwrap_err().to_string(), reason);
        }
    }
}
