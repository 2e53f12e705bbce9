//! Costs of the functions of Kubernetes' libraries.
//!
//! # Source
//!
//! apiserver `pkg/cel/library/cost.go`, `EstimateCallCost`.

use kube_cel::cel::common::ast::LiteralValue;

use super::{
    Coster, Operand, REGEX, TRAVERSAL,
    calls::Call,
    range::{Range, scale},
};
use crate::cel::{
    tree::{Expr, Kind},
    types::Type,
};

/// Characters of the longest regular expression of a named format.
const FORMAT_REGEX: f64 = 128.0;
/// Characters of the longest named format.
const FORMAT: u64 = 64;

impl Coster<'_> {
    pub(super) fn library(
        &self,
        name: &str,
        overload: &str,
        target: Option<&Operand<'_>>,
        args: &[Operand<'_>],
    ) -> Option<Call> {
        let one = Call::of(Range::exactly(1));
        let read = |operand: &Operand<'_>| Call::of(self.size_of(operand).scaled(TRAVERSAL));
        Some(match (name, target, args) {
            // Two checks are allowed in a rule.
            ("check", ..) => Call::of(Range::exactly(350_000)),
            ("fieldSelector" | "labelSelector", _, [selector]) => {
                let size = self.size_of(selector);
                Call::of(super::LIST.plus(size.scaled(TRAVERSAL)).plus(size.scaled(0.5).scaled(50.0)))
            }
            ("isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf", Some(target), _) => self.visit(target),
            ("url" | "jsonpatch.escapeKey", _, [text]) => Call::sized(read(text).cost, self.size_of(text)),
            ("lowerAscii" | "upperAscii" | "substring" | "trim", Some(text), _) => {
                Call::sized(read(text).cost, self.size_of(text))
            }
            ("replace", Some(text), [from, to, ..]) => {
                let text = self.size_of(text);
                let size = replaced(text, self.size_of(from), self.size_of(to));
                Call::sized(text.scaled(2.0 * TRAVERSAL), size)
            }
            ("split", Some(text), _) => {
                let size = self.size_of(text);
                let max = args.get(1).and_then(parts).unwrap_or(size.max);
                Call::sized(size.scaled(2.0 * TRAVERSAL), Range { min: 0, max })
            }
            ("join", Some(list), _) => self.join(list, args.first()),
            ("find" | "findAll", Some(text), [regex, ..]) => {
                let text = self.size_of(text);
                let read = text.plus(Range::exactly(1)).scaled(TRAVERSAL);
                let cost = read.times(self.size_of(regex).scaled(REGEX));
                Call::sized(cost, Range { min: 0, max: text.max })
            }
            ("ip", ..) if overload == "cidr_ip" => one,
            ("cidr" | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity" | "semver" | "isSemver", _, [text, ..]) => {
                read(text)
            }
            ("ip.isCanonical", _, [text, ..]) => Call::of(self.size_of(text).scaled(2.0 * TRAVERSAL)),
            ("containsIP" | "containsCIDR", _, [other, ..]) => self.contains(overload, other),
            ("validate", _, [text, ..]) => Call::of(read(text).cost.scaled(FORMAT_REGEX * REGEX)),
            ("_==_", _, [a, b]) => return equality(a, b),
            _ if is_cheap(name) => one,
            _ => return None,
        })
    }

    /// All elements of a list, or all characters of a text.
    fn visit(&self, target: &Operand<'_>) -> Call {
        let size = self.size_of(target);
        let Some(element) = element(target) else { return Call::of(size.scaled(TRAVERSAL)) };
        let mut each = Range::exactly(1);
        if matches!(element.ty, Some(Type::String | Type::Bytes)) {
            each = each.plus(self.size_of(&element).scaled(TRAVERSAL));
        }
        Call::of(size.times(each))
    }

    fn join(&self, list: &Operand<'_>, separator: Option<&Operand<'_>>) -> Call {
        let count = self.size_of(list);
        let mut size = element(list).map_or(Range::ZERO, |element| count.times(self.size_of(&element)));
        if let Some(separator) = separator {
            let between = Range { min: count.min.saturating_sub(1), max: count.max.saturating_sub(1) };
            size = size.plus(self.size_of(separator).times(between));
        }
        Call::sized(size.scaled(TRAVERSAL), size)
    }

    /// Compares addresses of 4 or 16 bytes, after reading one if it is given as text.
    fn contains(&self, overload: &str, other: &Operand<'_>) -> Call {
        let bytes = Range { min: 4, max: 16 };
        let mut cost = bytes.plus(bytes).scaled(TRAVERSAL);
        if overload.starts_with("cidr_contains_cidr") {
            cost = cost.plus(bytes.scaled(TRAVERSAL)).plus(Range::exactly(1));
        }
        if overload.ends_with("_string") {
            cost = cost.plus(self.size_of(other).scaled(TRAVERSAL));
        }
        Call::of(cost)
    }
}

/// An element of a list, at its path.
fn element<'a>(list: &Operand<'a>) -> Option<Operand<'a>> {
    let ty = list.ty?.first_parameter()?;
    Some(Operand { path: list.path.items(), ty: Some(ty), expr: None, size: None })
}

/// The limit of a split's parts, if it is a literal.
#[expect(clippy::cast_sign_loss, reason = "a server takes a negative number for a very large one, too")]
fn parts(limit: &Operand<'_>) -> Option<u64> {
    match limit.expr {
        Some(Expr { kind: Kind::Literal(LiteralValue::Int(i)), .. }) => Some(*i.inner() as u64),
        _ => None,
    }
}

/// The size of a string after replacing `from` with `to`.
fn replaced(text: Range, from: Range, to: Range) -> Range {
    // The most replacements, and the worst case of the remaining text.
    let (most, kept) = if from.min == 0 {
        (text.max.saturating_add(1), text.max)
    } else if to.max <= from.min {
        (0, text.max)
    } else {
        (quotient(text.max, from.min), 0)
    };
    let (least, kept_at_least) = if from.max == 0 {
        (text.min.saturating_add(1), text.min)
    } else if from.max <= to.min {
        (0, text.min)
    } else {
        (quotient(text.min, from.max), 0)
    };
    Range { min: least, max: most }.times(to).plus(Range { min: kept_at_least, max: kept })
}

#[expect(clippy::cast_precision_loss, reason = "a server computes with the same floats")]
fn quotient(a: u64, b: u64) -> u64 {
    scale(1, a as f64 / b as f64)
}

/// Values of libraries with constant-time comparison.
fn equality(a: &Operand<'_>, b: &Operand<'_>) -> Option<Call> {
    if a.ty? != b.ty? {
        return None;
    }
    let name = match a.ty? {
        Type::Opaque(name, _) | Type::Struct(name) => &**name,
        _ => return None,
    };
    let cost = match name {
        "kubernetes.NamedFormat" => Range { min: 1, max: FORMAT }.scaled(TRAVERSAL),
        "kubernetes.URL" => Range { min: 1, max: b.size.map_or(1, |size| size.max) }.scaled(TRAVERSAL),
        "net.IP" | "net.CIDR" | "kubernetes.Quantity" | "kubernetes.Semver" => Range::exactly(1),
        _ if name.starts_with("kubernetes.authorization.") => Range::exactly(1),
        _ => return None,
    };
    Some(Call::of(cost))
}

/// Functions that only read available values.
fn is_cheap(name: &str) -> bool {
    matches!(
        name,
        "serviceAccount"
            | "path"
            | "group"
            | "resource"
            | "subresource"
            | "namespace"
            | "name"
            | "allowed"
            | "reason"
            | "error"
            | "errored"
            | "masked"
            | "prefixLength"
            | "family"
            | "isUnspecified"
            | "isLoopback"
            | "isLinkLocalMulticast"
            | "isLinkLocalUnicast"
            | "isGlobalUnicast"
            | "format.named"
            | "sign"
            | "asInteger"
            | "isInteger"
            | "asApproximateFloat"
            | "isGreaterThan"
            | "isLessThan"
            | "compareTo"
            | "add"
            | "sub"
            | "major"
            | "minor"
            | "patch"
            | "getScheme"
            | "getHostname"
            | "getHost"
            | "getPort"
            | "getEscapedPath"
            | "getQuery"
    )
}
