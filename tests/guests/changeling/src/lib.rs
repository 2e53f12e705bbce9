//! A guest that is another plugin, another version and of another mind each time somebody writes so into its file: thousands
//! of versions of many plugins cost no build. The tool of the tests that swap plugins while they run.
//!
//! What it is stands as JSON (`src/role.rs`) in a buffer of 1 KiB behind the marker `oarlock-changeling:`, padded with
//! spaces. A test writes another text there, in the component's bytes.
//!
//! It reconciles one kind of the group `torture.oarlock.dev`, in one of three shapes:
//!
//! | shape | desired | actual |
//! | --- | --- | --- |
//! | `ledger` | the object's `spec.value` | the value the ledger has for the object's uid |
//! | `settings` | the same, `+`, and `data.value` of the ConfigMap that `spec.settings` names | the same |
//! | `child` | a ConfigMap of the object's name, which it owns, with the value | that ConfigMap as it was applied |
//!
//! The ledger is an HTTP server of the test; the configuration's `ledger` is its address. Every call leaves a mark there, with
//! plugin, version and correlation id, so that two reconciles of one key at the same time are noticed.
//!
//! | mode | what happens |
//! | --- | --- |
//! | `ok` | nothing is wrong |
//! | `trap` | the first call traps |
//! | `trap-some` | the same for one object in a hundred, always the same ones |
//! | `loop` | the first call never returns |
//! | `bad-answer` | the status is not a JSON object |
//! | `slow` | the first call waits 300 ms for the ledger |
//!
//! The first call of a reconcile is `get-desired`, while deleting `get-actual`. It leaves its mark before anything goes wrong.

mod ledger;
mod reconcile;
mod role;
