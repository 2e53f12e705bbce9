//! Regular expressions for Envoy, which knows those of RE2. Envoy refuses all routes together when one expression is invalid, so this check
//! is on the safe side.

use regex_syntax::ast::{self, Ast, Visitor};

/// The largest program. envoy.yaml raises Envoy's limit to ten times as much, because this is an estimate.
const MOST_INSTRUCTIONS: u32 = 1000;

/// RE2's limit of a counted repetition.
const MOST_REPETITIONS: u32 = 1000;

/// Why Envoy would not take the expression, or might understand it in another way. None: it takes it.
pub(crate) fn problem(text: &str) -> Option<String> {
    let ast = match ast::parse::ParserBuilder::new().nest_limit(50).build().parse(text) {
        Ok(ast) => ast,
        Err(error) => return Some(error.kind().to_string()),
    };
    if let Err(foreign) = ast::visit(&ast, Foreign { counted: false }) {
        return Some(foreign.to_owned());
    }
    if instructions(&ast) > MOST_INSTRUCTIONS {
        return Some(format!("it needs more than {MOST_INSTRUCTIONS} instructions"));
    }
    regex_syntax::parse(text).err().map(|_| "it has a class or a flag that RE2 lacks".to_owned())
}

/// Finds what RE2 lacks.
struct Foreign {
    /// Inside a counted repetition: RE2 limits the product of nested ones.
    counted: bool,
}

impl Visitor for Foreign {
    type Output = ();
    type Err = &'static str;

    fn finish(self) -> Result<(), &'static str> {
        Ok(())
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), &'static str> {
        match ast {
            Ast::Flags(_) => Err("flags such as (?i) are not supported"),
            Ast::Group(group) if group.flags().is_some_and(|flags| !flags.items.is_empty()) => {
                Err("flags such as (?i: ) are not supported")
            }
            Ast::Group(group) if matches!(group.kind, ast::GroupKind::CaptureName { .. }) => {
                Err("named groups are not supported")
            }
            Ast::Literal(literal) => literal_is_known(literal),
            Ast::Assertion(assertion) => match assertion.kind {
                ast::AssertionKind::StartLine | ast::AssertionKind::EndLine => Ok(()),
                _ => Err("assertions other than ^ and $ are not supported"),
            },
            Ast::Repetition(repetition) => match &repetition.op.kind {
                ast::RepetitionKind::Range(range) if most(range) > MOST_REPETITIONS => {
                    Err("a repetition has more than 1000 times")
                }
                ast::RepetitionKind::Range(_) if self.counted => {
                    Err("a counted repetition in another one is not supported")
                }
                ast::RepetitionKind::Range(_) => {
                    self.counted = true;
                    Ok(())
                }
                _ => Ok(()),
            },
            Ast::ClassUnicode(_) => Err("Unicode classes are not supported"),
            _ => Ok(()),
        }
    }

    fn visit_post(&mut self, ast: &Ast) -> Result<(), &'static str> {
        if let Ast::Repetition(repetition) = ast
            && matches!(repetition.op.kind, ast::RepetitionKind::Range(_))
        {
            self.counted = false;
        }
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ast::ClassSetItem) -> Result<(), &'static str> {
        match item {
            ast::ClassSetItem::Unicode(_) => Err("Unicode classes are not supported"),
            ast::ClassSetItem::Bracketed(_) => Err("a class in a class is not supported"),
            ast::ClassSetItem::Literal(literal) => literal_is_known(literal),
            ast::ClassSetItem::Range(range) => {
                literal_is_known(&range.start).and_then(|()| literal_is_known(&range.end))
            }
            _ => Ok(()),
        }
    }

    fn visit_class_set_binary_op_pre(&mut self, _: &ast::ClassSetBinaryOp) -> Result<(), &'static str> {
        Err("operations on classes, such as &&, are not supported")
    }
}

/// Characters as they are, and escaped punctuation.
fn literal_is_known(literal: &ast::Literal) -> Result<(), &'static str> {
    match literal.kind {
        ast::LiteralKind::Verbatim | ast::LiteralKind::Meta => Ok(()),
        ast::LiteralKind::Superfluous if literal.c.is_ascii_punctuation() => Ok(()),
        _ => Err("escapes of characters other than punctuation are not supported"),
    }
}

/// An estimate of the size of the program, as RE2 counts it: one for each byte, several for a class.
fn instructions(ast: &Ast) -> u32 {
    /// For a class of characters that are not ASCII, or a negated one.
    const CLASS: u32 = 30;
    let sum = |asts: &[Ast]| asts.iter().fold(0, |sum: u32, ast| sum.saturating_add(instructions(ast)));
    match ast {
        Ast::Literal(literal) => u32::try_from(literal.c.len_utf8()).unwrap_or(CLASS),
        Ast::Dot(_) | Ast::ClassUnicode(_) | Ast::ClassPerl(_) => CLASS,
        Ast::ClassBracketed(class) => {
            let items =
                u32::try_from(class.span.end.offset.saturating_sub(class.span.start.offset)).unwrap_or(u32::MAX);
            items.saturating_mul(4).saturating_add(CLASS)
        }
        Ast::Repetition(repetition) => {
            let times = match &repetition.op.kind {
                ast::RepetitionKind::Range(range) => most(range),
                _ => 1,
            };
            instructions(&repetition.ast).saturating_add(1).saturating_mul(times.max(1))
        }
        Ast::Group(group) => instructions(&group.ast).saturating_add(2),
        Ast::Alternation(alternation) => {
            sum(&alternation.asts).saturating_add(u32::try_from(alternation.asts.len()).unwrap_or(u32::MAX))
        }
        Ast::Concat(concat) => sum(&concat.asts),
        Ast::Empty(_) | Ast::Flags(_) | Ast::Assertion(_) => 1,
    }
}

fn most(range: &ast::RepetitionRange) -> u32 {
    match *range {
        ast::RepetitionRange::Exactly(most) | ast::RepetitionRange::AtLeast(most) => most,
        ast::RepetitionRange::Bounded(least, most) => least.max(most),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_re2_knows_passes() {
        for good in [
            "/r[0-9]+",
            "/(a|b)*c?",
            "beta-\\d{1,3}",
            "^/x$",
            "[^/]+",
            "a{400}",
            "\\.well\\-known",
            "[[:alpha:]]+",
            "(?:x)",
            "\\w\\S",
        ] {
            assert_eq!(problem(good), None, "{good}");
        }
        for bad in [
            "(",
            "[",
            "a**b(",
            "*",
            "a{2,1}",
            "a{1001}",
            "a{1000}",
            "\\w{40}",
            "(?i)x",
            "(?x) a",
            "(?i:a)",
            "\\b",
            "\\pL",
            "[\\p{Greek}]",
            "[a&&b]",
            "[[a]]",
            "(?P<n>a)",
            "(?<n>a)",
            "(?=a)",
            "\\1",
            "\\x41",
            "\\u{41}",
            "\\A",
            "\\z",
            "(?R)",
            "a{1000}{1000}{1000}",
        ] {
            assert!(problem(bad).is_some(), "{bad}");
        }
        assert!(problem(&"(".repeat(2000)).is_some());
        assert!(problem(&format!("{}a{}", "(".repeat(400), ")".repeat(400))).is_some());
    }
}
