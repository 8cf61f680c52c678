//! Where a key is in a TOML text, for errors; and cases, which set keys by their path.

use toml::Value;
use toml::de::{DeTable, DeValue};

/// The line of the value at this path, or of the deepest part of the path that exists. Elements of lists go by their
/// index.
pub(super) fn line_of(text: &str, path: &[&str]) -> usize {
    let Ok(document) = DeTable::parse(text) else { return 1 };
    let mut at = document.span().start;
    let root = DeValue::Table(document.into_inner());
    let mut value = &root;
    for part in path {
        let next = match value {
            DeValue::Table(table) => table.iter().find(|(key, _)| key.get_ref() == part).map(|(key, value)| {
                at = key.span().start;
                value.get_ref()
            }),
            DeValue::Array(list) => part.parse::<usize>().ok().and_then(|index| list.get(index)).map(|value| {
                at = value.span().start;
                value.get_ref()
            }),
            _ => None,
        };
        let Some(next) = next else { break };
        value = next;
    }
    line_at(text, at)
}

/// The line of a byte, from 1.
pub(super) fn line_at(text: &str, byte: usize) -> usize {
    1 + text.as_bytes()[..byte.min(text.len())].iter().filter(|&&byte| byte == b'\n').count()
}

/// Sets the value at a path such as `device.context` or `thread.spin.present`; elements of lists go by their `name`. A
/// last part that does not exist yet is added to its table.
pub(super) fn set(document: &mut Value, path: &str, new: &Value) -> Result<(), String> {
    let mut at = document;
    let parts: Vec<&str> = path.split('.').collect();
    for (index, part) in parts.iter().enumerate() {
        let last = index + 1 == parts.len();
        at = match at {
            Value::Table(table) => {
                if last {
                    table.insert((*part).to_owned(), new.clone());
                    return Ok(());
                }
                // What does not exist yet has defaults; whether it may exist is checked when the document is read.
                table.entry(*part).or_insert_with(|| Value::Table(toml::Table::new()))
            }
            Value::Array(list) => list
                .iter_mut()
                .find(|element| element.get("name").and_then(Value::as_str) == Some(part))
                .ok_or_else(|| format!("{path:?}: nothing in the list is named {part:?}"))?,
            _ => return Err(format!("{path:?}: {part:?} is inside a value that has no keys")),
        };
    }
    *at = new.clone();
    Ok(())
}

/// A value as one would write it in one line.
pub(super) fn written(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Boolean(truth) => truth.to_string(),
        Value::Datetime(_) => "a date".to_owned(),
        Value::Array(list) => format!("[{}]", list.iter().map(written).collect::<Vec<_>>().join(", ")),
        Value::Table(table) => {
            let pairs = table.iter().map(|(key, value)| format!("{key} = {}", written(value)));
            format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Keys whose value has one of several forms.
const CHOICES: [&str; 7] = ["policy", "activity", "arrival", "work", "isr", "dpc", "set"];

/// A document laid over another: tables key by key, lists element by element where both have names.
pub(super) fn over(below: Value, above: &Value) -> Value {
    match (below, above) {
        (Value::Table(mut below), Value::Table(above)) => {
            for (key, value) in above {
                let joined = match below.remove(key) {
                    // One of several forms: the new one replaces the old.
                    Some(old) if !CHOICES.contains(&key.as_str()) => over(old, value),
                    _ => value.clone(),
                };
                below.insert(key.clone(), joined);
            }
            Value::Table(below)
        }
        (Value::Array(mut below), Value::Array(above)) => {
            let name = |value: &Value| value.get("name").and_then(Value::as_str).map(str::to_owned);
            if below.iter().chain(above).any(|element| name(element).is_none()) {
                return Value::Array(above.clone());
            }
            for element in above {
                match below.iter_mut().find(|old| name(old) == name(element)) {
                    Some(old) => *old = over(old.clone(), element),
                    None => below.push(element.clone()),
                }
            }
            Value::Array(below)
        }
        (_, above) => above.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "a = 1\n[b]\nc = 2\n\n[[d]]\nname = \"x\"\ne = 3\n[[d]]\nname = \"y\"\ne = 4\n";

    #[test]
    fn places_are_found() {
        assert_eq!(line_of(TEXT, &["b", "c"]), 3);
        assert_eq!(line_of(TEXT, &["d", "1", "e"]), 10);
        assert_eq!(line_of(TEXT, &["b", "missing"]), 2);
    }

    #[test]
    fn a_document_lies_over_another() {
        let below: Value = toml::from_str(TEXT).unwrap();
        let above: Value = toml::from_str("a = 7\n[[d]]\nname = \"y\"\nf = 1\n[[d]]\nname = \"z\"\n").unwrap();
        let both = over(below, &above);
        assert_eq!(both["a"].as_integer(), Some(7));
        assert_eq!(both["b"]["c"].as_integer(), Some(2));
        assert_eq!((both["d"][1]["e"].as_integer(), both["d"][1]["f"].as_integer()), (Some(4), Some(1)));
        assert_eq!(both["d"].as_array().map(Vec::len), Some(3));
    }

    #[test]
    fn values_are_set_by_path() {
        let mut document: Value = toml::from_str(TEXT).unwrap();
        set(&mut document, "d.y.e", &Value::Integer(9)).unwrap();
        set(&mut document, "b.new", &Value::Integer(7)).unwrap();
        assert_eq!(document["d"][1]["e"].as_integer(), Some(9));
        assert_eq!(document["b"]["new"].as_integer(), Some(7));
        set(&mut document, "machine.quantum", &Value::Integer(8)).unwrap();
        assert_eq!(document["machine"]["quantum"].as_integer(), Some(8));
        assert!(set(&mut document, "d.z.e", &Value::Integer(9)).is_err());
        assert!(set(&mut document, "a.b.c", &Value::Integer(9)).is_err());
    }
}
