//! What all answers for programs have in common.
//!
//! Each command's answer is one type, `FEATURE/answer.rs`: its fields are the JSON's members, in the order in which
//! they are printed. What is unknown is `null`, never 0.

use punctual_recording::printable;
use serde::Serialize;

/// One command's answer, as its JSON object.
pub trait Answer: Serialize {
    /// The exit code of the process, as the object gives it.
    fn exit_code(&mut self) -> &mut u8;
}

/// An answer as a value, for a page to carry.
pub(crate) fn value(answer: &impl Answer) -> serde_json::Value {
    // Only a path that is not text cannot become a value.
    serde_json::to_value(answer).unwrap_or_default()
}

/// An answer together with what went wrong.
#[derive(Debug, Serialize)]
pub struct Told<'a, A> {
    /// The answer.
    #[serde(flatten)]
    pub answer: &'a A,
    /// What else could not be written, or not be read for it, in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'a str>,
}

/// Any failure.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Failure<'a> {
    schema: &'static str,
    /// What went wrong, in one line.
    error: &'a str,
    /// What would help.
    hint: Option<&'a str>,
    exit_code: u8,
}

impl<'a> Failure<'a> {
    /// A failure that ends the process with this code.
    pub fn new(error: &'a str, hint: Option<&'a str>, exit_code: u8) -> Failure<'a> {
        Failure { schema: "punctual.error/1", error, hint, exit_code }
    }

    /// The same for people, for the standard error stream: one line, and one with the hint. No name in it can begin
    /// another line.
    pub fn text(&self) -> String {
        let hint = self.hint.map(|hint| format!("\nhint: {}", printable(hint))).unwrap_or_default();
        format!("error: {}{hint}", printable(self.error))
    }
}

impl Answer for Failure<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

/// Reports that something was done that needs no other answer.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Done<'a> {
    schema: &'static str,
    verdict: &'a str,
    exit_code: u8,
}

impl<'a> Done<'a> {
    /// An answer of this schema.
    pub fn new(schema: &'static str, verdict: &'a str) -> Done<'a> {
        Done { schema, verdict, exit_code: 0 }
    }
}

impl Answer for Done<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

/// Values by names that are not known beforehand, in their order.
#[derive(Debug, Clone)]
pub(crate) struct Named<V>(Vec<(String, V)>);

impl<N: Into<String>, V> FromIterator<(N, V)> for Named<V> {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(values: I) -> Named<V> {
        Named(values.into_iter().map(|(name, value)| (name.into(), value)).collect())
    }
}

impl<V: Serialize> Serialize for Named<V> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

#[cfg(test)]
impl<V: schemars::JsonSchema> schemars::JsonSchema for Named<V> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("Named{}", V::schema_name()).into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        std::collections::BTreeMap::<String, V>::json_schema(generator)
    }
}
