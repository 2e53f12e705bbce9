//! A random program of reads: what it reads depends on what it has read. The tests run it, too, on the objects that there are.

use serde_json::Value;

/// Reads of one run.
const STEPS: usize = 4;

/// One read of ConfigMaps in the namespace of the object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Query {
    /// The object of this name.
    Named(String),
    /// Objects by a label selector.
    Labelled(String),
    /// Objects with this value in the index `by-tenant`.
    Tenant(String),
    /// Objects with an owner of this uid.
    OwnedBy(String),
}

/// Runs the program of a seed. Returns a digest of everything that it has read.
///
/// * `read` - the objects that a query selects, in the order of their names.
pub(crate) fn run<E>(seed: &str, mut read: impl FnMut(&Query) -> Result<Vec<Value>, E>) -> Result<String, E> {
    let mut digest = mixed(0xcbf2_9ce4_8422_2325, seed);
    for _ in 0..STEPS {
        let choice = digest >> 16;
        let query = match choice % 6 {
            0 | 1 => Query::Named(format!("v{}", choice / 6 % 6)),
            2 => Query::Labelled(format!("tier={}", choice / 6 % 3)),
            3 => Query::Labelled(format!("tier in (0,1),side!={}", choice / 6 % 2)),
            4 => Query::Tenant(format!("t{}", choice / 6 % 4)),
            _ => {
                let root = Query::Named(format!("root{}", choice / 6 % 2));
                let uid = read(&root)?.first().map(|root| text(root, "/metadata/uid")).unwrap_or_default();
                Query::OwnedBy(uid)
            }
        };
        for object in read(&query)? {
            for pointer in ["/metadata/name", "/data/tenant", "/data/number", "/metadata/labels/tier"] {
                digest = mixed(digest, &text(&object, pointer));
            }
        }
    }
    Ok(format!("{digest:016x}"))
}

fn text(object: &Value, pointer: &str) -> String {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// FNV-1a, with an end of each text.
fn mixed(digest: u64, text: &str) -> u64 {
    text.bytes().chain([0]).fold(digest, |digest, byte| (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
