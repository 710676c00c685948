//! Reading a file of rules: every problem at once, each with its line, and the good rules are kept.
//!
//! Walked by hand and not deserialised, because serde stops at the first problem.

use std::ops::Range;

use conclave_shared::{
    engineering_rule::{OnBreach, RuleLevel},
    nearest::nearest,
    path_globs::PathGlobs,
    severity::Severity,
};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};
use url::Url;

use crate::{Demand, Problem, Rule};

const RULE: [&str; 11] = [
    "id",
    "when",
    "use",
    "link",
    "paths",
    "text",
    "severity",
    "level",
    "on_breach",
    "approvers",
    "manual_review",
];
const DEMAND: [&str; 2] = ["who", "add_as_reviewers"];

/// The longest of the short texts, in characters: a rule is a sentence, and reviewers read all of it.
const MAX_SHORT: usize = 500;
/// The longest explanation.
const MAX_TEXT: usize = 4000;

/// A rule and the line that it begins in.
pub(crate) struct Placed {
    pub(crate) rule: Rule,
    pub(crate) line: usize,
}

/// The good rules of a file, and everything that is wrong with it.
pub(crate) fn read(file: &str, text: &str) -> (Vec<Placed>, Vec<Problem>) {
    let mut reader = Reader {
        file,
        text,
        problems: Vec::new(),
    };
    let rules = reader.document();
    let mut problems = reader.problems;
    problems.sort_by_key(|problem| problem.line);
    (rules, problems)
}

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
    problems: Vec<Problem>,
}

type Value<'i> = Spanned<DeValue<'i>>;

impl Reader<'_> {
    fn document(&mut self) -> Vec<Placed> {
        let text = self.text;
        let (document, errors) = DeTable::parse_recoverable(text.strip_prefix('\u{FEFF}').unwrap_or(text));
        if !errors.is_empty() {
            for error in errors {
                let span = error.span().unwrap_or(0..0);
                self.problem(
                    &span,
                    format!("this is not TOML: {}; no rule of the file is used", error.message()),
                );
            }
            // What was recovered is a guess, and a rule is nothing to guess at.
            return Vec::new();
        }
        let document = document.get_ref();
        self.unknown(document, &["rule"], "at the top; rules begin with [[rule]]");
        match document.get("rule").map(|value| (value.get_ref(), value.span())) {
            Some((DeValue::Array(tables), _)) => tables.iter().filter_map(|table| self.rule(table)).collect(),
            Some((_, span)) => {
                self.problem(
                    &span,
                    "`rule` is one table: write [[rule]], with two brackets".to_owned(),
                );
                Vec::new()
            }
            None => {
                self.problems.push(Problem {
                    file: self.file.to_owned(),
                    line: None,
                    text: "there is no [[rule]] in it".to_owned(),
                    leaves_out: true,
                });
                Vec::new()
            }
        }
    }

    fn rule(&mut self, value: &Value<'_>) -> Option<Placed> {
        let span = value.span();
        let DeValue::Table(table) = value.get_ref() else {
            self.problem(&span, "this is not a table: write [[rule]]".to_owned());
            return None;
        };
        let before = self.problems.len();
        self.unknown(table, &RULE, "of a rule");
        let id = self.needed(table, "id", &span, MAX_SHORT);
        if let Some((id, span)) = &id
            && !is_id(id)
        {
            self.problem(
                span,
                format!("`{id}` is not an id: at most 64 of letters, digits, `-`, `_` and `.`, as in \"NET-012\""),
            );
        }
        let when = self.needed(table, "when", &span, MAX_SHORT);
        let manual_review = table.get("manual_review").map(|value| self.demand(value));
        let instead = match manual_review {
            Some(_) => self.string(table, "use", MAX_SHORT),
            None => self.needed(table, "use", &span, MAX_SHORT),
        };
        let link = self.needed(table, "link", &span, MAX_SHORT);
        let link = link.and_then(|(link, span)| self.link(&link, &span));
        let paths = self.paths(table, &span);
        let text = self.string(table, "text", MAX_TEXT);
        let severity = self.string(table, "severity", MAX_SHORT);
        let severity = severity.and_then(|(severity, span)| self.severity(&severity, &span));
        let is_left_out = self.problems.len() > before;
        let (level, on_breach) = self.enforcement(table);
        let approvers = self.approvers(table, &span, on_breach);
        if let (Some(most), Some(on_breach)) = (severity, on_breach)
            && most < on_breach.severity()
        {
            let text = format!(
                "`severity = \"{most}\"` has no effect: a breach is `{on_breach}`, which makes it {}; leave one of both out",
                on_breach.severity()
            );
            self.remark(&span, text);
        }
        if is_left_out {
            if let Some((id, _)) = id {
                self.problem(&span, format!("the rule `{id}` is left out, because of that"));
            }
            return None;
        }
        let rule = Rule {
            id: id?.0,
            when: when?.0,
            instead: instead.map(|(text, _)| text),
            link: link?,
            paths: paths?,
            text: text.map(|(text, _)| text),
            severity,
            level,
            on_breach,
            approvers,
            manual_review: manual_review.flatten(),
        };
        Some(Placed {
            rule,
            line: self.line(span.start),
        })
    }

    fn demand(&mut self, value: &Value<'_>) -> Option<Demand> {
        let span = value.span();
        let DeValue::Table(table) = value.get_ref() else {
            self.problem(
                &span,
                "`manual_review` is not a table: write manual_review = { who = [\"@group/team\"] }".to_owned(),
            );
            return None;
        };
        self.unknown(table, &DEMAND, "of manual_review");
        let add_as_reviewers = match table
            .get("add_as_reviewers")
            .map(|value| (value.get_ref(), value.span()))
        {
            Some((DeValue::Boolean(add), _)) => *add,
            Some((_, span)) => {
                self.problem(&span, "`add_as_reviewers` is true or false".to_owned());
                false
            }
            None => false,
        };
        let who = self.accounts(table, "who", &span);
        Some(Demand { who, add_as_reviewers })
    }

    /// A list of users and groups.
    fn accounts(&mut self, table: &DeTable<'_>, name: &str, parent: &Range<usize>) -> Vec<String> {
        let example = format!("{name} = [\"@group/team\", \"alice\"]");
        let mut names = Vec::new();
        for (name, span) in self.strings(table, name, parent, &example) {
            let bare = name.trim().trim_start_matches('@');
            if is_account(bare) {
                names.push(format!("@{bare}"));
            } else {
                self.problem(
                    &span,
                    format!("`{name}` is neither the name of a user nor the path of a group"),
                );
            }
        }
        names
    }

    /// The rule's level, and the consequence of a breach. A rule is never left out for a fault in these: until it is mended,
    /// the strict reading counts, because the rule's authors wanted it enforced.
    fn enforcement(&mut self, table: &DeTable<'_>) -> (Option<RuleLevel>, Option<OnBreach>) {
        let level = self.word(table, "level", RuleLevel::ALL, RuleLevel::Must);
        let on_breach = self.word(table, "on_breach", OnBreach::ALL, OnBreach::Review);
        (level, on_breach.or(level.map(RuleLevel::on_breach)))
    }

    /// One of a few words; of any other text a problem, and the strict one in its place.
    fn word<T: Copy + std::fmt::Display, const N: usize>(
        &mut self,
        table: &DeTable<'_>,
        name: &str,
        all: [T; N],
        strict: T,
    ) -> Option<T> {
        let value = table.get(name)?;
        let (written, shown) = match value.get_ref() {
            DeValue::String(text) => (text.trim(), format!("`{}`", text.trim())),
            _ => ("", "something without quotation marks".to_owned()),
        };
        let known = all.into_iter().find(|word| word.to_string() == written);
        if known.is_none() {
            let words = all.map(|word| format!("\"{word}\"")).join(", ");
            let text =
                format!("`{name}` is one of {words}, not {shown}; until that is mended, \"{strict}\" is in force");
            self.remark(&value.span(), text);
        }
        Some(known.unwrap_or(strict))
    }

    /// The people who have to approve a breach.
    fn approvers(&mut self, table: &DeTable<'_>, rule: &Range<usize>, on_breach: Option<OnBreach>) -> Vec<String> {
        let Some(value) = table.get("approvers") else {
            return Vec::new();
        };
        if on_breach != Some(OnBreach::Review) {
            let text = "`approvers` has no effect without on_breach = \"review\"".to_owned();
            self.remark(&value.span(), text);
        }
        self.accounts(table, "approvers", rule)
    }

    fn link(&mut self, link: &str, span: &Range<usize>) -> Option<String> {
        match link.parse::<Url>() {
            Ok(url)
                if matches!(url.scheme(), "https" | "http")
                    && url.username().is_empty()
                    && url.password().is_none() =>
            {
                Some(url.into())
            }
            Ok(_) | Err(_) => {
                self.problem(
                    span,
                    "`link` is not an address: write where the rule was decided, with https://".to_owned(),
                );
                None
            }
        }
    }

    fn paths(&mut self, table: &DeTable<'_>, rule: &Range<usize>) -> Option<PathGlobs> {
        let patterns = self.strings(table, "paths", rule, "paths = [\"**\"] for every file");
        let texts: Vec<&str> = patterns.iter().map(|(text, _)| text.as_str()).collect();
        match PathGlobs::new(&texts) {
            Ok(globs) => Some(globs),
            Err(bad) => {
                for bad in bad {
                    let span = patterns.get(bad.index).map_or(rule, |(_, span)| span).clone();
                    self.problem(&span, bad.to_string());
                }
                None
            }
        }
    }

    fn severity(&mut self, text: &str, span: &Range<usize>) -> Option<Severity> {
        let severities = [Severity::Critical, Severity::Warning, Severity::Suggestion];
        let known = severities.into_iter().find(|severity| severity.as_str() == text);
        if known.is_none() {
            self.problem(
                span,
                format!("`{text}` is not a severity: critical, warning or suggestion"),
            );
        }
        known
    }

    fn needed(
        &mut self,
        table: &DeTable<'_>,
        name: &str,
        rule: &Range<usize>,
        most: usize,
    ) -> Option<(String, Range<usize>)> {
        if !table.contains_key(name) {
            self.problem(rule, format!("the rule has no `{name}`"));
        }
        self.string(table, name, most)
    }

    fn string(&mut self, table: &DeTable<'_>, name: &str, most: usize) -> Option<(String, Range<usize>)> {
        let value = table.get(name)?;
        let span = value.span();
        let problem = match value.get_ref() {
            DeValue::String(text) if text.trim().is_empty() => format!("`{name}` is empty"),
            DeValue::String(text) if text.chars().count() > most => {
                format!("`{name}` is longer than {most} characters; put the rest behind the link")
            }
            DeValue::String(text) => return Some((text.trim().to_owned(), span)),
            _ => format!("`{name}` is not text: put it into quotes"),
        };
        self.problem(&span, problem);
        None
    }

    /// A list of texts that must not be empty.
    fn strings(
        &mut self,
        table: &DeTable<'_>,
        name: &str,
        parent: &Range<usize>,
        example: &str,
    ) -> Vec<(String, Range<usize>)> {
        let Some(value) = table.get(name) else {
            self.problem(parent, format!("`{name}` is missing: write {example}"));
            return Vec::new();
        };
        let items: Option<Vec<(String, Range<usize>)>> = match value.get_ref() {
            DeValue::Array(items) => items
                .iter()
                .map(|item| match item.get_ref() {
                    DeValue::String(text) => Some((text.to_string(), item.span())),
                    _ => None,
                })
                .collect(),
            _ => None,
        };
        match items {
            Some(items) if !items.is_empty() => items,
            _ => {
                self.problem(
                    &value.span(),
                    format!("`{name}` is not a list of texts: write {example}"),
                );
                Vec::new()
            }
        }
    }

    fn unknown(&mut self, table: &DeTable<'_>, known: &[&str], place: &str) {
        for key in table.keys() {
            let name = key.get_ref().as_ref();
            if !known.contains(&name) {
                let hint = nearest(name, known.iter().copied()).map_or_else(
                    || format!("there are {}", known.join(", ")),
                    |meant| format!("did you mean `{meant}`?"),
                );
                self.problem(&key.span(), format!("`{name}` is not a key {place}; {hint}"));
            }
        }
    }

    fn problem(&mut self, span: &Range<usize>, text: String) {
        self.add(span, text, true);
    }

    /// A fault that leaves the rule as strict as it can be.
    fn remark(&mut self, span: &Range<usize>, text: String) {
        self.add(span, text, false);
    }

    fn add(&mut self, span: &Range<usize>, text: String, leaves_out: bool) {
        self.problems.push(Problem {
            file: self.file.to_owned(),
            line: Some(self.line(span.start)),
            text,
            leaves_out,
        });
    }

    fn line(&self, offset: usize) -> usize {
        let before = &self.text.as_bytes()[..offset.min(self.text.len())];
        before.split(|byte| *byte == b'\n').count()
    }
}

fn is_id(text: &str) -> bool {
    text.len() <= 64
        && text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.'))
}

/// A user's name, or a group's path, as GitLab allows them.
fn is_account(text: &str) -> bool {
    let is_part = |part: &str| {
        part.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '_')
            && part
                .chars()
                .all(|character| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.'))
    };
    text.len() <= 255 && text.split('/').all(is_part)
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
