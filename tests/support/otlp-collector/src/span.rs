//! A span as it came, with its ids and attributes as text.

use std::collections::BTreeMap;

use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::{KeyValue, any_value::Value},
};

/// A span as it came.
#[derive(Debug, Clone, PartialEq)]
pub struct CollectedSpan {
    /// `service.name` of its resource.
    pub service: String,
    /// The trace, in hexadecimal digits.
    pub trace_id: String,
    /// The span, likewise.
    pub span_id: String,
    /// Its parent, likewise; empty for a root.
    pub parent_span_id: String,
    /// True if the parent belongs to another program.
    pub parent_is_remote: bool,
    /// Its name.
    pub name: String,
    /// Its kind, by OTLP's number.
    pub kind: i32,
    /// When it began, in nanoseconds since 1970.
    pub start: u64,
    /// When it ended, likewise.
    pub end: u64,
    /// Its status, by OTLP's number: 0 unset, 1 ok, 2 error.
    pub status: i32,
    /// Its attributes, values as text.
    pub attributes: BTreeMap<String, String>,
    /// The names of its events.
    pub events: Vec<String>,
}

impl CollectedSpan {
    /// An attribute; empty if it is not there.
    pub fn attribute(&self, name: &str) -> &str {
        self.attributes.get(name).map_or("", String::as_str)
    }

    /// An attribute that is a number; 0 if it is not there.
    pub fn number(&self, name: &str) -> u64 {
        self.attribute(name).parse().unwrap_or_default()
    }
}

/// OTLP's flags of a span: whether it is known if the parent is remote, and whether it is.
const HAS_IS_REMOTE: u32 = 0x100;
const IS_REMOTE: u32 = 0x200;

pub(crate) fn read(request: &ExportTraceServiceRequest) -> Result<Vec<CollectedSpan>, String> {
    let mut spans = Vec::new();
    for resource in &request.resource_spans {
        let attributes = resource
            .resource
            .as_ref()
            .map(|resource| attributes(&resource.attributes));
        let attributes = attributes.transpose()?.unwrap_or_default();
        let service = attributes.get("service.name").filter(|name| !name.is_empty());
        let service = service.ok_or("a resource has no service.name")?;
        for span in resource.scope_spans.iter().flat_map(|scope| &scope.spans) {
            spans.push(CollectedSpan {
                service: service.clone(),
                trace_id: hex::encode(&span.trace_id),
                span_id: hex::encode(&span.span_id),
                parent_span_id: hex::encode(&span.parent_span_id),
                parent_is_remote: span.flags & HAS_IS_REMOTE != 0 && span.flags & IS_REMOTE != 0,
                name: span.name.clone(),
                kind: span.kind,
                start: span.start_time_unix_nano,
                end: span.end_time_unix_nano,
                status: span.status.as_ref().map_or(0, |status| status.code),
                attributes: self::attributes(&span.attributes)?,
                events: span.events.iter().map(|event| event.name.clone()).collect(),
            });
        }
    }
    Ok(spans)
}

fn attributes(pairs: &[KeyValue]) -> Result<BTreeMap<String, String>, String> {
    let mut attributes = BTreeMap::new();
    for pair in pairs {
        let value = pair.value.as_ref().and_then(|value| value.value.as_ref());
        let text = match value {
            Some(Value::StringValue(text)) => text.clone(),
            Some(Value::IntValue(number)) => number.to_string(),
            Some(Value::DoubleValue(number)) => number.to_string(),
            Some(Value::BoolValue(value)) => value.to_string(),
            other => return Err(format!("the attribute {} is {other:?}", pair.key)),
        };
        if pair.key.is_empty() || attributes.insert(pair.key.clone(), text).is_some() {
            return Err(format!("the attribute {:?} is empty or there twice", pair.key));
        }
    }
    Ok(attributes)
}
