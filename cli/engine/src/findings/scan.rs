//! Reading a reviewer's answer.
//!
//! Models write broken XML: `a < b && c` unescaped, fences around it, prose before it, a tag left open at the end. An
//! XML parser in its most lenient mode loses text on such input without a word. This scanner knows a closed set of
//! tags, takes everything else as text, and never fails: what cannot be read becomes a fault that the review shows.

/// The tags inside a finding.
const FIELDS: [&str; 16] = [
    "severity",
    "category",
    "file",
    "line",
    "end_line",
    "claim",
    "evidence",
    "second_file",
    "second_line",
    "second_evidence",
    "scenario",
    "checked",
    "needs_context",
    "confidence",
    "fix",
    "rule",
];

/// A finding as it was written: fields in the order in which they came, as text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RawFinding {
    fields: Vec<(&'static str, String)>,
}

impl RawFinding {
    /// A field's text without surrounding white space; the first one if it came twice.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.fields
            .iter()
            .find(|(field, _)| *field == name)
            .map(|(_, text)| text.trim())
    }

    /// A field's text with its indentation, without the line breaks that the tags brought.
    pub fn code(&self, name: &str) -> Option<&str> {
        let text = self
            .fields
            .iter()
            .find(|(field, _)| *field == name)
            .map(|(_, text)| text.as_str())?;
        let text = strip_fence(text.trim_matches(['\n', '\r']));
        Some(text.trim_matches(['\n', '\r']))
    }
}

/// What an answer held.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScanOutcome {
    /// The findings, in order.
    pub findings: Vec<RawFinding>,
    /// What could not be read, in words. With a fault the reviewer did not answer properly, whatever else was found.
    pub faults: Vec<String>,
}

/// Reads the findings out of a reviewer's last message.
///
/// No `<findings>` block at all is a fault: silence is not "no findings". If there are several blocks the last one
/// counts, because models think aloud before they answer.
pub fn scan(answer: &str) -> ScanOutcome {
    let mut last = None;
    let mut position = 0;
    while let Some(start) = find_block(&answer[position..]) {
        let (outcome, length) = read_block(&answer[position + start..]);
        position += start + length;
        last = Some(outcome);
    }
    last.unwrap_or_else(|| {
        let fault = if answer.trim().is_empty() {
            "the answer is empty"
        } else {
            "the answer has no <findings> block"
        };
        ScanOutcome {
            findings: Vec::new(),
            faults: vec![fault.to_owned()],
        }
    })
}

/// Where the next `<findings>` or `<findings/>` begins.
fn find_block(text: &str) -> Option<usize> {
    text.match_indices("<findings").map(|(start, _)| start).find(|start| {
        let after = text[start + "<findings".len()..].trim_start();
        after.starts_with('>') || after.starts_with("/>")
    })
}

/// Reads the block that `text` begins with; returns what it held and how long it was.
fn read_block(text: &str) -> (ScanOutcome, usize) {
    let mut outcome = ScanOutcome::default();
    let mut position = text.find('>').map_or(text.len(), |end| end + 1);
    if text[..position].ends_with("/>") {
        return (outcome, position);
    }
    loop {
        let rest = &text[position..];
        let Some(open) = rest.find('<') else {
            outcome.faults.push("the <findings> block is cut off".to_owned());
            return (outcome, text.len());
        };
        let tag = &rest[open..];
        if tag.starts_with("</findings>") {
            return (outcome, position + open + "</findings>".len());
        }
        position += open + 1;
        if tag.starts_with("<finding>") {
            let begin = position - 1 + "<finding>".len();
            let (finding, length, complete) = read_finding(&text[begin..]);
            if complete {
                outcome.findings.push(finding);
            } else {
                outcome.faults.push("a <finding> is cut off".to_owned());
            }
            position = begin + length;
        }
    }
}

/// Reads one finding; returns it, how much text it took, and whether it was closed.
fn read_finding(text: &str) -> (RawFinding, usize, bool) {
    let mut finding = RawFinding::default();
    let mut position = 0;
    loop {
        let rest = &text[position..];
        let Some(open) = rest.find('<') else {
            return (finding, text.len(), false);
        };
        let tag = &rest[open..];
        if tag.starts_with("</finding>") {
            return (finding, position + open + "</finding>".len(), true);
        }
        if tag.starts_with("<finding>") || tag.starts_with("</findings>") {
            // The next finding (or the end) comes although this one was not closed: it is whole as far as it goes.
            return (finding, position + open, true);
        }
        let field = FIELDS.iter().find(|name| {
            tag.strip_prefix('<')
                .and_then(|tag| tag.strip_prefix(**name))
                .is_some_and(|tag| tag.starts_with('>'))
        });
        let Some(field) = field else {
            position += open + 1;
            continue;
        };
        let content_start = position + open + field.len() + 2;
        let close = format!("</{field}>");
        let Some(length) = text[content_start..].find(&close) else {
            return (finding, text.len(), false);
        };
        finding
            .fields
            .push((field, text[content_start..content_start + length].to_owned()));
        position = content_start + length + close.len();
    }
}

/// The inside of a Markdown fence, if the text is one.
fn strip_fence(text: &str) -> &str {
    let trimmed = text.trim();
    let Some(inside) = trimmed.strip_prefix("```") else {
        return text;
    };
    let Some(inside) = inside.strip_suffix("```") else {
        return text;
    };
    inside.split_once('\n').map_or(text, |(_, code)| code)
}

#[cfg(test)]
#[path = "scan_tests.rs"]
mod tests;
