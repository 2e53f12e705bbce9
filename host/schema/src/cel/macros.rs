//! CEL macros on lists, maps and optionals.
//!
//! # Source
//!
//! cel-go `parser/macro.go`, `ext/comprehensions.go`, `ext/lists.go`, `cel/library.go`.

use kube_cel::cel::common::ast::LiteralValue;

use super::tree::{Builder, Expr, Kind, Loop};

/// The accumulator variable of a loop.
pub(super) const ACCUMULATOR: &str = "@result";

/// Expands a call if it is one of a macro; otherwise returns target and arguments.
///
/// * `at` - position of the call's parenthesis.
pub(super) fn expand(
    builder: &mut Builder<'_>,
    at: usize,
    name: &str,
    target: Expr,
    args: Vec<Expr>,
) -> Result<Expr, (Expr, Vec<Expr>)> {
    let mut m = Macro { builder, at };
    match (name, args.len()) {
        ("all" | "exists" | "exists_one", 2) | ("map", 2 | 3) | ("filter", 2) => Ok(m.over(name, target, args, false)),
        ("all" | "exists" | "exists_one" | "existsOne", 3)
        | ("transformList" | "transformMap" | "transformMapEntry", 3 | 4) => Ok(m.over(name, target, args, true)),
        ("optMap" | "optFlatMap", 2) => Ok(m.optional(name, target, args)),
        ("sortBy", 2) => Ok(m.sort_by(target, args)),
        _ => Err((target, args)),
    }
}

struct Macro<'b, 's> {
    builder: &'b mut Builder<'s>,
    at: usize,
}

impl Macro<'_, '_> {
    fn make(&mut self, kind: Kind) -> Expr {
        self.builder.make(self.at, kind)
    }

    fn ident(&mut self, name: &str) -> Expr {
        self.make(Kind::Ident(name.to_owned()))
    }

    fn accu(&mut self) -> Expr {
        self.ident(ACCUMULATOR)
    }

    fn bool(&mut self, value: bool) -> Expr {
        self.make(Kind::Literal(LiteralValue::Boolean(value.into())))
    }

    fn int(&mut self, value: i64) -> Expr {
        self.make(Kind::Literal(LiteralValue::Int(value.into())))
    }

    fn list(&mut self, elements: Vec<Expr>) -> Expr {
        self.make(Kind::List { elements, optional: Vec::new() })
    }

    fn call(&mut self, name: &str, args: Vec<Expr>) -> Expr {
        self.make(Kind::Call { name: name.to_owned(), target: None, args })
    }

    fn member(&mut self, name: &str, target: Expr, args: Vec<Expr>) -> Expr {
        self.make(Kind::Call { name: name.to_owned(), target: Some(Box::new(target)), args })
    }

    fn fault(&mut self, at: usize, text: &str) {
        self.builder.faults.push((at, text.to_owned()));
    }

    /// The name of a loop variable.
    fn variable(&mut self, arg: Option<Expr>, otherwise: &str) -> (String, usize) {
        match arg {
            Some(Expr { kind: Kind::Ident(name), at, .. }) => {
                if name == ACCUMULATOR || name == "__result__" {
                    self.fault(at, "iteration variable overwrites accumulator variable");
                }
                (name, at)
            }
            Some(Expr { at, .. }) => {
                self.fault(at, otherwise);
                (String::new(), at)
            }
            None => (String::new(), self.at),
        }
    }

    /// Loops over lists and maps, with one variable or two.
    fn over(&mut self, name: &str, range: Expr, args: Vec<Expr>, two: bool) -> Expr {
        let mut args = args.into_iter();
        let needed = if two || !matches!(name, "map" | "filter") {
            "argument must be a simple name"
        } else {
            "argument is not an identifier"
        };
        let first = args.next();
        let shown = first.clone();
        let (var, _) = self.variable(first, needed);
        let var2 = two.then(|| {
            let (var2, at) = self.variable(args.next(), needed);
            if var2 == var && !var.is_empty() {
                self.fault(at, &format!("duplicate variable name: {var}"));
            }
            var2
        });
        let mut rest: Vec<Expr> = args.collect();
        let last = rest.pop().unwrap_or_else(|| self.make(Kind::Unspecified));
        let filter = rest.pop();
        let (init, condition, step, result) = match name {
            "all" | "exists" | "exists_one" | "existsOne" => self.quantifier(name, last),
            "filter" => {
                let element = shown.unwrap_or_else(|| self.ident(&var));
                self.gather(Some(last), element)
            }
            "map" | "transformList" => self.gather(filter, last),
            _ => {
                let init = self.make(Kind::Map(Vec::new()));
                let condition = self.bool(true);
                let mut args = vec![self.accu()];
                if name == "transformMap" {
                    args.push(self.ident(&var));
                }
                args.push(last);
                let step = self.call("cel.@mapInsert", args);
                let step = self.filtered(filter, step);
                (init, condition, step, self.accu())
            }
        };
        let accu = ACCUMULATOR.to_owned();
        self.make(Kind::Loop(Box::new(Loop { range, var, var2, accu, init, condition, step, result })))
    }

    fn quantifier(&mut self, name: &str, predicate: Expr) -> (Expr, Expr, Expr, Expr) {
        match name {
            "all" => {
                let init = self.bool(true);
                let accu = self.accu();
                let condition = self.call("@not_strictly_false", vec![accu]);
                let accu = self.accu();
                let step = self.call("_&&_", vec![accu, predicate]);
                (init, condition, step, self.accu())
            }
            "exists" => {
                let init = self.bool(false);
                let accu = self.accu();
                let not = self.call("!_", vec![accu]);
                let condition = self.call("@not_strictly_false", vec![not]);
                let accu = self.accu();
                let step = self.call("_||_", vec![accu, predicate]);
                (init, condition, step, self.accu())
            }
            _ => {
                let init = self.int(0);
                let condition = self.bool(true);
                let (accu, one) = (self.accu(), self.int(1));
                let more = self.call("_+_", vec![accu, one]);
                let accu = self.accu();
                let step = self.call("_?_:_", vec![predicate, more, accu]);
                let (accu, one) = (self.accu(), self.int(1));
                (init, condition, step, self.call("_==_", vec![accu, one]))
            }
        }
    }

    /// A list of the results of all iterations.
    fn gather(&mut self, filter: Option<Expr>, element: Expr) -> (Expr, Expr, Expr, Expr) {
        let init = self.list(Vec::new());
        let condition = self.bool(true);
        let accu = self.accu();
        let added = self.list(vec![element]);
        let step = self.call("_+_", vec![accu, added]);
        let step = self.filtered(filter, step);
        (init, condition, step, self.accu())
    }

    fn filtered(&mut self, filter: Option<Expr>, step: Expr) -> Expr {
        match filter {
            Some(filter) => {
                let accu = self.accu();
                self.call("_?_:_", vec![filter, step, accu])
            }
            None => step,
        }
    }

    /// A loop without iterations, which binds a value to a name.
    fn bind(&mut self, var: &str, value: Expr, result: Expr) -> Expr {
        let range = self.list(Vec::new());
        let condition = self.bool(false);
        let step = self.ident(var);
        let (unused, accu) = ("#unused".to_owned(), var.to_owned());
        let l = Loop { range, var: unused, var2: None, accu, init: value, condition, step, result };
        self.make(Kind::Loop(Box::new(l)))
    }

    fn optional(&mut self, name: &str, target: Expr, args: Vec<Expr>) -> Expr {
        let mut args = args.into_iter();
        let (var, _) = self.variable(args.next(), &format!("{name}() variable name must be a simple identifier"));
        let body = args.next().unwrap_or_else(|| self.make(Kind::Unspecified));
        let copy = self.builder.copy(&target);
        let has = self.member("hasValue", target, Vec::new());
        let value = self.member("value", copy, Vec::new());
        let mut mapped = self.bind(&var, value, body);
        if name == "optMap" {
            mapped = self.call("optional.of", vec![mapped]);
        }
        let none = self.call("optional.none", Vec::new());
        self.call("_?_:_", vec![has, mapped, none])
    }

    fn sort_by(&mut self, target: Expr, args: Vec<Expr>) -> Expr {
        let input = "@__sortBy_input__";
        let listed = self.ident(input);
        let keys = self.over("map", listed, args, false);
        let listed = self.ident(input);
        let sorted = self.member("@sortByAssociatedKeys", listed, vec![keys]);
        self.bind(input, target, sorted)
    }
}
