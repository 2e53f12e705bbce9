//! `oarlock types`.

use anyhow::{Context as _, bail, ensure};
use clap::{Args, ValueEnum};
use oarlock_types::{Language, Model};
use serde_json::Value;
use std::{
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
};

/// Largest file with definitions.
const FILE_BYTES: u64 = 16 << 20;

/// The options of `oarlock types`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  oarlock types --crd crd.yaml --lang rust -o src/network.rs")]
pub(super) struct TypesArgs {
    /// YAML or JSON file with the CustomResourceDefinition
    #[arg(long, value_name = "FILE")]
    crd: PathBuf,

    /// Kind, where the file defines more than one
    #[arg(long)]
    kind: Option<String>,

    /// Version of the kind [default: the one that is stored]
    #[arg(long)]
    version: Option<String>,

    /// Language of the types
    #[arg(long, value_enum)]
    lang: Lang,

    /// File to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Lang {
    /// Structs and enums of serde
    Rust,
    /// Interfaces of TypeScript
    Ts,
    /// Typed dictionaries
    Python,
}

impl From<Lang> for Language {
    fn from(lang: Lang) -> Self {
        match lang {
            Lang::Rust => Self::Rust,
            Lang::Ts => Self::TypeScript,
            Lang::Python => Self::Python,
        }
    }
}

pub(super) fn run(args: &TypesArgs) -> anyhow::Result<()> {
    let model = model(args).with_context(|| format!("cannot make types of {}", args.crd.display()))?;
    let text = model.write(args.lang.into());
    match &args.output {
        Some(file) => std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display())),
        // Comments and literals have no control characters.
        None => super::print(text.as_bytes()),
    }
}

fn model(args: &TypesArgs) -> anyhow::Result<Model> {
    let definition = definition(&read(&args.crd)?, args.kind.as_deref())?;
    Ok(Model::of_definition(&definition, args.version.as_deref())?)
}

fn read(file: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    File::open(file)?.take(FILE_BYTES + 1).read_to_string(&mut text)?;
    ensure!(text.len() as u64 <= FILE_BYTES, "the file has more than {} MiB", FILE_BYTES >> 20);
    Ok(text)
}

/// The one definition of a text, or the one of a kind.
fn definition(text: &str, kind: Option<&str>) -> anyhow::Result<Value> {
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
