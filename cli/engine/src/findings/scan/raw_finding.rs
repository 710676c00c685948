//! A finding as a reviewer wrote it.

use conclave_shared::severity::Severity;

use super::{squeezed, strip_cdata, strip_fence};
use crate::findings::{
    fold::folded,
    tags::{attributes_of, field_of, is_rank},
};

/// Maximum number of elements of other names that are looked at in one place of a finding.
const MAX_OTHERS: usize = 40;

/// A finding as it was written: fields in the order in which they came, as text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RawFinding {
    pub(super) fields: Vec<(&'static str, String)>,
    /// The last line of each field with the tags behind it, without white space.
    tails: Vec<(&'static str, String)>,
    /// The tags that it is written with, each with its line: its own, and those of its fields. Of JSON the line in which it begins.
    lines: Vec<(&'static str, usize)>,
}

/// The name of a finding's own tag.
pub(super) const OWN_TAG: &str = "finding";
/// The notation of a finding without tags.
pub(super) const JSON: &str = "JSON";

impl RawFinding {
    /// The fields with their texts, as they were written.
    pub fn texts(&self) -> &[(&'static str, String)] {
        &self.fields
    }

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

    /// The field, if there is one, of which this source holds the end together with the tags that ended it: then those tags may be
    /// quoted code, and the field may go on behind them.
    pub fn may_go_on(&self, source: &str) -> Option<&'static str> {
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
        let mut tails = self.tails.iter();
        let (field, _) = tails.find(|(_, tail)| source.contains(&form(tail)))?;
        Some(*field)
    }

    /// The place where it is written: the tag of this field and its line; its own tag where it has none of the field.
    pub fn place_of(&self, field: &str) -> Option<String> {
        let of = |name: &str| -> Vec<String> {
            let own = self.lines.iter().filter(|(tag, _)| *tag == name);
            own.map(|(_, line)| line.to_string()).collect()
        };
        let is_written = |name: &&str| !of(name).is_empty();
        let tag = [field, OWN_TAG, JSON].into_iter().find(is_written)?;
        Some(match &of(tag)[..] {
            [line, ..] if tag == JSON => format!("the JSON that begins in line {line}"),
            [line] => format!("<{tag}> in line {line}"),
            lines => format!("<{tag}> in lines {}", lines.join(" and ")),
        })
    }

    /// The tag that was read last, and its line.
    pub(super) fn last_tag(&self) -> Option<(&'static str, usize)> {
        self.lines.last().copied()
    }

    /// Notes the line in which a tag of this name stands.
    pub(super) fn stands_in(&mut self, tag: &'static str, line: usize) {
        self.lines.push((tag, line));
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
            self.tails.push((name, squeezed(last) + &behind));
        }
        self.push(name, strip_cdata(text));
    }

    /// Notes a severity that is given beside that of the finding: the worse one counts. What is none says nothing.
    pub(super) fn also_severe(&mut self, text: &str) {
        let Some(severity) = Severity::parse_lenient(text) else {
            return;
        };
        match self.fields.iter_mut().find(|(field, _)| *field == "severity") {
            None => self.push("severity", text),
            Some((_, known)) => {
                if Severity::parse_lenient(known).is_some_and(|known| known < severity) {
                    text.clone_into(known);
                }
            }
        }
    }

    /// Notes what stands under a name that is not that of a field, but means one which is missing.
    fn note(&mut self, name: &str, text: &str) {
        match field_of(name) {
            Some("severity") => self.also_severe(text),
            Some(field) if !self.has(field) => self.push(field, strip_cdata(text)),
            None if is_rank(name) => self.also_severe(text),
            _ => {}
        }
    }

    /// Reads elements between its fields that are none of ours: `<path>`, `<start_line>`, `<quote>`.
    pub(super) fn read_others(&mut self, between: &str) {
        let mut rest = between;
        for _ in 0..MAX_OTHERS {
            let Some((_, behind)) = rest.split_once('<') else {
                return;
            };
            let is_of_name = |character: char| character.is_ascii_alphabetic() || matches!(character, '_' | '-');
            let inside = behind.trim_start_matches(is_of_name);
            let name = &behind[..behind.len() - inside.len()];
            let element = inside.strip_prefix('>').filter(|_| !name.is_empty());
            match element.and_then(|element| element.split_once(format!("</{name}>").as_str())) {
                Some((text, next)) => {
                    self.note(name, text);
                    rest = next;
                }
                None => rest = behind,
            }
        }
    }

    /// Reads the attributes of its tag, and takes the line out of its place: `<finding file="a.py:4">`.
    pub(super) fn read_tag(&mut self, tag: &str) {
        for (name, value) in attributes_of(tag) {
            self.note(&name, value);
        }
        self.place();
    }

    /// Takes the line out of a path that ends in one, `a.py:4`, if it has no other.
    pub(super) fn place(&mut self) {
        let line = self
            .get("file")
            .and_then(|file| file.trim_matches('`').rsplit_once(':'));
        let line = line.filter(|(_, line)| line.starts_with(|first: char| first.is_ascii_digit()));
        let line = line.map(|(_, line)| line.to_owned());
        if let Some(line) = line.filter(|_| !self.has("line")) {
            self.push("line", line);
        }
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
            lines: self.lines.clone(),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(tag: &str, between: &str) -> RawFinding {
        let mut finding = RawFinding::default();
        finding.push("severity", "suggestion");
        finding.read_others(between);
        finding.read_tag(tag);
        finding
    }

    #[test]
    fn other_names_mean_the_field_that_is_missing() {
        for (tag, between) in [
            ("<finding>", "<path>a.py</path>\n<start_line>4</start_line>"),
            ("<finding>", "<filename>a.py</filename><line_number>4</line_number>"),
            ("<finding>", "<location>a.py:4</location>"),
            ("<finding>", "<location>a.py</location><lines>4-4</lines>"),
            ("<finding file=\"a.py\" line=\"4\">", ""),
            ("<finding id=\"1\" path='a.py:4'>", "<br>"),
        ] {
            let finding = read(tag, between);
            let (file, line) = (finding.get("file").unwrap_or_default(), finding.get("line"));
            assert!(file.starts_with("a.py"), "{tag} {between}: {finding:?}");
            assert!(
                line.is_some_and(|line| line.starts_with('4')),
                "{tag} {between}: {finding:?}"
            );
        }
        let quoted = read("<finding>", "<quote>\nif a < b:\n</quote><code>x</code>");
        assert_eq!(quoted.code("evidence"), Some("if a < b:"));
        // It would take minutes if each were compared with all behind it.
        read("<finding>", &"<a>".repeat(90_000));
    }

    #[test]
    fn the_place_of_a_field_is_its_tag_or_that_of_the_finding() {
        let mut finding = RawFinding::default();
        assert_eq!(finding.place_of("line"), None);
        finding.stands_in(JSON, 2);
        assert_eq!(
            finding.place_of("line").as_deref(),
            Some("the JSON that begins in line 2")
        );
        let mut finding = RawFinding::default();
        for (tag, line) in [(OWN_TAG, 3), ("severity", 4), ("severity", 6)] {
            finding.stands_in(tag, line);
        }
        assert_eq!(finding.place_of("line").as_deref(), Some("<finding> in line 3"));
        assert_eq!(
            finding.place_of("severity").as_deref(),
            Some("<severity> in lines 4 and 6")
        );
        assert_eq!(finding.last_tag(), Some(("severity", 6)));
    }

    #[test]
    fn of_two_severities_the_worse_one_counts() {
        for (tag, between, severity) in [
            ("<finding severity=\"critical\">", "", "critical"),
            ("<finding>", "<priority>P0</priority>", "P0"),
            ("<finding severity=\"suggestion\">", "<level>note</level>", "suggestion"),
            ("<finding severity=\"odd\">", "<priority>soon</priority>", "suggestion"),
        ] {
            let finding = read(tag, between);
            assert_eq!(finding.severity(), Some(severity), "{tag} {between}");
            assert_eq!(finding.contradiction(), None, "{tag} {between}");
        }
    }
}
