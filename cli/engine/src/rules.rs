//! The organisation's engineering rules, as far as a review depends on them.
//!
//! Where they come from is the business of the `codex` plugin. Here they are what its reviewer may cite, and who has to look
//! at the merge request besides it.

use std::{collections::BTreeSet, fmt::Write, ops::Range, sync::Arc};

use conclave_shared::{
    engineering_rule::{OnBreach, RuleLevel},
    finding::RuleCitation,
    severity::Severity,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization as _;

/// The reviewer of rules.
pub const CODEX: &str = "codex";

/// A rule that the `codex` reviewer was given.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RuleInForce {
    /// Its id, as findings cite it.
    pub id: String,
    /// Where it is explained. Findings take the link from here, never from a model.
    pub link: String,
    /// Its text for the reviewer, without the files.
    pub text: String,
    /// The occasion of the rule, in its own words.
    pub when: String,
    /// Its level, where it says so.
    pub level: Option<RuleLevel>,
    /// The consequence of a breach; none where the rule leaves the severity to its reviewer.
    pub on_breach: Option<OnBreach>,
    /// The people who have to approve a breach, where that is [`OnBreach::Review`]: users and groups, each with `@`.
    pub approvers: Vec<String>,
    /// The highest severity of a breach that its reviewer may name.
    pub most: Option<Severity>,
    /// The changed files that it is for.
    pub files: BTreeSet<String>,
}

impl RuleInForce {
    /// The severity of a breach that its reviewer calls so severe.
    pub fn severity(&self, reported: Severity) -> Severity {
        match self.on_breach {
            Some(on_breach) => on_breach.severity(),
            None => self.most.map_or(reported, |most| reported.min(most)),
        }
    }

    /// The citation of a finding that breaks it.
    pub fn cite(&self) -> RuleCitation {
        RuleCitation {
            id: self.id.clone(),
            link: self.link.clone(),
            on_breach: self.on_breach,
        }
    }
}

/// The rules that findings may cite.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RuleBook {
    rules: Vec<RuleInForce>,
}

impl RuleBook {
    /// A book of these rules.
    pub fn new(rules: Vec<RuleInForce>) -> Self {
        Self { rules }
    }

    /// Whether there is nothing to check.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &RuleInForce> {
        self.rules.iter()
    }

    /// The rules that are for this file.
    pub fn of_file(&self, path: &str) -> impl Iterator<Item = &RuleInForce> {
        self.rules.iter().filter(move |rule| rule.files.contains(path))
    }

    /// The rule that a reviewer names, however it spells the id.
    pub fn find(&self, written: &str) -> Option<&RuleInForce> {
        match self.named(written)[..] {
            [rule] => Some(rule),
            _ => None,
        }
    }

    /// The rules whose ids stand in a text, with whatever hyphens, blanks and brackets, and with words around them;
    /// without one, those whose links do.
    pub fn named(&self, written: &str) -> Vec<&RuleInForce> {
        let parts = id_parts(written);
        let found: Vec<(&RuleInForce, Vec<Range<usize>>)> = self
            .rules
            .iter()
            .map(|rule| (rule, places(&parts, &id_parts(&rule.id))))
            .collect();
        // A part of a longer id is none.
        let is_whole = |place: &Range<usize>| {
            let mut others = found.iter().flat_map(|(_, places)| places);
            !others.any(|other| other.len() > place.len() && other.start <= place.start && place.end <= other.end)
        };
        let named = found.iter().filter(|(_, places)| places.iter().any(is_whole));
        let named: Vec<_> = named.map(|(rule, _)| *rule).collect();
        if !named.is_empty() {
            return named;
        }
        let links = |rule: &&RuleInForce| !rule.link.is_empty() && written.contains(&rule.link);
        self.rules.iter().filter(links).collect()
    }
}

/// Returns whether a text that names this rule names something else as well that looks like an id: a word with a number behind a hyphen.
pub fn names_another(written: &str, rule: &RuleInForce) -> bool {
    let own = id_parts(&rule.id);
    let texts = written.split_whitespace().filter(|word| !word.contains("://"));
    let mut words = texts.flat_map(|text| text.split(|character: char| ",;/&+()[]".contains(character)));
    words.any(|word| {
        let parts = id_parts(word);
        let is_number = |part: &String| part.chars().all(|character| character.is_ascii_digit());
        let looks_like_id = parts.len() > 1 && parts.last().is_some_and(is_number) && !is_number(&parts[0]);
        looks_like_id && parts != own && !own.windows(parts.len()).any(|window| window == parts)
    })
}

/// The words and numbers of an id, in one spelling.
fn id_parts(text: &str) -> Vec<String> {
    let plain: String = text.nfkc().collect::<String>().to_lowercase();
    let parts = plain.split(|character: char| !character.is_alphanumeric());
    parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// Where the parts of an id stand among those of a text; as one word, too.
fn places(parts: &[String], id: &[String]) -> Vec<Range<usize>> {
    if id.is_empty() {
        return Vec::new();
    }
    let joined = id.concat();
    let whole = (0..parts.len()).filter(|&at| parts[at] == joined).map(|at| at..at + 1);
    let apart = parts.windows(id.len()).enumerate();
    let apart = apart
        .filter(|(_, window)| *window == id)
        .map(|(at, window)| at..at + window.len());
    whole.chain(apart).collect()
}

/// A person has to look, because a rule says so: by the rule's globs, whatever a model finds, or because a breach of the rule
/// stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ManualReview {
    /// The rule's id.
    pub rule: String,
    /// Where it is explained.
    pub link: String,
    /// What the rule is about, in its own words.
    pub when: String,
    /// Who has to look: names of users, and of groups with their path.
    pub who: Vec<String>,
    /// The changed files that the rule is for, or that break it.
    pub files: Vec<String>,
    /// True if a breach of the rule is the reason; otherwise the rule's paths are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub breach: bool,
    /// Whether they are to be made reviewers of the merge request.
    pub add_as_reviewers: bool,
}

impl ManualReview {
    /// Returns the demand with its reason in one sentence; `rule` and `files` as the surface shows them.
    pub fn describe(&self, show: impl Fn(&str) -> String, rule: &str, files: &str) -> String {
        let who = match self.who.as_slice() {
            [] => "a person who may approve".to_owned(),
            who => show(&who.join(", ")),
        };
        let when = show(&self.when);
        if self.breach {
            format!("{who} has to approve: the rule {rule} ({when}) is broken in {files}")
        } else {
            format!("{who} has to look, says the rule {rule} ({when}), because of {files}")
        }
    }
}

/// A rule of the organization and the changed files that it was checked on, for the review's account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckedRule {
    /// The rule's id.
    pub rule: String,
    /// Where it is explained.
    pub link: String,
    /// Its level, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<RuleLevel>,
    /// The consequence of a breach, where the rule says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_breach: Option<OnBreach>,
    /// Files that the reviewer of rules has read with the rule at hand.
    pub files: Vec<String>,
    /// Files that an earlier review checked, and that are unchanged since.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<String>,
    /// Files that the rule is for and that were not checked, because the reviewer of rules did not finish or does not review, or
    /// because no reviewer reads them: see `left_out`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_checked: Vec<String>,
    /// Those of `not_checked` that no reviewer reads, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOutFile>,
    /// Number of further files that no reviewer reads, which are not listed.
    #[serde(default, skip_serializing_if = "conclave_shared::skip::is_default")]
    pub left_out_more: usize,
    /// Breaches of it that stand.
    pub breaches: usize,
}

/// A file that a rule is for and that no reviewer reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOutFile {
    /// Its path at head.
    pub path: String,
    /// Reason why no reviewer reads it, in words.
    pub reason: String,
}

impl CheckedRule {
    /// So many files of a kind are named in a text.
    const NAMED: usize = 10;

    /// Adds the files that no reviewer reads from the account of the same rule.
    pub fn add_left_out(&mut self, unread: Self) {
        self.not_checked.extend(unread.not_checked);
        self.left_out.extend(unread.left_out);
        self.left_out_more += unread.left_out_more;
    }

    /// The account of the rule in one line, with its name and its files as the surface shows them.
    pub fn describe(&self, name: impl Fn(&str) -> String, file: impl Fn(&str) -> String) -> String {
        let reason = |path: &String| {
            let left_out = self.left_out.iter().find(|file| file.path == *path);
            left_out.map_or_else(String::new, |file| format!(" ({})", file.reason))
        };
        let names = |files: &[String], unlisted: usize| {
            let shown = files.iter().take(Self::NAMED);
            let mut names: Vec<String> = shown.map(|path| file(path) + &reason(path)).collect();
            let more = files.len() - names.len() + unlisted;
            if more > 0 {
                names.push(format!("{more} more"));
            }
            names.join(", ")
        };
        let files = |files: &[String]| names(files, 0);
        let words: Vec<String> = self
            .level
            .map(|level| level.to_string())
            .into_iter()
            .chain(self.on_breach.map(|on_breach| format!("a breach: {on_breach}")))
            .collect();
        let mut text = format!("rule {}", name(&self.rule));
        if !words.is_empty() {
            let _ = write!(text, " ({})", words.join("; "));
        }
        let mut parts = Vec::new();
        if !self.files.is_empty() {
            parts.push(format!("checked on {}", files(&self.files)));
        }
        if !self.earlier.is_empty() {
            parts.push(format!("checked by an earlier review on {}", files(&self.earlier)));
        }
        if !self.not_checked.is_empty() {
            let unlisted = self.left_out_more;
            parts.push(format!("NOT checked on {}", names(&self.not_checked, unlisted)));
        }
        parts.push(match self.breaches {
            0 => "no breach stands".to_owned(),
            1 => "1 breach stands".to_owned(),
            count => format!("{count} breaches stand"),
        });
        let _ = write!(text, ": {}", parts.join("; "));
        text
    }
}

/// What the organisation's rules mean for one merge request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AppliedRules {
    /// The rules that are for a changed file. With none of them `codex` does not sit on the panel.
    pub book: Arc<RuleBook>,
    /// The account of the files that rules are for and that no reviewer reads: a rule that is for nothing else is not in the book.
    pub unread: Vec<CheckedRule>,
    /// Who has to look besides the panel.
    pub manual_reviews: Vec<ManualReview>,
    /// What the reader should know: which rules apply, or why there are none.
    pub notes: Vec<String>,
    /// What is wrong with the rules, in words; they are used as far as they are good.
    pub warnings: Vec<String>,
    /// Rules that are configured and could not be had at all, in words: what they ask for was not reviewed.
    pub gaps: Vec<String>,
    /// The places of rules that are left out because they cannot be read, as `file:line`: the bot does not approve without them.
    pub left_out: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_found_however_it_is_written_and_nothing_else_is() {
        let book = RuleBook::new(vec![RuleInForce {
            id: "NET-012".into(),
            link: "https://rules.example.com/net-012".into(),
            ..RuleInForce::default()
        }]);
        for id in [
            "NET-012",
            " net-012\n",
            "`NET-012`",
            "[NET-012]",
            "NET-012.",
            "NET-012: outbound",
            "rule NET-012",
            "NET 012",
            "NET\u{2011}012",
            "NET-012, NET-013",
            "https://rules.example.com/net-012",
        ] {
            assert_eq!(book.find(id).map(|rule| rule.id.as_str()), Some("NET-012"), "{id}");
        }
        for id in ["", "NET-01", "NET-0122", "https://rules.example.com/"] {
            assert_eq!(book.find(id), None, "{id}");
        }
    }

    #[test]
    fn several_ids_are_no_one_rule_and_a_part_of_an_id_is_none() {
        let rule = |id: &str, link: &str| RuleInForce {
            id: id.into(),
            link: link.into(),
            ..RuleInForce::default()
        };
        let book = RuleBook::new(vec![
            rule("NET-012", "https://rules.example.com/12"),
            rule("NET-013", ""),
            rule("NET-012-A", ""),
        ]);
        let named = |text: &str| book.named(text).iter().map(|rule| rule.id.as_str()).collect::<Vec<_>>();
        assert_eq!(named("NET-012, NET-013"), ["NET-012", "NET-013"]);
        assert_eq!(book.find("NET-012, NET-013"), None);
        assert_eq!(named("NET-012-A"), ["NET-012-A"]);
        assert_eq!(named("net-012 (outbound)"), ["NET-012"]);
        assert_eq!(named("see https://rules.example.com/12"), ["NET-012"]);
        assert!(named("none of them").is_empty());
        let rule = book.find("NET-012").expect("a rule");
        for (written, is_more) in [
            ("NET-012, NET-9", true),
            ("NET-012 and SEC-4", true),
            ("net-012 (outbound)", false),
            ("NET-012, see https://rules.example.com/a-12", false),
        ] {
            assert_eq!(names_another(written, rule), is_more, "{written}");
        }
    }
}
