//! A finding as a reviewer wrote it.

use conclave_shared::severity::Severity;

use super::{squeezed, strip_cdata, strip_fence};
use crate::findings::fold::folded;

/// A finding as it was written: fields in the order in which they came, as text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RawFinding {
    pub(super) fields: Vec<(&'static str, String)>,
    /// The last line of each field with the tags behind it, without white space.
    tails: Vec<String>,
}

impl RawFinding {
    /// A field's text without surrounding white space; the first one if it came twice.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.text(name).map(str::trim)
    }

    /// The severity as it was written. Of several the worst counts, and what is none is worse than any.
    pub fn severity(&self) -> Option<&str> {
        let written = self.fields.iter().filter(|(field, _)| *field == "severity");
        written.map(|(_, text)| text.trim()).max_by_key(|text| {
            let severity = Severity::parse_lenient(text);
            (severity.is_none(), severity)
        })
    }

    /// A field's text with its indentation, without the line breaks that the tags brought.
    pub fn code(&self, name: &str) -> Option<&str> {
        let text = strip_fence(self.text(name)?.trim_matches(['\n', '\r']));
        Some(text.trim_matches(['\n', '\r']))
    }

    /// Whether this source holds the end of a field together with the tags that ended it: then those tags may be quoted
    /// code, and the field may go on behind them.
    pub fn may_go_on(&self, source: &str) -> bool {
        // A model leaves out what it does not see, and so do we.
        let is_ascii = source.is_ascii();
        let form = |text: &str| {
            if is_ascii {
                squeezed(text)
            } else {
                squeezed(&folded(text))
            }
        };
        let source: String = source.lines().map(form).collect();
        self.tails.iter().any(|tail| source.contains(&form(tail)))
    }

    /// Notes a field.
    pub(super) fn push(&mut self, name: &'static str, text: impl Into<String>) {
        self.fields.push((name, text.into()));
    }

    /// Notes a field with the tags that follow its text.
    pub(super) fn push_with_tail(&mut self, name: &'static str, text: &str, behind: &[&str]) {
        let last = text.trim_end().lines().next_back().unwrap_or_default();
        let behind: String = behind.iter().map(|tag| squeezed(tag)).collect();
        if !behind.is_empty() {
            self.tails.push(squeezed(last) + &behind);
        }
        self.push(name, strip_cdata(text));
    }

    /// Returns whether a field of this name was written.
    pub(super) fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|(field, _)| *field == name)
    }

    /// A field that was written twice, with different texts.
    pub(super) fn contradiction(&self) -> Option<&'static str> {
        let fields = self.fields.iter().enumerate();
        let mut contradictions = fields.filter_map(|(index, (name, text))| {
            let mut before = self.fields[..index].iter();
            let differs = before.any(|(other, before)| other == name && before.trim() != text.trim());
            differs.then_some(*name)
        });
        contradictions.next()
    }

    /// Returns whether it only recites the format of a finding: it says neither what nor where, or its severity is each of them.
    pub(super) fn is_template(&self) -> bool {
        let says = |field: &&str| {
            let mut texts = self.fields.iter().filter(|(name, _)| name == field);
            texts.any(|(_, text)| text.contains(char::is_alphanumeric))
        };
        let mut fields = ["file", "claim", "evidence", "scenario"].iter();
        !fields.any(says) || self.severity().is_some_and(is_every_severity)
    }

    /// The same with each text changed.
    pub(in crate::findings) fn map(&self, change: impl Fn(&str) -> String) -> Self {
        let fields = self.fields.iter().map(|(name, text)| (*name, change(text)));
        Self {
            fields: fields.collect(),
            tails: self.tails.clone(),
        }
    }

    fn text(&self, name: &str) -> Option<&str> {
        let (_, text) = self.fields.iter().find(|(field, _)| *field == name)?;
        Some(text)
    }
}

/// Returns whether a text names each severity, as the format of a finding does.
pub(super) fn is_every_severity(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let severities = [Severity::Critical, Severity::Warning, Severity::Suggestion];
    severities.iter().all(|severity| text.contains(severity.as_str()))
}
