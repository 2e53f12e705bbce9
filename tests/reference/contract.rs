//! `docs/contract.md`, from the comments of `wit/reconciler.wit`.

use super::{head as page_head, hold};
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::repository_root;
use std::fmt::Write as _;
use std::fs;

#[test]
fn the_reference_is_what_the_contract_says() -> Result<()> {
    let contract = fs::read_to_string(repository_root().join("wit/reconciler.wit"))?;
    hold("docs/contract.md", "wit/reconciler.wit", &reference(&contract)?)
}

#[test]
fn nothing_of_the_contract_is_left_out() -> Result<()> {
    let contract = fs::read_to_string(repository_root().join("wit/reconciler.wit"))?;
    let reference = words(&reference(&contract)?);
    for said in contract.lines().filter_map(|line| line.trim().strip_prefix("/// ")) {
        ensure!(reference.contains(&words(said)), "the reference does not say: {said}");
    }
    for line in contract.lines().map(str::trim) {
        let mut parts = line.split([' ', ':', '(', ',']);
        let name = match parts.next().unwrap_or_default() {
            "interface" | "record" | "variant" | "enum" | "type" | "import" | "export" => parts.next(),
            first if line.contains(": func(") || line.ends_with(',') => Some(first),
            _ => None,
        };
        if let Some(name) = name.map(|name| name.trim_end_matches(';')).filter(|name| !name.starts_with("//")) {
            ensure!(reference.contains(&format!("`{name}`")), "the reference does not name {name}");
        }
    }
    Ok(())
}

/// One space between words; what escapes a bar in a table left out.
fn words(text: &str) -> String {
    text.replace("\\|", "|").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A declaration with the comment above it.
#[derive(Default)]
struct Declaration {
    comment: Vec<String>,
    /// Up to the `;`, or with everything between its braces.
    lines: Vec<String>,
}

impl Declaration {
    fn comment(&self) -> String {
        self.comment.join("\n")
    }

    /// `record request` of `record request { … }`; all of a declaration without braces.
    fn head(&self) -> String {
        let text = self.lines.join(" ");
        text.split(" {").next().unwrap_or_default().trim_end_matches(';').to_owned()
    }

    /// What is between the outer braces, line by line.
    fn body(&self) -> Vec<String> {
        let text = self.lines.join("\n");
        let inner = text.split_once('{').and_then(|(_, rest)| rest.rsplit_once('}')).map_or("", |(inner, _)| inner);
        inner.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
    }
}

/// Every declaration of a text: what ends with `;` outside of braces, or with the brace that closes it.
fn declarations(lines: &[String]) -> Vec<Declaration> {
    let (mut found, mut open, mut depth) = (Vec::new(), Declaration::default(), 0_i32);
    for line in lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty()) {
        let comment = line.strip_prefix("///").map(|said| said.strip_prefix(' ').unwrap_or(said));
        match comment {
            Some(said) if depth == 0 => open.comment.push(said.to_owned()),
            Some(_) => open.lines.push(line.to_owned()),
            None => {
                let count = |brace: char| i32::try_from(line.matches(brace).count()).unwrap_or_default();
                depth += count('{') - count('}');
                open.lines.push(line.to_owned());
                if depth == 0 && (line.ends_with(';') || line.ends_with('}')) {
                    found.push(std::mem::take(&mut open));
                }
            }
        }
    }
    found
}

/// The fields or cases of a record, variant or enum: text and comment. Commas within brackets separate nothing.
fn members(lines: &[String]) -> Vec<(String, String)> {
    let (mut found, mut comment, mut text, mut depth) = (Vec::new(), Vec::new(), String::new(), 0_i32);
    for line in lines {
        if let Some(said) = line.strip_prefix("///") {
            comment.push(said.trim().to_owned());
            continue;
        }
        for letter in line.chars() {
            depth += i32::from("<(".contains(letter)) - i32::from(">)".contains(letter));
            if letter == ',' && depth == 0 {
                found.push((std::mem::take(&mut text).trim().to_owned(), std::mem::take(&mut comment).join(" ")));
            } else {
                text.push(letter);
            }
        }
    }
    if !text.trim().is_empty() {
        found.push((text.trim().to_owned(), comment.join(" ")));
    }
    found
}

/// The contract as Markdown.
fn reference(contract: &str) -> Result<String> {
    let lines: Vec<String> = contract.lines().map(str::to_owned).collect();
    let readers = "For authors of plugins and SDKs. After this page you can look up every function and type between a plugin and the host.";
    let mut text = page_head("The contract, item by item", readers, "wit/reconciler.wit");
    for declaration in declarations(&lines) {
        let head = declaration.head();
        match head.split_once(' ') {
            Some(("package", name)) => {
                writeln!(text, "Package `{name}`; [wit/reconciler.wit](../wit/reconciler.wit) is the original.\n")?;
                writeln!(text, "{}\n", declaration.comment())?;
            }
            Some(("interface", name)) => {
                writeln!(text, "## `{name}`\n\n{}\n", declaration.comment())?;
                for item in declarations(&declaration.body()) {
                    describe(&item, &mut text)?;
                }
            }
            Some(("world", name)) => {
                let of = |word: &str| {
                    let names = declarations(&declaration.body()).into_iter().map(|item| item.head());
                    let names = names.filter_map(|head| Some(format!("`{}`", head.strip_prefix(word)?.trim())));
                    names.collect::<Vec<_>>().join(", ")
                };
                let comment = declaration.comment();
                let said = if comment.is_empty() { String::new() } else { format!("{comment}\n\n") };
                let parts = [("includes", "include"), ("exports", "export"), ("may import", "import")];
                let parts = parts.map(|(verb, word)| (verb, of(word)));
                let parts = parts.iter().filter(|(_, names)| !names.is_empty());
                let parts: Vec<String> = parts.map(|(verb, names)| format!("{verb} {names}")).collect();
                writeln!(text, "## World `{name}`\n\n{said}It {}.\n", parts.join(", "))?;
            }
            _ => anyhow::bail!("what is this: {head}"),
        }
    }
    Ok(text)
}

/// One type or function.
fn describe(item: &Declaration, text: &mut String) -> Result<()> {
    let (head, comment) = (item.head(), item.comment());
    let said = if comment.is_empty() { String::new() } else { format!("{comment}\n\n") };
    if let Some((name, signature)) = head.split_once(": func") {
        writeln!(text, "### `{name}`\n\n```wit\n{name}: func{signature};\n```\n")?;
        text.push_str(&said);
        return Ok(());
    }
    let (sort, name) = head.split_once(' ').with_context(|| head.clone())?;
    match sort {
        // Names of other interfaces.
        "use" => return Ok(()),
        "type" => {
            let (name, is) = name.split_once(" = ").with_context(|| head.clone())?;
            writeln!(text, "### Type `{name}`\n\nA `{is}`. {said}")?;
            // The comment brought its own empty line.
            text.truncate(text.trim_end().len());
            text.push_str("\n\n");
        }
        "enum" => {
            let names = members(&item.body()).into_iter().map(|(name, _)| format!("`{name}`"));
            writeln!(text, "### Enum `{name}`\n\n{said}One of {}.\n", names.collect::<Vec<_>>().join(", "))?;
        }
        "record" => {
            let split = |field: &str| field.split_once(": ").map(|(name, of)| (name.to_owned(), of.to_owned()));
            table(text, &format!("### Record `{name}`\n\n{said}"), ["field", "type"], item, split)?;
        }
        "variant" => {
            let split = |case: &str| {
                let (name, of) = case.split_once('(').unwrap_or((case, ""));
                Some((name.to_owned(), of.trim_end_matches(')').to_owned()))
            };
            table(text, &format!("### Variant `{name}`\n\n{said}"), ["case", "carries"], item, split)?;
        }
        _ => anyhow::bail!("what is this: {head}"),
    }
    Ok(())
}

/// The members of a type, a row each.
fn table(
    text: &mut String,
    title: &str,
    [first, second]: [&str; 2],
    item: &Declaration,
    split: impl Fn(&str) -> Option<(String, String)>,
) -> Result<()> {
    writeln!(text, "{title}| {first} | {second} | |\n| --- | --- | --- |")?;
    for (member, comment) in members(&item.body()) {
        let (name, of) = split(&member).with_context(|| member.clone())?;
        let of = if of.is_empty() { of } else { format!("`{of}`") };
        let comment = if comment.is_empty() { comment } else { format!(" {}", comment.replace('|', "\\|")) };
        writeln!(text, "| `{name}` | {of} |{comment} |")?;
    }
    text.push('\n');
    Ok(())
}
