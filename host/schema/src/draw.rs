//! Objects drawn from a structural schema, and objects that break one rule of it. The same random numbers give the same object.

mod breaks;
mod strings;

pub use breaks::{Broken, break_one};

use fastrand::Rng;
use serde_json::{Map, Number, Value, json};

/// Optional fields below this are left out.
const DEEP: usize = 8;

/// Draws values that fit a structural schema: types, bounds, lengths, enumerations, formats, patterns. Rules and quantors are
/// only met by luck: who wants to know asks the validator.
#[derive(Debug)]
pub struct Draw<'a> {
    random: &'a mut Rng,
    /// Objects to take values from now and then.
    examples: Vec<&'a Value>,
    /// IPv4 ranges that were drawn: addresses are taken from them.
    ranges: Vec<String>,
}

impl<'a> Draw<'a> {
    /// * `examples` - whole objects; a value at the same place is as good as a drawn one.
    pub fn new(random: &'a mut Rng, examples: Vec<&'a Value>) -> Self {
        let mut ranges = Vec::new();
        examples.iter().for_each(|example| collect_ranges(example, &mut ranges));
        Self { random, examples, ranges }
    }

    /// The random numbers it draws with.
    pub fn random(&mut self) -> &mut Rng {
        self.random
    }

    fn percent(&mut self, chance: u8) -> bool {
        self.random.u8(..100) < chance
    }

    /// From 0 to `bound`, exclusive. 0 when `bound` is 0.
    fn below(&mut self, bound: usize) -> usize {
        self.random.usize(..bound.max(1))
    }

    /// Takes note of the ranges in a value, as if they had been drawn.
    pub fn knows(&mut self, value: &Value) {
        collect_ranges(value, &mut self.ranges);
    }

    /// The fields of a whole object but for those that every object has, and for its status.
    pub fn fields(&mut self, schema: &Value) -> Map<String, Value> {
        let mut fields = Map::new();
        for (name, property) in properties(schema) {
            if ["apiVersion", "kind", "metadata", "status"].contains(&name.as_str()) {
                continue;
            }
            if requires(schema, name) || self.percent(80) {
                fields.insert(name.clone(), self.value(property, &format!("/{}", escape(name)), 1));
            }
        }
        fields
    }

    /// A value.
    ///
    /// * `pointer` - where it is to stand in the object.
    /// * `depth` - how deep that is.
    pub fn value(&mut self, schema: &Value, pointer: &str, depth: usize) -> Value {
        let schema = &self.with_an_alternative(schema);
        if let Some(allowed) = schema.get("enum").and_then(Value::as_array).filter(|list| !list.is_empty()) {
            return self.random.choice(allowed).cloned().unwrap_or_default();
        }
        if flag(schema, "nullable") && self.percent(5) {
            return Value::Null;
        }
        let at_hand: Vec<&Value> = self.examples.iter().filter_map(|example| example.pointer(pointer)).collect();
        if self.percent(20)
            && let Some(value) = self.random.choice(at_hand)
        {
            return value.clone();
        }
        if flag(schema, "x-kubernetes-int-or-string") {
            let number = self.below(100);
            return if self.percent(50) { json!(number) } else { json!(format!("{number}%")) };
        }
        match schema.get("type").and_then(Value::as_str).unwrap_or_default() {
            "object" => self.object(schema, pointer, depth),
            "array" => self.array(schema, pointer, depth),
            "integer" => self.number(schema, 1.0),
            "number" => self.number(schema, 0.125),
            "boolean" => json!(self.percent(50)),
            "string" => json!(self.string(schema)),
            // Anything goes.
            _ => json!(strings::word(1, 8, self.random)),
        }
    }

    fn object(&mut self, schema: &Value, pointer: &str, depth: usize) -> Value {
        if flag(schema, "x-kubernetes-embedded-resource") {
            return json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": strings::word(1, 8, self.random)}});
        }
        let mut object = Map::new();
        let (least, most) = (count(schema, "minProperties").unwrap_or(0), count(schema, "maxProperties"));
        for (name, property) in properties(schema) {
            let room = most.is_none_or(|most| object.len() < most);
            let wanted = depth < DEEP && room && self.percent(60);
            if requires(schema, name) || wanted || object.len() < least {
                object.insert(name.clone(), self.value(property, &format!("{pointer}/{}", escape(name)), depth + 1));
            }
        }
        let others = schema.get("additionalProperties").filter(|others| others.as_bool() != Some(false));
        if let Some(others) = others {
            let wanted = least.max(object.len()) + if depth < DEEP { self.below(3) } else { 0 };
            for _ in 0..64 {
                if object.len() >= wanted.min(most.unwrap_or(usize::MAX)) {
                    break;
                }
                let name = strings::word(1, 12, self.random);
                let value = self.value(others, &format!("{pointer}/{name}"), depth + 1);
                object.insert(name, value);
            }
        }
        Value::Object(object)
    }

    fn array(&mut self, schema: &Value, pointer: &str, depth: usize) -> Value {
        let items = schema.get("items").unwrap_or(&Value::Null);
        let least = count(schema, "minItems").unwrap_or(0);
        let most = count(schema, "maxItems").unwrap_or(usize::MAX).max(least);
        let wanted = match self.below(8) {
            0 => least,
            1 if most <= 16 => most,
            _ => (least + self.below(4)).min(most),
        };
        let wanted = if depth < DEEP { wanted } else { least };
        let kind = schema.get("x-kubernetes-list-type").and_then(Value::as_str).unwrap_or_default();
        let keys: Vec<&str> = list(schema, "x-kubernetes-list-map-keys").filter_map(Value::as_str).collect();
        let alone = flag(schema, "uniqueItems") || kind == "set";
        let mut array: Vec<Value> = Vec::new();
        // Those that repeat are drawn again, but not for ever: there may be too few values.
        for _ in 0..wanted * 8 {
            if array.len() >= wanted {
                break;
            }
            let item = self.value(items, &format!("{pointer}/{}", array.len()), depth + 1);
            let same = |other: &Value| {
                (alone && *other == item)
                    || (kind == "map"
                        && keys.iter().all(|key| defaulted(items, other, key) == defaulted(items, &item, key)))
            };
            if !array.iter().any(same) {
                array.push(item);
            }
        }
        Value::Array(array)
    }

    /// * `grain` - the distance of drawn values, unless there is a `multipleOf`.
    fn number(&mut self, schema: &Value, grain: f64) -> Value {
        let bound = |key: &str, exclusive: &str, sign: f64| {
            let value = schema.get(key).and_then(Value::as_f64)?;
            Some(if flag(schema, exclusive) { value + sign * grain } else { value })
        };
        let (low, high) = (bound("minimum", "exclusiveMinimum", 1.0), bound("maximum", "exclusiveMaximum", -1.0));
        let step = schema.get("multipleOf").and_then(Value::as_f64).map_or(grain, f64::abs).max(grain);
        let low = low.unwrap_or_else(|| high.map_or(0.0, |high| high.min(0.0)));
        let high = high.unwrap_or(low + 100.0).max(low);
        let (first, last) = ((low / step).ceil(), (high / step).floor());
        let value = step
            * match self.random.u8(..6) {
                0 => first,
                1 => last.max(first),
                _ => first + (self.random.f64() * ((last - first).clamp(0.0, 1e6) + 1.0)).floor().min(last - first),
            };
        if value.fract() != 0.0 {
            return Number::from_f64(value).map_or(json!(0), Value::Number);
        }
        format!("{value:.0}").parse::<i64>().map_or_else(|_| json!(value), |number| json!(number))
    }

    fn string(&mut self, schema: &Value) -> String {
        let text = |key: &str| schema.get(key).and_then(Value::as_str);
        if let Some(text) = strings::of_rules(schema, &mut self.ranges, self.random) {
            return text;
        }
        if let Some(sample) = text("format").and_then(|format| strings::of_format(format, self.random)) {
            return sample;
        }
        let least = count(schema, "minLength").unwrap_or(0);
        let most = count(schema, "maxLength").unwrap_or(usize::MAX).max(least);
        if let Some(pattern) = text("pattern") {
            let drawn = (0..16).filter_map(|_| strings::of_pattern(pattern, self.random));
            let fits = |text: &String| (least..=most).contains(&text.chars().count());
            if let Some(text) = { drawn }.find(fits) {
                return text;
            }
        }
        strings::word(least, most, self.random)
    }

    /// The schema with one branch of each quantor written into it.
    fn with_an_alternative(&mut self, schema: &Value) -> Value {
        let mut all = schema.clone();
        for quantor in ["allOf", "anyOf", "oneOf"] {
            let branches: Vec<Value> = list(schema, quantor).cloned().collect();
            let one = self.below(branches.len());
            for (at, branch) in branches.iter().enumerate() {
                if quantor == "allOf" || at == one {
                    overlay(&mut all, branch);
                }
            }
        }
        all
    }
}

/// `properties` of an object schema.
fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flatten()
}

/// Whether an object schema requires a property.
fn requires(schema: &Value, name: &str) -> bool {
    list(schema, "required").any(|one| one.as_str() == Some(name))
}

/// A step of a JSON pointer.
#[must_use]
pub fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn list<'v>(schema: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    schema.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn flag(schema: &Value, key: &str) -> bool {
    schema.get(key).and_then(Value::as_bool).unwrap_or(false)
}

fn count(schema: &Value, key: &str) -> Option<usize> {
    usize::try_from(schema.get(key)?.as_u64()?).ok()
}

/// A key of a list's item, or its default.
fn defaulted<'v>(items: &'v Value, item: &'v Value, key: &str) -> Option<&'v Value> {
    item.get(key).or_else(|| items.get("properties")?.get(key)?.get("default"))
}

/// Writes a branch of a quantor into a schema: its keywords win, properties are joined.
fn overlay(schema: &mut Value, branch: &Value) {
    let (Some(fields), Some(added)) = (schema.as_object_mut(), branch.as_object()) else { return };
    for (key, value) in added {
        match fields.get_mut(key) {
            Some(there) if key == "properties" => {
                for (name, property) in value.as_object().into_iter().flatten() {
                    match there.get_mut(name) {
                        Some(known) => overlay(known, property),
                        None => {
                            there.as_object_mut().map(|all| all.insert(name.clone(), property.clone()));
                        }
                    }
                }
            }
            Some(Value::Array(there)) if key == "required" => {
                there.extend(value.as_array().into_iter().flatten().cloned())
            }
            _ => {
                fields.insert(key.clone(), value.clone());
            }
        }
    }
}

fn collect_ranges(value: &Value, ranges: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            let is_range = text.split_once('/').is_some_and(|(address, prefix)| {
                address.parse::<std::net::Ipv4Addr>().is_ok() && prefix.parse::<u32>().is_ok_and(|prefix| prefix <= 32)
            });
            if is_range && !ranges.contains(text) {
                ranges.push(text.clone());
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_ranges(item, ranges)),
        Value::Object(fields) => fields.values().for_each(|field| collect_ranges(field, ranges)),
        _ => {}
    }
}
