//! Types of lists, maps, messages and loops.

use super::{Checker, undeclared};
use crate::cel::{
    tree::{Expr, Kind, Loop},
    types::{Type, most_general},
};

impl Checker<'_> {
    /// The type of an optional element or entry without the optional.
    fn unwrap(&mut self, expr: &Expr, ty: Type) -> Type {
        match ty.inside_optional() {
            Some(inner) => inner.clone(),
            None => {
                if ty != Type::Dyn {
                    self.fault(expr, format!("expected type 'optional_type({ty})' but found '{ty}'"));
                }
                ty
            }
        }
    }

    /// The type for elements of both types.
    fn join(&mut self, previous: Option<Type>, current: Type) -> Type {
        let Some(previous) = previous else { return current };
        if self.known.assignable(&previous, &current) {
            return most_general(previous, current);
        }
        // The check of literals decides whether that is allowed.
        Type::Dyn
    }

    pub(super) fn list(&mut self, expr: &mut Expr) {
        let Kind::List { elements, optional } = &mut expr.kind else { return };
        let mut joined = None;
        for (i, element) in elements.iter_mut().enumerate() {
            self.check(element);
            let mut ty = self.type_of(element);
            if optional.contains(&i) {
                ty = self.unwrap(element, ty);
            }
            joined = Some(self.join(joined, ty));
        }
        let element = joined.unwrap_or_else(|| self.new_parameter());
        self.set(expr, Type::list(element));
    }

    pub(super) fn map(&mut self, expr: &mut Expr) {
        let Kind::Map(entries) = &mut expr.kind else { return };
        let (mut keys, mut values) = (None, None);
        for entry in entries {
            self.check(&mut entry.key);
            let key = self.type_of(&entry.key);
            keys = Some(self.join(keys, key));
            self.check(&mut entry.value);
            let mut value = self.type_of(&entry.value);
            if entry.optional {
                value = self.unwrap(&entry.value, value);
            }
            values = Some(self.join(values, value));
        }
        let key = keys.unwrap_or_else(|| self.new_parameter());
        let value = values.unwrap_or_else(|| self.new_parameter());
        self.set(expr, Type::map(key, value));
    }

    pub(super) fn structure(&mut self, expr: &mut Expr) {
        let Kind::Struct { name, fields } = &mut expr.kind else { return };
        let found = self.lookup(name);
        let name = name.clone();
        for (_, value) in fields.iter_mut() {
            self.check(value);
        }
        let ty = match found {
            Some(Type::Meta(Some(ty))) if matches!(&*ty, Type::Struct(_) | Type::Timestamp | Type::Duration) => {
                (*ty).clone()
            }
            Some(_) => {
                self.fault(expr, format!("'{name}' is not a message type"));
                Type::Error
            }
            None => {
                self.fault(expr, undeclared(&name));
                Type::Error
            }
        };
        self.set(expr, ty);
    }

    pub(super) fn comprehension(&mut self, expr: &mut Expr) {
        let Kind::Loop(l) = &mut expr.kind else { return };
        let Loop { range, var, var2, accu, init, condition, step, result } = &mut **l;
        self.check(range);
        self.check(init);
        let over = self.known.apply(&self.type_of(range), false);
        let accu_type = self.type_of(init);
        let depth = self.scopes.len();
        self.scopes.push((accu.clone(), accu_type.clone()));
        let (first, second) = match &over {
            Type::List(element) if var2.is_some() => (Type::Int, (**element).clone()),
            Type::List(element) => ((**element).clone(), Type::Error),
            Type::Map(entry) => (entry.0.clone(), entry.1.clone()),
            Type::Dyn | Type::Error | Type::Param(_) => {
                self.known.assignable(&Type::Dyn, &over);
                (Type::Dyn, Type::Dyn)
            }
            other => {
                let text = format!(
                    "expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"
                );
                self.fault(range, text);
                (Type::Error, Type::Error)
            }
        };
        self.scopes.push((var.clone(), first));
        self.scopes.extend(var2.iter().map(|name| (name.clone(), second.clone())));
        self.check(condition);
        self.assert(condition, &Type::Bool);
        self.check(step);
        self.assert(step, &accu_type);
        self.scopes.truncate(depth + 1);
        self.check(result);
        self.scopes.truncate(depth);
        let ty = self.known.apply(&self.type_of(result), false);
        self.set(expr, ty);
    }

    fn assert(&mut self, expr: &Expr, wanted: &Type) {
        let found = self.type_of(expr);
        if !self.known.assignable(wanted, &found) {
            self.fault(expr, format!("expected type '{wanted}' but found '{found}'"));
        }
    }
}
