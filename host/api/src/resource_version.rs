//! Comparison of resource versions.

use std::cmp::Ordering;

/// Orders two resource versions of the same resource: `Less` means that `a` was written before `b`.
///
/// Only decimal numbers without leading zeros can be ordered; they may be longer than any integer type.
/// `None` when either cannot be ordered; then only a live read shows which is newer.
///
/// # Source
///
/// KEP-5504 and apimachinery `pkg/util/resourceversion`.
pub fn compare(a: &str, b: &str) -> Option<Ordering> {
    (readable(a) && readable(b)).then(|| a.len().cmp(&b.len()).then_with(|| a.cmp(b)))
}

/// Whether `version` can be ordered at all.
pub fn readable(version: &str) -> bool {
    !version.is_empty() && !version.starts_with('0') && version.bytes().all(|b| b.is_ascii_digit())
}

/// Whether `seen` is known to be `written` or newer; equal texts always are.
pub fn at_least(seen: &str, written: &str) -> bool {
    (seen == written && !seen.is_empty()) || matches!(compare(seen, written), Some(Ordering::Greater | Ordering::Equal))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_decimal_numbers_can_be_ordered() {
        let long = "340282366920938463463374607431768211457";
        assert_eq!(compare("9", "10"), Some(Ordering::Less));
        assert_eq!(compare(long, "340282366920938463463374607431768211456"), Some(Ordering::Greater));
        assert_eq!(compare("7", "7"), Some(Ordering::Equal));
        for bad in ["", "0", "007", "-1", "1a", " 1", "١", "1.0"] {
            assert_eq!(compare(bad, "1"), None, "{bad:?}");
            assert_eq!(compare("1", bad), None, "{bad:?}");
        }
    }

    #[test]
    fn equal_texts_are_the_same_version_even_when_unreadable() {
        assert!(at_least("abc", "abc"));
        assert!(!at_least("abc", "abd"));
        assert!(!at_least("", ""));
        assert!(at_least("11", "9") && !at_least("9", "11"));
    }

    proptest! {
        #[test]
        fn agrees_with_integers(a in 1u64.., b in 1u64..) {
            prop_assert_eq!(compare(&a.to_string(), &b.to_string()), Some(a.cmp(&b)));
        }
    }
}
