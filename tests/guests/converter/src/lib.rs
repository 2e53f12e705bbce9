//! Converts Gauges between v1 (one size), v2 (sizes) and v3 (sizes with a unit), and reconciles them in v2. An object whose name begins with
//! `trap-`, `loop-`, `refuse-`, `rename-`, `version-` or `huge-` makes it misbehave in that way.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a guest of the tests: a panic is a trap, which the host survives"
)]

use oarlock_guest::{
    Context, Converter, Manifest, Observation, Outcome, Reconciler, Result, export, export_converter, keep, kind,
    restore,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

const GROUP: &str = "convert.example.com";

#[derive(Default)]
struct Gauges;

export!(Gauges);
export_converter!(Gauges);

#[derive(Deserialize)]
struct Gauge {
    spec: Sizes,
}

#[derive(Clone, Serialize, Deserialize)]
struct Sizes {
    sizes: Vec<i64>,
}

/// The status of a Gauge.
#[derive(Clone, Serialize, Deserialize)]
struct Sum {
    sum: i64,
}

impl Reconciler for Gauges {
    type Object = Gauge;
    type State = Sum;

    fn manifest() -> Manifest {
        Manifest::new("converter", "1")
            .description("Sums the sizes of Gauges, and converts Gauges between three versions")
            .primary(kind(&format!("{GROUP}/v2"), "Gauge"))
            .converts(&format!("gauges.{GROUP}"))
            .manage_status()
            .resync_seconds(3600)
    }

    fn desired(&self, cx: &Context<Gauge>) -> Result<Option<Sum>> {
        Ok(Some(Sum { sum: cx.object()?.spec.sizes.iter().sum() }))
    }

    fn actual(&self, cx: &Context<Gauge>) -> Result<Observation<Sum>> {
        if cx.is_gone() {
            return Ok(Observation::absent());
        }
        let sum = Sum { sum: cx.object()?.spec.sizes.iter().sum() };
        Ok(Observation::present(sum.clone()).status(sum))
    }

    fn patch(&self, _: &Context<Gauge>, _: Option<Sum>, _: Option<Sum>) -> Result<Outcome> {
        Ok(Outcome::new())
    }
}

impl Converter for Gauges {
    fn convert(mut object: Value, desired: &str) -> std::result::Result<Value, String> {
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let fault = name.split('-').next().unwrap_or_default();
        match fault {
            "trap" => panic!("as asked"),
            "loop" => loop {
                std::hint::black_box(());
            },
            "refuse" => return Err("spec.size: refused as asked".to_owned()),
            "rename" => object["metadata"]["name"] = "another".into(),
            "huge" => object["huge"] = "x".repeat(40 << 20).into(),
            _ => {}
        }
        let version = object["apiVersion"].as_str().unwrap_or_default().to_owned();
        to_v2(&mut object, &version)?;
        from_v2(&mut object, desired)?;
        object["apiVersion"] = if fault == "version" { "v0".into() } else { desired.into() };
        Ok(object)
    }
}

fn annotation(field: &str) -> String {
    format!("{GROUP}/{field}")
}

fn to_v2(object: &mut Value, version: &str) -> std::result::Result<(), String> {
    match version.split('/').nth(1) {
        Some("v1") => {
            let mut sizes = vec![object["spec"]["size"].take()];
            if let Some(Value::Array(more)) = restore(object, &annotation("more-sizes"))? {
                sizes.extend(more);
            }
            object["spec"] = json!({"sizes": sizes});
        }
        Some("v2") => {}
        Some("v3") => {
            let unit = object["spec"]["unit"].take();
            object["spec"].as_object_mut().map(|spec| spec.remove("unit"));
            keep(object, &annotation("unit"), Some(unit).filter(|unit| !unit.is_null()));
        }
        _ => return Err(format!("there is no version {version}")),
    }
    Ok(())
}

fn from_v2(object: &mut Value, desired: &str) -> std::result::Result<(), String> {
    match desired.split('/').nth(1) {
        Some("v1") => {
            let sizes = object["spec"]["sizes"].as_array().cloned().unwrap_or_default();
            let (first, more) = sizes.split_first().ok_or("spec.sizes is empty, and v1 has exactly one size")?;
            object["spec"] = json!({"size": first});
            keep(object, &annotation("more-sizes"), (!more.is_empty()).then(|| json!(more)));
        }
        Some("v2") => {}
        Some("v3") => {
            if let Some(unit) = restore(object, &annotation("unit"))? {
                object["spec"]["unit"] = unit;
            }
        }
        _ => return Err(format!("there is no version {desired}")),
    }
    Ok(())
}
