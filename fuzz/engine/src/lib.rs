//! Nothing: the dependency is what is built.
