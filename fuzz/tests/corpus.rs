//! Every input that fuzzing kept, and every one that once failed, is played in each target of its name.

// Where libFuzzer is linked, this must not be: it would bring its own `main`.
#![cfg(not(feature = "libfuzzer"))]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const MOST_BYTES: u64 = 2 << 20;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with('.'))
        .collect();
    names.sort();
    names
}

#[test]
fn every_input_of_the_corpus_and_every_regression_passes() {
    for (target, run) in oarlock_fuzz::TARGETS {
        for kind in ["corpus", "regressions"] {
            let inputs = folder(kind).join(target);
            for name in if inputs.is_dir() { names(&inputs) } else { Vec::new() } {
                // A failure names the last one.
                println!("{kind}/{target}/{name}");
                run(&fs::read(inputs.join(&name)).unwrap());
            }
        }
    }
}

#[test]
fn every_target_has_a_corpus_and_every_folder_a_target() {
    let targets: BTreeSet<String> = oarlock_fuzz::TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    let folders: BTreeSet<String> = names(&folder("corpus")).into_iter().collect();
    assert_eq!(folders, targets);
    let regressions: BTreeSet<String> = names(&folder("regressions")).into_iter().collect();
    assert!(regressions.is_subset(&targets), "{regressions:?}");
    let size = |target: &String| {
        let folder = folder("corpus").join(target);
        names(&folder).iter().map(|name| fs::metadata(folder.join(name)).unwrap().len()).sum::<u64>()
    };
    let bytes: u64 = targets.iter().map(size).sum();
    assert!(bytes < MOST_BYTES, "the corpus has {bytes} bytes; scripts/fuzz.sh --merge makes it smaller");
}
