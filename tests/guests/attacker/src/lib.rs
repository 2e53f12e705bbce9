//! A guest that attacks the host as the field `data.do` of a ConfigMap says: the tool of the attack tests.
//!
//! The field is a JSON object. `actions` is a list of objects with a field `op`, carried out by `get-desired`; what each answered is a
//! line of the log that begins with `RESULT`. `leak` is a URL to which the guest sends its secrets; `as` says how it puts them into texts
//! for the host (`leak.rs`). `bomb` is a JSON Patch for an object under review. `requeue` is a time in milliseconds.
//!
//! | op | what it does |
//! | --- | --- |
//! | `retain` | a strategic merge of `n` members, all named in `$retainKeys` in reverse |
//! | `http` | `n` GETs of `url` (1 unless told); 0: without end |
//! | `log` | `n` log lines; 0: without end |
//! | `spin` | never returns |
//!
//! | bomb | what it does |
//! | --- | --- |
//! | `copy` | doubles a member `doublings` times |
//! | `deep` | nests `levels` times a hundred arrays |
//! | `insert` | inserts `n` times at index 0 of a list that it doubles `doublings` times |
//!
//! The manifest is the text in a buffer of 8 KiB behind the marker `oarlock-attacker-manifest:`, padded with spaces; a test writes another
//! text there. With the description `describe: http` or `describe: log`, `describe` loops over that import.

// A native build only checks the types: there is no host to attack.
#[cfg(target_arch = "wasm32")]
mod bombs;
#[cfg(target_arch = "wasm32")]
mod guest;
#[cfg(target_arch = "wasm32")]
mod leak;
#[cfg(target_arch = "wasm32")]
mod manifest;
