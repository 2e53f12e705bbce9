//! CEL functions available to rules.

use std::{collections::HashMap, rc::Rc};

use super::types::Type;

/// One overload of a function.
#[derive(Debug)]
pub(super) struct Overload {
    /// The name in the cost estimate.
    pub(super) id: &'static str,
    /// Whether the overload has a target, which then is the first argument.
    pub(super) is_member: bool,
    pub(super) arguments: Vec<Type>,
    pub(super) result: Type,
    /// The names of type parameters.
    pub(super) parameters: Vec<Rc<str>>,
}

thread_local! {
    static TABLE: HashMap<&'static str, Rc<Vec<Overload>>> = read();
}

/// The overloads of a function, in the order of the lookup.
pub(super) fn overloads(name: &str) -> Option<Rc<Vec<Overload>>> {
    TABLE.with(|table| table.get(name).cloned())
}

fn read() -> HashMap<&'static str, Rc<Vec<Overload>>> {
    let mut table: HashMap<&'static str, Vec<Overload>> = HashMap::new();
    for line in include_str!("functions.tsv").lines().filter(|line| !line.starts_with('#')) {
        let mut cells = line.split('\t');
        let (Some(name), Some(kind), Some(id), Some(arguments), Some(result)) =
            (cells.next(), cells.next(), cells.next(), cells.next(), cells.next())
        else {
            continue;
        };
        let names = line.match_indices('<').filter_map(|(at, _)| line.get(at + 1..)?.split_once('>'));
        let mut parameters: Vec<Rc<str>> = names.map(|(name, _)| name.into()).collect();
        parameters.sort();
        parameters.dedup();
        table.entry(name).or_default().push(Overload {
            id,
            is_member: kind == "m",
            arguments: arguments.split(';').filter(|text| !text.is_empty()).map(Type::parse).collect(),
            result: Type::parse(result),
            parameters,
        });
    }
    table.into_iter().map(|(name, overloads)| (name, Rc::new(overloads))).collect()
}
