//! The place on the diff that a note stands on.

use serde_json::{Value, json};

use super::sha1_hex;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PositionType {
    Text,
    Image,
    File,
}

impl PositionType {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Image => "image",
            Self::File => "file",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Position {
    pub(crate) base_sha: String,
    pub(crate) start_sha: String,
    pub(crate) head_sha: String,
    pub(crate) kind: PositionType,
    pub(crate) old_path: Option<String>,
    pub(crate) new_path: Option<String>,
    pub(crate) old_line: Option<u64>,
    pub(crate) new_line: Option<u64>,
    pub(crate) line_range: Option<LineRange>,
    /// `width`, `height`, `x`, `y` of an image position.
    pub(crate) image: [Option<i64>; 4],
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LineRange {
    pub(crate) start: RangeEnd,
    pub(crate) end: RangeEnd,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RangeEnd {
    pub(crate) line_code: Option<String>,
    pub(crate) kind: Option<String>,
    pub(crate) old_line: Option<u64>,
    pub(crate) new_line: Option<u64>,
}

impl Position {
    /// Reads the position of a request body that passed the schema. A `null` means that there is none.
    pub(crate) fn read(value: &Value) -> Option<Self> {
        if value.is_null() {
            return None;
        }
        let kind = match value["position_type"].as_str() {
            Some("image") => PositionType::Image,
            Some("file") => PositionType::File,
            _ => PositionType::Text,
        };
        let sha = |name: &str| text(&value[name]).unwrap_or_default();
        let range = &value["line_range"];
        Some(Self {
            base_sha: sha("base_sha"),
            start_sha: sha("start_sha"),
            head_sha: sha("head_sha"),
            kind,
            old_path: text(&value["old_path"]),
            new_path: text(&value["new_path"]),
            old_line: value["old_line"].as_u64(),
            new_line: value["new_line"].as_u64(),
            line_range: range.is_object().then(|| LineRange {
                start: RangeEnd::read(&range["start"]),
                end: RangeEnd::read(&range["end"]),
            }),
            image: ["width", "height", "x", "y"].map(|name| value[name].as_i64()),
        })
    }

    /// The position as the API shows it.
    pub(crate) fn json(&self) -> Value {
        let mut value = json!({
            "base_sha": self.base_sha,
            "start_sha": self.start_sha,
            "head_sha": self.head_sha,
            "old_path": self.old_path,
            "new_path": self.new_path,
            "position_type": self.kind.name(),
        });
        match self.kind {
            PositionType::Text => {
                value["old_line"] = json!(self.old_line);
                value["new_line"] = json!(self.new_line);
                value["line_range"] = self.line_range.as_ref().map_or(Value::Null, LineRange::json);
            }
            PositionType::Image => {
                for (name, number) in ["width", "height", "x", "y"].into_iter().zip(self.image) {
                    value[name] = json!(number);
                }
            }
            PositionType::File => {}
        }
        value
    }
}

impl LineRange {
    fn json(&self) -> Value {
        json!({ "start": self.start.json(), "end": self.end.json() })
    }
}

impl RangeEnd {
    fn read(value: &Value) -> Self {
        Self {
            line_code: text(&value["line_code"]),
            kind: text(&value["type"]),
            old_line: value["old_line"].as_u64(),
            new_line: value["new_line"].as_u64(),
        }
    }

    fn json(&self) -> Value {
        json!({
            "line_code": self.line_code,
            "type": self.kind,
            "old_line": self.old_line,
            "new_line": self.new_line,
        })
    }
}

/// GitLab's name for a line of a diff: the SHA-1 of the path and both line counters.
pub(crate) fn line_code(path: &str, old: u64, new: u64) -> String {
    format!("{}_{old}_{new}", sha1_hex(path))
}

fn text(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}
