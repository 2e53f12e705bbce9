//! Tests with real files in real time. The tests of `settle` check exact times; here every change must end in the right snapshot, with
//! notifications and by the poll alone.

use super::stamp::{Look, look};
use super::watch::{Message, Notices};
use super::*;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::time::Duration;

/// Far longer than any test takes.
const DEADLINE: Duration = Duration::from_secs(20);

/// Runs a test with notifications and, at the same time, by the poll alone.
async fn both(play: impl AsyncFn(Notices)) {
    tokio::join!(play(Notices::Kernel), play(Notices::None));
}

async fn next(watch: &mut DirectoryWatch) -> Snapshot {
    tokio::time::timeout(DEADLINE, watch.next()).await.expect("no snapshot came").unwrap()
}

/// Takes snapshots until one is as expected; returns it and those before it.
async fn until(watch: &mut DirectoryWatch, expected: impl Fn(&Snapshot) -> bool) -> (Snapshot, Vec<Snapshot>) {
    let mut before = Vec::new();
    loop {
        let waited = tokio::time::timeout(DEADLINE, watch.next()).await;
        let snapshot = waited.unwrap_or_else(|_| panic!("the snapshot did not come, only {before:#?}")).unwrap();
        if expected(&snapshot) {
            return (snapshot, before);
        }
        before.push(snapshot);
    }
}

fn names(snapshot: &Snapshot) -> BTreeSet<&str> {
    snapshot.files.keys().map(String::as_str).collect()
}

fn stamp(path: &Path) -> Stamp {
    match look(path) {
        Look::There(_, own) => Stamp::new(own, None),
        Look::Absent | Look::Unknown => panic!("{} is not there", path.display()),
    }
}

/// Whether the snapshot has the present state of `name`.
fn has(snapshot: &Snapshot, folder: &Path, name: &str) -> bool {
    snapshot.files.get(name).is_some_and(|found| found.wasm == stamp(&folder.join(name)))
}

fn put(folder: &Path, name: &str, content: &str) {
    let aside = folder.join(format!(".{name}.part"));
    fs::write(&aside, content).unwrap();
    fs::rename(aside, folder.join(name)).unwrap();
}

/// Does what a kubelet does for a new version of a ConfigMap.
fn flip(mount: &Path, version: &str, files: &[(&str, &str)]) {
    let data = mount.join(format!("..{version}"));
    fs::create_dir_all(&data).unwrap();
    for (name, content) in files {
        fs::write(data.join(name), content).unwrap();
    }
    let old = fs::read_link(mount.join("..data")).ok();
    symlink(format!("..{version}"), mount.join("..data_tmp")).unwrap();
    fs::rename(mount.join("..data_tmp"), mount.join("..data")).unwrap();
    for (name, _) in files {
        if !mount.join(name).is_symlink() {
            symlink(format!("..data/{name}"), mount.join(name)).unwrap();
        }
    }
    if let Some(old) = old {
        fs::remove_dir_all(mount.join(old)).unwrap();
    }
}

fn grant_with_secret(path: &str) -> String {
    format!("apiVersion: oarlock.dev/v1alpha1\nkind: PluginGrant\nsecretFiles: {{password: {path:?}}}\n")
}

#[tokio::test]
async fn what_is_there_comes_with_the_first_snapshot() {
    both(async |notices| {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.wasm", "b.wasm", "b.yaml", "orphan.yaml"] {
            fs::write(folder.path().join(name), name).unwrap();
        }
        let mut watch = DirectoryWatch::start_with(folder.path().to_owned(), notices);
        let snapshot = next(&mut watch).await;
        assert_eq!(names(&snapshot), BTreeSet::from(["a.wasm", "b.wasm"]));
        assert!(snapshot.files["a.wasm"].grant.is_none() && snapshot.files["b.wasm"].grant.is_some());
        assert_eq!(snapshot.files["a.wasm"].candidate.path, folder.path().join("a.wasm"));
    })
    .await;
}

#[tokio::test]
async fn h1_a_file_renamed_into_place_is_a_new_snapshot() {
    both(async |notices| {
        let folder = tempfile::tempdir().unwrap();
        let mut watch = DirectoryWatch::start_with(folder.path().to_owned(), notices);
        assert_eq!(next(&mut watch).await, Snapshot::default());
        for version in ["one", "two", "six"] {
            put(folder.path(), "a.wasm", version);
            until(&mut watch, |s| has(s, folder.path(), "a.wasm")).await;
        }
    })
    .await;
}

#[tokio::test]
async fn h2_a_copy_in_place_ends_in_its_last_state() {
    both(async |notices| {
        let folder = tempfile::tempdir().unwrap();
        let mut watch = DirectoryWatch::start_with(folder.path().to_owned(), notices);
        next(&mut watch).await;
        let path = folder.path().join("a.wasm");
        let writing = path.clone();
        let writer = tokio::task::spawn_blocking(move || {
            use std::io::Write as _;
            let mut file = fs::File::create(writing).unwrap();
            for _ in 0..200 {
                file.write_all(&[7; 65536]).unwrap();
            }
        });
        writer.await.unwrap();
        until(&mut watch, |s| has(s, folder.path(), "a.wasm")).await;
        assert_eq!(fs::metadata(path).unwrap().len(), 200 * 65536);
    })
    .await;
}

#[tokio::test]
async fn h2_what_editors_leave_beside_a_file_is_no_plugin() {
    both(async |notices| {
        let folder = tempfile::tempdir().unwrap();
        let mut watch = DirectoryWatch::start_with(folder.path().to_owned(), notices);
        next(&mut watch).await;
        for name in ["x.wasm~", ".x.wasm.swp", "x.wasm.tmp", "4913", "#x.wasm#", ".x.wasm", ".wasm", "x.yaml", "README"]
        {
            fs::write(folder.path().join(name), name).unwrap();
        }
        put(folder.path(), "z.wasm", "z");
        let (_, before) = until(&mut watch, |s| s.files.contains_key("z.wasm")).await;
        // A grant alone may appear earlier.
        assert!(before.iter().all(|s| s.files.is_empty()), "something else was taken for a plugin: {before:?}");
        // An editor that renames the old file away and writes a new one.
        fs::rename(folder.path().join("z.wasm"), folder.path().join("z.wasm~")).unwrap();
        fs::write(folder.path().join("z.wasm"), "other").unwrap();
        let (last, before) = until(&mut watch, |s| has(s, folder.path(), "z.wasm")).await;
        assert_eq!(before, [], "it was taken for a removal");
        assert_eq!(names(&last), BTreeSet::from(["z.wasm"]));
    })
    .await;
}

#[tokio::test]
async fn h2_a_flip_of_a_mounted_config_map_changes_all_its_files() {
    both(async |notices| {
        let folder = tempfile::tempdir().unwrap();
        flip(folder.path(), "1", &[("a.wasm", "1"), ("a.yaml", "1"), ("b.wasm", "1")]);
        let mut watch = DirectoryWatch::start_with(folder.path().to_owned(), notices);
        let both = BTreeSet::from(["a.wasm", "b.wasm"]);
        assert_eq!(names(&next(&mut watch).await), both);
        for version in ["2", "3"] {
            flip(folder.path(), version, &[("a.wasm", version), ("a.yaml", version), ("b.wasm", version)]);
            let all = |s: &Snapshot| {
                let grant = s.files.get("a.wasm").and_then(|f| f.grant.clone());
                has(s, folder.path(), "a.wasm")
                    && has(s, folder.path(), "b.wasm")
                    && grant == Some(stamp(&folder.path().join("a.yaml")))
            };
            let (_, before) = until(&mut watch, all).await;
            assert!(before.iter().all(|s| names(s) == both), "a file was taken for removed: {before:?}");
        }
        flip(folder.path(), "4", &[("b.wasm", "4")]);
        until(&mut watch, |s| names(s) == BTreeSet::from(["b.wasm"])).await;
    })
    .await;
}

#[tokio::test]
async fn h2_a_change_behind_a_symlink_is_found_by_the_poll() {
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(elsewhere.path().join("real"), "1").unwrap();
    symlink(elsewhere.path().join("real"), folder.path().join("a.wasm")).unwrap();
    let mut watch = DirectoryWatch::start(folder.path().to_owned());
    assert!(has(&next(&mut watch).await, folder.path(), "a.wasm"));
    fs::write(elsewhere.path().join("real"), "22").unwrap();
    until(&mut watch, |s| has(s, folder.path(), "a.wasm")).await;
}

#[tokio::test]
async fn h2_a_directory_that_goes_and_returns_is_watched_again() {
    both(async |notices| {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("plugins");
        let mut watch = DirectoryWatch::start_with(folder.clone(), notices);
        assert_eq!(next(&mut watch).await, Snapshot::default(), "a missing directory is an empty one");
        for round in 0..2 {
            fs::create_dir(&folder).unwrap();
            put(&folder, "a.wasm", "a");
            until(&mut watch, |s| has(s, &folder, "a.wasm")).await;
            if round == 1 {
                // The watch must not follow the old directory.
                fs::rename(&folder, parent.path().join("old")).unwrap();
                put(&parent.path().join("old"), "b.wasm", "b");
            } else {
                fs::remove_dir_all(&folder).unwrap();
            }
            until(&mut watch, |s| s.files.is_empty()).await;
        }
    })
    .await;
}

#[tokio::test]
async fn h2_a_directory_replaced_at_once_is_no_removal() {
    both(async |notices| {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("plugins");
        fs::create_dir(&folder).unwrap();
        put(&folder, "a.wasm", "0");
        let mut watch = DirectoryWatch::start_with(folder.clone(), notices);
        next(&mut watch).await;
        for version in ["1", "2", "3"] {
            // Most file systems give the new directory the inode of the old one.
            fs::remove_dir_all(&folder).unwrap();
            fs::create_dir(&folder).unwrap();
            put(&folder, "a.wasm", version);
            let (_, before) = until(&mut watch, |s| has(s, &folder, "a.wasm")).await;
            assert_eq!(before, []);
        }
        put(&folder, "b.wasm", "the new one is watched");
        until(&mut watch, |s| has(s, &folder, "b.wasm")).await;
    })
    .await;
}

#[tokio::test]
async fn h6_ten_replacements_at_once_end_in_the_last_one() {
    both(async |notices| {
        let folder = tempfile::tempdir().unwrap();
        put(folder.path(), "a.wasm", "0");
        let mut watch = DirectoryWatch::start_with(folder.path().to_owned(), notices);
        next(&mut watch).await;
        for version in 1..=10 {
            put(folder.path(), "a.wasm", &version.to_string());
            tokio::task::yield_now().await;
        }
        let (last, before) = until(&mut watch, |s| has(s, folder.path(), "a.wasm")).await;
        assert!(before.iter().all(|s| names(s) == names(&last)), "never removed: {before:?}");
        assert_eq!(fs::read_to_string(&last.files["a.wasm"].candidate.path).unwrap(), "10");
    })
    .await;
}

#[tokio::test]
async fn a_removed_file_is_gone_and_one_put_in_its_place_is_not() {
    both(async |notices| {
        let folder = tempfile::tempdir().unwrap();
        put(folder.path(), "a.wasm", "1");
        put(folder.path(), "b.wasm", "1");
        let mut watch = DirectoryWatch::start_with(folder.path().to_owned(), notices);
        next(&mut watch).await;
        fs::remove_file(folder.path().join("a.wasm")).unwrap();
        fs::write(folder.path().join("a.wasm"), "22").unwrap();
        let (_, before) = until(&mut watch, |s| has(s, folder.path(), "a.wasm")).await;
        assert_eq!(before, []);
        fs::remove_file(folder.path().join("a.wasm")).unwrap();
        until(&mut watch, |s| names(s) == BTreeSet::from(["b.wasm"])).await;
    })
    .await;
}

#[tokio::test]
async fn a_grant_and_the_secrets_it_names_are_watched() {
    both(async |notices| {
        let (folder, secrets) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        put(folder.path(), "a.wasm", "a");
        let mut watch = DirectoryWatch::start_with(folder.path().to_owned(), notices);
        let mut last = next(&mut watch).await.files["a.wasm"].grant.clone();
        assert_eq!(last, None);
        flip(secrets.path(), "1", &[("password", "old")]);
        let path = secrets.path().join("password").display().to_string();
        let steps: [(&str, &dyn Fn()); 5] = [
            ("written", &|| put(folder.path(), "a.yaml", &grant_with_secret(&path))),
            ("secret changed", &|| flip(secrets.path(), "2", &[("password", "new")])),
            ("secret gone", &|| fs::remove_file(&path).unwrap()),
            ("secret beside the grant", &|| put(folder.path(), "a.yaml", &grant_with_secret("password.txt"))),
            ("relative secret changed", &|| fs::write(folder.path().join("password.txt"), "x").unwrap()),
        ];
        for (step, change) in steps {
            change();
            let (now, _) = until(&mut watch, |s| s.files["a.wasm"].grant != last).await;
            last.clone_from(&now.files["a.wasm"].grant);
            assert!(last.is_some(), "{step}");
        }
        fs::remove_file(folder.path().join("a.yaml")).unwrap();
        until(&mut watch, |s| s.files["a.wasm"].grant.is_none()).await;
    })
    .await;
}

#[tokio::test]
async fn what_is_no_file_is_no_plugin_and_blocks_nothing() {
    both(async |notices| {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let pipe = |name: &str| {
            let mode = rustix::fs::Mode::from_raw_mode(0o600);
            rustix::fs::mknodat(rustix::fs::CWD, at(name), rustix::fs::FileType::Fifo, mode, 0).unwrap();
        };
        pipe("pipe.wasm");
        pipe("good.yaml");
        let mut watch = DirectoryWatch::start_with(folder.path().to_owned(), notices);
        assert!(next(&mut watch).await.files.is_empty());
        pipe("later.wasm");
        fs::create_dir(at("folder.wasm")).unwrap();
        symlink("nowhere", at("dangling.wasm")).unwrap();
        symlink("circle.wasm", at("circle.wasm")).unwrap();
        symlink(at("pipe.wasm"), at("link.wasm")).unwrap();
        fs::write(at("secret.wasm"), "cannot be read").unwrap();
        fs::set_permissions(at("secret.wasm"), fs::Permissions::from_mode(0o000)).unwrap();
        put(folder.path(), "good.wasm", "good");
        let both = BTreeSet::from(["good.wasm", "secret.wasm"]);
        let (snapshot, before) = until(&mut watch, |s| names(s) == both).await;
        assert!(before.iter().all(|s| names(s).is_subset(&both)), "{before:?}");
        // Reading does not block either; a pipe does not count as an absent grant.
        assert!(matches!(snapshot.files["good.wasm"].candidate.grant(), Err(Error::NotAFile { .. })));
        let pipe = Candidate::file("pipe.wasm".to_owned(), at("pipe.wasm"));
        assert!(matches!(pipe.read(), Err(Error::NotAFile { .. })));
        // The path becomes a regular file.
        fs::write(at("nowhere"), "there now").unwrap();
        until(&mut watch, |s| has(s, folder.path(), "dangling.wasm")).await;
    })
    .await;
}

#[tokio::test]
async fn a_directory_that_cannot_be_read_is_told_once_and_keeps_its_plugins() {
    both(async |notices| {
        let parent = tempfile::tempdir().unwrap();
        let (folder, aside) = (parent.path().join("plugins"), parent.path().join("aside"));
        fs::create_dir(&folder).unwrap();
        put(&folder, "a.wasm", "a");
        let mut watch = DirectoryWatch::start_with(folder.clone(), notices);
        next(&mut watch).await;
        // A file cannot be listed; unlike permissions, that also holds for root.
        fs::rename(&folder, &aside).unwrap();
        fs::write(&folder, "a file").unwrap();
        let error = tokio::time::timeout(DEADLINE, watch.next()).await.unwrap().unwrap_err();
        assert!(error.to_string().contains("plugins cannot be read"), "{error}");
        fs::remove_file(&folder).unwrap();
        fs::rename(&aside, &folder).unwrap();
        put(&folder, "b.wasm", "b");
        let (_, before) = until(&mut watch, |s| has(s, &folder, "b.wasm")).await;
        assert!(before.iter().all(|s| s.files.contains_key("a.wasm")), "{before:?}");
    })
    .await;
}

#[tokio::test]
async fn a_call_that_is_dropped_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut watch = DirectoryWatch::start(folder.path().to_owned());
    next(&mut watch).await;
    put(folder.path(), "a.wasm", "a");
    // Each of these calls is dropped at its first wait.
    let seen = tokio::time::timeout(DEADLINE, async {
        loop {
            tokio::select! {
                biased;
                snapshot = watch.next() => return snapshot.unwrap(),
                () = tokio::task::yield_now() => {}
            }
        }
    });
    assert_eq!(names(&seen.await.unwrap()), BTreeSet::from(["a.wasm"]));
}

#[tokio::test]
async fn the_thread_ends_with_the_watch() {
    let folder = tempfile::tempdir().unwrap();
    let watch = DirectoryWatch::start(folder.path().to_owned());
    let wake = watch.wake.clone();
    drop(watch);
    let ended = tokio::time::timeout(DEADLINE, async {
        while !matches!(wake.try_send(Message::Look), Err(std::sync::mpsc::TrySendError::Disconnected(_))) {
            tokio::task::yield_now().await;
        }
    });
    ended.await.unwrap();
}

#[test]
fn a_grant_says_what_is_wrong_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.wasm");
    let candidate = Candidate::file("a.wasm".into(), path);
    assert!(candidate.grant().unwrap().is_none());
    std::fs::write(candidate.grant_path(), "apiVersion: oarlock.dev/v1alpha1\nkind: PluginGrant\nsurprise: 1\n")
        .unwrap();
    assert!(candidate.grant().unwrap_err().to_string().contains("surprise"));
    std::fs::write(candidate.grant_path(), "apiVersion: oarlock.dev/v1alpha1\nkind: PluginGrant\nconfig: {a: b}\n")
        .unwrap();
    assert_eq!(candidate.grant().unwrap().unwrap().config["a"], "b");
}
