//! Plugins are swapped while they run, some for broken ones, under constant change, and the host is killed on the way: in the
//! end nothing may be lost, left over, double, or worked on twice at once.
//!
//! Four plugins, all of them the changeling guest with another role, keep 5,000 objects. A ledger of our own stands for the
//! world outside; it counts what must not happen. What should be is known, because the torturer made every change itself; what
//! is, is read from the API server and the ledger. There is no resync: a change that is missed stays missed.

mod churn;
mod guest;
mod host_log;
mod kinds;
mod ledger;
mod random;
mod replays;
mod report;
mod run;
mod swaps;
mod verdict;
mod vitals;

pub use guest::{Form, Mode, Role, Shape, forged};
pub use host_log::HostLog;
pub use kinds::Kind;
pub use ledger::{Books, Ledger, Thing, Touch};
pub use random::Random;
pub use report::Report;
pub use run::{Options, run};
pub use verdict::{Found, Known, Truth, Verdict};
