//! Parser of CEL expressions, with two repairs.
//!
//! `a.?b` is evaluated as `a[?'b']`. The interpreter fails on the first form where the field is absent, and interprets `a.?b.c` as a field of
//! the optional itself. `name{}`, a message, is evaluated as an undeclared variable of that name: the interpreter panics on messages.

use super::tokens::{Kind, tokens};
use kube_cel::cel::{
    IdedExpr, ParseErrors,
    common::ast::{CallExpr, EntryExpr, Expr, LiteralValue, SelectExpr, operators},
    parser::{ParseError, Parser},
};

/// Deepest nesting of an expression. cel-go has 250, for which the stacks of the interpreter do not suffice here.
const MAX_NESTING: usize = 64;

/// A nesting for which the stack of any thread suffices: the parser takes up to 130 KiB for a level, without optimisation.
const SHALLOW: usize = 4;

/// Stack of the parser for more than that.
const STACK_BYTES: usize = 16 << 20;

/// Parses an expression without the repair, for analysis rather than evaluation.
pub(crate) fn parse_as_written(source: &str) -> Result<IdedExpr, ParseErrors> {
    let parse = || Parser::default().enable_optional_syntax(true).parse(source);
    let nesting = nesting(source);
    if nesting > MAX_NESTING {
        return Err(failed(format!("expression recursion limit exceeded: {MAX_NESTING}")));
    }
    if nesting <= SHALLOW {
        return parse();
    }
    std::thread::scope(|scope| {
        let parser = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, parse);
        let parser = parser.map_err(|error| failed(format!("no thread for the parser: {error}")))?;
        parser.join().unwrap_or_else(|_| Err(failed("the parser has panicked".to_owned())))
    })
}

fn failed(msg: String) -> ParseErrors {
    ParseErrors { errors: vec![ParseError { source: None, pos: (1, 1), msg, expr_id: 0, source_info: None }] }
}

/// A number that is at least the depth of the brackets and conditional operators of an expression.
fn nesting(source: &str) -> usize {
    let (mut open, mut deepest, mut conditions) = (0_usize, 0, 0);
    for token in tokens(source).into_iter().filter(|token| token.kind == Kind::Sign) {
        match token.text {
            "(" | "[" | "{" => open += 1,
            ")" | "]" | "}" => open = open.saturating_sub(1),
            "?" => conditions += 1,
            _ => {}
        }
        deepest = deepest.max(open);
    }
    deepest + conditions
}

/// Parses an expression, including `a.?b` and `a[?b]` as in Kubernetes.
pub(crate) fn parse(source: &str) -> Result<IdedExpr, ParseErrors> {
    let mut program = parse_as_written(source)?;
    repair(&mut program);
    Ok(program)
}

/// Ends the names of the variables that stand for messages. No identifier contains it.
const MESSAGE: &str = "{}";

fn is_optional(expression: &IdedExpr) -> bool {
    matches!(&expression.expr, Expr::Call(call) if call.func_name == operators::OPT_INDEX
        || (call.func_name == operators::INDEX && call.args.first().is_some_and(is_optional)))
}

fn repair(expression: &mut IdedExpr) {
    match &mut expression.expr {
        Expr::Call(call) => {
            call.target.iter_mut().for_each(|target| repair(target));
            call.args.iter_mut().for_each(repair);
            if call.func_name == operators::OPT_SELECT {
                operators::OPT_INDEX.clone_into(&mut call.func_name);
            }
        }
        Expr::Select(select) => {
            repair(&mut select.operand);
            if !select.test && is_optional(&select.operand) {
                let SelectExpr { operand, field, .. } = std::mem::take(select);
                let field = IdedExpr { id: expression.id, expr: Expr::Literal(LiteralValue::String(field.into())) };
                let func_name = operators::OPT_INDEX.to_owned();
                expression.expr = Expr::Call(CallExpr { func_name, target: None, args: vec![*operand, field] });
            }
        }
        Expr::List(list) => list.elements.iter_mut().for_each(repair),
        Expr::Map(map) => map.entries.iter_mut().for_each(|entry| repair_entry(&mut entry.expr)),
        Expr::Struct(object) => expression.expr = Expr::Ident(format!("{}{MESSAGE}", object.type_name)),
        Expr::Comprehension(comprehension) => {
            for part in [
                &mut comprehension.iter_range,
                &mut comprehension.accu_init,
                &mut comprehension.loop_cond,
                &mut comprehension.loop_step,
                &mut comprehension.result,
            ] {
                repair(part);
            }
        }
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => {}
    }
}

/// The type of a message in the expression, if there is one.
pub(crate) fn message(expression: &IdedExpr) -> Option<String> {
    expression.references().variables().into_iter().find_map(|name| name.strip_suffix(MESSAGE).map(str::to_owned))
}

fn repair_entry(entry: &mut EntryExpr) {
    match entry {
        EntryExpr::StructField(field) => repair(&mut field.value),
        EntryExpr::MapEntry(entry) => {
            repair(&mut entry.key);
            repair(&mut entry.value);
        }
    }
}
