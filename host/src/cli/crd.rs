//! `oarlock crd`.

mod compare;

use super::generated::Target;
use anyhow::{Context as _, bail};
use clap::{Args, Subcommand, ValueEnum};
use oarlock::grants::guess_plural;
use oarlock_types::{Column, Definition};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The options of `oarlock crd`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Examples:\n  cargo run --example schema | oarlock crd --schema - --kind example.com/v1/WebApp -o crd.yaml\n  oarlock crd --schema webapp.json --kind example.com/v1/WebApp --short-name wa --column Image:.spec.image\n\nGenerators: schemars (Rust), ts-json-schema-generator (TypeScript), pydantic or msgspec (Python)."
)]
pub(super) struct CrdArgs {
    #[command(subcommand)]
    command: Option<CrdCommand>,

    /// JSON Schema of the type of the whole object, as a generator printed it; - is standard input
    #[arg(long, value_name = "FILE", required = true)]
    schema: Option<PathBuf>,

    /// Kind to define, as GROUP/VERSION/KIND: example.com/v1/WebApp
    #[arg(long, value_name = "GROUP/VERSION/KIND", value_parser = kind, required = true)]
    kind: Option<[String; 3]>,

    /// Name of the resource in URLs [default: the plural of the kind in lower case]
    #[arg(long, value_name = "NAME")]
    plural: Option<String>,

    /// Whether objects live in namespaces
    #[arg(long, value_enum, default_value_t = Scope::Namespaced)]
    scope: Scope,

    /// Abbreviation for kubectl; repeatable
    #[arg(long = "short-name", value_name = "NAME")]
    short_names: Vec<String>,

    /// Category, such as all; repeatable
    #[arg(long = "category", value_name = "NAME")]
    categories: Vec<String>,

    /// Column of `kubectl get`, as NAME:JSONPATH; its type is that of the field; repeatable
    #[arg(long = "column", value_name = "NAME:JSONPATH", value_parser = column)]
    columns: Vec<Column>,

    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Subcommand)]
enum CrdCommand {
    /// Compare two versions of a CustomResourceDefinition: do stored objects survive the upgrade?
    ///
    /// Print each change by which stored objects lose data, become invalid or cannot be reached any more. Objects are not looked at.
    Compare(compare::CompareArgs),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "PascalCase")]
enum Scope {
    /// Each object is in a namespace
    Namespaced,
    /// Objects are in no namespace
    Cluster,
}

pub(super) fn run(args: &CrdArgs) -> anyhow::Result<ExitCode> {
    if let Some(CrdCommand::Compare(args)) = &args.command {
        return Ok(compare::run(args));
    }
    let (Some(schema), Some(kind)) = (&args.schema, &args.kind) else { bail!("--schema and --kind are needed") };
    make(args, schema, kind).map(|()| ExitCode::SUCCESS)
}

fn make(args: &CrdArgs, schema: &Path, [group, version, kind]: &[String; 3]) -> anyhow::Result<()> {
    let shown = schema.display();
    let definition = Definition {
        group: group.clone(),
        version: version.clone(),
        kind: kind.clone(),
        plural: args.plural.clone().unwrap_or_else(|| guess_plural(kind)),
        short_names: args.short_names.clone(),
        categories: args.categories.clone(),
        cluster_scoped: args.scope == Scope::Cluster,
        columns: args.columns.clone(),
    };
    let made = define(&definition, schema).with_context(|| format!("cannot define {kind} by {shown}"))?;
    let text = serde_saphyr::to_string(&made)?;
    let normal = |found: &str| {
        let found: Option<Value> = serde_saphyr::from_str(found).ok();
        found.and_then(|found| serde_saphyr::to_string(&found).ok()).unwrap_or_default()
    };
    args.target.settle(&text, normal, &format!("the types behind {shown} changed"))
}

fn define(definition: &Definition, file: &Path) -> anyhow::Result<Value> {
    let text =
        if file.as_os_str() == "-" { super::types::read_from(std::io::stdin())? } else { super::types::read(file)? };
    let schema: Value = serde_json::from_str(&text).context("it is no JSON")?;
    let made = definition.of_schema(&schema)?;
    let errors = oarlock_schema::validate_crd(&defaulted(&made));
    if !errors.is_empty() {
        let errors: Vec<String> = errors.iter().map(|error| format!("\n  {error}")).collect();
        bail!("an API server would refuse the definition:{}", errors.concat());
    }
    Ok(made)
}

fn defaulted(made: &Value) -> Value {
    let mut made = made.clone();
    oarlock_schema::default_crd(&mut made);
    made
}

fn kind(text: &str) -> Result<[String; 3], String> {
    let parts: Vec<String> = text.split('/').map(str::to_owned).collect();
    parts.try_into().map_err(|_parts| "expected GROUP/VERSION/KIND, such as example.com/v1/WebApp".to_owned())
}

fn column(text: &str) -> Result<Column, String> {
    let parts = text.split_once(':').filter(|(name, path)| !name.is_empty() && path.starts_with('.'));
    let (name, path) = parts.ok_or("expected NAME:JSONPATH, such as Image:.spec.image")?;
    Ok(Column { name: name.to_owned(), path: path.to_owned() })
}
