//! WASI for plugins: clocks, random numbers, and standard streams whose output goes to the log.
//!
//! Language runtimes import a large part of WASI whether or not a program uses it. The other functions exist too, but end the call with a
//! message that names the function. There are no files, arguments or environment variables: looking for one fails as it does where none
//! exists.

use super::instance::State;
use super::tape::{Clock, Seen};
use std::borrow::Cow;
use std::time::Duration;
use tokio::time::Instant;
use wasmtime::StoreContextMut;
use wasmtime::component::types::{Component as Shape, ComponentInstance, ComponentItem};
use wasmtime::component::{ComponentType, Lift, Linker, LinkerInstance, Lower, Resource, ResourceType, Val};

/// Prefix of WASI imports.
pub(super) const PREFIX: &str = "wasi:";

/// Most random bytes of one call. Runtimes ask for a few, as seeds.
const MOST_RANDOM_BYTES: u64 = 64 << 10;

/// Most bytes of one write to a stream.
const WRITE_BYTES: u64 = 4 << 10;

/// A WASI resource, of which the host knows only its number.
pub(super) struct Thing;

/// Numbers of the streams.
const STDIN: u32 = 0;
const STDOUT: u32 = 1;
const STDERR: u32 = 2;

#[derive(Clone, Copy, ComponentType, Lift, Lower)]
#[component(record)]
struct Datetime {
    seconds: u64,
    nanoseconds: u32,
}

#[derive(ComponentType, Lift, Lower)]
#[component(variant)]
enum StreamError {
    #[component(name = "last-operation-failed")]
    LastOperationFailed(Resource<Thing>),
    #[component(name = "closed")]
    Closed,
}

type Written = (Result<(), StreamError>,);
type Context<'a> = StoreContextMut<'a, State>;

/// The linker for a component: the imports of the contract, and the WASI functions that this component imports.
///
/// # Errors
///
/// Out of memory.
pub(super) fn linker<'l>(
    engine: &wasmtime::Engine,
    contract: &'l Linker<State>,
    component: &Shape,
) -> wasmtime::Result<Cow<'l, Linker<State>>> {
    let mut linker = Cow::Borrowed(contract);
    for (name, import) in component.imports(engine) {
        if let (true, ComponentItem::ComponentInstance(interface)) = (name.starts_with(PREFIX), import.ty) {
            let mut instance = linker.to_mut().instance(name)?;
            offer(engine, &mut instance, name, &interface)?;
        }
    }
    Ok(linker)
}

fn offer(
    engine: &wasmtime::Engine,
    linker: &mut LinkerInstance<'_, State>,
    interface: &str,
    wanted: &ComponentInstance,
) -> wasmtime::Result<()> {
    let interface = interface.split_once('@').map_or(interface, |(name, _version)| name);
    for (name, item) in wanted.exports(engine) {
        match item.ty {
            ComponentItem::Resource(_) => linker.resource(name, ResourceType::host::<Thing>(), |_, _| Ok(()))?,
            ComponentItem::ComponentFunc(_) => match interface {
                "wasi:clocks/wall-clock" | "wasi:clocks/monotonic-clock" => clock(linker, interface, name)?,
                "wasi:random/random" | "wasi:random/insecure" | "wasi:random/insecure-seed" => {
                    random(linker, interface, name)?;
                }
                "wasi:io/streams" | "wasi:io/poll" => stream(linker, interface, name)?,
                _ => surroundings(linker, interface, name)?,
            },
            _ => {}
        }
    }
    Ok(())
}

fn clock(linker: &mut LinkerInstance<'_, State>, interface: &str, name: &str) -> wasmtime::Result<()> {
    match (interface, name) {
        ("wasi:clocks/wall-clock", "now") => linker.func_wrap(name, |mut store: Context<'_>, ()| {
            let now = || oarlock_simulation::now().duration_since(jiff::Timestamp::UNIX_EPOCH);
            let since = store.data_mut().tick(Clock::Wall, || now().try_into().unwrap_or_default());
            Ok((Datetime { seconds: since.as_secs(), nanoseconds: since.subsec_nanos() },))
        }),
        ("wasi:clocks/wall-clock", "resolution") => {
            linker.func_wrap(name, |_: Context<'_>, ()| Ok((Datetime { seconds: 0, nanoseconds: 1_000_000 },)))
        }
        ("wasi:clocks/monotonic-clock", "now") => {
            let began = Instant::now();
            linker.func_wrap(name, move |mut store: Context<'_>, ()| {
                let elapsed = store
                    .data_mut()
                    .tick(Clock::Monotonic, || oarlock_simulation::elapsed().unwrap_or_else(|| began.elapsed()));
                Ok((u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX),))
            })
        }
        ("wasi:clocks/monotonic-clock", "resolution") => {
            linker.func_wrap(name, |_: Context<'_>, ()| Ok((1_000_000_u64,)))
        }
        _ => refuse(linker, interface, name),
    }
}

fn random(linker: &mut LinkerInstance<'_, State>, interface: &str, name: &str) -> wasmtime::Result<()> {
    match name {
        "get-random-bytes" | "get-insecure-random-bytes" => {
            linker.func_wrap(name, |mut store: Context<'_>, (length,): (u64,)| {
                let state = store.data_mut();
                state.saw_outside = true;
                if length > MOST_RANDOM_BYTES {
                    wasmtime::bail!("it requested {length} random bytes at once; the limit is {MOST_RANDOM_BYTES}");
                }
                let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
                state.fill(&mut bytes)?;
                Ok((bytes,))
            })
        }
        "get-random-u64" | "get-insecure-random-u64" => linker.func_wrap(name, |mut store: Context<'_>, ()| {
            store.data_mut().saw_outside = true;
            Ok((store.data_mut().random_u64()?,))
        }),
        // By its definition a seed for the hash maps of runtimes, on which no result depends.
        "insecure-seed" => linker.func_wrap(name, |mut store: Context<'_>, ()| {
            let state = store.data_mut();
            Ok(((state.random_u64()?, state.random_u64()?),))
        }),
        _ => refuse(linker, interface, name),
    }
}

/// Standard output and standard error with their functions. There are no other streams, so no wait is needed.
fn stream(linker: &mut LinkerInstance<'_, State>, interface: &str, name: &str) -> wasmtime::Result<()> {
    match name {
        "[method]output-stream.check-write" => {
            linker.func_wrap(name, |_: Context<'_>, (_,): (Resource<Thing>,)| Ok((Ok::<_, StreamError>(WRITE_BYTES),)))
        }
        "[method]output-stream.write" | "[method]output-stream.blocking-write-and-flush" => linker.func_wrap(
            name,
            |mut store: Context<'_>, (stream, bytes): (Resource<Thing>, Vec<u8>)| -> wasmtime::Result<Written> {
                store.data_mut().print(stream.rep() == STDERR, &bytes);
                Ok((Ok(()),))
            },
        ),
        "[method]output-stream.flush" | "[method]output-stream.blocking-flush" => linker
            .func_wrap(name, |_: Context<'_>, (_,): (Resource<Thing>,)| -> wasmtime::Result<Written> { Ok((Ok(()),)) }),
        "[method]output-stream.subscribe" | "[method]input-stream.subscribe" => linker
            .func_wrap(name, |_: Context<'_>, (stream,): (Resource<Thing>,)| {
                Ok((Resource::<Thing>::new_own(stream.rep()),))
            }),
        "[method]input-stream.read" | "[method]input-stream.blocking-read" => linker
            .func_wrap(name, |_: Context<'_>, (_, _): (Resource<Thing>, u64)| {
                Ok((Err::<Vec<u8>, _>(StreamError::Closed),))
            }),
        "[method]pollable.ready" => linker.func_wrap(name, |_: Context<'_>, (_,): (Resource<Thing>,)| Ok((true,))),
        "[method]pollable.block" => linker.func_wrap(name, |_: Context<'_>, (_,): (Resource<Thing>,)| Ok(())),
        _ => refuse(linker, interface, name),
    }
}

/// The environment of a process: here only the streams.
fn surroundings(linker: &mut LinkerInstance<'_, State>, interface: &str, name: &str) -> wasmtime::Result<()> {
    let handle = |stream: u32| move |_: Context<'_>, ()| Ok((Resource::<Thing>::new_own(stream),));
    match (interface, name) {
        ("wasi:cli/stdin", "get-stdin") => linker.func_wrap(name, handle(STDIN)),
        ("wasi:cli/stdout", "get-stdout") => linker.func_wrap(name, handle(STDOUT)),
        ("wasi:cli/stderr", "get-stderr") => linker.func_wrap(name, handle(STDERR)),
        ("wasi:cli/terminal-stdin" | "wasi:cli/terminal-stdout" | "wasi:cli/terminal-stderr", _) => {
            linker.func_wrap(name, |_: Context<'_>, ()| Ok((None::<Resource<Thing>>,)))
        }
        // Runtimes ask for these when they start.
        ("wasi:cli/environment", "get-environment") => {
            linker.func_wrap(name, |_: Context<'_>, ()| Ok((Vec::<(String, String)>::new(),)))
        }
        ("wasi:cli/environment", "get-arguments") => {
            linker.func_wrap(name, |_: Context<'_>, ()| Ok((Vec::<String>::new(),)))
        }
        ("wasi:cli/environment", "initial-cwd") => linker.func_wrap(name, |_: Context<'_>, ()| Ok((None::<String>,))),
        ("wasi:filesystem/preopens", "get-directories") => {
            linker.func_wrap(name, |_: Context<'_>, ()| Ok((Vec::<(Resource<Thing>, String)>::new(),)))
        }
        _ => refuse(linker, interface, name),
    }
}

/// Defines a function that ends the call with a message: its name, and the alternative.
fn refuse(linker: &mut LinkerInstance<'_, State>, interface: &str, name: &str) -> wasmtime::Result<()> {
    let called = format!("{interface}#{name}");
    let instead = instead(interface);
    linker.func_new(name, move |_, _, arguments, _| {
        let shown: Vec<String> = arguments.iter().filter_map(shown).collect();
        wasmtime::bail!("it called {called}({}): {instead}", shown.join(", "))
    })
}

/// The alternative to a WASI interface.
fn instead(interface: &str) -> &'static str {
    match interface {
        "wasi:cli/exit" => "a plugin does not exit; it answers, or fails with an error",
        "wasi:clocks/monotonic-clock" => {
            "a plugin does not sleep; it answers with requeue-after, or with a transient error and a delay"
        }
        _ if interface.starts_with("wasi:filesystem/") => "a plugin has no files",
        _ if interface.starts_with("wasi:sockets/") || interface.starts_with("wasi:http/") => {
            "a plugin has no sockets; its requests go through the import http"
        }
        _ => "the host does not offer it",
    }
}

/// The text of an argument, if it is short.
fn shown(argument: &Val) -> Option<String> {
    match argument {
        Val::Bool(b) => Some(b.to_string()),
        Val::U8(n) => Some(n.to_string()),
        Val::U32(n) => Some(n.to_string()),
        Val::U64(n) => Some(n.to_string()),
        Val::Result(result) => Some(if result.is_ok() { "ok" } else { "error" }.to_owned()),
        _ => None,
    }
}

impl State {
    /// The value of a clock in whole milliseconds: the recorded one in a replay, else the present one. A finer clock would show a plugin
    /// the activity of its neighbours.
    fn tick(&mut self, clock: Clock, now: impl FnOnce() -> Duration) -> Duration {
        self.saw_outside = true;
        let replayed = self.run.replay.as_ref().and_then(|replay| replay.tick(self.phase, clock));
        let millis = replayed.unwrap_or_else(|| u64::try_from(now().as_millis()).unwrap_or(u64::MAX));
        if let Some(tape) = &self.run.tape {
            tape.tick(clock, millis);
        }
        Duration::from_millis(millis)
    }

    fn random_u64(&self) -> wasmtime::Result<u64> {
        let mut bytes = [0; 8];
        self.fill(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Fills with random numbers: the recorded ones in a replay, else new ones.
    fn fill(&self, bytes: &mut [u8]) -> wasmtime::Result<()> {
        if let Some(replayed) = self.run.replay.as_ref().and_then(|replay| replay.random(self.phase, bytes.len())) {
            for (to, from) in bytes.iter_mut().zip(replayed) {
                *to = from;
            }
            return Ok(());
        }
        if !oarlock_simulation::fill(&self.run.key, bytes) {
            let random = rustls::crypto::ring::default_provider().secure_random;
            random.fill(bytes).map_err(|_unspecified| wasmtime::format_err!("the system has no random numbers"))?;
        }
        if let Some(tape) = &self.run.tape {
            tape.push(Seen::Random(bytes.to_vec()));
        }
        Ok(())
    }
}
