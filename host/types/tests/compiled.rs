//! The types in Go and C, compiled; objects pass through them without loss. Where there is no compiler, nothing is compiled.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail")]

#[path = "support/objects.rs"]
mod objects;

use oarlock_types::{Language, Model};
use serde_json::Value;
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The kinds of the definitions, and what their types are called in C.
const DEFINITIONS: [(&str, &str, &str); 2] = [
    ("difficult", "difficult_v1", "tests/difficult.yaml"),
    ("network", "network_v1", "../../plugins/network/crd.yaml"),
];

/// A folder with objects of each kind, a line each.
fn folder(language: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("types-{language}"));
    let _ = fs::remove_dir_all(&folder);
    for (name, _, path) in DEFINITIONS {
        let (model, definition) = model(path);
        let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        let mut random = fastrand::Rng::with_seed(2);
        let mut lines = String::new();
        for number in 0..300_u16 {
            let percent = u8::try_from(number % 101).unwrap();
            let object = objects::whole(&mut random, &model.api_version(), &model.kind, schema, percent);
            lines.push_str(&format!("{object}\n"));
        }
        put(&folder.join(format!("objects/{name}.jsonl")), &lines);
    }
    folder
}

fn model(path: &str) -> (Model, Value) {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    let definition: Value = serde_saphyr::from_str(&text).unwrap();
    (Model::of_definition(&definition, None).unwrap(), definition)
}

fn put(file: &Path, text: &str) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

/// Runs a program to its end, which must be a good one.
fn run(command: &mut Command) -> String {
    let said = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        said.status.success(),
        "{command:?}: {}{}",
        String::from_utf8_lossy(&said.stdout),
        String::from_utf8_lossy(&said.stderr)
    );
    String::from_utf8(said.stdout).unwrap()
}

fn answers(program: &str, version: &str) -> bool {
    Command::new(program).arg(version).output().is_ok_and(|said| said.status.success())
}

#[test]
fn objects_of_the_schema_pass_through_the_types_of_c() {
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    if !answers(&compiler, "--version") {
        eprintln!("SKIPPED: no C compiler");
        return;
    }
    let folder = folder("c").join("c");
    let sdk = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guest-sdk/c");
    let sources =
        ["src", "src/testing"].map(|part| fs::read_dir(sdk.join(part)).unwrap().map(|entry| entry.unwrap().path()));
    // All but those of components.
    let native = |file: &PathBuf| {
        file.extension().is_some_and(|it| it == "c") && !file.ends_with("wasm.c") && !file.ends_with("libc.c")
    };
    let sources: Vec<PathBuf> = sources.into_iter().flatten().filter(native).collect();
    for (name, ty, path) in DEFINITIONS {
        put(&folder.join(format!("{name}.h")), &model(path).0.write(Language::C));
        let program = include_str!("support/round_trip.c.txt").replace("TYPE", ty).replace("NAME", name);
        put(&folder.join(format!("{name}.c")), &program);
        run(Command::new(&compiler)
            .current_dir(&folder)
            .args([
                "-std=c11",
                "-D_POSIX_C_SOURCE=200809L",
                "-O1",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-Wno-missing-field-initializers",
            ])
            .arg(format!("-I{}", sdk.join("include").display()))
            .args(["-o", name, &format!("{name}.c")])
            .args(&sources)
            .arg("-lm"));
        assert_eq!(run(Command::new(folder.join(name)).current_dir(&folder)), format!("{name} 300\n"));
    }
}

/// Go 1.24 or newer: of the PATH, or where `make languages` puts it.
fn go() -> Option<String> {
    let fetched = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../languages/go/bin/go").display().to_string();
    let is_new = |go: &String| {
        let said = Command::new(go).env("GOTOOLCHAIN", "local").args(["env", "GOVERSION"]).output();
        let version = said.map(|said| String::from_utf8_lossy(&said.stdout).into_owned()).unwrap_or_default();
        version
            .trim()
            .strip_prefix("go1.")
            .and_then(|rest| rest.split('.').next()?.parse().ok())
            .is_some_and(|minor: u32| minor >= 24)
    };
    [env::var("GO").unwrap_or_else(|_| "go".to_owned()), fetched].into_iter().find(is_new)
}

#[test]
fn objects_of_the_schema_pass_through_the_types_of_go() {
    let Some(go) = go() else {
        eprintln!("SKIPPED: no Go 1.24");
        return;
    };
    let folder = folder("go").join("go");
    let (mut imports, mut calls) = (String::new(), String::new());
    for (name, package, path) in DEFINITIONS {
        let model = model(path).0;
        put(&folder.join(format!("{name}/types.go")), &model.write(Language::Go));
        let package = package.replace('_', "");
        imports.push_str(&format!("\t{package} \"campaign/{name}\"\n"));
        calls.push_str(&format!("\tcheck[{package}.{}](\"{name}\")\n", model.kind));
    }
    put(
        &folder.join("main.go"),
        &include_str!("support/round_trip.go.txt").replace("IMPORTS", &imports).replace("CALLS", &calls),
    );
    put(&folder.join("go.mod"), "module campaign\n\ngo 1.24\n");
    let go = |arguments: &[&str]| {
        run(Command::new(&go)
            .current_dir(&folder)
            .env("GOTOOLCHAIN", "local")
            .env("GOFLAGS", "-mod=mod")
            .args(arguments))
    };
    let gofmt = Path::new(go(&["env", "GOROOT"]).trim()).join("bin/gofmt");
    assert_eq!(run(Command::new(gofmt).current_dir(&folder).args(["-d", "difficult", "network"])), "");
    go(&["vet", "./..."]);
    assert_eq!(go(&["run", "."]), "difficult 300\nnetwork 300\n");
}
