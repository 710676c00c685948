//! Rules, and running them over a change.

use super::finding::{Finding, Severity};
use super::language::{Language, is_foreign_path};
use super::patch::PatchFile;
use super::spot::Spot;

/// What a reviewer has read.
#[derive(Debug, Default)]
pub(super) struct Change {
    pub(super) files: Vec<PatchFile>,
    /// The text of the shared context.
    pub(super) context: String,
    /// The text of the repository's AGENTS.md, when it was read and exists.
    pub(super) agents_md: Option<String>,
    /// The organisation's rules, when the message brought some.
    pub(super) codex_rules: String,
}

/// Which files a rule is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// Programs, without their tests.
    Code,
    /// Programs and settings, without tests.
    CodeAndData,
    /// Tests only.
    Tests,
}

/// A rule about one line. In the texts, `{}` is what the check returns.
pub(super) struct Rule {
    pub(super) category: &'static str,
    pub(super) severity: Severity,
    pub(super) confidence: f64,
    pub(super) scope: Scope,
    pub(super) claim: &'static str,
    pub(super) scenario: &'static str,
    pub(super) fix: &'static str,
    /// The name that the texts are about (it may be empty), if the rule applies to the line.
    pub(super) check: fn(&Spot) -> Option<String>,
}

impl Rule {
    /// What the rule says about a line.
    fn finding(&self, spot: &Spot, name: &str) -> Finding {
        Finding {
            claim: self.claim.replace("{}", name),
            scenario: self.scenario.replace("{}", name),
            fix: self.fix.replace("{}", name),
            confidence: self.confidence,
            ..Finding::on(spot.file, spot.line(), self.severity, self.category)
        }
    }
}

const MAX_PER_RULE_AND_FILE: usize = 2;

/// The findings of line rules; of several rules that apply to one line, the first counts.
pub(super) fn run(rules: &[Rule], change: &Change) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in change.files.iter().filter(|file| !is_foreign_path(&file.path)) {
        let mut counts = vec![0; rules.len()];
        for at in (0..file.lines.len()).filter(|&at| file.lines[at].added) {
            let spot = Spot { file, at };
            let hit = rules
                .iter()
                .enumerate()
                .filter(|(_, rule)| in_scope(rule.scope, &spot))
                .find_map(|(nth, rule)| (rule.check)(&spot).map(|name| (nth, rule, name)));
            if let Some((nth, rule, name)) = hit {
                counts[nth] += 1;
                if counts[nth] <= MAX_PER_RULE_AND_FILE {
                    findings.push(rule.finding(&spot, &name));
                }
            }
        }
    }
    findings
}

fn in_scope(scope: Scope, spot: &Spot) -> bool {
    let language = spot.language();
    match scope {
        Scope::Code => language.is_code() && !spot.in_test(),
        Scope::CodeAndData => (language.is_code() || language == Language::Data) && !spot.in_test(),
        Scope::Tests => language.is_code() && spot.in_test(),
    }
}
