//! A JSON document in which every part knows its plugin.

use serde::Serialize;
use serde_json::{Map, Value};

/// One line of a document, and its plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExplainedLine {
    /// The line as it stands in the file.
    pub line: String,
    /// A plugin's name; `conclave` for what no plugin can change.
    pub plugin: &'static str,
}

/// A value and its owner.
#[derive(Debug, Clone)]
pub(super) struct Node {
    owner: &'static str,
    content: Content,
}

#[derive(Debug, Clone)]
enum Content {
    Leaf(Value),
    Array(Vec<Node>),
    Object(Vec<(String, Node)>),
}

impl Node {
    /// A value that belongs to one owner from top to bottom.
    pub(super) fn new(owner: &'static str, value: Value) -> Self {
        let content = match value {
            Value::Array(items) => Content::Array(items.into_iter().map(|item| Self::new(owner, item)).collect()),
            Value::Object(entries) => Content::Object(
                entries
                    .into_iter()
                    .map(|(key, value)| (key, Self::new(owner, value)))
                    .collect(),
            ),
            leaf => Content::Leaf(leaf),
        };
        Self { owner, content }
    }

    /// A list of parts of several owners.
    pub(super) fn array(owner: &'static str, items: impl IntoIterator<Item = Self>) -> Self {
        Self {
            owner,
            content: Content::Array(items.into_iter().collect()),
        }
    }

    /// An object of parts of several owners.
    pub(super) fn object(owner: &'static str, entries: impl IntoIterator<Item = (String, Self)>) -> Self {
        Self {
            owner,
            content: Content::Object(entries.into_iter().collect()),
        }
    }

    /// Puts an entry into an object, in the place of one of the same name or at its end.
    pub(super) fn set(&mut self, key: &str, node: Self) {
        let Content::Object(entries) = &mut self.content else {
            return;
        };
        match entries.iter_mut().find(|(known, _)| known == key) {
            Some((_, known)) => *known = node,
            None => entries.push((key.to_owned(), node)),
        }
    }

    /// Returns whether an object has an entry of this name.
    pub(super) fn has(&self, key: &str) -> bool {
        matches!(&self.content, Content::Object(entries) if entries.iter().any(|(known, _)| known == key))
    }

    /// The document without its owners.
    pub(super) fn value(&self) -> Value {
        match &self.content {
            Content::Leaf(value) => value.clone(),
            Content::Array(items) => Value::Array(items.iter().map(Self::value).collect()),
            Content::Object(entries) => {
                let entries = entries.iter().map(|(key, node)| (key.clone(), node.value()));
                Value::Object(entries.collect::<Map<_, _>>())
            }
        }
    }

    /// The document line by line, as `{:#}` prints its value.
    pub(super) fn lines(&self) -> Vec<ExplainedLine> {
        let mut lines = Vec::new();
        self.write(0, "", "", &mut lines);
        lines
    }

    fn write(&self, depth: usize, before: &str, after: &str, lines: &mut Vec<ExplainedLine>) {
        let mut push = |text: String| {
            lines.push(ExplainedLine {
                line: format!("{}{text}", "  ".repeat(depth)),
                plugin: self.owner,
            });
        };
        let (open, close, inner): (char, char, Vec<(String, &Self)>) = match &self.content {
            Content::Array(items) if !items.is_empty() => {
                ('[', ']', items.iter().map(|item| (String::new(), item)).collect())
            }
            Content::Object(entries) if !entries.is_empty() => {
                let named = entries
                    .iter()
                    .map(|(key, node)| (format!("{}: ", Value::from(key.as_str())), node));
                ('{', '}', named.collect())
            }
            _ => {
                push(format!("{before}{}{after}", self.value()));
                return;
            }
        };
        push(format!("{before}{open}"));
        let last = inner.len() - 1;
        for (index, (name, node)) in inner.into_iter().enumerate() {
            node.write(depth + 1, &name, if index == last { "" } else { "," }, lines);
        }
        lines.push(ExplainedLine {
            line: format!("{}{close}{after}", "  ".repeat(depth)),
            plugin: self.owner,
        });
    }
}
