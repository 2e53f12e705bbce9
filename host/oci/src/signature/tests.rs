use super::*;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};

const KIND: &str = "cosign container image signature";
const IN_TOTO: &str = "application/vnd.in-toto+json";

fn pair(seed: u8) -> (Ed25519KeyPair, PublicKey) {
    let pair = Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap();
    let der = [&[0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 3, 0x21, 0][..], pair.public_key().as_ref()].concat();
    let file = tempfile::NamedTempFile::new().unwrap();
    let pem = format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", STANDARD.encode(der));
    std::fs::write(file.path(), pem).unwrap();
    let public = PublicKey::read(file.path()).unwrap();
    (pair, public)
}

fn simple(pair: &Ed25519KeyPair, payload: &Value) -> Signature {
    let payload = payload.to_string();
    let signature = STANDARD.encode(pair.sign(payload.as_bytes()));
    Signature::Simple { payload, signature }
}

fn payload(digest: &Digest, kind: &str) -> Value {
    json!({"critical": {"image": {"docker-manifest-digest": digest.to_string()}, "type": kind}})
}

fn statement(digest: &Digest) -> Value {
    json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"digest": {"sha256": digest.hex()}}],
        "predicateType": "https://sigstore.dev/cosign/sign/v1",
        "predicate": {},
    })
}

/// The envelope of a payload; the test encodes the signed bytes independently.
fn envelope(pair: &Ed25519KeyPair, kind: &str, payload: &[u8]) -> Value {
    let signed = [format!("DSSEv1 {} {kind} {} ", kind.len(), payload.len()).as_bytes(), payload].concat();
    let signature = STANDARD.encode(pair.sign(&signed));
    json!({"payload": STANDARD.encode(payload), "payloadType": kind, "signatures": [{"sig": signature}]})
}

fn bundle(envelope: &Value) -> Signature {
    Signature::Bundle { bundle: json!({"dsseEnvelope": envelope}).to_string() }
}

fn changed(mut value: Value, pointer: &str, to: Value) -> Value {
    *value.pointer_mut(pointer).unwrap() = to;
    value
}

#[test]
fn only_a_signature_of_this_manifest_with_one_of_the_keys_counts() {
    let ((ours, key), (theirs, other)) = (pair(1), pair(2));
    let (digest, another) = (Digest::of(b"a"), Digest::of(b"b"));
    let good = simple(&ours, &payload(&digest, KIND));
    let keys = [other.clone(), key.clone()];
    verify(&keys, &digest, std::slice::from_ref(&good)).unwrap();
    let Signature::Simple { payload: text, signature } = good.clone() else { unreachable!() };
    let with =
        |payload: &str, signature: &str| Signature::Simple { payload: payload.into(), signature: signature.into() };
    let cases = [
        (vec![], "not signed"),
        (vec![with(&format!("{text} "), &signature)], "none of the keys"),
        (vec![with(&text, "!")], "base64"),
        (vec![with(&text, "")], "none of the keys"),
        (vec![simple(&ours, &payload(&another, KIND))], "the signature covers sha256:"),
        (vec![simple(&ours, &payload(&digest, "something else"))], "the signature covers"),
        (vec![simple(&ours, &json!({"critical": {}}))], "names no manifest"),
    ];
    for (signatures, says) in cases {
        let error = verify(&keys, &digest, &signatures).unwrap_err().to_string();
        assert!(error.contains(says), "{error} should say {says}");
    }
    let foreign = simple(&theirs, &payload(&digest, KIND));
    assert!(verify(std::slice::from_ref(&key), &digest, std::slice::from_ref(&foreign)).is_err());
    verify(&[key], &digest, &[foreign, good]).unwrap();
}

#[test]
fn only_a_bundle_that_signs_this_manifest_with_one_of_the_keys_counts() {
    let ((ours, key), (theirs, _)) = (pair(1), pair(2));
    let (digest, another) = (Digest::of(b"a"), Digest::of(b"b"));
    let of = |statement: &Value| envelope(&ours, IN_TOTO, statement.to_string().as_bytes());
    let good = of(&statement(&digest));
    let several = changed(
        statement(&digest),
        "/subject",
        json!([{"digest": {"sha512": "0"}}, {"digest": {"sha256": digest.hex()}}]),
    );
    for envelope in [&good, &of(&several)] {
        verify(std::slice::from_ref(&key), &digest, &[bundle(envelope)]).unwrap();
    }
    let twice = changed(good.clone(), "/signatures", json!([{"sig": "!"}, {"sig": "AA=="}, good["signatures"][0]]));
    verify(std::slice::from_ref(&key), &digest, &[bundle(&twice)]).unwrap();
    let many: Vec<Value> = (0..8).map(|_| json!({"sig": "AA=="})).chain([good["signatures"][0].clone()]).collect();
    let other_payload = STANDARD.encode(statement(&another).to_string());
    let cases = [
        (envelope(&theirs, IN_TOTO, statement(&digest).to_string().as_bytes()), "none of the keys"),
        (changed(good.clone(), "/signatures", json!([])), "none of the keys"),
        (changed(good.clone(), "/signatures", json!(many)), "none of the keys"),
        (changed(good.clone(), "/payload", json!(other_payload)), "none of the keys"),
        (changed(good.clone(), "/payload", json!("!")), "is not base64"),
        (changed(good.clone(), "/payloadType", json!("text/plain")), "none of the keys"),
        (envelope(&ours, "text/plain", statement(&digest).to_string().as_bytes()), "the signature covers text/plain"),
        (envelope(&ours, IN_TOTO, b"{}"), "no in-toto statement"),
        (envelope(&ours, IN_TOTO, b"\xff"), "no in-toto statement"),
        (of(&statement(&another)), &*format!("the signature covers {another}")),
        (of(&changed(statement(&digest), "/subject", json!([]))), "the signature covers sha256:nothing"),
        (of(&changed(statement(&digest), "/subject", json!([{"digest": {"sha512": digest.hex()}}]))), "sha256:nothing"),
        (of(&changed(statement(&digest), "/_type", json!("https://in-toto.io/Statement/v9"))), "Statement/v9, not"),
        (
            of(&changed(statement(&digest), "/predicateType", json!("https://slsa.dev/provenance/v1"))),
            "provenance/v1, not",
        ),
    ];
    for (envelope, says) in cases {
        let error = verify(std::slice::from_ref(&key), &digest, &[bundle(&envelope)]).unwrap_err().to_string();
        assert!(error.contains(says), "{error} should say {says}");
    }
    let raw = |text: &str| Signature::Bundle { bundle: text.to_owned() };
    let message =
        json!({"messageSignature": {"messageDigest": {"algorithm": "SHA2_256", "digest": ""}, "signature": ""}});
    let deep = format!("{{\"dsseEnvelope\": {}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    for (text, says) in
        [("", "cannot be read"), (&*message.to_string(), "no DSSE envelope"), (&*deep, "cannot be read")]
    {
        let error = verify(std::slice::from_ref(&key), &digest, &[raw(text)]).unwrap_err().to_string();
        assert!(error.contains(says), "{error} should say {says}");
    }
}

#[test]
fn reasons_are_few_and_short() {
    let (_, key) = pair(1);
    let unusable = |n: usize| Signature::Unusable { unusable: format!("{n}\n{}", "x".repeat(10_000)) };
    let all: Vec<_> = (0..MOST).map(unusable).collect();
    let error = verify(&[key], &Digest::of(b"a"), &all).unwrap_err().to_string();
    assert!(error.len() < 1200 && error.ends_with("and 12 more") && !error.contains('\n'), "{error}");
}

#[test]
fn what_was_kept_before_there_were_bundles_is_read() {
    let kept: Vec<Signature> = serde_json::from_value(json!([{"payload": "{}", "signature": "AA=="}])).unwrap();
    assert_eq!(kept, [Signature::Simple { payload: "{}".to_owned(), signature: "AA==".to_owned() }]);
    let all = vec![bundle(&json!({})), Signature::Unusable { unusable: "why".to_owned() }];
    let again: Vec<Signature> = serde_json::from_str(&serde_json::to_string(&all).unwrap()).unwrap();
    assert_eq!(again, all);
}
