//! Operation sequences against any plugin: random creates, edits, deletes and invalid objects, and what must hold of any of them.
//!
//! A plan is drawn from a seed and from what the objects may look like (a CustomResourceDefinition, or examples), and played
//! against a real host with the plugin. In the end the world must be as a fresh one in which only the last objects were ever
//! made: no oracle knows the plugin. [`Oracle`] lists what is checked.

mod harm;
mod kinds;
mod observe;
mod outside;
mod plan;
mod play;
mod run;
mod settle;
mod shipped;
mod shrink;
mod source;
mod subject;
mod verdict;

pub use harm::unharmed;
pub use oarlock_schema::draw::{Broken, Draw, break_one};
pub use outside::{Names, normalise};
pub use plan::{Operation, Plan, Step, plan};
pub use run::{Failure, Limits, Report, fuzz, play_once};
pub use shrink::shrink;
pub use source::{Expected, Source};
pub use subject::{Files, Subject};
pub use verdict::{Finding, Oracle, Seen, Verdict, compare};
