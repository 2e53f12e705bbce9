//! URL paths of the API server: built from names, each of which stays one segment.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The percent-encoded characters: all but the unreserved ones of RFC 3986, and `:`, which has no meaning within a segment.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b':');

/// The absolute path of these segments. Every character with a meaning in URLs is percent-encoded, so that a name never becomes another
/// path or a query.
///
/// A dot segment and an empty one have no encoding: see [`check`].
pub fn join<'a>(segments: impl IntoIterator<Item = &'a str>) -> String {
    let mut path = String::new();
    for segment in segments {
        path.push('/');
        path.extend(utf8_percent_encode(segment, ENCODED));
    }
    path
}

/// Rejects a path with an empty segment or a dot segment: an empty one would address the collection instead of an object, and proxies
/// resolve dot segments.
///
/// # Errors
///
/// The segment, for people.
pub fn check(path: &str) -> Result<(), String> {
    let segments = path.strip_prefix('/').ok_or_else(|| format!("the path {path:?} is not absolute"))?;
    match segments.split('/').find(|segment| matches!(*segment, "" | "." | "..")) {
        Some(segment) => Err(format!("{segment:?} is not a name: the path would be {path:?}")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn t4_c_a_name_stays_one_segment() {
        for (name, expected) in [
            ("web", "/api/web"),
            ("system:node", "/api/system:node"),
            ("a/b?c=d#e%2F", "/api/a%2Fb%3Fc%3Dd%23e%252F"),
            (
                "services/metrics:80/proxy/admin/delete?all=true&x=",
                "/api/services%2Fmetrics:80%2Fproxy%2Fadmin%2Fdelete%3Fall%3Dtrue%26x%3D",
            ),
            ("ä\r\n", "/api/%C3%A4%0D%0A"),
        ] {
            assert_eq!(join(["api", name]), expected);
            assert!(check(&join(["api", name])).is_ok());
        }
        for name in ["", ".", ".."] {
            assert!(check(&join(["api", name, "x"])).is_err() && check(&join(["api", name])).is_err(), "{name:?}");
        }
        assert!(check("api/v1").is_err());
    }

    proptest! {
        /// For any name, a server reads the same name back from the same segment.
        #[test]
        fn t4_c_whatever_a_name_is_the_path_has_as_many_segments_and_no_query(name in any::<String>(), other in "[a-z]{1,8}") {
            let path = join(["api", &name, &other]);
            let uri: http::Uri = path.parse().unwrap();
            prop_assert_eq!(uri.query(), None);
            let segments: Vec<&str> = uri.path().split('/').skip(1).collect();
            prop_assert_eq!((segments.len(), segments[0], segments[2]), (3, "api", other.as_str()));
            let decoded: Vec<u8> = url::form_urlencoded::parse(format!("x={}", segments[1]).as_bytes()).next().unwrap().1.bytes().collect();
            prop_assert_eq!(String::from_utf8(decoded).unwrap(), name);
        }
    }
}
