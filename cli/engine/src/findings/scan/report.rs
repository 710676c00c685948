//! The words of a finding, to compare with what is said beside it.

use std::{collections::BTreeSet, ops::RangeInclusive, sync::LazyLock};

use conclave_shared::{finding::Finding, severity::Severity};

use super::{
    RawFinding,
    traces::{names_line, names_path, sentences},
};
use crate::findings::{
    claim_words::claim_words,
    severe::{is_alarming, is_in, is_severe, severe_stems, words},
    written::parse_line,
};

/// The words of a finding, its place and its severity, to compare with a sentence.
pub struct Report {
    file: String,
    /// The words of its name.
    of_place: BTreeSet<String>,
    text: String,
    /// The same in lower case.
    lower: String,
    /// None if it cannot be read: then it counts as the highest.
    severity: Option<Severity>,
    /// The lines of its place, as words.
    lines: BTreeSet<String>,
    words: BTreeSet<String>,
    /// Those of the code that it quotes: names, which any other problem of that code has as well.
    names: BTreeSet<String>,
    /// Its own sentences: around its tags they stand in an answer, too.
    sentences: BTreeSet<String>,
}

impl Report {
    /// The report of these texts about these lines of a file, with the code that it quotes.
    pub(in crate::findings) fn new<'t>(
        file: &str,
        lines: RangeInclusive<u32>,
        severity: Option<Severity>,
        code: &str,
        texts: impl IntoIterator<Item = &'t str>,
    ) -> Self {
        let text = texts.into_iter().collect::<Vec<_>>().join("\n");
        Self {
            file: file.to_owned(),
            of_place: claim_words(file),
            lower: text.to_lowercase(),
            severity,
            lines: lines.take(MAX_LINES).map(|line| format!("#{line}")).collect(),
            words: claim_words(&text),
            names: claim_words(code),
            sentences: sentences(&text).map(|own| own.trim().to_owned()).collect(),
            text,
        }
    }

    /// Returns whether one of these reports is about the same as a sentence.
    ///
    /// An answer can have hundreds of findings, and as many sentences as those: its own sentences are looked up, and the others are
    /// taken apart once.
    pub fn any_covers(reports: &[Self], sentence: &str, paths: &[&str]) -> bool {
        let own = sentence.trim();
        if reports.iter().any(|report| report.sentences.contains(own)) {
            return true;
        }
        let sentence = Sentence::new(sentence, paths);
        reports.iter().any(|report| report.covers(&sentence))
    }

    /// Returns whether a sentence is about the same: at least half of its words are the finding's, but for those of no finding in
    /// particular and of its place, or it names the place of a finding that is as severe as it says. A sentence that does not say how
    /// severe its problem is may tell a critical one; a finding that is milder has to share two thirds of its words, but for the names of
    /// code, and each of its words for something severe.
    fn covers(&self, sentence: &Sentence<'_>) -> bool {
        if self.is_elsewhere(sentence) {
            return false;
        }
        let told = sentence.severity;
        let is_as_severe = self
            .severity
            .is_none_or(|severity| severity >= told.unwrap_or(Severity::Critical));
        let said: Vec<&String> = sentence
            .words
            .iter()
            .filter(|word| !word.starts_with('#') && !OF_ANY.contains(*word) && !self.of_place.contains(*word))
            .collect();
        if said.is_empty() {
            return is_as_severe || (told.is_none() && introduces(&sentence.lower));
        }
        if is_as_severe {
            let known = said.iter().filter(|word| self.words.contains(**word)).count();
            let is_here = sentence.names_line && !sentence.words.is_disjoint(&self.lines);
            is_here || known * 2 >= said.len()
        } else {
            let own: Vec<&String> = said.into_iter().filter(|word| !self.names.contains(*word)).collect();
            let known = own.iter().filter(|word| self.words.contains(**word)).count();
            known > 0 && known * 3 >= own.len() * 2 && self.is_as_alarming(&sentence.lower)
        }
    }

    /// Returns whether it has the words for something severe that a sentence has.
    fn is_as_alarming(&self, told: &str) -> bool {
        severe_stems(told).all(|stem| self.lower.contains(stem)) && (!is_alarming(told) || is_alarming(&self.lower))
    }

    /// Returns whether a sentence names another path of the change, or a line that is not the finding's.
    fn is_elsewhere(&self, sentence: &Sentence<'_>) -> bool {
        let is_other = |path: &&str| *path != self.file && !names_path(&self.text, &[*path]);
        let is_known = |word: &String| self.lines.contains(word) || self.words.contains(word);
        let is_unknown_number = |word: &String| word.starts_with('#') && !is_known(word);
        sentence.paths.iter().any(is_other) && !names_path(sentence.text, &[&self.file])
            || sentence.names_line && sentence.words.iter().any(is_unknown_number)
    }
}

/// A sentence that is compared with reports.
struct Sentence<'s> {
    text: &'s str,
    lower: String,
    words: BTreeSet<String>,
    /// The worst severity that it names.
    severity: Option<Severity>,
    names_line: bool,
    /// The paths of the change that it names.
    paths: Vec<&'s str>,
}

impl<'s> Sentence<'s> {
    fn new(text: &'s str, paths: &[&'s str]) -> Self {
        let named = paths.iter().copied().filter(|path| names_path(text, &[*path]));
        Self {
            lower: text.to_lowercase(),
            words: claim_words(text),
            severity: severity_told(text),
            names_line: names_line(text),
            paths: named.collect(),
            text,
        }
    }
}

/// The worst severity that a sentence names. A word such as "note" or "low" makes nothing milder.
fn severity_told(sentence: &str) -> Option<Severity> {
    // The word alone is the name of a field.
    let lower = sentence.to_lowercase().replace("severity", "");
    let named = words(&lower).filter_map(|word| match word {
        "suggestion" | "suggestions" | "nit" | "nits" => Some(Severity::Suggestion),
        "warning" | "warnings" => Some(Severity::Warning),
        word => Severity::parse_lenient(word).filter(|severity| *severity == Severity::Critical),
    });
    named.max().max(is_severe(&lower).then_some(Severity::Critical))
}

/// Returns whether a sentence without words of its own says that there are findings: "I found two issues", not "that is a bug".
fn introduces(lower: &str) -> bool {
    const WORDS: &str = "found find identified see here following below above listed reported report total";
    words(lower).any(|word| is_in(WORDS, word))
}

/// Words of no finding in particular.
static OF_ANY: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    claim_words(
        "critical warning warnings suggestion suggestions high medium low severity nit nits \
         find found finding issue problem concern bug defect flaw vulnerability review reviewed change report reported list \
         listed see below above following detail two three four five several total file \
         first second third let collect evidence more",
    )
});
/// Maximum number of lines of a finding's place.
const MAX_LINES: usize = 60;

impl From<&RawFinding> for Report {
    fn from(finding: &RawFinding) -> Self {
        let number = |name: &str| finding.get(name).and_then(|text| parse_line(text).ok());
        let line = number("line").unwrap_or_default();
        let texts = finding.fields.iter().map(|(_, text)| text.as_str());
        Self::new(
            finding.get("file").unwrap_or_default(),
            line..=number("end_line").unwrap_or(line),
            finding.severity().and_then(Severity::parse_lenient),
            finding.get("evidence").unwrap_or_default(),
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
        Self::new(
            &finding.file,
            finding.lines(),
            Some(finding.severity),
            &finding.evidence,
            texts,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATHS: [&str; 2] = ["app.py", "db.py"];

    const CODE: &str = r#"    return db.one("select * from t where id=" + i)"#;

    fn covers(report: &Report, sentence: &str) -> bool {
        Report::any_covers(std::slice::from_ref(report), sentence, &PATHS)
    }

    fn report(severity: Severity, texts: &[&str]) -> Report {
        let texts = texts.iter().copied().chain([CODE]);
        Report::new("app.py", 4..=4, Some(severity), CODE, texts)
    }

    #[test]
    fn a_milder_finding_does_not_cover_another_problem_of_the_same_names() {
        let naming = report(
            Severity::Suggestion,
            &[
                "naming",
                "The parameter i has a name that says nothing to a reader of get.",
            ],
        );
        for told in [
            "There is a SQL injection in get.",
            "Found a SQL injection in get.",
            "I found one critical problem in get.",
            "I found a race in get.",
            "I found a leak in the db.",
            "The name of the parameter says critical things.",
        ] {
            assert!(!covers(&naming, told), "{told}");
        }
        for told in [
            "The parameter i has a name that says nothing.",
            "The name of the parameter says nothing to a reader.",
        ] {
            assert!(covers(&naming, told), "{told}");
        }
    }

    #[test]
    fn a_place_is_covered_by_a_finding_that_is_as_severe_as_what_is_told() {
        let naming = [
            "naming",
            "The parameter i has a name that says nothing to a reader of get.",
        ];
        let injection = ["sql-injection", "The parameter i is concatenated into the SQL text."];
        for told in [
            "| critical | app.py:4 | SQL injection |",
            "[P0] app.py:4 injection",
            "Critical: line 4 concatenates.",
            "app.py:4 is injectable.",
            "High: injection in app.py:4",
            "Note: app.py:4 runs the input.",
            "Blocking issue: line 4.",
            "That's a bug.",
            "I found one critical issue.",
            "The parameter is no longer bound.",
        ] {
            assert!(!covers(&report(Severity::Suggestion, &naming), told), "{told}");
        }
        for told in [
            "app.py:4 is injectable.",
            "Critical: line 4 concatenates.",
            "There is a SQL injection in app.py.",
            "I found one critical issue.",
            "That's a bug.",
        ] {
            assert!(covers(&report(Severity::Critical, &injection), told), "{told}");
        }
        for told in [
            "Warning: app.py:4 may be slow.",
            "I found two issues.",
            "One warning, see below.",
        ] {
            assert!(covers(&report(Severity::Warning, &naming), told), "{told}");
        }
        assert!(covers(
            &report(Severity::Suggestion, &naming),
            "The name of the parameter says nothing."
        ));
        let own = report(Severity::Warning, &["vulnerability", "The input is unsafe."]);
        assert!(covers(&own, "vulnerability") && covers(&own, " The input is unsafe."));
        for elsewhere in ["db.py:4 is injectable.", "Line 9 is injectable."] {
            assert!(
                !covers(&report(Severity::Critical, &injection), elsewhere),
                "{elsewhere}"
            );
        }
    }

    #[test]
    fn many_sentences_are_compared_with_many_reports_at_once() {
        let claim = |number: u32| format!("The id of table t{number} is concatenated into the DELETE that follows.");
        let reports: Vec<Report> = (0..300)
            .map(|number| report(Severity::Warning, &["injection", &claim(number)]))
            .collect();
        // It would take minutes if each were taken apart for each report.
        for number in 0..450 {
            let told = if number < 300 {
                claim(number)
            } else {
                format!("Step {number} drops what the caller has signed.")
            };
            assert_eq!(Report::any_covers(&reports, &told, &PATHS), number < 300, "{told}");
        }
    }
}
