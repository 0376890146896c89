//! The JSON is what the published schemas say.
//!
//! A small checker for the keywords these schemas use; an unknown keyword fails, so that a schema
//! cannot grow beyond what is checked.

use bobtail_testkit::{Shape, draw};
use serde_json::Value;

use super::support::{explain_slowest, grown, report_at};

const REPORT: &str = include_str!("../../../../spec/report.schema.json");
const EXPLAIN: &str = include_str!("../../../../spec/explain.schema.json");

fn check(root: &Value, schema: &Value, value: &Value, path: &str) -> Result<(), String> {
    for (keyword, wanted) in schema.as_object().expect("a schema is an object") {
        let good = match keyword.as_str() {
            "$schema" | "$id" | "$defs" | "title" | "description" | "pattern" | "propertyNames" => {
                true
            }
            "$ref" => {
                let name = wanted.as_str().unwrap().trim_start_matches("#/$defs/");
                check(root, &root["$defs"][name], value, path)?;
                true
            }
            "type" => match wanted {
                Value::Array(types) => types.iter().any(|t| is(t, value)),
                one => is(one, value),
            },
            "const" => wanted == value,
            "enum" => wanted.as_array().unwrap().contains(value),
            "minimum" => value.as_f64().is_none_or(|n| n >= wanted.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|n| n <= wanted.as_f64().unwrap()),
            "exclusiveMinimum" => value.as_f64().is_none_or(|n| n > wanted.as_f64().unwrap()),
            "minItems" => value.as_array().unwrap().len() as u64 >= wanted.as_u64().unwrap(),
            "maxItems" => value.as_array().unwrap().len() as u64 <= wanted.as_u64().unwrap(),
            "required" => wanted.as_array().unwrap().iter().all(|name| {
                value
                    .as_object()
                    .is_some_and(|object| object.contains_key(name.as_str().unwrap()))
            }),
            "properties" | "additionalProperties" => {
                properties(root, schema, value, path)?;
                true
            }
            "items" => {
                for (index, item) in value.as_array().unwrap().iter().enumerate() {
                    check(root, wanted, item, &format!("{path}[{index}]"))?;
                }
                true
            }
            "oneOf" => {
                let of = |s: &&Value| check(root, s, value, path).is_ok();
                wanted.as_array().unwrap().iter().filter(of).count() == 1
            }
            other => return Err(format!("{path}: keyword {other} is not checked")),
        };
        if !good {
            return Err(format!("{path}: {value} violates {keyword} {wanted}"));
        }
    }
    Ok(())
}

fn properties(root: &Value, schema: &Value, value: &Value, path: &str) -> Result<(), String> {
    let Some(object) = value.as_object() else {
        return Ok(());
    };
    for (name, item) in object {
        let path = format!("{path}.{name}");
        match (&schema["properties"][name], &schema["additionalProperties"]) {
            (Value::Null, Value::Bool(false)) => return Err(format!("{path} is not known")),
            (Value::Null, Value::Null | Value::Bool(true)) => {}
            (Value::Null, rest) => check(root, rest, item, &path)?,
            (known, _) => check(root, known, item, &path)?,
        }
    }
    Ok(())
}

fn is(kind: &Value, value: &Value) -> bool {
    match kind.as_str().unwrap() {
        "null" => value.is_null(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("no type is called {other}"),
    }
}

/// The command line adds what there is to know about source maps.
fn with_notes(answer: &impl serde::Serialize) -> Value {
    let mut value = serde_json::to_value(answer).unwrap();
    value["notes"] = Value::Array(Vec::new());
    value
}

fn assert_valid(schema: &str, value: &Value) {
    let schema: Value = serde_json::from_str(schema).unwrap();
    check(&schema, &schema, value, "$").unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn reports_follow_their_schema() {
    let traces = [
        grown(1, Shape::default(), 40_000),
        grown(2, Shape::default(), 10_000),
    ];
    let mut report = report_at(&traces, 99.0);
    report.run.detail = "full".into();
    let value = with_notes(&report);
    for list in ["breakdown", "io", "culprits", "findings"] {
        assert!(!value[list].as_array().unwrap().is_empty(), "{list}");
    }
    assert_valid(REPORT, &value);
    let mut empty = report_at(&[draw("loss strings count=1")], 99.9);
    empty.run.detail = "loop".into();
    assert_valid(REPORT, &with_notes(&empty));
}

#[test]
fn explanations_follow_their_schema() {
    let answer = explain_slowest(&grown(1, Shape::default(), 40_000));
    assert!(answer.segments.len() > 3);
    assert_valid(EXPLAIN, &with_notes(&answer));
}

#[test]
#[should_panic(expected = "surprise is not known")]
fn the_checker_can_fail() {
    let mut value = serde_json::to_value(report_at(&[], 99.9)).unwrap();
    value["run"]["detail"] = "full".into();
    value["surprise"] = 1.into();
    assert_valid(REPORT, &value);
}
