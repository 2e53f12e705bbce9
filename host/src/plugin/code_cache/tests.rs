use super::*;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};

const SOME: [u8; 32] = [1; 32];
const CODE: &[u8] = b"this is not code, but nobody runs it here";

fn cache(folder: &Path) -> CodeCache {
    CodeCache::open(folder, 1 << 20, SOME).unwrap()
}

fn entry(cache: &CodeCache, key: &Key) -> PathBuf {
    cache.folder.join(key.name())
}

fn names(cache: &CodeCache) -> Vec<String> {
    let entries = fs::read_dir(&cache.folder).unwrap();
    entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
}

fn found(cache: &CodeCache, key: &Key) -> Option<Vec<u8>> {
    cache.get(key).map(|code| code.as_bytes().to_vec())
}

#[test]
fn what_was_put_is_got_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path());
    let (key, other) = (cache.key(&[2; 32]), cache.key(&[3; 32]));
    assert_eq!(found(&cache, &key), None);
    cache.put(&key, CODE);
    assert_eq!(found(&cache, &key).as_deref(), Some(CODE));
    assert_eq!(found(&cache, &other), None);
    cache.put(&key, b"newer");
    assert_eq!(found(&cache, &key).as_deref(), Some(b"newer".as_slice()));
    assert_eq!(names(&cache), [key.name()], "nothing unfinished is left");
}

#[test]
fn p16_code_made_with_other_settings_is_not_found() {
    let folder = tempfile::tempdir().unwrap();
    let first = cache(folder.path());
    first.put(&first.key(&[2; 32]), CODE);
    let other = CodeCache::open(folder.path(), 1 << 20, [9; 32]).unwrap();
    assert_eq!(found(&other, &other.key(&[2; 32])), None);
    // An entry under the name of another key is not used either.
    fs::rename(entry(&first, &first.key(&[2; 32])), entry(&other, &other.key(&[2; 32]))).unwrap();
    assert!(other.read(&other.key(&[2; 32])).err().unwrap().contains("another key"));
}

#[test]
fn p16_settings_are_those_of_wasmtime_and_of_the_host() {
    let engine = |change: fn(&mut wasmtime::Config)| {
        let mut config = wasmtime::Config::new();
        change(&mut config);
        wasmtime::Engine::new(&config).unwrap()
    };
    let plain = settings_of(&engine(|_| {}), "1");
    assert_eq!(plain, settings_of(&engine(|_| {}), "1"));
    assert_ne!(plain, settings_of(&engine(|_| {}), "2"));
    assert_ne!(plain, settings_of(&engine(|c| _ = c.epoch_interruption(true)), "1"));
}

#[test]
fn p16_an_entry_with_one_bit_changed_anywhere_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path());
    let key = cache.key(&[2; 32]);
    cache.put(&key, CODE);
    let whole = fs::read(entry(&cache, &key)).unwrap();
    for at in 0..whole.len() * 8 {
        let mut bytes = whole.clone();
        bytes[at / 8] ^= 1 << (at % 8);
        fs::write(entry(&cache, &key), bytes).unwrap();
        assert!(cache.read(&key).is_err(), "bit {at}");
    }
    // The next write replaces it.
    cache.put(&key, CODE);
    assert_eq!(found(&cache, &key).as_deref(), Some(CODE));
}

#[test]
fn p16_an_entry_that_is_cut_short_or_goes_on_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path());
    let key = cache.key(&[2; 32]);
    cache.put(&key, CODE);
    let mut bytes = fs::read(entry(&cache, &key)).unwrap();
    for length in 0..bytes.len() {
        fs::write(entry(&cache, &key), &bytes[..length]).unwrap();
        assert!(cache.read(&key).is_err(), "{length} bytes");
    }
    bytes.push(0);
    fs::write(entry(&cache, &key), &bytes).unwrap();
    assert!(cache.read(&key).is_err());
}

type Way<'a> = Box<dyn Fn(&Path) + 'a>;

#[test]
fn p16_an_entry_that_others_could_have_written_is_refused_and_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path());
    let key = cache.key(&[2; 32]);
    let path = entry(&cache, &key);
    let elsewhere = folder.path().join("elsewhere");
    let aside = |path: &Path| fs::rename(path, &elsewhere).unwrap();
    let mode = |mode| move |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let pipe = |path: &Path| {
        fs::remove_file(path).unwrap();
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, path, FileType::Fifo, mode, 0).unwrap();
    };
    let mut ways: Vec<(&str, Way<'_>)> = vec![
        ("by others (mode 602)", Box::new(mode(0o602))),
        ("by others (mode 660)", Box::new(mode(0o660))),
        ("is a symlink", Box::new(|path| (aside(path), symlink(&elsewhere, path).unwrap()).1)),
        ("not a regular file", Box::new(pipe)),
    ];
    if cache.user == 0 {
        // Only root can change the owner of a file.
        ways.push(("belongs to user 4711", Box::new(|path| chown(path, Some(4711), None).unwrap())));
    }
    for (expected, way) in ways {
        cache.put(&key, CODE);
        assert_eq!(found(&cache, &key).as_deref(), Some(CODE));
        way(&path);
        let reason = cache.read(&key).err().unwrap_or_default();
        assert!(reason.contains(expected), "{expected}: {reason}");
        cache.put(&key, CODE);
        assert_eq!(found(&cache, &key).as_deref(), Some(CODE), "{expected}: not replaced");
    }
    assert!(!fs::metadata(&path).unwrap().permissions().mode() & 0o077 != 0);
}

#[test]
fn a_folder_that_others_can_write_to_is_no_cache() {
    let parent = tempfile::tempdir().unwrap();
    let open = |name: &str| CodeCache::open(&parent.path().join(name), 1 << 20, SOME);
    let code = |name: &str| {
        let path = parent.path().join(name).join("code");
        fs::create_dir_all(&path).unwrap();
        path
    };
    // Parent folders are created as well.
    let made = open("deep/er").unwrap().folder;
    assert_eq!(fs::metadata(made).unwrap().permissions().mode() & 0o7777, 0o700);
    fs::set_permissions(code("group"), fs::Permissions::from_mode(0o770)).unwrap();
    assert!(open("group").unwrap_err().to_string().contains("mode 770"));
    fs::set_permissions(code("readable"), fs::Permissions::from_mode(0o755)).unwrap();
    assert!(open("readable").is_ok());
    fs::rename(code("moved"), parent.path().join("real")).unwrap();
    symlink(parent.path().join("real"), parent.path().join("moved/code")).unwrap();
    assert!(open("moved").is_err(), "a symlink may be somebody else's");
    fs::write(parent.path().join("file"), "").unwrap();
    assert!(matches!(open("file"), Err(Error::Io { .. })));
    if rustix::process::geteuid().is_root() {
        chown(code("other"), Some(4711), None).unwrap();
        assert!(open("other").unwrap_err().to_string().contains("belongs to user 4711"));
    }
}

#[test]
fn entries_not_used_for_longest_make_room() {
    let folder = tempfile::tempdir().unwrap();
    let size = (HEADER_BYTES + CODE.len()) as u64;
    let cache = CodeCache::open(folder.path(), 3 * size, SOME).unwrap();
    let keys: Vec<Key> = (0..5).map(|i| cache.key(&[i; 32])).collect();
    let used = |key: &Key, hours: u64| {
        let time = SystemTime::now() - Duration::from_secs(hours * 3600);
        File::open(entry(&cache, key)).unwrap().set_modified(time).unwrap();
    };
    for (i, key) in keys.iter().take(3).enumerate() {
        cache.put(key, CODE);
        used(key, 10 - i as u64);
    }
    assert!(found(&cache, &keys[0]).is_some(), "and this makes it the one that was used last");
    cache.put(&keys[3], CODE);
    let there = |i: usize| entry(&cache, &keys[i]).exists();
    assert_eq!([0, 1, 2, 3].map(there), [true, false, true, true]);
    // An entry larger than the cache evicts no other.
    cache.put(&keys[4], &vec![0; usize::try_from(3 * size).unwrap()]);
    assert_eq!([0, 1, 2, 3, 4].map(there), [true, false, true, true, false]);
}

#[test]
fn h13_what_a_killed_host_left_unfinished_is_never_read_and_goes_in_time() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path());
    let (key, other) = (cache.key(&[2; 32]), cache.key(&[3; 32]));
    cache.put(&key, CODE);
    let half = &fs::read(entry(&cache, &key)).unwrap()[..100];
    for (name, age) in [("old.tmp", LEFT_BEHIND * 2), ("young.tmp", Duration::ZERO)] {
        fs::write(cache.folder.join(name), half).unwrap();
        let file = File::options().write(true).open(cache.folder.join(name)).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    }
    cache.put(&other, CODE);
    let mut left = names(&cache);
    left.sort();
    let mut expected = [key.name(), other.name(), "young.tmp".to_owned()];
    expected.sort();
    assert_eq!(left, expected);
}

#[test]
fn t7_a_file_that_was_being_compiled_when_the_host_ended_waits_longer_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let key = cache(folder.path()).key(&[2; 32]);
    for waits in [None, Some(10), Some(20), Some(40)] {
        let cache = cache(folder.path());
        assert_eq!(cache.interrupted(&key), waits.map(Duration::from_secs));
        assert_eq!(cache.interrupted(&cache.key(&[3; 32])), None);
        cache.mark(&key).unwrap().end_of_host();
    }
    let next = cache(folder.path());
    drop(next.mark(&key).unwrap());
    assert_eq!(cache(folder.path()).interrupted(&key), None, "it came to an end");
    assert!(names(&next).is_empty());
}

#[test]
fn t7_a_file_that_another_host_compiles_now_does_not_wait() {
    let folder = tempfile::tempdir().unwrap();
    let first = cache(folder.path());
    let key = first.key(&[2; 32]);
    let mark = first.mark(&key).unwrap();
    assert_eq!(cache(folder.path()).interrupted(&key), None);
    mark.end_of_host();
    assert!(cache(folder.path()).interrupted(&key).is_some());
}

#[test]
fn t7_marks_that_nobody_wrote_do_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let first = cache(folder.path());
    let key = first.key(&[2; 32]);
    first.mark(&key).unwrap().end_of_host();
    let mark = first.folder.join(names(&first).remove(0));
    for (text, seconds) in [("", 10), ("99", 600), ("4294967295", 600), ("-1", 10), ("x", 10)] {
        fs::write(&mark, text).unwrap();
        assert_eq!(cache(folder.path()).interrupted(&key), Some(Duration::from_secs(seconds)), "{text}");
    }
    for name in ["x.compiling", ".compiling", "\u{e9}.compiling"] {
        fs::write(first.folder.join(name), "1").unwrap();
    }
    assert!(cache(folder.path()).interrupted(&key).is_some());
    fs::remove_file(&mark).unwrap();
    symlink("/etc/passwd", &mark).unwrap();
    assert_eq!(cache(folder.path()).interrupted(&key), None);
}
