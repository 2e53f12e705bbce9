//! Unified differences of two texts, as of `diff -u`.

use std::fmt::Write as _;

/// Unchanged lines around a change.
const CONTEXT: usize = 3;

/// Most comparisons of lines; larger texts are shown as replaced where they differ.
const COMPARISONS: usize = 4 << 20;

/// A line of both texts, or of one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Line<'a> {
    Both(&'a str),
    Before(&'a str),
    After(&'a str),
}

/// The hunks between two texts. Empty for equal texts.
pub(super) fn hunks(before: &str, after: &str) -> String {
    let lines = aligned(&before.lines().collect::<Vec<_>>(), &after.lines().collect::<Vec<_>>());
    let changed: Vec<usize> =
        lines.iter().enumerate().filter(|(_, line)| !matches!(line, Line::Both(_))).map(|(at, _)| at).collect();
    let mut text = String::new();
    let mut rest = changed.as_slice();
    while let [first, ..] = rest {
        let mut last = *first;
        while let [next, after @ ..] = rest
            && *next <= last + 2 * CONTEXT + 1
        {
            (last, rest) = (*next, after);
        }
        let (begin, end) = (first.saturating_sub(CONTEXT), (last + CONTEXT + 1).min(lines.len()));
        hunk(&mut text, &lines, begin, end);
    }
    text
}

fn hunk(text: &mut String, lines: &[Line<'_>], begin: usize, end: usize) {
    let (skipped, rest) = lines.split_at(begin);
    let shown = rest.get(..end - begin).unwrap_or(rest);
    let count = |lines: &[Line<'_>], of_before: bool| {
        lines
            .iter()
            .filter(|line| if of_before { !matches!(line, Line::After(_)) } else { !matches!(line, Line::Before(_)) })
            .count()
    };
    let range = |of_before: bool| {
        let (start, length) = (count(skipped, of_before), count(shown, of_before));
        // As diff does: an empty range names the line before it.
        format!("{},{length}", if length == 0 { start } else { start + 1 })
    };
    let _ = writeln!(text, "@@ -{} +{} @@", range(true), range(false));
    for line in shown {
        let _ = match line {
            Line::Both(line) => writeln!(text, " {line}"),
            Line::Before(line) => writeln!(text, "-{line}"),
            Line::After(line) => writeln!(text, "+{line}"),
        };
    }
}

/// The lines of both texts along a longest common subsequence.
fn aligned<'a>(before: &[&'a str], after: &[&'a str]) -> Vec<Line<'a>> {
    let first = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let (same, before) = before.split_at(first);
    let (_, after) = after.split_at(first);
    let last = before.iter().rev().zip(after.iter().rev()).take_while(|(a, b)| a == b).count();
    let (before, end) = before.split_at(before.len() - last);
    let (after, _) = after.split_at(after.len() - last);
    let mut lines: Vec<Line<'a>> = same.iter().map(|line| Line::Both(line)).collect();
    if before.len().saturating_mul(after.len()) > COMPARISONS {
        lines.extend(before.iter().map(|line| Line::Before(line)));
        lines.extend(after.iter().map(|line| Line::After(line)));
    } else {
        lines.extend(middle(before, after));
    }
    lines.extend(end.iter().map(|line| Line::Both(line)));
    lines
}

fn middle<'a>(before: &[&'a str], after: &[&'a str]) -> Vec<Line<'a>> {
    // `common[i][j]`: length of the longest common subsequence of the lines from i and from j on.
    let mut common = vec![vec![0_u32; after.len() + 1]; before.len() + 1];
    let at = |common: &[Vec<u32>], i: usize, j: usize| common.get(i).and_then(|row| row.get(j)).copied().unwrap_or(0);
    for (i, old) in before.iter().enumerate().rev() {
        for (j, new) in after.iter().enumerate().rev() {
            let length = if old == new {
                at(&common, i + 1, j + 1) + 1
            } else {
                at(&common, i + 1, j).max(at(&common, i, j + 1))
            };
            if let Some(cell) = common.get_mut(i).and_then(|row| row.get_mut(j)) {
                *cell = length;
            }
        }
    }
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    loop {
        match (before.get(i), after.get(j)) {
            (Some(old), Some(new)) if old == new => {
                lines.push(Line::Both(old));
                (i, j) = (i + 1, j + 1);
            }
            (Some(old), new) if new.is_none() || at(&common, i + 1, j) >= at(&common, i, j + 1) => {
                lines.push(Line::Before(old));
                i += 1;
            }
            (_, Some(new)) => {
                lines.push(Line::After(new));
                j += 1;
            }
            (_, None) => return lines,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hunks_are_those_of_diff() {
        let text = |lines: std::ops::Range<u32>| lines.map(|line| format!("{line}\n")).collect::<String>();
        let before = text(0..30);
        let after = before.replace("\n5\n", "\nfive\n").replace("\n25\n", "\n");
        let expected = "@@ -3,7 +3,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n@@ -23,7 +23,6 @@\n 22\n 23\n 24\n-25\n 26\n 27\n 28\n";
        assert_eq!(hunks(&before, &after), expected);
        assert_eq!(hunks("", "a\nb\n"), "@@ -0,0 +1,2 @@\n+a\n+b\n");
        assert_eq!(hunks("a\n", ""), "@@ -1,1 +0,0 @@\n-a\n");
        assert_eq!(hunks(&before, &before), "");
        let near = before.replace("\n5\n", "\nfive\n").replace("\n12\n", "\ntwelve\n");
        assert_eq!(hunks(&before, &near).matches("@@ -").count(), 1);
    }
}
