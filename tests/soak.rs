//! A long week: what a week does to two hosts that share their plugins, without its pauses. Afterwards they use no more than before.
//!
//! A simulated hour makes and deletes 6,000 objects that need nothing and 60 that need a finalizer, a status, children or a thing
//! outside; swaps plugins 60 times; removes a plugin and puts it back; cuts 60 watches; pauses a host so that the other one takes its Leases;
//! and replaces the certificate of the admission server and the token of each host. 168 of them are a week of a million objects, ten thousand swaps, ten thousand cut
//! watches and a thousand changes of the holders of Leases.

mod hour;
mod usage;
mod week;

pub use usage::{Limit, Usage};
pub use week::{Load, Options, Report, run};
