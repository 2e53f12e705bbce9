//! Writes types and objects of many definitions for tests/types/campaign.sh: `campaign LIST DEFINITIONS OUT`.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a campaign may fail")]

#[path = "../../tests/support/objects.rs"]
mod objects;
mod typed;

use oarlock_types::{Language, Model};
use serde_json::Value;
use std::{fmt::Write as _, fs, path::Path};

/// Objects of each definition: the smallest, the largest, and random ones.
const OBJECTS: [u8; 20] = [0, 100, 60, 60, 60, 60, 40, 40, 40, 40, 40, 40, 20, 20, 20, 20, 20, 20, 10, 10];

fn main() {
    let [list, definitions, out] = std::env::args().skip(1).collect::<Vec<_>>().try_into().unwrap();
    let mut entries = Vec::new();
    for line in fs::read_to_string(list).unwrap().lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let [repository, _, sha, kind, _] = line.split_whitespace().collect::<Vec<_>>().try_into().unwrap();
        let project = repository.rsplit('/').next().unwrap().replace('-', "_");
        let name = format!("{project}_{}", kind.to_lowercase());
        let text = fs::read_to_string(Path::new(&definitions).join(format!("{sha}.yaml"))).unwrap();
        one(Path::new(&out), &name, &definition(&text, kind), &mut entries);
    }
    programs(Path::new(&out), &entries);
}

fn definition(text: &str, kind: &str) -> Value {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text).unwrap();
    documents
        .into_iter()
        .find(|one| one["spec"]["names"]["kind"] == kind && one["kind"] == "CustomResourceDefinition")
        .unwrap()
}

/// A definition that was written: the names of its files, its type in Rust, Go and TypeScript, and in C.
struct Entry {
    name: String,
    kind: String,
    c: String,
}

fn put(file: &Path, text: &str) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

fn one(out: &Path, name: &str, definition: &Value, entries: &mut Vec<Entry>) {
    let model = Model::of_definition(definition, None).unwrap();
    let versions = definition["spec"]["versions"].as_array().unwrap();
    let version = versions.iter().find(|one| one["name"] == model.version.as_str()).unwrap();
    let schema = &version["schema"]["openAPIV3Schema"];
    let mut random = fastrand::Rng::with_seed(1);
    let api_version = model.api_version();
    let made = OBJECTS.map(|percent| objects::whole(&mut random, &api_version, &model.kind, schema, percent));
    let lines: String = made.iter().map(|one| format!("{one}\n")).collect();
    put(&out.join(format!("objects/{name}.jsonl")), &lines);

    let root = &model.structs[0].name;
    put(&out.join(format!("rust/src/{name}.rs")), &model.write(Language::Rust));
    put(&out.join(format!("go/{name}/types.go")), &model.write(Language::Go));
    put(&out.join(format!("ts/{name}.ts")), &model.write(Language::TypeScript));
    let mut broken = Vec::new();
    for (number, one) in made.iter().enumerate() {
        broken.push(typed::broken(&mut random, &model, one, number % 2 == 0));
    }
    put(&out.join(format!("ts/{name}_objects.ts")), &typed::typescript(name, root, &made, &broken));
    put(&out.join(format!("python/{name}.py")), &model.write(Language::Python));
    put(&out.join(format!("python/{name}_objects.py")), &typed::python(&model, name, root, &made, &broken));
    let header = model.write(Language::C);
    let c = header.lines().find_map(|line| line.strip_prefix("typedef struct ")?.split(' ').next()).unwrap().to_owned();
    put(&out.join(format!("c/{name}.h")), &header);
    let text = include_str!("../../tests/support/round_trip.c.txt").replace("TYPE", &c).replace("NAME", name);
    put(&out.join(format!("c/{name}.c")), &text);
    entries.push(Entry { name: name.to_owned(), kind: root.clone(), c });
}

/// The programs that read and write the objects.
fn programs(out: &Path, entries: &[Entry]) {
    let mut go = include_str!("../../tests/support/round_trip.go.txt").to_owned();
    let (mut calls, mut imports) = (String::new(), String::new());
    for Entry { name, kind, .. } in entries {
        // One program for all would take gigabytes to compile.
        let rust = include_str!("../../tests/support/round_trip.rs.txt").replace("NAME", name).replace("KIND", kind);
        put(&out.join(format!("rust/src/bin/{name}.rs")), &rust);
        let _ = writeln!(imports, "\t\"campaign/{name}\"");
        let package = &fs::read_to_string(out.join(format!("go/{name}/types.go"))).unwrap();
        let package = package.lines().find_map(|line| line.strip_prefix("package ")).unwrap();
        let _ = writeln!(calls, "\tcheck[{package}.{kind}](\"{name}\")");
    }
    go = go.replace("IMPORTS", &imports).replace("CALLS", &calls);
    put(&out.join("go/main.go"), &go);
    put(
        &out.join("names.txt"),
        &entries.iter().map(|Entry { name, kind, c }| format!("{name} {c} {kind}\n")).collect::<String>(),
    );
}
