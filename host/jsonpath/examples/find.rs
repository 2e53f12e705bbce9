//! Prints the values at a JSONPath, a line each: `find PATH JSON`.

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use oarlock_jsonpath::JsonPath;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(path), Some(document)) = (args.next(), args.next()) else {
        return Err("usage: find PATH JSON".into());
    };
    let document = serde_json::from_str(&document)?;
    for value in JsonPath::parse(&path)?.find(&document) {
        println!("{value}");
    }
    Ok(())
}
