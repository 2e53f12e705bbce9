//! The parts of a Markdown document that tests look at: fenced blocks, links, headings.

use std::collections::{BTreeMap, BTreeSet};

/// A fenced block.
#[derive(Debug)]
pub struct Block {
    /// Line of the opening fence, from 1.
    pub line: usize,
    /// The text behind the opening fence: the language and marks.
    pub info: String,
    /// The lines between the fences.
    pub lines: Vec<String>,
}

/// The fenced blocks of a document, in order.
#[must_use]
pub fn blocks(text: &str) -> Vec<Block> {
    let (mut found, mut open): (_, Option<Block>) = (Vec::new(), None);
    for (number, line) in text.lines().enumerate() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(info), None) => open = Some(Block { line: number + 1, info: info.to_owned(), lines: Vec::new() }),
            (Some(_), Some(_)) => found.extend(open.take()),
            (None, Some(block)) => block.lines.push(line.to_owned()),
            (None, None) => {}
        }
    }
    found
}

/// The lines outside of fenced blocks, with their numbers from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(number, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fence && !fenced).then_some((number + 1, line))
    })
}

/// The targets of links and images, with their lines from 1. Code contains no links.
#[must_use]
pub fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in prose(text) {
        let plain: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        let targets = plain.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        found.extend(targets.map(|(target, _)| (number, target.to_owned())));
        let sources = plain.split("src=\"").skip(1).filter_map(|rest| rest.split_once('"'));
        found.extend(sources.map(|(source, _)| (number, source.to_owned())));
    }
    found
}

/// The anchors of a document's headings, as GitHub and mdBook make them.
#[must_use]
pub fn anchors(text: &str) -> BTreeSet<String> {
    let (mut found, mut seen) = (BTreeSet::new(), BTreeMap::<String, u32>::new());
    for heading in prose(text).filter_map(|(_, line)| line.strip_prefix('#')) {
        let title = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        let count = seen.entry(anchor.clone()).or_default();
        found.insert(if *count == 0 { anchor } else { format!("{anchor}-{count}") });
        *count += 1;
    }
    found
}
