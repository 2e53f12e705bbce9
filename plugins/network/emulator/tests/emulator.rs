//! The emulator over HTTP: the recorded exchanges, accounts and tokens, faults, the control endpoints.

#[path = "emulator/client.rs"]
mod client;
#[path = "emulator/faults.rs"]
mod faults;
#[path = "emulator/replay.rs"]
mod replay;
#[path = "emulator/tenancy.rs"]
mod tenancy;
