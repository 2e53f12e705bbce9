//! The three questions.

use crate::ledger::Ledger;
use crate::role::{Mode, Role, Shape, role};
use oarlock_guest::{Context, Manifest, Mapping, Observation, Outcome, Reconciler, Result, cluster, export, kind};
use serde::Deserialize;
use serde_json::{Value, json};

const API_VERSION: &str = "torture.oarlock.dev/v1";

#[derive(Default)]
struct Changeling;

export!(Changeling);

#[derive(Deserialize)]
struct Object {
    spec: Spec,
}

#[derive(Deserialize)]
struct Spec {
    value: String,
    #[serde(default)]
    settings: String,
}

impl Reconciler for Changeling {
    type Object = Object;
    type State = Value;

    fn manifest() -> Manifest {
        // What is no role becomes a manifest that the host refuses.
        let Ok(role) = role() else { return Manifest::new("", "") };
        let mut manifest = Manifest::new(&role.name, &role.version)
            .description("What its file says it is")
            .primary(kind(API_VERSION, &role.kind))
            .http_origin_from_config("ledger")
            .config_required("ledger", json!({"type": "string"}))
            .workers(4)
            .resync_seconds(3600);
        let config_map = kind("v1", "ConfigMap");
        manifest = match role.shape {
            Shape::Ledger => manifest,
            Shape::Settings => manifest.watch_with(
                config_map,
                Mapping::ReferencedBy { pointer: "/spec/settings".to_owned() },
                |watch| watch.label_selector = "torture=settings".to_owned(),
            ),
            Shape::Child => manifest
                .watch_with(config_map, Mapping::OwnerReference, |watch| {
                    watch.label_selector = "torture=child".to_owned();
                })
                .permission("", "configmaps", &["get", "list", "watch", "create", "patch"]),
        };
        if role.cleanup {
            manifest = manifest.cleanup();
        }
        if role.manage_status {
            manifest = manifest.manage_status();
        }
        manifest
    }

    fn desired(&self, cx: &Context<Object>) -> Result<Option<Value>> {
        let role = role()?;
        enter(&role, cx)?;
        let spec = &cx.object()?.spec;
        Ok(Some(match role.shape {
            Shape::Ledger => json!(spec.value),
            Shape::Settings => json!(format!("{}+{}", spec.value, settings(cx, &spec.settings)?)),
            Shape::Child => json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {
                    "name": cx.name(), "namespace": cx.namespace(), "labels": {"torture": "child"},
                    "ownerReferences": [cx.owner_reference()],
                },
                "data": {"value": spec.value},
            }),
        }))
    }

    fn actual(&self, cx: &Context<Object>) -> Result<Observation<Value>> {
        let role = role()?;
        if cx.deleting() {
            enter(&role, cx)?;
        }
        let ledger = Ledger::new(&role, cx)?;
        let (state, value) = match role.shape {
            Shape::Ledger | Shape::Settings => {
                let value = ledger.value()?;
                (value.clone().map(Value::String), value)
            }
            Shape::Child => {
                ledger.mark(false)?;
                let child: Option<Value> = match cx.deleting() {
                    // The garbage collector's.
                    true => None,
                    false => cluster::get_applied(&kind("v1", "ConfigMap"), cx.namespace(), cx.name())?,
                };
                let value = child.as_ref().and_then(|child| child.pointer("/data/value")).and_then(Value::as_str);
                (child.clone(), value.map(str::to_owned))
            }
        };
        let observation = Observation::of(state);
        Ok(match role.mode {
            Mode::BadAnswer => observation.status(json!(["no", "object"])),
            _ if role.manage_status => observation.status(json!({"value": value})),
            _ => observation,
        })
    }

    fn patch(&self, cx: &Context<Object>, desired: Option<Value>, actual: Option<Value>) -> Result<Outcome> {
        let role = role()?;
        let ledger = Ledger::new(&role, cx)?;
        if role.shape == Shape::Child {
            ledger.mark(false)?;
            return Ok(desired.into_iter().fold(Outcome::new(), Outcome::apply));
        }
        match (desired.as_ref().and_then(Value::as_str), actual) {
            (Some(value), None) => ledger.create(value)?,
            (Some(value), Some(_)) => ledger.update(value)?,
            (None, _) => ledger.delete()?,
        }
        Ok(Outcome::new())
    }
}

fn settings<T>(cx: &Context<T>, name: &str) -> Result<String> {
    let found: Option<Value> = cluster::get(&kind("v1", "ConfigMap"), cx.namespace(), name)?;
    let value = found.as_ref().and_then(|found| found.pointer("/data/value")).and_then(Value::as_str);
    Ok(value.unwrap_or("none").to_owned())
}

/// The first thing of every reconcile.
fn enter<T>(role: &Role, cx: &Context<T>) -> Result<()> {
    Ledger::new(role, cx)?.mark(role.mode == Mode::Slow)?;
    match role.mode {
        Mode::Trap => std::process::abort(),
        Mode::TrapSome if hash(cx.uid()).is_multiple_of(100) => std::process::abort(),
        Mode::Loop => spin(),
        _ => Ok(()),
    }
}

fn spin() -> ! {
    let mut turns = 0_u64;
    loop {
        turns = std::hint::black_box(turns.wrapping_add(1));
    }
}

/// FNV-1a.
fn hash(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
