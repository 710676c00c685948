//! The words of a finding, to compare with what is said beside it.

use std::{collections::BTreeSet, ops::RangeInclusive, sync::LazyLock};

use conclave_shared::finding::Finding;

use super::{
    RawFinding,
    traces::{names_line, names_path},
};
use crate::findings::claim_words::claim_words;

/// The words of a finding and its place, to compare with a sentence.
pub struct Report {
    file: String,
    text: String,
    words: BTreeSet<String>,
}

impl Report {
    /// The report of these texts about these lines of a file.
    pub(in crate::findings) fn new<'t>(
        file: &str,
        lines: RangeInclusive<u32>,
        texts: impl IntoIterator<Item = &'t str>,
    ) -> Self {
        let text = texts.into_iter().collect::<Vec<_>>().join("\n");
        let mut words = claim_words(&text);
        words.extend(claim_words(file));
        words.extend(lines.take(MAX_LINES).map(|line| format!("#{line}")));
        Self {
            file: file.to_owned(),
            text,
            words,
        }
    }

    /// Returns whether a sentence is about the same: at least half of its words are the finding's, but for those of no
    /// finding in particular, and it names neither another of these paths nor a line of its own.
    pub fn covers(&self, sentence: &str, paths: &[&str]) -> bool {
        let words: BTreeSet<String> = claim_words(sentence).difference(&OF_ANY).cloned().collect();
        let known = words.intersection(&self.words).count();
        let is_other = |path: &&&str| **path != self.file && !names_path(&self.text, &[**path]);
        let others: Vec<&str> = paths.iter().filter(is_other).copied().collect();
        let is_elsewhere = names_path(sentence, &others) && !names_path(sentence, &[&self.file])
            || names_line(sentence)
                && words
                    .iter()
                    .any(|word| word.starts_with('#') && !self.words.contains(word));
        known * 2 >= words.len() && !is_elsewhere
    }
}

/// Words of no finding in particular.
static OF_ANY: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    claim_words(
        "find found finding issue problem concern bug defect flaw vulnerability review reviewed change report reported list \
         listed see below above following detail two three four five several total file",
    )
});
/// Maximum number of lines of a finding's place.
const MAX_LINES: usize = 60;

impl From<&RawFinding> for Report {
    fn from(finding: &RawFinding) -> Self {
        let number = |name: &str| finding.get(name).and_then(|text| text.parse::<u32>().ok());
        let line = number("line").unwrap_or_default();
        let texts = finding.fields.iter().map(|(_, text)| text.as_str());
        Self::new(
            finding.get("file").unwrap_or_default(),
            line..=number("end_line").unwrap_or(line),
            texts,
        )
    }
}

impl From<&Finding> for Report {
    fn from(finding: &Finding) -> Self {
        let texts = [
            finding.severity.as_str(),
            &finding.category,
            &finding.claim,
            &finding.scenario,
            &finding.evidence,
            &finding.checked,
        ];
        let last = finding.end_line.unwrap_or(finding.line);
        Self::new(&finding.file, finding.line..=last, texts)
    }
}
