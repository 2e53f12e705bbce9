//! Paths of values from the root of an object: field names, and `@items`, `@values`, `@keys`, `@indices`.

use std::{cell::RefCell, rc::Rc};

/// A path. Paths that extend another one may share its memory, like Go's slices: extending the same path twice then changes the path that
/// was created first.
#[derive(Clone, Debug, Default)]
pub(super) struct Path {
    /// As long as its capacity in Go.
    names: Rc<RefCell<Vec<String>>>,
    length: usize,
}

impl Path {
    pub(super) fn of(name: &str) -> Self {
        Self { names: Rc::new(RefCell::new(vec![name.to_owned()])), length: 1 }
    }

    pub(super) fn append(&self, name: &str) -> Self {
        let room = self.names.borrow().len();
        if let Some(place) = self.names.borrow_mut().get_mut(self.length) {
            name.clone_into(place);
            return Self { names: Rc::clone(&self.names), length: self.length + 1 };
        }
        let mut names = self.names();
        names.push(name.to_owned());
        names.resize((room * 2).max(1), String::new());
        Self { names: Rc::new(RefCell::new(names)), length: self.length + 1 }
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.names.borrow().iter().take(self.length).cloned().collect()
    }

    pub(super) fn first(&self) -> Option<String> {
        if self.length == 0 { None } else { self.names.borrow().first().cloned() }
    }

    /// The same path for the elements of a list, in memory of its own.
    pub(super) fn items(&self) -> Self {
        if self.length == 0 {
            return Self::default();
        }
        let mut names = self.names();
        names.push("@items".to_owned());
        Self { length: names.len(), names: Rc::new(RefCell::new(names)) }
    }
}
