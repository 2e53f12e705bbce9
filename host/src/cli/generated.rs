//! Files that a command writes, or compares with what it would write.

use anyhow::{Context as _, bail};
use clap::Args;
use std::path::PathBuf;

/// Where the result of a command goes.
#[derive(Debug, Args)]
pub(super) struct Target {
    /// File to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Write nothing. The exit status is 1 if the file of --output is not what the command would write
    #[arg(long, requires = "output")]
    check: bool,
}

impl Target {
    /// Writes the text, or checks that the file has it.
    ///
    /// * `normal` - a text of the file without what does not count.
    /// * `because` - why it may not be, for the message.
    ///
    /// # Errors
    ///
    /// The file cannot be read or written; or it is out of date.
    pub(super) fn settle(&self, text: &str, normal: impl Fn(&str) -> String, because: &str) -> anyhow::Result<()> {
        let Some(file) = &self.output else {
            // Comments and literals have no control characters.
            return super::print(text.as_bytes());
        };
        let shown = file.display();
        if !self.check {
            return std::fs::write(file, text).with_context(|| format!("cannot write {shown}"));
        }
        let again = "write it again with the same command without --check";
        match std::fs::read_to_string(file) {
            Ok(found) => {
                let found = normal(&found);
                if found == text {
                    return Ok(());
                }
                bail!("{shown} is out of date: {because}; {again}\n{}", difference(&found, text))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => bail!("{shown} does not exist; {again}"),
            Err(error) => Err(error).with_context(|| format!("cannot read {shown}")),
        }
    }
}

/// The first line that differs.
fn difference(found: &str, wanted: &str) -> String {
    let (mut found, mut wanted) = (found.lines(), wanted.lines());
    for number in 1.. {
        let lines = (found.next(), wanted.next());
        if lines == (None, None) {
            break;
        }
        if let (left, right) = lines
            && left != right
        {
            let shown = |line: Option<&str>| line.map_or_else(|| "(end)".to_owned(), str::to_owned);
            return format!("  line {number}\n  - {}\n  + {}", shown(left), shown(right));
        }
    }
    "  the ends of the lines differ".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_out_of_date_is_told_with_the_first_line_that_differs() {
        let here = tempfile::tempdir().unwrap();
        let file = here.path().join("types.rs");
        let target = |check| Target { output: Some(file.clone()), check };
        let settle = |check, text: &str| target(check).settle(text, str::to_owned, "crd.yaml changed");
        let missing = settle(true, "a\n").unwrap_err().to_string();
        assert!(missing.ends_with("does not exist; write it again with the same command without --check"), "{missing}");
        settle(false, "a\nb\n").unwrap();
        settle(true, "a\nb\n").unwrap();
        let old = settle(true, "a\nc\n").unwrap_err().to_string();
        assert!(old.contains("is out of date: crd.yaml changed; write it again"), "{old}");
        assert!(old.ends_with("\n  line 2\n  - b\n  + c"), "{old}");
        assert!(settle(true, "a\n").unwrap_err().to_string().ends_with("\n  - b\n  + (end)"));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "a\nb\n");
    }
}
