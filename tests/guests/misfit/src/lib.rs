//! A guest that misbehaves in the way it is told to: the tool of the host's fault tests.
//!
//! The mode is the annotation `misfit/mode` of the object (a ConfigMap with the label `misfit=true`), else what the manifest's
//! description says (`mode=trap`, or `mode=fragile:trap` for objects with the label `fragile`: a version that misbehaves), else
//! the key `mode` of the configuration, else `ok`. An argument follows a colon: `large:5000000`.
//!
//! A well-behaved misfit keeps a ConfigMap `<name>-child` with `data.seen` equal to the object's `data.value`. Every mode does
//! that but for what it says:
//!
//! | mode | what happens |
//! | --- | --- |
//! | `ok` | nothing is wrong |
//! | `farewell` | when the object is gone, a ConfigMap `<name>-farewell` without an owner gets its uid |
//! | `loop` | `get-desired` never returns |
//! | `loop-actual`, `loop-patch` | the same in `get-actual`, `patch` |
//! | `grow` | memory without bound, touched page by page |
//! | `deep-recursion` | recursion without end, on the engine's stack |
//! | `deep-stack` | the same on the guest's own stack, which ends in an access out of bounds |
//! | `trap` | the `unreachable` instruction, without a word |
//! | `panic` | a panic with the text `misfit panics as told` |
//! | `fails-again`, `traps-again` | get-actual fails or traps where the child exists: in the reconcile that makes it, after patch |
//! | `invalid-json` | the desired state is not JSON |
//! | `invalid-json-actual` | the actual state is not JSON |
//! | `huge` | the desired state is 100 MB (a string) |
//! | `large:N` | the desired state is a JSON string of N bytes |
//! | `deep-json:N` | the desired state is N arrays in each other |
//! | `log-flood:N` | N log lines (1 000 000 unless told) before it answers |
//! | `log-long` | one log line of 1 MiB |
//! | `ungranted-kind` | `cluster.get-object` of a Secret |
//! | `ungranted-live` | `cluster.get-live` of a Secret |
//! | `ungranted-list` | `cluster.list-objects` of Secrets |
//! | `ungranted-origin` | GET of `http://ungranted.invalid/` |
//! | `fetch` | GET of the configuration's `url`; the status code becomes `status.http` |
//! | `http` | GET of `/misfit` of the configuration's `url`; ends transient, with the status code or the failure |
//! | `http-flood:N` | N GETs of the configuration's `url` (10 000 unless told) |
//! | `apply-ungranted` | the patch applies a Secret |
//! | `delete-ungranted` | the patch deletes the Namespace `default` |
//! | `apply-elsewhere` | the patch applies a ConfigMap in the namespace `kube-system` |
//! | `apply-garbage` | the patch applies something that is not JSON |
//! | `apply-nameless` | the patch applies an object without a name |
//! | `changes:N` | the patch has N changes (100 000 unless told) |
//! | `garbage-status` | the status is `{"value": NaN}` |
//! | `status-not-object` | the status is a JSON array |
//! | `event-flood:N` | the patch has N different events (10 000 unless told) |
//! | `event-garbage` | an event with a reason of spaces and 1 MiB of text |
//! | `never-equal` | desired is a counter that grows with each call; the patch changes nothing |
//! | `never-settles:N` | the child's data is such a counter: every Nth reconcile (every one unless told) applies |
//! | `requeue:N` | in sync, and look again in N ms (100 unless told) |
//! | `transient` | `get-actual` fails with a transient error |
//! | `transient-after:N` | the same, with a delay of N ms |
//! | `terminal` | `get-actual` fails with a terminal error |
//! | `denied` | `get-actual` denies, as only admission may |
//! | `fails-first:N` | `get-actual` fails with a transient error in the first N tries of the object |
//! | `log-huge:N` | one log line of N bytes (12 000 000 unless told) |
//! | `cache-huge:N` | a cache key of N bytes (2 000 000 unless told); terminal if it is kept |
//! | `selector-huge:N` | `cluster.list-objects` with a label selector of N requirements (100 unless told) |
//! | `list-all` | `cluster.list-objects` of all ConfigMaps of the namespace |
//! | `live` | `get-actual` begins with `cluster.get-live` of the child |
//! | `indexed` | lists ConfigMaps by the index `by-tenant` and its value; the child shows their names |
//! | `program` | reads what its value, the seed of a random program, makes it read; the child shows the digest |
//! | `gadget` | reads the Gadget (`oarlock.test/v1`) that its value names; the child shows its `spec.size`, or `none` |
//! | `merge-huge:N` | strategic merges of documents of N bytes (1 000 000 unless told); ends terminal, and says whether they were right |
//! | `url-huge:N`, `method-huge:N` | a request with a URL, a method of N bytes (1 000 000 unless told); terminal with the failure |
//! | `headers-huge:N` | the same with N headers of 1000 bytes (1000 unless told) |
//! | `body-huge:N` | the same with a body of N bytes (2 000 000 unless told) |
//! | `flood` | 1000 log lines and 1000 GETs of the configuration's `url` before it answers |
//! | `reordered` | desired is always the same, in another order of members and other white space |
//! | `force` | the child is applied with force |
//! | `defaulted` | the child is a Service, to which the API server adds defaults |
//! | `staged:N` | one write in each reconcile: the child, then `<name>-extra`, then N times (once unless told) its label `stage` |
//! | `meddles` | merge-patches the labels `a` and then `b` of `<name>-patched`, and applies `data.x`, then `data.y`, to `<name>-applied` and `<name>-patched` |
//! | `remembers` | the child's data also has the first value the object ever had |
//! | `grudge` | `get-desired` fails with a terminal error for ever after the object had the value `two` |
//! | `writes` | instead of the child: up to two ConfigMaps, Gadgets and Racks (`plan.oarlock.test/v1`) with content, status and deletions that the value and the version decide |
//! | `cache-flood:N` | N cache entries of 64 KiB (1000 unless told) |
//!
//! The manifest is the text in a buffer of 8 KiB behind the marker `oarlock-misfit-manifest:`, padded with spaces. A test
//! writes another text there, in the component's bytes, to try out manifests no SDK would write. A text that begins with `!`
//! is an order for `describe` itself: `!loop`, `!trap`, `!panic`, `!grow`, `!huge`, `!read` (calls an import it must not).
//! What stands there as it is built is `manifest.json`.

// A native build only checks the types: there is no host to misbehave to.
#[cfg(target_arch = "wasm32")]
mod guest;
#[cfg(target_arch = "wasm32")]
mod manifest;
#[cfg(target_arch = "wasm32")]
mod meddling;
#[cfg(target_arch = "wasm32")]
mod misbehave;
#[cfg(target_arch = "wasm32")]
mod modes;
#[cfg(target_arch = "wasm32")]
mod program;
#[cfg(target_arch = "wasm32")]
mod reading;
#[cfg(target_arch = "wasm32")]
mod reconcile;
#[cfg(target_arch = "wasm32")]
mod writes;
