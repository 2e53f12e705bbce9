//! Type checks of CEL, as far as a schema tells types: unknown names, unknown fields, operators on unlike types.
//!
//! What cannot be told counts as fitting, so that nothing is refused which a real server accepts.

use kube_cel::cel::{
    IdedExpr,
    common::ast::{ComprehensionExpr, Expr, LiteralValue},
};

use crate::{
    cel::value::escape,
    node::{Additional, Node},
};

/// Functions of CEL and of Kubernetes' libraries.
const FUNCTIONS: &str = " size contains startsWith endsWith matches int uint double string bytes bool dyn type duration \
    timestamp getFullYear getMonth getDayOfYear getDayOfMonth getDate getDayOfWeek getHours getMinutes getSeconds \
    getMilliseconds hasValue value or orValue none of ofNonZeroValue optMap optFlatMap isSorted sum min max indexOf \
    lastIndexOf find findAll url isURL getScheme getHost getHostname getPort getEscapedPath getQuery quantity isQuantity \
    sign isInteger asInteger asApproximateFloat add sub isGreaterThan isLessThan compareTo ip isIP isCanonical family \
    isUnspecified isLoopback isLinkLocalMulticast isLinkLocalUnicast isGlobalUnicast cidr isCIDR containsIP containsCIDR \
    masked prefixLength charAt join lowerAscii upperAscii replace split substring trim reverse format quote \
    equivalent intersects validate dns1123Label dns1123Subdomain dns1035Label qualifiedName dns1123LabelPrefix \
    dns1123SubdomainPrefix dns1035LabelPrefix labelValue uri uuid byte date datetime named semver isSemver major minor \
    patch flatten slice sort sortBy distinct range first last map filter all exists exists_one existsOne \
    transformList transformMap bind block greatest least ceil floor round trunc abs isNaN isInf isFinite bitAnd bitOr \
    bitXor bitNot bitShiftLeft bitShiftRight sqrt encode decode escapeKey authorizer group resource subresource \
    namespace name check allowed reason errored error serviceAccount path get ";
/// Names that are not variables: types and the namespaces of functions.
const NAMES: &str = " optional math sets base64 ip format semver quantity url lists strings cel jsonpatch int uint \
    double bool string bytes list map type null_type google net kubernetes dyn ";

/// What is known of a value.
#[derive(Clone, Debug)]
enum Type<'a> {
    Any,
    Int,
    Uint,
    Double,
    Bool,
    Text,
    Bytes,
    Time,
    Duration,
    Null,
    /// An object with declared fields; the root and embedded objects have type and metadata besides.
    Object(&'a Node, bool),
    List(Box<Self>),
    Map(Box<Self>),
}

impl<'a> Type<'a> {
    fn of(node: &'a Node, is_resource: bool) -> Self {
        let [only] = node.types.as_slice() else { return Self::Any };
        // A null may stand for any of these.
        if node.nullable {
            return Self::Any;
        }
        match (only.as_str(), node.format.as_str()) {
            ("string", "date-time" | "date") => Self::Time,
            ("string", "duration") => Self::Duration,
            ("string", "byte") => Self::Bytes,
            ("string", _) => Self::Text,
            ("integer", _) => Self::Int,
            ("number", _) => Self::Double,
            ("boolean", _) => Self::Bool,
            ("array", _) => Self::List(Box::new(node.items.as_deref().map_or(Self::Any, |n| Self::of(n, false)))),
            ("object", _) => match &node.additional {
                Some(Additional::Schema(values)) => Self::Map(Box::new(Self::of(values, false))),
                Some(Additional::Any(_)) => Self::Map(Box::new(Self::Any)),
                None if node.properties.is_empty() && !is_resource => Self::Any,
                None => Self::Object(node, is_resource || node.embedded),
            },
            _ => Self::Any,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Any => "dyn",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::Bool => "bool",
            Self::Text => "string",
            Self::Bytes => "bytes",
            Self::Time => "timestamp",
            Self::Duration => "duration",
            Self::Null => "null_type",
            Self::Object(..) => "object",
            Self::List(_) => "list",
            Self::Map(_) => "map",
        }
    }

    /// Whether it is a type that a server names in the same way.
    fn is_plain(&self) -> bool {
        matches!(
            self,
            Self::Int | Self::Uint | Self::Double | Self::Bool | Self::Text | Self::Bytes | Self::Time | Self::Duration
        )
    }
}

/// Checks a rule, which must yield a bool.
pub(super) fn check_rule(
    program: &IdedExpr,
    source: &str,
    node: &Node,
    is_root: bool,
    optional_old: bool,
) -> Result<(), String> {
    let (ty, faults) = infer(program, source, node, is_root, optional_old);
    if !faults.is_empty() {
        return Err(format!("compilation failed: {}", faults.join("\n")));
    }
    if matches!(ty, Type::Any | Type::Bool) { Ok(()) } else { Err("cel expression must evaluate to a bool".to_owned()) }
}

/// Checks a `messageExpression`, which must yield a string.
pub(super) fn check_message(
    program: &IdedExpr,
    source: &str,
    node: &Node,
    is_root: bool,
    optional_old: bool,
) -> Result<(), String> {
    let (ty, faults) = infer(program, source, node, is_root, optional_old);
    if !faults.is_empty() {
        return Err(format!("messageExpression compilation failed: {}", faults.join("\n")));
    }
    match ty {
        Type::Any | Type::Text => Ok(()),
        _ => Err("messageExpression must evaluate to a string".to_owned()),
    }
}

fn infer<'a>(
    program: &IdedExpr,
    source: &str,
    node: &'a Node,
    is_root: bool,
    optional_old: bool,
) -> (Type<'a>, Vec<String>) {
    let own = Type::of(node, is_root);
    let old = if optional_old { Type::Any } else { own.clone() };
    let variables = vec![("self".to_owned(), own), ("oldSelf".to_owned(), old)];
    let mut checker = Checker { source, variables, faults: Vec::new() };
    let ty = checker.expression(program);
    (ty, checker.faults)
}

struct Checker<'s, 'a> {
    source: &'s str,
    variables: Vec<(String, Type<'a>)>,
    faults: Vec<String>,
}

impl<'a> Checker<'_, 'a> {
    /// Reports a fault at the first place where `what` stands in the source.
    fn fault(&mut self, what: &str, text: &str) {
        let at = self.source.find(what).unwrap_or(0);
        let before = self.source.split_at(at).0;
        let line = before.matches('\n').count();
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count();
        let shown = self.source.lines().nth(line).unwrap_or_default();
        let fault =
            format!("ERROR: <input>:{}:{}: {text}\n | {shown}\n | {}^", line + 1, column + 1, ".".repeat(column));
        if !self.faults.contains(&fault) {
            self.faults.push(fault);
        }
    }

    fn expression(&mut self, expression: &IdedExpr) -> Type<'a> {
        match &expression.expr {
            Expr::Unspecified => Type::Any,
            Expr::Literal(literal) => match literal {
                LiteralValue::Boolean(_) => Type::Bool,
                LiteralValue::Bytes(_) => Type::Bytes,
                LiteralValue::Double(_) => Type::Double,
                LiteralValue::Int(_) => Type::Int,
                LiteralValue::Null => Type::Null,
                LiteralValue::String(_) => Type::Text,
                LiteralValue::UInt(_) => Type::Uint,
            },
            Expr::Ident(name) => self.variable(name),
            Expr::Select(select) => {
                let operand = match &select.operand.expr {
                    // `math.pi`, `type.name`: not a variable.
                    Expr::Ident(name) if self.lookup(name).is_none() && is_name(name) => Type::Any,
                    _ => self.expression(&select.operand),
                };
                let ty = self.field(&operand, &select.field);
                if select.test { Type::Bool } else { ty }
            }
            Expr::Call(call) => {
                let target = call.target.as_deref().map(|target| match &target.expr {
                    Expr::Ident(name) if self.lookup(name).is_none() && is_name(name) => Type::Any,
                    _ => self.expression(target),
                });
                let args: Vec<Type<'a>> = call.args.iter().map(|arg| self.expression(arg)).collect();
                self.call(&call.func_name, target.as_ref(), &args)
            }
            Expr::List(list) => {
                let types: Vec<Type<'a>> = list.elements.iter().map(|e| self.expression(e)).collect();
                let first = types.first().filter(|_| list.optional_indices.is_empty()).cloned();
                let alike = first.filter(|f| f.is_plain() && types.iter().all(|t| t.name() == f.name()));
                Type::List(Box::new(alike.unwrap_or(Type::Any)))
            }
            Expr::Map(map) => {
                for entry in &map.entries {
                    if let kube_cel::cel::common::ast::EntryExpr::MapEntry(entry) = &entry.expr {
                        self.expression(&entry.key);
                        self.expression(&entry.value);
                    }
                }
                Type::Map(Box::new(Type::Any))
            }
            Expr::Struct(_) => Type::Any,
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
        }
    }

    fn lookup(&self, name: &str) -> Option<Type<'a>> {
        self.variables.iter().rev().find(|(n, _)| n == name).map(|(_, ty)| ty.clone())
    }

    fn variable(&mut self, name: &str) -> Type<'a> {
        if let Some(ty) = self.lookup(name) {
            return ty;
        }
        // Names with @ are those of macros.
        if !name.starts_with('@') && !is_name(name) {
            self.fault(name, &format!("undeclared reference to '{name}' (in container '')"));
        }
        Type::Any
    }

    fn field(&mut self, operand: &Type<'a>, field: &str) -> Type<'a> {
        match operand {
            Type::Map(values) => (**values).clone(),
            Type::Object(node, is_resource) => {
                if let Some((_, child)) = node.properties.iter().find(|(name, _)| escape(name) == field) {
                    if *is_resource && field == "metadata" {
                        return Type::Any;
                    }
                    return Type::of(child, false);
                }
                match field {
                    "apiVersion" | "kind" if *is_resource => Type::Text,
                    "metadata" if *is_resource => Type::Any,
                    _ => {
                        self.fault(&format!(".{field}"), &format!("undefined field '{field}'"));
                        Type::Any
                    }
                }
            }
            ty if ty.is_plain() => {
                self.fault(&format!(".{field}"), &format!("type '{}' does not support field selection", ty.name()));
                Type::Any
            }
            _ => Type::Any,
        }
    }

    fn call(&mut self, name: &str, target: Option<&Type<'a>>, args: &[Type<'a>]) -> Type<'a> {
        let symbol = !name.starts_with(|c: char| c.is_ascii_alphabetic());
        if !symbol && !FUNCTIONS.contains(&format!(" {name} ")) {
            self.fault(name, &format!("undeclared reference to '{name}' (in container '')"));
            return Type::Any;
        }
        match (name, args) {
            ("_&&_" | "_||_", _) => {
                for arg in args.iter().filter(|a| a.is_plain() && !matches!(a, Type::Bool)) {
                    let sign = name.trim_matches('_');
                    self.fault(sign, &format!("expected type 'bool' but found '{}'", arg.name()));
                }
                Type::Bool
            }
            ("!_" | "@in" | "@not_strictly_false", _) => Type::Bool,
            ("_==_" | "_!=_", [a, b]) => {
                self.alike(name, a, b, false);
                Type::Bool
            }
            ("_<_" | "_<=_" | "_>_" | "_>=_", [a, b]) => {
                self.alike(name, a, b, true);
                Type::Bool
            }
            ("_+_" | "_-_" | "_*_" | "_/_" | "_%_", [a, b]) => self.arithmetic(name, a, b),
            ("_?_:_", [_, a, b]) if a.name() == b.name() => a.clone(),
            ("_[_]", [Type::List(element) | Type::Map(element), _]) => (**element).clone(),
            ("size" | "int" | "indexOf" | "lastIndexOf" | "prefixLength" | "family", _) => Type::Int,
            ("string" | "lowerAscii" | "upperAscii" | "replace" | "substring" | "trim" | "charAt" | "join", _) => {
                Type::Text
            }
            ("double", _) => Type::Double,
            ("timestamp", _) => Type::Time,
            ("duration", _) => Type::Duration,
            ("split", _) => Type::List(Box::new(Type::Text)),
            ("startsWith" | "endsWith" | "contains" | "matches", _) => {
                if let Some(ty) = target.filter(|ty| ty.is_plain() && !matches!(ty, Type::Text)) {
                    let args: Vec<&str> = args.iter().map(Type::name).collect();
                    let text = format!(
                        "found no matching overload for '{name}' applied to '{}.({})'",
                        ty.name(),
                        args.join(", ")
                    );
                    self.fault(&format!(".{name}"), &text);
                }
                Type::Any
            }
            ("isIP" | "isCIDR" | "containsIP" | "containsCIDR" | "hasValue" | "isURL" | "isQuantity", _) => Type::Bool,
            _ => Type::Any,
        }
    }

    fn overload(&mut self, name: &str, a: &Type<'a>, b: &Type<'a>) {
        let sign = name.trim_matches('_');
        let text = format!("found no matching overload for '{name}' applied to '({}, {})'", a.name(), b.name());
        self.fault(&format!(" {sign} "), &text);
    }

    /// Comparisons need two of a type; order is also defined between unlike numbers.
    fn alike(&mut self, name: &str, a: &Type<'a>, b: &Type<'a>, numbers_mix: bool) {
        let number = |t: &Type<'_>| matches!(t, Type::Int | Type::Uint | Type::Double);
        let mixed = numbers_mix && number(a) && number(b);
        if a.is_plain() && b.is_plain() && a.name() != b.name() && !mixed {
            self.overload(name, a, b);
        }
    }

    fn arithmetic(&mut self, name: &str, a: &Type<'a>, b: &Type<'a>) -> Type<'a> {
        let temporal = |t: &Type<'_>| matches!(t, Type::Time | Type::Duration);
        if !a.is_plain() || !b.is_plain() || temporal(a) || temporal(b) {
            return Type::Any;
        }
        let concatenation = matches!(a, Type::Text | Type::Bytes);
        if a.name() != b.name() || matches!(a, Type::Bool) || (concatenation && name != "_+_") {
            self.overload(name, a, b);
            return Type::Any;
        }
        a.clone()
    }

    fn comprehension(&mut self, comprehension: &ComprehensionExpr) -> Type<'a> {
        let range = self.expression(&comprehension.iter_range);
        let element = match &range {
            Type::List(element) => (**element).clone(),
            Type::Map(_) | Type::Object(..) if comprehension.iter_var2.is_none() => Type::Text,
            _ => Type::Any,
        };
        let result = self.expression(&comprehension.accu_init);
        let depth = self.variables.len();
        let element = if comprehension.iter_var2.is_some() { Type::Any } else { element };
        self.variables.push((comprehension.iter_var.clone(), element));
        self.variables.extend(comprehension.iter_var2.iter().map(|name| (name.clone(), Type::Any)));
        self.variables.push((comprehension.accu_var.clone(), Type::Any));
        for part in [&comprehension.loop_cond, &comprehension.loop_step, &comprehension.result] {
            self.expression(part);
        }
        self.variables.truncate(depth);
        // Of the macros, those that begin with a bool yield one.
        if matches!(result, Type::Bool) { Type::Bool } else { Type::Any }
    }
}

fn is_name(name: &str) -> bool {
    NAMES.contains(&format!(" {name} "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cel;

    fn check(rule: &str) -> Result<(), String> {
        let node = Node::parse(&json!({"type": "object", "properties": {
            "n": {"type": "integer"}, "d": {"type": "number"}, "s": {"type": "string"}, "b": {"type": "boolean"},
            "l": {"type": "array", "items": {"type": "object", "properties": {"k": {"type": "string"}}}},
            "m": {"type": "object", "additionalProperties": {"type": "string"}},
            "any": {"x-kubernetes-preserve-unknown-fields": true}, "p": {"x-kubernetes-int-or-string": true},
            "a-b": {"type": "string"}, "t": {"type": "string", "format": "date-time"}}}));
        check_rule(&cel::parse(rule).map_err(|e| e.to_string())?, rule, &node, false, false)
    }

    #[test]
    fn sound_rules_pass() {
        for rule in [
            "self.n > 1",
            "self.n < 1.5",
            "self.s == 'x' && has(self.n)",
            "self.l.all(x, x.k != '' && x.k.startsWith('a'))",
            "self.l.exists_one(x, x.k == 'a')",
            "self.l.filter(x, x.k == 'a').map(x, x.k).size() == 1",
            "self.m.all(k, k != 'x' && self.m[k] == 'y')",
            "self.any.whatever.deep == 1",
            "self.p == 1 || self.p == 'x'",
            "self.a__dash__b == 's'",
            "self.t > timestamp('2024-01-01T00:00:00Z')",
            "self.t + duration('1h') > self.t",
            "self == oldSelf",
            "self.n in [1, 2] && self.s in ['a']",
            "(self.b ? self.n : 2) > 1",
            "optional.of(1).hasValue() && math.greatest(1, self.n) > 0",
            "self.?s.orValue('') != ''",
            "sets.contains(self.m.map(k, k), ['a'])",
            "quantity('1').isGreaterThan(quantity('2'))",
            "cidr(self.s).containsIP(ip('10.0.0.1'))",
        ] {
            assert_eq!(check(rule), Ok(()), "{rule}");
        }
    }

    #[test]
    fn unsound_rules_are_refused() {
        for (rule, fault) in [
            ("self.x == 1", "undefined field 'x'\n | self.x == 1\n | ....^"),
            ("self.l.all(x, x.z == '')", "undefined field 'z'"),
            ("object.n == 1", "undeclared reference to 'object' (in container '')"),
            ("self.s.startWith('a')", "undeclared reference to 'startWith' (in container '')"),
            ("self.n == 'x'", "found no matching overload for '_==_' applied to '(int, string)'"),
            ("self.n == self.d", "found no matching overload for '_==_' applied to '(int, double)'"),
            ("self.n + 1.5 > 2.0", "found no matching overload for '_+_' applied to '(int, double)'"),
            ("self.n.startsWith('a')", "found no matching overload for 'startsWith' applied to 'int.(string)'"),
            ("self.s.size.x == 1", "type 'string' does not support field selection"),
            ("self.n", "cel expression must evaluate to a bool"),
            ("self.n +", "Syntax error"),
        ] {
            let found = check(rule).unwrap_err();
            assert!(found.contains(fault), "{rule}: {found}");
        }
    }
}
