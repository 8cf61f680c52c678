//! The JSON Schema of every answer, kept in `docs/schemas/`, and a check of stored answers against them.
//!
//! `PUNCTUAL_WRITE_SCHEMAS=1 cargo test -p punctual-report schemas` rewrites the files.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().for_serialize().into_generator()
}

/// An answer's schema. Its `schema` member names it; it may also say what could not be written beside the answer.
fn schema<A: JsonSchema>(name: &str) -> Value {
    let mut schema = serde_json::to_value(generator().into_root_schema_for::<A>()).unwrap();
    schema["properties"]["schema"] = json!({ "const": name });
    if schema["properties"].get("error").is_none() {
        let about = "What could not be written beside the answer; absent if nothing failed.";
        schema["properties"]["error"] = json!({ "description": about, "type": "string" });
    }
    schema
}

/// Each file in `docs/schemas/`, with the answer's name.
fn schemas() -> BTreeMap<&'static str, (&'static str, Value)> {
    macro_rules! schemas {
        ($($file:literal: $name:literal = $answer:ty),+ $(,)?) => {
            BTreeMap::from([$(($file, ($name, schema::<$answer>($name)))),+])
        };
    }
    crate::every_answer!(schemas)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_schemas_that_are_kept_are_those_of_the_types() {
    let directory = root().join("docs/schemas");
    let schemas = schemas();
    let text = |schema: &Value| format!("{}\n", serde_json::to_string_pretty(schema).unwrap());
    if std::env::var_os("PUNCTUAL_WRITE_SCHEMAS").is_some() {
        std::fs::create_dir_all(&directory).unwrap();
        for (file, (_, schema)) in &schemas {
            std::fs::write(directory.join(format!("{file}.json")), text(schema)).unwrap();
        }
    }
    for (file, (_, schema)) in &schemas {
        let kept = std::fs::read_to_string(directory.join(format!("{file}.json"))).unwrap_or_default();
        assert!(kept == text(schema), "docs/schemas/{file}.json is not that of the type: PUNCTUAL_WRITE_SCHEMAS=1");
    }
    let kept: BTreeSet<String> = std::fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".json"))
        .collect();
    let made: BTreeSet<String> = schemas.keys().map(|file| format!("{file}.json")).collect();
    assert_eq!(kept, made, "no schema without its type");
}

/// The stored answers of whole commands, by the snapshot or file that has each.
fn stored_answers() -> Vec<(String, Value)> {
    let snapshots = root().join("crates/cli/tests/snapshots");
    let mut answers = Vec::new();
    for entry in std::fs::read_dir(root().join("crates/cli/tests/golden/answers")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        answers.push((path.file_name().unwrap().to_string_lossy().into_owned(), serde_json::from_str(&text).unwrap()));
    }
    for entry in std::fs::read_dir(snapshots).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let Some((_, rest)) = text.split_once("--- standard output\n") else { continue };
        let (output, _) = rest.split_once("--- standard error").unwrap();
        if output.starts_with('{') {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            answers.push((name, serde_json::from_str(output).unwrap()));
        }
    }
    answers
}

#[test]
fn stored_answers_fit_their_schemas() {
    let schemas = schemas();
    let answers = stored_answers();
    assert!(answers.len() >= 55, "only {} stored answers", answers.len());
    let mut met = BTreeSet::new();
    for (snapshot, answer) in &answers {
        let named = schemas.iter().filter(|(_, (name, _))| answer["schema"] == *name);
        let misfits: Vec<(&str, Result<(), String>)> =
            named.map(|(file, (_, schema))| (*file, fits(schema, schema, answer, "answer"))).collect();
        match misfits.iter().find(|(_, misfit)| misfit.is_ok()) {
            Some((file, _)) => met.insert(*file),
            None => panic!("{snapshot}: {misfits:?}"),
        };
    }
    eprintln!("{} stored answers fit {} of {} schemas", answers.len(), met.len(), schemas.len());
    assert!(met.len() >= 28, "{met:?}");
}

#[test]
fn what_does_not_fit_is_found() {
    let schema = schema::<crate::answer::Failure<'_>>("punctual.error/1");
    let right = json!({ "schema": "punctual.error/1", "error": "x", "hint": null, "exit_code": 1 });
    assert_eq!(fits(&schema, &schema, &right, "answer"), Ok(()));
    for (member, wrong) in [("schema", json!("other")), ("hint", json!(1)), ("exit_code", json!(-1))] {
        let mut answer = right.clone();
        answer[member] = wrong;
        assert!(fits(&schema, &schema, &answer, "answer").is_err(), "{member}");
    }
    let mut answer = right;
    answer.as_object_mut().unwrap().remove("hint");
    assert!(fits(&schema, &schema, &answer, "answer").is_err());
}

/// Whether a value fits a schema, as far as the schemas of answers go: anything else in a schema is a failure.
#[expect(clippy::too_many_lines, reason = "one flat match: an arm for each keyword")]
fn fits(root: &Value, schema: &Value, value: &Value, place: &str) -> Result<(), String> {
    let Some(schema) = schema.as_object() else {
        return if *schema == json!(true) { Ok(()) } else { Err(format!("{place}: {schema}")) };
    };
    for (keyword, said) in schema {
        let holds = match keyword.as_str() {
            "$schema" | "title" | "description" | "$defs" | "format" | "default" => true,
            "$ref" => {
                let name = said.as_str().and_then(|name| name.strip_prefix("#/$defs/")).ok_or("no such reference")?;
                fits(root, &root["$defs"][name], value, place)?;
                true
            }
            "const" => value == said,
            "enum" => said.as_array().is_some_and(|words| words.contains(value)),
            "type" => one_or_many(said).any(|name| is_a(value, name)),
            "minimum" => value.as_f64().is_none_or(|number| number >= said.as_f64().unwrap_or(f64::NEG_INFINITY)),
            "maximum" => value.as_f64().is_none_or(|number| number <= said.as_f64().unwrap_or(f64::INFINITY)),
            "minItems" => value.as_array().is_none_or(|items| items.len() as u64 >= said.as_u64().unwrap_or(0)),
            "maxItems" => value.as_array().is_none_or(|items| items.len() as u64 <= said.as_u64().unwrap_or(u64::MAX)),
            "anyOf" | "oneOf" => {
                let tried = said.as_array().into_iter().flatten();
                tried.clone().any(|schema| fits(root, schema, value, place).is_ok())
            }
            "allOf" => {
                for part in said.as_array().into_iter().flatten() {
                    fits(root, part, value, place)?;
                }
                true
            }
            "required" => one_or_many(said).all(|name| value.as_object().is_none_or(|value| value.contains_key(name))),
            "properties" => {
                let empty = Map::new();
                for (name, schema) in said.as_object().unwrap_or(&empty) {
                    if let Some(member) = value.get(name) {
                        fits(root, schema, member, &format!("{place}.{name}"))?;
                    }
                }
                true
            }
            "additionalProperties" => {
                let empty = Map::new();
                let known = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
                for (name, member) in value.as_object().unwrap_or(&empty) {
                    if !known.contains_key(name) {
                        fits(root, said, member, &format!("{place}.{name}"))?;
                    }
                }
                true
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    fits(root, said, item, &format!("{place}[{index}]"))?;
                }
                true
            }
            other => return Err(format!("{place}: nobody looks at `{other}`")),
        };
        if !holds {
            return Err(format!("{place}: {value} against {keyword} {said}"));
        }
    }
    Ok(())
}

fn one_or_many(said: &Value) -> impl Iterator<Item = &str> {
    said.as_str().into_iter().chain(said.as_array().into_iter().flatten().filter_map(Value::as_str))
}

fn is_a(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }
}
