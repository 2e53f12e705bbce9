//! Validates an object with the CustomResourceDefinition of its kind: `validate CRD.json OBJECT.json`.

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use oarlock_schema::Crd;
use serde_json::Value;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(definition), Some(object)) = (arguments.next(), arguments.next()) else {
        return Err("usage: validate CRD.json OBJECT.json".into());
    };
    let read = |file: &str| -> Result<Value, Box<dyn std::error::Error>> {
        Ok(serde_json::from_str(&std::fs::read_to_string(file)?)?)
    };
    let crd = match Crd::parse(&read(&definition)?) {
        Ok(crd) => crd,
        Err(errors) => return Err(errors.iter().map(|e| format!("{definition}: {e}\n")).collect::<String>().into()),
    };
    let mut object = read(&object)?;
    let version =
        object.get("apiVersion").and_then(Value::as_str).and_then(|text| text.rsplit('/').next()).unwrap_or_default();
    let schema = &crd.version(version).ok_or_else(|| format!("the definition has no version {version:?}"))?.schema;
    for path in schema.prune(&mut object) {
        println!("unknown field {path}");
    }
    schema.default(&mut object);
    let errors = schema.validate(&object, None);
    errors.iter().for_each(|error| println!("{error}"));
    if errors.is_empty() { Ok(()) } else { Err("the object is invalid".into()) }
}
