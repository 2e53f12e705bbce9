//! The rules of this repository's definitions, checked against the oldest supported Kubernetes.

use std::path::PathBuf;

use serde_json::Value;

use super::*;
use crate::node::{Additional, Node};

/// All rules and message expressions of a schema, checked.
fn rules(node: &Node, is_root: bool, found: &mut Vec<(String, Checked)>) {
    let declared = if node.rules.is_empty() { None } else { Decl::of(node, is_root) };
    for rule in &node.rules {
        for key in ["rule", "messageExpression"] {
            let Some(source) = rule.get(key).and_then(Value::as_str) else { continue };
            found.push((source.to_owned(), check(source, declared.as_ref().unwrap(), false).unwrap()));
        }
    }
    let additional = node.additional.iter().filter_map(|additional| match additional {
        Additional::Schema(values) => Some(&**values),
        Additional::Any(_) => None,
    });
    for child in node.properties.values().chain(node.items.as_deref()).chain(additional) {
        rules(child, false, found);
    }
}

fn every<'e>(expr: &'e Expr, found: &mut Vec<&'e Expr>) {
    found.push(expr);
    for child in expr.children() {
        every(child, found);
    }
}

#[test]
fn rules_of_the_network_need_nothing_that_kubernetes_1_31_lacks() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../plugins/network/crd-v2.yaml");
    let crd: Value = serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut found = Vec::new();
    for version in crd["spec"]["versions"].as_array().unwrap() {
        rules(&Node::parse(&version["schema"]["openAPIV3Schema"]), true, &mut found);
    }
    assert!(found.len() >= 20, "only {} expressions are looked at", found.len());
    let younger: Vec<&str> = include_str!("../functions.tsv")
        .lines()
        .filter_map(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            (cells.len() > 5).then(|| cells[2])
        })
        .collect();
    assert!(younger.contains(&"format-validate") && younger.contains(&"list_distinct"), "{younger:?}");
    for (source, checked) in &found {
        let mut all = Vec::new();
        every(&checked.root, &mut all);
        for expr in all {
            let overloads = &checked.overloads[expr.id];
            let young: Vec<_> = overloads.iter().filter(|overload| younger.contains(overload)).collect();
            assert!(young.is_empty(), "{source}: {young:?}");
            // Until 1.32, the cost of equality for these types was estimated as for strings without a limit.
            if overloads.iter().any(|overload| matches!(*overload, "equals" | "not_equals")) {
                let compared: Vec<_> = expr.children().into_iter().filter_map(|e| checked.type_of(e)).collect();
                let library = compared.iter().any(|ty| matches!(ty, Type::Opaque(..) | Type::Struct(_)));
                assert!(!library, "{source}: compares {compared:?}");
            }
        }
    }
}
