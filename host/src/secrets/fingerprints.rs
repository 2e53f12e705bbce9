//! Fingerprints of secrets, which recognize them in texts without keeping them.

use super::json::Json;
use super::{DIGITS, PLACEHOLDER, SALT, SHORTEST_CREDENTIAL};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use data_encoding::{HEXLOWER, HEXUPPER};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use sha2::{Digest as _, Sha256};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::ops::Range;
use std::sync::LazyLock;

/// A search finds a spelling by so many bytes in its middle: many secrets, such as keys in PEM, begin and end alike.
const WINDOW: usize = 8;

/// The same for shorter spellings.
const SHORT_WINDOW: usize = SHORTEST_CREDENTIAL;

/// Most spellings with the same middle. Of more, the whole word around that middle is replaced.
const ALIKE: u8 = 16;

/// Most bytes that a search hashes for each byte of the text, and for a short one. A text that repeats the middle of a large secret at every place
/// costs more, and is replaced as a whole.
const WORK: usize = 64;
const LEAST_WORK: usize = 1 << 20;

/// Replaces such a word.
const ANY: &str = "[secret]";

/// Characters that a query may leave as they are.
pub(super) const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// What the encoders of languages leave as it is: Python's `quote`, JavaScript's `encodeURIComponent`, Go's `PathEscape`, and for forms Go and
/// Python, and JavaScript and Rust. A space is a plus sign in a form.
const QUOTE: &AsciiSet = &UNRESERVED.remove(b'/');
const COMPONENT: &AsciiSet = &UNRESERVED.remove(b'!').remove(b'\'').remove(b'(').remove(b')').remove(b'*');
const SEGMENT: &AsciiSet = &UNRESERVED.remove(b'$').remove(b'&').remove(b'+').remove(b':').remove(b'=').remove(b'@');
const FORM: &AsciiSet = &UNRESERVED.remove(b' ');
const STRICT_FORM: &AsciiSet = &FORM.remove(b'*').add(b'~');
const IN_URLS: [&AsciiSet; 7] = [NON_ALPHANUMERIC, UNRESERVED, QUOTE, COMPONENT, SEGMENT, FORM, STRICT_FORM];

/// What encoders of JSON write as `\u` that need not be: nothing, Go what HTML needs, Python all but ASCII.
const IN_JSON: [fn(char) -> bool; 3] =
    [|_| false, |char| matches!(char, '&' | '<' | '>' | '\u{2028}' | '\u{2029}'), |char| !matches!(char, ' '..='~')];

static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// A hash that is the same for the same text as long as the process runs.
pub(super) fn hash(text: &[u8]) -> u64 {
    HASHER.hash_one(text)
}

/// The digest of a placeholder, and how it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shown {
    digest: [u8; DIGITS / 2],
    encoding: Encoding,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Plain,
    Base64,
    Base64NoPad,
    Base64Url,
    Base64UrlPadded,
}

impl Shown {
    /// What replaces a secret.
    pub(super) fn of(secret: &[u8]) -> Self {
        let hashed = Sha256::new().chain_update(*SALT).chain_update(secret).finalize();
        let mut digest = [0; DIGITS / 2];
        digest.iter_mut().zip(hashed).for_each(|(to, from)| *to = from);
        Self { digest, encoding: Encoding::Plain }
    }

    fn encoded(self, encoding: Encoding) -> Self {
        Self { encoding, ..self }
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = format!("{PLACEHOLDER}{}", HEXLOWER.encode(&self.digest));
        f.write_str(&match self.encoding {
            Encoding::Plain => plain,
            Encoding::Base64 => STANDARD.encode(plain),
            Encoding::Base64NoPad => STANDARD_NO_PAD.encode(plain),
            Encoding::Base64Url => URL_SAFE_NO_PAD.encode(plain),
            Encoding::Base64UrlPadded => URL_SAFE.encode(plain),
        })
    }
}

/// One spelling of a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fingerprint {
    /// Bytes before its middle.
    before: u32,
    length: u32,
    hash: u64,
    shown: Shown,
}

/// The fingerprints of some secrets.
#[derive(Debug, Default)]
pub(super) struct Fingerprints {
    /// By the bytes in the middle, and a number from 0 among those with the same middle. None: there are more than [`ALIKE`].
    prints: HashMap<(u64, u8), Option<Fingerprint>>,
    /// Whether a spelling is shorter than [`WINDOW`].
    short: bool,
    /// The bytes of the longest spelling.
    longest: usize,
    /// Whether a spelling goes on after the end of a line.
    lines: bool,
}

impl Fingerprints {
    /// The number of spellings.
    pub(super) fn len(&self) -> usize {
        self.prints.len()
    }

    /// The bytes of the longest spelling.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// Whether a secret goes on after the end of a line.
    pub(super) fn have_lines(&self) -> bool {
        self.lines
    }

    /// Adds all spellings of a secret: as it is and in base64, and of a text those in JSON and in a URL. Many are the same.
    pub(super) fn add(&mut self, secret: &[u8]) {
        let shown = Shown::of(secret);
        self.add_spelling(secret, shown);
        for (spelling, encoding) in [
            (STANDARD.encode(secret), Encoding::Base64),
            (STANDARD_NO_PAD.encode(secret), Encoding::Base64NoPad),
            (URL_SAFE.encode(secret), Encoding::Base64UrlPadded),
            (URL_SAFE_NO_PAD.encode(secret), Encoding::Base64Url),
        ] {
            self.add_spelling(spelling.as_bytes(), shown.encoded(encoding));
        }
        let Ok(secret) = std::str::from_utf8(secret) else {
            for hex in [HEXLOWER.encode(secret), HEXUPPER.encode(secret)] {
                self.add_spelling(hex.as_bytes(), shown);
            }
            // In a form or a query.
            self.add_in_urls(STANDARD.encode(secret).as_bytes(), shown.encoded(Encoding::Base64));
            self.add_in_urls(secret, shown);
            return;
        };
        if secret.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return;
        }
        for escapes in IN_JSON {
            let once = in_json(secret, escapes);
            self.add_spelling(in_json(&once, escapes).as_bytes(), shown);
            self.add_spelling(once.as_bytes(), shown);
        }
        self.add_in_urls(secret.as_bytes(), shown);
    }

    fn add_in_urls(&mut self, text: &[u8], shown: Shown) {
        for encoded in IN_URLS {
            let encoded = percent_encode(text, encoded).to_string().replace(' ', "+");
            self.add_spelling(in_lower_case(&encoded).as_bytes(), shown);
            self.add_spelling(encoded.as_bytes(), shown);
        }
    }

    fn add_spelling(&mut self, spelling: &[u8], shown: Shown) {
        let window = if spelling.len() < WINDOW { SHORT_WINDOW } else { WINDOW };
        let Some(before) = spelling.len().checked_sub(window).map(|rest| rest / 2) else { return };
        let middle = spelling.get(before..before + window).unwrap_or_default();
        let (Ok(before), Ok(length)) = (u32::try_from(before), u32::try_from(spelling.len())) else { return };
        let new = Fingerprint { before, length, hash: hash(spelling), shown };
        for number in 0..=ALIKE {
            match self.prints.get(&(key(middle), number)) {
                None => {
                    self.prints.insert((key(middle), number), (number < ALIKE).then_some(new));
                    self.short |= window == SHORT_WINDOW;
                    self.longest = self.longest.max(spelling.len());
                    // Bytes that are no text are in no printed line.
                    let goes_on = spelling.split_last().is_some_and(|(_, before)| before.contains(&b'\n'));
                    self.lines |= goes_on && std::str::from_utf8(spelling).is_ok();
                    return;
                }
                Some(Some(known)) if (known.length, known.hash) == (new.length, new.hash) => return,
                Some(_) => {}
            }
        }
    }

    /// Finds secrets in a text.
    fn find(&self, text: &[u8], found: &mut Vec<Found>) {
        let windows = [(WINDOW, !self.prints.is_empty()), (SHORT_WINDOW, self.short)];
        let mut left = text.len().saturating_mul(WORK).max(LEAST_WORK);
        for (window, _) in windows.into_iter().filter(|(_, any)| *any) {
            for (at, middle) in text.windows(window).enumerate() {
                for number in 0..=ALIKE {
                    match self.prints.get(&(key(middle), number)) {
                        None => break,
                        Some(None) => found.push(Found::word(text, at..at + window)),
                        Some(Some(print)) => {
                            let Some(rest) = left.checked_sub(print.length as usize) else {
                                return found.push(Found { place: 0..text.len(), by: Replacement::Any });
                            };
                            left = rest;
                            found.extend(print.at(text, at));
                        }
                    }
                }
            }
        }
    }
}

impl Fingerprint {
    /// * `middle` - where its middle is.
    fn at(&self, text: &[u8], middle: usize) -> Option<Found> {
        let start = middle.checked_sub(self.before as usize)?;
        let place = start..start + self.length as usize;
        let same = hash(text.get(place.clone())?) == self.hash;
        same.then_some(Found { place, by: Replacement::Placeholder(self.shown) })
    }
}

/// A secret, or a placeholder, in a text.
#[derive(Debug)]
struct Found {
    place: Range<usize>,
    by: Replacement,
}

#[derive(Debug)]
enum Replacement {
    Placeholder(Shown),
    /// [`ANY`].
    Any,
    /// It is a placeholder already.
    Itself,
}

impl Found {
    /// The word around a place.
    fn word(text: &[u8], place: Range<usize>) -> Self {
        let before = text.get(..place.start).unwrap_or_default();
        let after = text.get(place.end..).unwrap_or_default();
        let start = before.iter().rposition(u8::is_ascii_whitespace).map_or(0, |space| space + 1);
        let end = after.iter().position(u8::is_ascii_whitespace).map_or(text.len(), |space| place.end + space);
        Self { place: start..end, by: Replacement::Any }
    }
}

/// The beginning of a text without the secrets in it, and the bytes that it replaces. None: it contains none.
///
/// * `limit` - the bytes of the beginning. The text may go on, so that a secret at the limit is found.
pub(super) fn replaced(text: &[u8], limit: usize, sets: &[&Fingerprints]) -> Option<(Vec<u8>, usize)> {
    let mut found = Vec::new();
    sets.iter().for_each(|set| set.find(text, &mut found));
    if found.is_empty() {
        return None;
    }
    // A secret may be a part of a placeholder.
    let placeholders = text.windows(PLACEHOLDER.len()).enumerate().filter(|(_, part)| *part == PLACEHOLDER.as_bytes());
    found.extend(placeholders.map(|(at, _)| {
        let digits = text.get(at + PLACEHOLDER.len()..).unwrap_or_default().iter().take(DIGITS);
        let digits = digits.take_while(|byte| byte.is_ascii_hexdigit()).count();
        Found { place: at..at + PLACEHOLDER.len() + digits, by: Replacement::Itself }
    }));
    found.sort_by_key(|found| (found.place.start, Reverse(found.place.end)));
    let (mut shown, mut at, limit) = (Vec::with_capacity(text.len().min(limit)), 0, limit.min(text.len()));
    for Found { place, by } in found {
        if place.start >= limit.max(at) {
            break;
        }
        if place.start >= at {
            shown.extend_from_slice(text.get(at..place.start).unwrap_or_default());
            match by {
                Replacement::Placeholder(of) => shown.extend_from_slice(of.to_string().as_bytes()),
                Replacement::Any => shown.extend_from_slice(ANY.as_bytes()),
                Replacement::Itself => shown.extend_from_slice(text.get(place.clone()).unwrap_or_default()),
            }
        }
        // The rest of a secret that overlaps another is left out.
        at = at.max(place.end);
    }
    shown.extend_from_slice(text.get(at..limit).unwrap_or_default());
    Some((shown, at.max(limit)))
}

/// A text in JSON, without its quotes.
///
/// * `escapes` - what is written as `\u`, beside what must be escaped.
fn in_json(text: &str, escapes: fn(char) -> bool) -> String {
    let json = Json::from(text).to_string();
    let mut escaped = String::with_capacity(json.len());
    for char in json.get(1..json.len() - 1).unwrap_or_default().chars() {
        if escapes(char) {
            for unit in char.encode_utf16(&mut [0; 2]) {
                escaped.push_str("\\u");
                escaped.push_str(&HEXLOWER.encode(&unit.to_be_bytes()));
            }
        } else {
            escaped.push(char);
        }
    }
    escaped
}

/// Percent-encoded text with the other hexadecimal digits.
fn in_lower_case(encoded: &str) -> String {
    let mut digits = 0;
    let lower = encoded.chars().map(|char| match (char, digits) {
        ('%', _) => {
            digits = 2;
            char
        }
        (_, 0) => char,
        _ => {
            digits -= 1;
            char.to_ascii_lowercase()
        }
    });
    lower.collect()
}

/// The bytes of a window as a number.
fn key(window: &[u8]) -> u64 {
    window.iter().fold(window.len() as u64, |key, byte| (key << 8) | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(text: &str, secrets: &[&str]) -> String {
        let mut known = Fingerprints::default();
        secrets.iter().for_each(|secret| known.add(secret.as_bytes()));
        let shown = replaced(text.as_bytes(), usize::MAX, &[&known]);
        shown.map_or_else(|| text.to_owned(), |(shown, _)| String::from_utf8(shown).unwrap())
    }

    fn shown(secret: &str) -> String {
        Shown::of(secret.as_bytes()).to_string()
    }

    #[test]
    fn of_secrets_within_each_other_and_beside_each_other_nothing_remains() {
        let (long, short) = ("one-two-three-four", "two-three");
        assert_eq!(
            hidden(&format!("a {long} b {short} c"), &[short, long]),
            format!("a {} b {} c", shown(long), shown(short))
        );
        assert_eq!(hidden("xabcdefghijklmnopy", &["abcdefghijk", "hijklmnop"]), format!("x{}y", shown("abcdefghijk")));
        assert_eq!(hidden("nothing of it", &[long]), "nothing of it");
        let twice = hidden(&hidden(long, &[long]), &[long, "secret", "lock-secret-"]);
        assert_eq!(twice, shown(long), "a placeholder stays");
    }

    #[test]
    fn secrets_that_are_alike_in_the_middle_are_told_apart_up_to_a_bound() {
        let secrets: Vec<String> = (0..5).map(|number| format!("{number}-same-middle-{number}")).collect();
        let names: Vec<&str> = secrets.iter().map(String::as_str).collect();
        assert_eq!(hidden(names[4], &names), shown(names[4]));
        let many: Vec<String> = (100..200).map(|number| format!("{number}-same-middle-{number}")).collect();
        let names: Vec<&str> = many.iter().map(String::as_str).collect();
        for secret in [names[0], names[50], names[99]] {
            let hidden = hidden(&format!("see {secret} here"), &names);
            assert!(!hidden.contains("middle") && hidden.starts_with("see ") && hidden.ends_with(" here"), "{hidden}");
        }
    }

    /// Every place of the text looks like the middle of the secret, so that a search compares a megabyte at each of a million places.
    #[test]
    fn a_text_that_makes_a_search_expensive_is_replaced_as_a_whole() {
        let (secret, other) = ("x".repeat(1 << 20), "short-secret");
        for text in ["x".repeat(1 << 21), format!("{}{other}", "x".repeat(1 << 20).replacen("xx", "yx", 1))] {
            assert_eq!(hidden(&text, &[&secret, other]), ANY);
        }
        assert_eq!(hidden(&format!("see {other}"), &[&secret, other]), format!("see {}", shown(other)));
    }

    #[test]
    fn a_secret_at_the_limit_is_replaced_as_a_whole_and_nothing_behind_it_is_shown() {
        let mut known = Fingerprints::default();
        known.add(b"a-long-secret-value");
        let text = "12345 a-long-secret-value and more a-long-sec";
        for limit in [7, 12, 25] {
            let (shown, seen) = replaced(text.as_bytes(), limit, &[&known]).unwrap();
            assert_eq!(
                String::from_utf8(shown).unwrap(),
                format!("12345 {}", super::tests::shown("a-long-secret-value"))
            );
            assert_eq!(seen, 25, "{limit}");
        }
    }

    #[test]
    fn a_short_secret_is_found_and_a_shorter_one_is_not() {
        assert_eq!(hidden("pin 12345!", &["12345"]), format!("pin {}!", shown("12345")));
        assert_eq!(hidden("pin 123!", &["123"]), "pin 123!");
    }
}
