//! The evidence check: the quoted code must exist, and the line is corrected to where it stands.

mod citation;
mod misnamed;
mod second;
mod standing;
mod whole;

use std::collections::{BTreeSet, HashMap};

use conclave_shared::{
    engineering_rule::OnBreach,
    finding::{Doubt, EvidenceStatus, Finding, Fingerprint, fingerprint},
    path_kind::{PathKind, Role},
    reviewer::ReviewerName,
    severity::Severity,
};

use self::{
    citation::{has_to_cite, rule_of, severity_by},
    misnamed::only_with_quote,
    second::second_quote,
    standing::{Standing, stands, stands_in_patch},
    whole::is_quoted_whole,
};
use super::{
    RawFinding, doubts,
    locate::{Place, locate, nearest, with_or_without_heading},
    scan::Report,
    written::{category_of, claims_injection, confidence, parse_line, path_of, resolved, shorten},
};
use crate::{
    diff::{ChangeKind, FileDiff},
    review::CONTEXT_FILE,
    rules::{RuleBook, RuleInForce},
};

pub use self::misnamed::also_meant;

/// Reads a file of the reviewed commit (or of the base, for a deleted file).
pub trait SourceReader {
    /// Returns the content; `None` if there is no such file or it is not text.
    fn read(&mut self, path: &str, at_base: bool) -> Option<String>;
}

/// A finding that was not taken, and why. It is counted and listed, never posted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hallucinated {
    /// The claim, for the record.
    pub claim: String,
    /// The fault.
    pub reason: String,
    /// Its severity as it was written.
    pub severity: String,
    /// Its category.
    pub category: String,
    /// The file that it names.
    pub file: String,
    /// The line that it names.
    pub line: Option<u32>,
    /// The code that it quotes, as it was written.
    pub quote: String,
    /// Whether a part of it could not be read.
    pub unreadable: bool,
    /// The tag with that part, or its own where it has none, and the line in which it stands.
    pub place: Option<String>,
    /// Whether its quote does not stand in its file.
    pub misquoted: bool,
    /// The lines of the file that are most like its quote.
    pub nearest: Vec<(u32, String)>,
    /// The rule in force that it cites.
    pub rule: Option<String>,
    /// The rules for its file that it cites and whose breach blocks or asks for a person, by their ids: each is owed a finding.
    pub serious_rules: BTreeSet<String>,
    /// True if it cites no rule, or several, though it has to cite one: how severe it is cannot be known.
    pub unruled: bool,
}

impl From<&Hallucinated> for Report {
    fn from(lost: &Hallucinated) -> Self {
        let line = lost.line.unwrap_or_default();
        let texts = [lost.severity.as_str(), &lost.category, &lost.claim];
        Self::new(
            &lost.file,
            line..=line,
            Severity::parse_lenient(&lost.severity),
            "",
            texts,
        )
    }
}

impl Hallucinated {
    /// Returns whether it would block an approval if it were proved. An unknown or missing severity, or rule, counts as the
    /// highest.
    pub fn is_serious(&self) -> bool {
        self.unruled
            || !self.serious_rules.is_empty()
            || Severity::parse_lenient(&self.severity).is_none_or(|severity| severity == Severity::Critical)
            || self.is_injection()
    }

    /// Returns whether it reports words that try to steer the review.
    pub fn is_injection(&self) -> bool {
        self.category == Finding::PROMPT_INJECTION
    }

    /// The fault, with its place in the answer or the message that it is a part of.
    pub fn fault_in(&self, text: &str) -> String {
        let place = self.place.as_ref().map(|place| format!(" ({place} of {text})"));
        format!("{}{}", self.reason, place.unwrap_or_default())
    }

    /// Returns whether its reviewer is asked for better evidence.
    pub fn can_be_repaired(&self) -> bool {
        !self.unreadable && (self.misquoted || self.is_serious())
    }
}

/// The result of checking a reviewer's findings.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Checked {
    /// Findings whose evidence stands in the code.
    pub findings: Vec<Finding>,
    /// Findings whose evidence does not.
    pub hallucinated: Vec<Hallucinated>,
    /// Findings that could not be read; each is among the faults as well.
    pub unreadable: Vec<Hallucinated>,
    /// The parts that could not be read, in words.
    pub faults: Vec<String>,
}

/// Checks a reviewer's raw findings against the code.
///
/// Of several places where the quote stands the one nearest to the reported line is taken; among those, white space
/// does not matter. Ids are given later, when the panel is complete. The reviewer of rules has to cite one of `rules`, for a
/// file that the rule covers; another reviewer that does reports a breach of it, too.
pub fn check(
    reviewer: &ReviewerName,
    raw: &[RawFinding],
    files: &[FileDiff],
    rules: Option<&RuleBook>,
    source: &mut impl SourceReader,
) -> Checked {
    let by_path: HashMap<&str, &FileDiff> = files.iter().map(|file| (file.path.as_str(), file)).collect();
    let mut checked = Checked::default();
    for (index, raw) in raw.iter().enumerate() {
        if let Some(field) = may_go_on(raw, files, source) {
            let place = raw.place_of(field).map(|place| format!(" ({place} of the answer)"));
            checked.faults.push(format!(
                "the <{field}> of finding {}{} ends with tags that stand in its file as well, so that it is unclear where it \
                 ends; leave that line out of every text and quote the lines beside it",
                index + 1,
                place.unwrap_or_default()
            ));
        }
        match check_one(reviewer, raw, &by_path, rules, source) {
            Ok(finding) => checked.findings.push(finding),
            Err(refusal) => {
                let lost = lost(reviewer, raw, files, rules, refusal);
                if lost.unreadable {
                    let fault = format!("finding {} cannot be read: {}", index + 1, lost.fault_in("the answer"));
                    checked.faults.push(fault);
                    checked.unreadable.push(lost);
                } else {
                    checked.hallucinated.push(lost);
                }
            }
        }
    }
    checked
}

/// Returns the record of a refused finding.
fn lost(
    reviewer: &ReviewerName,
    raw: &RawFinding,
    files: &[FileDiff],
    rules: Option<&RuleBook>,
    refusal: Refusal,
) -> Hallucinated {
    let text = |field: &str| raw.get(field).unwrap_or_default().to_owned();
    let category = category_in(raw);
    let file = path_of(raw.code("file").unwrap_or_default(), files);
    let cited = rules.zip(raw.get("rule")).map(|(rules, id)| rules.named(id));
    let cited = cited.unwrap_or_default();
    let rule = match cited[..] {
        [rule] => Some(rule),
        _ => None,
    };
    // The rule decides how severe a breach is, also of one that its reviewer could not show.
    let is_breach = category != Finding::PROMPT_INJECTION;
    let by_rule = rule.and_then(|rule| rule.on_breach);
    let by_rule = by_rule.filter(|_| is_breach && has_to_cite(reviewer));
    let is_serious = |rule: &&&RuleInForce| {
        is_breach && rule.files.contains(&file) && rule.on_breach.is_some_and(OnBreach::is_serious)
    };
    let serious_rules = cited.iter().filter(is_serious).map(|rule| rule.id.clone()).collect();
    let lost = Hallucinated {
        claim: text("claim"),
        severity: match by_rule {
            Some(on_breach) => on_breach.severity().to_string(),
            None => shorten(raw.severity().unwrap_or_default()),
        },
        category,
        file,
        line: raw.get("line").and_then(|line| parse_line(line).ok()),
        quote: raw.code("evidence").unwrap_or_default().to_owned(),
        rule: rule.map(|rule| rule.id.clone()),
        serious_rules,
        ..Hallucinated::default()
    };
    match refusal {
        Refusal::Unreadable(field, reason) => Hallucinated {
            reason,
            unreadable: true,
            place: raw.place_of(field),
            ..lost
        },
        Refusal::Hallucinated(reason) => Hallucinated { reason, ..lost },
        Refusal::Unruled(reason) => Hallucinated {
            reason,
            unruled: true,
            ..lost
        },
        Refusal::Misquoted(reason, nearest) => Hallucinated {
            reason,
            nearest,
            misquoted: true,
            ..lost
        },
    }
}

/// The category of a finding. One whose claim speaks of an attempt to steer the review is about that, whatever it is called.
pub(crate) fn category_in(raw: &RawFinding) -> String {
    if raw.get("claim").is_some_and(claims_injection) {
        return Finding::PROMPT_INJECTION.to_owned();
    }
    raw.get("category").map_or_else(|| "other".to_owned(), category_of)
}

/// The words that a reviewer is asked for whose severity cannot be read.
const SEVERITIES: &str = "it is critical, warning or suggestion";

enum Refusal {
    /// With the field that is missing, or says nothing.
    Unreadable(&'static str, String),
    Hallucinated(String),
    /// It breaks no rule that is known.
    Unruled(String),
    /// With the lines that are most like the quote.
    Misquoted(String, Vec<(u32, String)>),
}

fn severity_in(raw: &RawFinding) -> Result<Severity, Refusal> {
    let unreadable = |fault| Refusal::Unreadable("severity", fault);
    let text = raw
        .severity()
        .filter(|text| !text.is_empty())
        .ok_or_else(|| unreadable(format!("it has no <severity>; {SEVERITIES}")))?;
    Severity::parse_lenient(text)
        .ok_or_else(|| unreadable(format!("`{}` is not a severity; {SEVERITIES}", shorten(text))))
}

/// The path that a finding names.
fn named_file(raw: &RawFinding, field: &str, files: &HashMap<&str, &FileDiff>) -> Option<String> {
    let known = |path: &str| files.contains_key(path);
    Some(resolved(raw.code(field)?, known, files.keys().copied()))
}

/// Checks a finding in the file that it names, and where its quote does not stand there, in the only changed one that it can mean
/// besides.
fn check_one(
    reviewer: &ReviewerName,
    raw: &RawFinding,
    files: &HashMap<&str, &FileDiff>,
    rules: Option<&RuleBook>,
    source: &mut impl SourceReader,
) -> Result<Finding, Refusal> {
    let path = named_file(raw, "file", files).unwrap_or_default();
    let refusal = match check_in(&path, reviewer, raw, files, rules, source) {
        Err(refusal @ (Refusal::Hallucinated(_) | Refusal::Misquoted(..))) => refusal,
        checked => return checked,
    };
    let is_there = files.contains_key(path.as_str()) || source.read(&path, false).is_some();
    let meant = also_meant(&path, is_there, files.values().copied());
    let Some(other) = only_with_quote(raw, meant, source) else {
        return Err(refusal);
    };
    check_in(other, reviewer, raw, files, rules, source)
}

/// Checks a finding in the file at this path.
fn check_in(
    path: &str,
    reviewer: &ReviewerName,
    raw: &RawFinding,
    files: &HashMap<&str, &FileDiff>,
    rules: Option<&RuleBook>,
    source: &mut impl SourceReader,
) -> Result<Finding, Refusal> {
    let required = |name: &'static str| {
        raw.get(name)
            .filter(|text| !text.is_empty())
            .ok_or_else(|| Refusal::Unreadable(name, format!("it has no <{name}>")))
    };
    let severity = severity_in(raw)?;
    required("file")?;
    let line = line_of(raw, path, files, source).map_err(|fault| Refusal::Unreadable("line", fault))?;
    required("claim")?;
    raw.code("evidence")
        .filter(|code| !code.trim().is_empty())
        .ok_or_else(|| Refusal::Unreadable("evidence", "it has no <evidence>".into()))?;
    let category = category_in(raw);
    let is_poor = is_about_poor_instructions(reviewer, path, &category);
    // Hostile text in a title or a comment stands in the context file, which is not part of the diff.
    let file = files.get(path).copied();
    let at_base = match file {
        Some(file) => file.kind == ChangeKind::Deleted,
        None if path == CONTEXT_FILE || is_poor => false,
        None => {
            return Err(Refusal::Hallucinated(format!(
                "{} is not part of this change",
                shorten(path)
            )));
        }
    };
    // Words that try to steer the review are everybody's to report; no rule of the organisation is about them.
    let rules = rules.filter(|_| category != Finding::PROMPT_INJECTION);
    let rule = rule_of(reviewer, raw, rules, path)?;
    let content = source
        .read(path, at_base)
        .ok_or_else(|| Refusal::Hallucinated(format!("{} cannot be read as text", shorten(path))))?;
    let changed = |line: u32| file.is_some_and(|file| changes(file, at_base, line));
    // Words that steered and are gone steer nothing.
    let may_be_gone = !at_base && category != Finding::PROMPT_INJECTION;
    let written = raw;
    let standing = stands(raw, path, &content, line, changed)
        .or_else(|| stands_in_patch(raw, file.filter(|_| may_be_gone)?, &content, line, source));
    let Standing {
        raw,
        place,
        quote,
        removed,
    } = standing.ok_or_else(|| {
        let quote = raw.code("evidence").unwrap_or_default();
        let reason = format!("the quoted code does not stand in {}", shorten(path));
        Refusal::Misquoted(reason, nearest(&content, quote, line))
    })?;
    // A line of the context file has more on it than the quote: the marks of its sections.
    let evidence = match file {
        Some(_) => place.code(&content),
        None => quote,
    };
    let end = last_line(&raw, place, line);
    let second = second_quote(&raw, path, place, files, source);
    let fix = raw.code("fix").filter(|fix| !fix.trim().is_empty()).map(str::to_owned);
    let mut finding = Finding {
        id: String::new(),
        reviewer: reviewer.clone(),
        found_by: vec![reviewer.clone()],
        severity: match rule {
            Some(rule) => severity_by(rule, reviewer, severity),
            None if is_poor => Severity::Suggestion,
            None => severity,
        },
        rule: rule.map(RuleInForce::cite),
        fingerprint: identity(is_poor, path, &category, removed.as_deref().unwrap_or(&evidence)),
        category,
        line: place.line,
        end_line: (end > place.line).then_some(end),
        claim: raw.get("claim").unwrap_or_default().to_owned(),
        evidence,
        removed: None,
        second,
        scenario: raw.get("scenario").unwrap_or_default().to_owned(),
        checked: raw.get("checked").unwrap_or_default().to_owned(),
        confidence: confidence(raw.get("confidence")),
        quoted_whole: fix.is_some() && !at_base && is_quoted_whole(written, &content, place, line, changed),
        fix,
        evidence_status: if place.line == line {
            EvidenceStatus::Verified
        } else {
            EvidenceStatus::Moved
        },
        file: path.to_owned(),
        doubts: Vec::new(),
    };
    let is_unchanged = file.is_some_and(|file| has_lines(file, at_base)) && !place.lines().any(changed);
    finding.doubts = doubts_of(&finding, &raw, &content, is_unchanged && removed.is_none());
    if let Some(code) = removed {
        finding.claim = format!("{}{REMOVED}{}`)", finding.claim, in_words(&code));
        finding.removed = Some(code);
    }
    Ok(finding)
}

/// The reasons to doubt a finding.
fn doubts_of(finding: &Finding, raw: &RawFinding, content: &str, is_unchanged: bool) -> Vec<Doubt> {
    let mut found = doubts::of(finding);
    if finding.is_prompt_injection() {
        return found;
    }
    if is_unchanged {
        found.push(Doubt::UnchangedLine);
    }
    let needs = raw.get("needs_context");
    if needs.is_some_and(|answer| answer.eq_ignore_ascii_case("yes")) {
        found.push(Doubt::NeedsContext);
    }
    if found.contains(&Doubt::BuildClaim) && doubts::refuted_by_name(finding, content) {
        found.push(Doubt::NamedInFile);
    }
    found
}

/// The words between a claim and the code that is gone.
const REMOVED: &str = " (removed: `";

/// Removed code, for people: its first line.
fn in_words(removed: &str) -> String {
    let first = removed.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    shorten(&first.trim().replace('`', "'"))
}

/// The claim of a finding as its reviewer wrote it, without the code that is gone.
pub(crate) fn claim_as_written(claim: &str) -> &str {
    claim_and_removed(claim).map_or(claim, |(written, _)| written)
}

/// The first line of the code that is gone, as a claim has it.
pub(crate) fn removed_by_claim(claim: &str) -> Option<&str> {
    claim_and_removed(claim).map(|(_, removed)| removed)
}

fn claim_and_removed(claim: &str) -> Option<(&str, &str)> {
    claim.strip_suffix("`)")?.rsplit_once(REMOVED)
}

/// The line that a finding reports; of one without it, or with one that cannot be read, that of its quote, if that stands in one place
/// only.
fn line_of(
    raw: &RawFinding,
    path: &str,
    files: &HashMap<&str, &FileDiff>,
    source: &mut impl SourceReader,
) -> Result<u32, String> {
    let fault = match raw.get("line").filter(|line| !line.is_empty()).map(parse_line) {
        Some(Ok(line)) => return Ok(line),
        Some(Err(fault)) => fault,
        None => "it has no <line>".to_owned(),
    };
    let file = files.get(path);
    let content = file.and_then(|file| source.read(path, file.kind == ChangeKind::Deleted));
    let quote = raw.code("evidence").filter(|quote| !quote.trim().is_empty());
    let only = content.zip(quote).and_then(|(content, quote)| {
        let nearest_to = |line: u32| {
            let found = with_or_without_heading(quote, path, |quote| locate(&content, quote, line, |_| false));
            found.map(|(place, _)| place.line)
        };
        nearest_to(1).filter(|first| nearest_to(u32::MAX) == Some(*first))
    });
    only.ok_or(fault)
}

/// The last line of a finding whose quote stands here: the reported one, as far as the quote goes.
fn last_line(raw: &RawFinding, place: Place, reported: u32) -> u32 {
    let end = raw.get("end_line").and_then(|text| parse_line(text).ok());
    let length = end.map_or(place.length, |end| {
        end.saturating_sub(reported).saturating_add(1).min(place.length)
    });
    place.line + length.max(1) - 1
}

/// Anti-patterns of instructions for coding agents, which are reported also of a file that the change leaves alone.
const POOR_INSTRUCTIONS: [&str; 3] = ["agents-md-filler", "agents-md-length", "agents-md-no-command"];

fn is_about_poor_instructions(reviewer: &ReviewerName, path: &str, category: &str) -> bool {
    reviewer.as_str() == "agents_md"
        && POOR_INSTRUCTIONS.contains(&category)
        && PathKind::of(path).role == Role::AgentInstructions
}

fn identity(is_poor: bool, path: &str, category: &str, evidence: &str) -> Fingerprint {
    if is_poor {
        return poor_instructions();
    }
    fingerprint(path, category, evidence)
}

/// The identity of every finding about poor instructions: a merge request gets one of them, whatever line it names.
pub fn poor_instructions() -> Fingerprint {
    fingerprint("AGENTS.md", "agents-md", "")
}

/// Returns whether the merge request changes this line of the file.
fn changes(file: &FileDiff, at_base: bool, line: u32) -> bool {
    if at_base {
        file.lines.is_removed(line)
    } else {
        file.lines.is_added(line)
    }
}

/// Returns whether it is known which lines the merge request changes.
fn has_lines(file: &FileDiff, at_base: bool) -> bool {
    !at_base && file.lines.distance_to_added(1).is_some()
}

/// The field of the finding, if there is one, of which the tags that ended it can be quoted code.
fn may_go_on(raw: &RawFinding, files: &[FileDiff], source: &mut impl SourceReader) -> Option<&'static str> {
    let paths = [raw.code("file"), raw.code("second_file")];
    paths.into_iter().flatten().find_map(|path| {
        let path = path_of(path, files);
        [false, true].into_iter().find_map(|at_base| {
            let content = source.read(&path, at_base)?;
            raw.may_go_on(&content)
        })
    })
}

#[cfg(test)]
#[path = "evidence_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "quotes_tests.rs"]
mod quotes_tests;
