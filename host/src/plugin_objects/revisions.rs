//! The versions that ran, in the status of a Plugin object.

use crate::lifecycle::ObjectVersion;
use crate::oci::Reference;
use serde_json::{Value, json};

/// Most revisions that a status keeps.
const REVISIONS: usize = 10;

fn field<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn is_proven(revision: &Value) -> bool {
    revision.get("proven") == Some(&Value::Bool(true))
}

/// The revisions, the newest first; a new one if another version runs than before.
///
/// * `running` - the entry of `/plugins`. None: no version runs.
/// * `live` - the status in the cluster.
/// * `now` - RFC 3339.
pub(super) fn revisions(running: Option<&Value>, live: &Value, now: &str) -> Value {
    let mut all = live.get("revisions").and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(running) = running else { return all.into() };
    let digest = field(running, "digest");
    if all.first().is_none_or(|newest| field(newest, "digest") != digest) {
        let number = all.first().and_then(|newest| newest.get("revision")).and_then(Value::as_i64).unwrap_or(0) + 1;
        let same = || all.iter().filter(|one| field(one, "digest") == digest);
        let proven = same().any(is_proven);
        let earlier = || same().map(|one| field(one, "reference")).find(|of| !of.is_empty()).map(str::to_owned);
        let reference = earlier();
        let mut newest =
            json!({"revision": number, "version": field(running, "version"), "digest": digest, "since": now});
        if let Some(fields) = newest.as_object_mut() {
            if proven {
                fields.insert("proven".to_owned(), json!(true));
            }
            if let Some(reference) = reference {
                fields.insert("reference".to_owned(), json!(reference));
            }
        }
        all.insert(0, newest);
        all.truncate(REVISIONS);
    }
    if let (Some(reference), Some(newest)) = (reference(running), all.first_mut().and_then(Value::as_object_mut)) {
        newest.insert("reference".to_owned(), json!(reference));
    }
    // A standby proves nothing, so what a leader wrote stays. A promoted version needs no further proof to run again.
    if (running.get("onProbation") == Some(&Value::Bool(false)) || running.get("promoted") == Some(&Value::Bool(true)))
        && let Some(newest) = all.first_mut().and_then(Value::as_object_mut)
    {
        newest.insert("proven".to_owned(), json!(true));
    }
    all.into()
}

/// The exact reference of the version that runs, which may be an earlier target of the tag. None: this host did not pull it.
fn reference(running: &Value) -> Option<String> {
    let source = |name: &str| running.pointer(&format!("/source/{name}")).and_then(Value::as_str);
    Some(exact(source("reference")?, source("runningManifestDigest")?))
}

/// The reference with a digest in place of its tag.
fn exact(reference: &str, manifest: &str) -> String {
    let name = reference.split('@').next().unwrap_or(reference);
    let name = match name.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => name,
        _ => name,
    };
    format!("{name}@{manifest}")
}

/// The newest version that has proven itself, or else the one that ran last, if it is in the repository of the plugin's source.
///
/// * `object` - as in the cluster, before this host writes its status.
pub(super) fn good_version(object: &Value) -> Option<ObjectVersion> {
    let status = object.get("status")?;
    let revisions = status.get("revisions")?.as_array()?;
    // Until a version has proven itself, the one that ran last counts.
    let good = revisions.iter().find(|revision| is_proven(revision)).or(revisions.first())?;
    let reference = field(good, "reference");
    // A writer of the status may not choose another repository.
    let repository = |text: &str| {
        let reference: Reference = text.parse().ok()?;
        Some((reference.registry().to_owned(), reference.repository().to_owned()))
    };
    let source = object.pointer("/spec/source/reference")?.as_str()?;
    if repository(reference)? != repository(source)? {
        return None;
    }
    let hex = |digest: &str| digest.strip_prefix("sha256:").map(str::to_owned);
    let rejected = status.get("candidate").filter(|candidate| field(candidate, "state") == "failed");
    let rejected = rejected.and_then(|candidate| {
        let why = field(candidate, "reason").strip_prefix("rolled back: ")?;
        Some((hex(field(candidate, "digest"))?, why.to_owned()))
    });
    Some(ObjectVersion { digest: hex(field(good, "digest"))?, reference: reference.to_owned(), rejected })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running(digest: &str, probation: bool) -> Value {
        json!({"version": digest, "digest": format!("sha256:{digest}"), "onProbation": probation,
            "source": {"reference": "oci://r.example/team/p:v1", "runningManifestDigest": format!("sha256:m{digest}")}})
    }

    /// The next version may be pulled before the first status: each revision has the manifest of its own version, as soon as that is known.
    #[test]
    fn a_revision_has_the_manifest_of_the_version_that_ran() {
        let (mut one, two) = (running("one", true), running("two", true));
        one["next"] = json!({"state": "compiling"});
        one["source"]["manifestDigest"] = json!("sha256:mtwo");
        let mut unknown = one.clone();
        unknown["source"].as_object_mut().unwrap().remove("runningManifestDigest");
        let mut status = json!({});
        for entry in [&unknown, &one, &two] {
            status = json!({"revisions": revisions(Some(entry), &status, "now")});
        }
        let references: Vec<_> =
            status["revisions"].as_array().unwrap().iter().map(|one| field(one, "reference")).collect();
        assert_eq!(references, ["oci://r.example/team/p@sha256:mtwo", "oci://r.example/team/p@sha256:mone"]);
    }

    #[test]
    fn a_version_stays_proven_when_another_host_or_a_rollback_runs_it_again() {
        let mut status = json!({});
        for (digest, probation, expected) in [
            ("a", true, json!([null])),
            ("a", false, json!([true])),
            ("a", true, json!([true])),
            ("b", true, json!([null, true])),
            ("a", true, json!([true, null, true])),
        ] {
            let mut entry = running(digest, probation);
            if status.pointer("/revisions/1").is_some() {
                // After a restart: the registry's manifest is that of a newer version, which was rolled back.
                entry["source"].as_object_mut().unwrap().remove("runningManifestDigest");
            }
            status = json!({"revisions": revisions(Some(&entry), &status, "now")});
            let all = status["revisions"].as_array().unwrap();
            let proven: Value = all.iter().map(|one| one.get("proven").cloned().unwrap_or_default()).collect();
            assert_eq!(proven, expected, "{digest} {probation}");
            let of = |one: &Value| format!("oci://r.example/team/p@sha256:m{}", &field(one, "digest")[7..]);
            assert!(all.iter().all(|one| field(one, "reference") == of(one)), "{all:?}");
        }
        assert_eq!(revisions(None, &status, "now"), status["revisions"]);
    }

    #[test]
    fn the_good_version_is_the_newest_proven_one_of_the_same_repository() {
        let digest = "a".repeat(64);
        let reference = format!("oci://r.example/team/p@sha256:{digest}");
        let object = |source: &str, of: &str| {
            json!({"spec": {"source": {"reference": source}}, "status": {
                "candidate": {"state": "failed", "digest": "sha256:c", "reason": "rolled back: it traps"},
                "revisions": [
                    {"digest": "sha256:c", "reference": "oci://r.example/team/p@sha256:0"},
                    {"digest": "sha256:b", "proven": true, "reference": of},
                    {"digest": "sha256:a", "proven": true, "reference": of}]}})
        };
        let good = good_version(&object("oci://r.example/team/p:v1", &reference)).unwrap();
        assert_eq!((good.digest.as_str(), &good.reference), ("b", &reference));
        assert_eq!(good.rejected, Some(("c".to_owned(), "it traps".to_owned())));
        assert_eq!(good_version(&object("oci://r.example/team/other:v1", &reference)), None);
        assert_eq!(good_version(&object("oci://other.example/team/p:v1", &reference)), None);
        assert_eq!(good_version(&object("oci://r.example/team/p:v1", "")), None, "a file has none");
        let mut first = object("oci://r.example/team/p:v1", &reference);
        first["status"]["revisions"] = json!([{"digest": "sha256:a", "reference": reference}, {"digest": "sha256:b"}]);
        assert_eq!(good_version(&first).unwrap().digest, "a", "none has proven itself");
        assert_eq!(good_version(&json!({"spec": {"source": {"file": "p.wasm"}}, "status": {}})), None);
    }
}
