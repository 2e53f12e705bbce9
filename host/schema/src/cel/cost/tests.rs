//! Cost estimates compared with those of a real server.

use std::{collections::BTreeMap, path::PathBuf};

use serde_json::{Value, json};

use crate::{
    cel::{Decl, check, estimate},
    node::Node,
};

/// Costs and cardinalities by definition and path.
type Costs = BTreeMap<(String, String), (u64, u64)>;

/// The costs of the corpus' definitions.
fn corpus() -> Costs {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance/cases/cel");
    let mut costs = Costs::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let scenario: Value = serde_json::from_str(&text).unwrap();
        for step in scenario["steps"].as_array().unwrap() {
            let spec = &step["body"]["spec"];
            let name = spec["names"]["singular"].as_str().unwrap();
            price(name, &spec["versions"][0]["schema"]["openAPIV3Schema"], "", true, &mut costs);
        }
    }
    costs
}

fn price(name: &str, schema: &Value, at: &str, is_root: bool, costs: &mut Costs) {
    let node = Node::parse(schema);
    let declared = if node.rules.is_empty() { None } else { Decl::of(&node, is_root) };
    if let Some(decl) = declared {
        for (i, rule) in node.rules.iter().enumerate() {
            let optional = rule["optionalOldSelf"] == true;
            let count = decl.most_in_a_request();
            let checked = check(rule["rule"].as_str().unwrap(), &decl, optional);
            let Some(checked) = checked.ok().filter(|c| c.is_bool() && c.conversion_fault().is_none()) else {
                continue;
            };
            costs.insert((name.to_owned(), format!("{at}[{i}]")), (estimate(&checked, &decl), count));
            let message = rule["messageExpression"].as_str().unwrap_or_default();
            if let Some(checked) = check(message, &decl, optional).ok().filter(|c| c.is_string()) {
                costs.insert((name.to_owned(), format!("{at}[{i}]m")), (estimate(&checked, &decl), count));
            }
        }
    }
    for (field, child) in schema["properties"].as_object().into_iter().flatten() {
        price(name, child, &format!("{at}.{field}"), false, costs);
    }
    if schema["items"].is_object() {
        price(name, &schema["items"], &format!("{at}[]"), false, costs);
    }
    if schema["additionalProperties"].is_object() {
        price(name, &schema["additionalProperties"], &format!("{at}{{}}"), false, costs);
    }
}

#[test]
fn estimates_are_those_of_a_server_to_the_unit() {
    let mut expected = Costs::new();
    for line in include_str!("expected.tsv").lines().filter(|line| !line.starts_with('#')) {
        let [name, at, cost, count] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        expected.insert((name.to_owned(), at.to_owned()), (cost.parse().unwrap(), count.parse().unwrap()));
    }
    assert!(expected.len() > 400, "only {} estimates are compared", expected.len());
    let mut found = corpus();
    // Of these definitions only that the server takes them is recorded, not their costs.
    found.retain(|(name, _), _| !["trafficroute", "plugin"].contains(&name.as_str()));
    for (place, costs) in &expected {
        assert_eq!(found.get(place), Some(costs), "{place:?}");
    }
    assert_eq!(found.len(), expected.len());
}

#[test]
fn sizes_in_a_schema_make_rules_cheap() {
    let cost = |items: &Value, most: u64| {
        let node = Node::parse(
            &json!({"type": "object", "properties": {"l": {"type": "array", "items": items, "maxItems": most}}}),
        );
        let decl = Decl::of(&node, false).unwrap();
        estimate(&check("self.l.all(x, x.contains('abc'))", &decl, false).unwrap(), &decl)
    };
    assert_eq!(cost(&json!({"type": "string", "maxLength": 10}), 5), 3 + 5 * 8);
    assert_eq!(cost(&json!({"type": "string", "maxLength": 10}), 50), 3 + 50 * 8);
    assert_eq!(cost(&json!({"type": "string"}), 5), 3 + 5 * (4 + 314_573));
}
