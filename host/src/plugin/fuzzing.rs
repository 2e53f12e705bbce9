//! Fuzzing of plugins, the files beside them, and the files of the code cache: see [`crate::fuzzing`].

#![expect(clippy::expect_used, reason = "a broken promise ends the fuzzing")]

use super::capabilities::http::granted;
use super::code_cache::CodeCache;
use super::compile::is_component;
use super::directory::parse_grant;
use super::{inspect, validate};
use crate::grants::{self, Grants};
use crate::rbac;
use oarlock_manifest::{GrantedHttp, PluginGrant, PluginManifest};
use std::collections::BTreeMap;
use std::path::Path;

/// Parses a result of `describe`, and everything derived from it.
pub fn manifest(text: &str) {
    let manifest = match validate::manifest(text) {
        Ok(manifest) => manifest,
        Err(faults) => return assert!(!faults.is_empty()),
    };
    let printed = serde_json::to_string(&manifest).expect("a manifest is JSON");
    assert_eq!(validate::manifest(&printed).as_ref(), Ok(&manifest));
    let asked = Grants::asked(&manifest, BTreeMap::new(), &|_| None);
    let all = Grants::without_secrets(&asked).expect("a grant of all requested permissions is valid");
    assert_eq!(all.missing(&manifest, &|_| None), Vec::<String>::new(), "the grant that is asked for grants it all");
    assert!(!Grants::none().allows("get", "", "secrets", "default", "x"));
    needs(&manifest, &all);
    let yaml = inspect::grant_yaml(&manifest, Vec::new());
    let written = parse_grant(yaml.clone().into_bytes());
    let written = written.unwrap_or_else(|reason| unreadable(&reason, &yaml));
    assert_eq!((&written.permissions, &written.http), (&asked.permissions, &asked.http));
}

#[expect(clippy::panic, reason = "a broken promise ends the fuzzing")]
fn unreadable(reason: &str, text: &str) -> PluginGrant {
    panic!("the grant that was written cannot be read: {reason}\n{text}")
}

fn needs(manifest: &PluginManifest, grants: &Grants) {
    let mut needs = rbac::of_host(manifest, grants, &|_| None);
    needs.extend(rbac::of_plugin(&manifest.name, grants));
    let _ = needs.rules();
}

/// Parses a grant file.
pub fn grant(text: &[u8]) {
    let Ok(grant) = parse_grant(text.to_vec()) else { return };
    let yaml = serde_saphyr::to_string(&grant).expect("a grant is YAML");
    let again = parse_grant(yaml.clone().into_bytes());
    assert_eq!(again.unwrap_or_else(|reason| unreadable(&reason, &yaml)), grant);
    assert_eq!(grants::difference(&grant, &grant), Vec::<String>::new());
    let Ok(grants) = Grants::without_secrets(&grant) else { return };
    for origin in grants.origins() {
        assert_eq!(grants::parse_origin(origin).as_deref().ok(), Some(origin));
    }
    for rule in &grant.permissions {
        let first = |list: &[String]| list.first().filter(|one| *one != "*").cloned().unwrap_or_default();
        let _ = grants.allows(
            &first(&rule.verbs),
            &first(&rule.api_groups),
            &first(&rule.resources),
            &first(&rule.namespaces),
            "x",
        );
    }
    let _ = rbac::of_plugin("fuzzed", &grants).rules();
}

/// Builds an HTTP request of a plugin with one granted origin.
///
/// * `headers` - name and value of each header.
pub fn request<'a>(method: &str, url: &str, headers: impl Iterator<Item = (&'a str, &'a str)>) {
    let http = GrantedHttp { origins: vec!["https://neutron.example:9696".to_owned()], ..GrantedHttp::default() };
    let grant = PluginGrant { http, ..Grants::asked(&nothing(), BTreeMap::new(), &|_| None) };
    let grants = Grants::without_secrets(&grant).expect("it is a good grant");
    let Ok(request) = granted(&grants, "fuzzed", (method, url), headers, false) else { return };
    let uri = request.uri();
    assert_eq!((uri.scheme_str(), uri.host()), (Some("https"), Some("neutron.example")), "{uri}");
    assert_eq!(uri.port_u16(), Some(9696), "{uri}");
    for ours in ["host", "connection", "transfer-encoding", "content-length", "upgrade", "proxy-authorization"] {
        assert!(!request.headers().contains_key(ours), "{ours} went out");
    }
}

fn nothing() -> PluginManifest {
    let text = r#"{"apiVersion":"oarlock.dev/v1alpha1","kind":"PluginManifest","name":"fuzzed","version":"1"}"#;
    serde_json::from_str(text).expect("it is a manifest")
}

/// Processes a file up to the step that only the compiler process takes: its component type may overflow the stack.
pub fn wasm(file: &[u8]) {
    let Ok(component) = is_component(file) else { return };
    let kind = wasmparser::Parser::new(0).parse_all(file).next();
    assert!(kind.is_some_and(|header| header.is_ok()), "a file without a header");
    assert_eq!(wasmparser::Parser::is_component(file), component);
    let _ = wasmparser::Validator::new().validate_all(file);
}

/// Puts a file into the code cache and reads it.
///
/// * `folder` - empty folder for the cache.
/// * `code` - code that the cache stores itself.
/// * `damage` - change to the entry: a position, the change of the byte there, and the bytes cut off or added at the end.
/// * `foreign` - bytes of another program in its place.
pub fn entry(folder: &Path, code: &[u8], damage: (usize, u8, i8), foreign: &[u8]) {
    let cache = CodeCache::open(folder, 1 << 20, [7; 32]).expect("the folder is ours");
    let key = cache.key(&[1; 32]);
    cache.put(&key, code);
    assert_eq!(cache.get(&key).as_ref().map(super::native::NativeCode::as_bytes), Some(code));
    let file = folder.join("code").join(key.name());
    let mut bytes = std::fs::read(&file).expect("it was written");
    let whole = bytes.clone();
    let (at, change, end) = damage;
    let at = at % bytes.len().max(1);
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= change;
    }
    let length = bytes.len().saturating_add_signed(isize::from(end));
    bytes.resize(length, 0);
    std::fs::write(&file, &bytes).expect("the folder is ours");
    assert_eq!(cache.get(&key).is_some(), bytes == whole, "byte {at} changed by {change:#x}, end by {end}");
    std::fs::write(&file, foreign).expect("the folder is ours");
    if let Some(found) = cache.get(&key) {
        assert!(
            foreign.ends_with(found.as_bytes()) && foreign.len() == whole.len() - code.len() + found.as_bytes().len()
        );
    }
    assert!(cache.get(&cache.key(&[2; 32])).is_none(), "the code of another file");
}
