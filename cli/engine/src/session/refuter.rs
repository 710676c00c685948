//! Reads the reviewed source to check what the judge quotes against findings.

use std::{collections::HashMap, sync::Arc};

use conclave_shared::{finding::Finding, path_globs::PathGlobs, severity::Severity};
use serde_json::Value;

use crate::{
    diff::FileDiff,
    findings::{Fault, MAX_LINES, QuotedFile, Refuting, check_refutation, doubt_about, too_long},
    incremental::{EarlierVerdicts, UsedAs, carried, is_at_target, is_near},
    judge::{ONLY_A_PERSON, QuotedCode, Submission},
    ports::{AtTarget, SourceTree},
    review::{Before, CONTEXT_FILE, ExistingFinding, Refutation, RefutationStatus, Surroundings, ThreadState},
    session::altered_uses,
};

/// So many refutations of one submission are read; more findings than that are not dropped by a careful judge.
const MAX_REFUTATIONS: usize = 200;

/// Why code that has no name in common with the finding may not apply to it.
const ONLY_NEAR: &str = "it stands around the finding's code or names its function, and uses no name of that code";

/// Checks refutations against the source at head.
#[derive(Clone)]
pub struct Refuter {
    /// The reviewed source.
    pub source: Arc<dyn SourceTree>,
    /// All changed files whose lines are known.
    pub files: Vec<Arc<Vec<FileDiff>>>,
    /// Files in which words for a model are the product.
    pub prompt_paths: PathGlobs,
}

impl std::fmt::Debug for Refuter {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Refuter").finish_non_exhaustive()
    }
}

impl Refuter {
    /// The refutations of a submission, checked, by the finding's id. Code that one of `accusing` accuses refutes nothing.
    pub async fn check_all(
        &self,
        submission: &Submission,
        findings: &[Finding],
        accusing: &[Finding],
    ) -> HashMap<String, Refutation> {
        let mut checked = HashMap::new();
        let mut used = Vec::new();
        for decision in submission.decisions.iter().take(MAX_REFUTATIONS) {
            let finding = findings.iter().find(|finding| finding.id == decision.id);
            if let (Some(said), Some(finding)) = (&decision.refuted_by, finding) {
                let (refutation, used_as) = self.check(said, finding, accusing).await;
                used.extend(used_as.map(|used_as| (decision.id.clone(), used_as)));
                checked.insert(decision.id.clone(), refutation);
            }
        }
        for (id, place) in self.altered(used).await {
            if let Some(refutation) = checked.get_mut(&id) {
                refutation.use_is_altered(place);
            }
        }
        checked
    }

    /// Checks what the coordinator quotes to withdraw serious earlier findings, or to call them fixed. Code that one of
    /// `accusing` accuses refutes nothing.
    pub async fn check_earlier_verdicts(
        &self,
        words: &mut EarlierVerdicts,
        earlier: &[ExistingFinding],
        accusing: &[Finding],
    ) {
        let mut used = Vec::new();
        for (at, word) in words.words.iter_mut().enumerate().take(MAX_REFUTATIONS) {
            let finding = earlier.iter().find(|finding| finding.id == word.id);
            let (Some(said), Some(finding)) = (&word.refuted_by, finding) else {
                continue;
            };
            if !word.needs_refutation(finding) {
                continue;
            }
            let (mut refutation, used_as) = self.check(said, &carried(finding).finding, accusing).await;
            used.extend(used_as.map(|used_as| (at, used_as)));
            if finding.record.is_prompt_injection() && !self.prompt_paths.is_match(&finding.record.file) {
                refutation.status = RefutationStatus::Invalid;
                refutation.fault = Some(ONLY_A_PERSON.to_owned());
            }
            refutation.needed = true;
            word.refutation = Some(refutation);
        }
        for (at, place) in self.altered(used).await {
            if let Some(refutation) = words.words[at].refutation.as_mut() {
                refutation.use_is_altered(place);
            }
        }
    }

    /// The places where the change alters how code is used. All uses are looked for at once, as each changed file has to be read.
    async fn altered<K>(&self, used: Vec<(K, UsedAs)>) -> impl Iterator<Item = (K, String)> {
        let (keys, used): (Vec<K>, Vec<UsedAs>) = used.into_iter().unzip();
        let files = self.files.iter().flat_map(|files| files.iter());
        let places = altered_uses(self.source.as_ref(), files, &used.iter().collect::<Vec<_>>()).await;
        keys.into_iter()
            .zip(places)
            .filter_map(|(key, place)| Some((key, place?)))
    }

    /// Checks a quote. Of code that the change leaves as it was, also returns how it is used.
    async fn check(&self, said: &Value, finding: &Finding, accusing: &[Finding]) -> (Refutation, Option<UsedAs>) {
        match self.read(said, finding, accusing).await {
            Ok(checked) => checked,
            Err((quoted, fault)) => (quoted.invalid(fault), None),
        }
    }

    async fn read(
        &self,
        said: &Value,
        finding: &Finding,
        accusing: &[Finding],
    ) -> Result<(Refutation, Option<UsedAs>), (QuotedCode, String)> {
        let quoted = QuotedCode::read(said)?;
        // From the first line to the last are one more than lie between them.
        if quoted
            .end_line
            .is_some_and(|end| end.saturating_sub(quoted.line) >= MAX_LINES)
        {
            return Err((quoted, too_long()));
        }
        let path = quoted.file.clone();
        let path = path.as_str();
        if path == CONTEXT_FILE || path.starts_with('/') || path.split('/').any(|part| part == "..") {
            return Err((quoted, format!("{path} is not a file of the repository")));
        }
        let Some(head) = self.source.text(path, false).await else {
            return Err((quoted, format!("there is no text file {path} at head")));
        };
        let base = self.source.text(path, true).await;
        let file = QuotedFile {
            path,
            head: &head,
            base: base.as_deref(),
            change: self
                .files
                .iter()
                .flat_map(|files| files.iter())
                .find(|file| file.path == path),
        };
        let accused = self.source.text(&finding.file, false).await;
        let accused = accused.as_deref();
        let stands_near = |found: &Refuting| accused.is_some_and(|accused| is_near(accused, finding, file, found));
        let (found, has_name) = match check_refutation(accused, finding, accusing, file, quoted.line, &quoted.quote) {
            Ok(found) => (found, true),
            Err(Fault::Unnamed(found)) if stands_near(&found) => (found, false),
            Err(fault) => return Err((quoted, fault.to_string())),
        };
        // The rest of its function decides whether the code is reached, and whether what it does lasts.
        let surroundings = if found.is_of_this_change {
            None
        } else {
            Surroundings::of(file, found.line, found.end_line)
        };
        // It is merged into a branch that may have moved on.
        let lost_by_target = surroundings.is_some() && self.is_lost(&found, file).await;
        let surroundings = surroundings.filter(|_| !lost_by_target);
        // What is read as code may be a comment or a text all the same, or never be reached.
        let doubt = || doubt_about(&finding.file, path, &head, found.line, found.end_line);
        let uncertain = surroundings
            .as_ref()
            .and_then(|_| if has_name { doubt() } else { Some(ONLY_NEAR) });
        let surroundings = surroundings.filter(|_| uncertain.is_none());
        let lines = (found.line, found.end_line);
        let used_as = surroundings
            .is_some()
            .then(|| UsedAs::of(file, lines, &accused_code(finding)));
        let refutation = Refutation {
            file: quoted.file,
            line: found.line,
            end_line: (found.end_line > found.line).then_some(found.end_line),
            quote: found.code,
            status: if surroundings.is_some() {
                RefutationStatus::UnchangedCode
            } else {
                RefutationStatus::ThisChange
            },
            needed: false,
            lost_by_target,
            altered_use: None,
            uncertain: uncertain.map(str::to_owned),
            fault: None,
            surroundings,
        };
        Ok((refutation, used_as))
    }

    /// Returns whether the target branch no longer has code that the change leaves as it was.
    async fn is_lost(&self, found: &Refuting, file: QuotedFile<'_>) -> bool {
        match self.source.at_target(file.path).await {
            AtTarget::AsAtBase => false,
            AtTarget::Missing => true,
            AtTarget::Text(target) => !is_at_target(found, file, &target),
        }
    }
}

/// The code that a finding is about.
fn accused_code(finding: &Finding) -> String {
    let second = finding.second.iter().map(|quote| quote.code.as_str());
    [finding.evidence.as_str()]
        .into_iter()
        .chain(second)
        .collect::<Vec<_>>()
        .join("\n")
}

/// The findings whose code refutes nothing: those of a review, and the earlier ones that are open, that are more than a suggestion.
pub(super) fn accusing(findings: &[Finding], earlier: &[ExistingFinding]) -> Vec<Finding> {
    let open = earlier.iter().filter(|finding| is_open(finding));
    let all = findings
        .iter()
        .cloned()
        .chain(open.map(|finding| carried(finding).finding));
    all.filter(|finding| finding.severity > Severity::Suggestion).collect()
}

/// Returns whether nothing has settled an earlier finding, and its code is there.
fn is_open(finding: &ExistingFinding) -> bool {
    let is_settled = matches!(finding.before, Before::Fixed | Before::Resolved | Before::Declined)
        || matches!(
            finding.state,
            ThreadState::ResolvedByUs | ThreadState::ResolvedByPerson | ThreadState::ResolvedByAuthor
        );
    !is_settled && !finding.code.is_empty()
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use serde_json::json;

    use super::*;
    use crate::judge::test_support::finding;

    const TEXT: &str =
        "def find(name):\n    if not NAME.fullmatch(name):\n        return None\n    return db.query(name)\n";

    /// A file that the change leaves as it was, with what the target branch has of it.
    struct OldFile(&'static str, AtTarget);

    #[async_trait]
    impl SourceTree for OldFile {
        async fn text(&self, _path: &str, _at_base: bool) -> Option<String> {
            Some(self.0.to_owned())
        }

        async fn at_target(&self, _path: &str) -> AtTarget {
            self.1.clone()
        }
    }

    #[tokio::test]
    async fn code_that_the_target_branch_no_longer_has_leaves_the_approval_to_a_person() {
        let guard = "    if not NAME.fullmatch(name):\n        return None";
        let finding = Finding {
            evidence: "    return db.query(name)".to_owned(),
            ..finding("F1", Severity::Critical, "sql-injection", "src/a.py", 4)
        };
        let said = json!({"file": "src/a.py", "lines": "2-3", "quote": guard});
        let text = AtTarget::Text;
        for (target, is_lost) in [
            (AtTarget::AsAtBase, false),
            (text(TEXT.to_owned()), false),
            (text(format!("import re\n\n\n{TEXT}")), false),
            (AtTarget::Missing, true),
            (text(TEXT.replace(guard, "    log(name)")), true),
        ] {
            let refuter = Refuter {
                source: Arc::new(OldFile(TEXT, target.clone())),
                files: Vec::new(),
                prompt_paths: PathGlobs::default(),
            };
            let (refutation, _) = refuter.check(&said, &finding, &[]).await;
            let expected = if is_lost {
                RefutationStatus::ThisChange
            } else {
                RefutationStatus::UnchangedCode
            };
            let found = (
                refutation.status,
                refutation.lost_by_target,
                refutation.surroundings.is_some(),
            );
            assert_eq!(found, (expected, is_lost, !is_lost), "{target:?}");
        }
    }

    #[tokio::test]
    async fn code_that_does_not_run_where_the_finding_is_leaves_the_approval_to_a_person() {
        let finding = Finding {
            evidence: "    return db.query(name)".to_owned(),
            ..finding("F1", Severity::Critical, "sql-injection", "src/a.py", 4)
        };
        let refuter = Refuter {
            source: Arc::new(OldFile(TEXT, AtTarget::AsAtBase)),
            files: Vec::new(),
            prompt_paths: PathGlobs::default(),
        };
        for (path, status) in [
            ("src/b.py", RefutationStatus::UnchangedCode),
            ("tests/test_a.py", RefutationStatus::ThisChange),
        ] {
            let said = json!({"file": path, "lines": "2", "quote": "    if not NAME.fullmatch(name):"});
            let (refutation, _) = refuter.check(&said, &finding, &[]).await;
            let is_held = status == RefutationStatus::ThisChange;
            assert_eq!(
                (refutation.status, refutation.uncertain.is_some()),
                (status, is_held),
                "{path}"
            );
        }
    }

    #[tokio::test]
    async fn a_guard_around_the_accused_line_without_a_name_in_common_leaves_the_approval_to_a_person() {
        let text = "def purge(request):\n    if not request.user.is_staff:\n        raise Denied\n    Order.all().delete()\n    audit(1)\n";
        let finding = Finding {
            evidence: "    Order.all().delete()".to_owned(),
            ..finding("F1", Severity::Critical, "authorization", "src/a.py", 4)
        };
        let refuter = Refuter {
            source: Arc::new(OldFile(text, AtTarget::AsAtBase)),
            files: Vec::new(),
            prompt_paths: PathGlobs::default(),
        };
        for (quote, status, doubt) in [
            (
                "    if not request.user.is_staff:",
                RefutationStatus::ThisChange,
                Some(ONLY_NEAR),
            ),
            ("    audit(1)", RefutationStatus::Invalid, None),
        ] {
            let said = json!({"file": "src/a.py", "lines": "2", "quote": quote});
            let (refutation, used_as) = refuter.check(&said, &finding, &[]).await;
            assert_eq!(
                (refutation.status, refutation.uncertain.as_deref()),
                (status, doubt),
                "{quote}"
            );
            assert!(used_as.is_none());
        }
    }

    #[tokio::test]
    async fn code_that_may_not_run_leaves_the_approval_to_a_person() {
        let finding = Finding {
            evidence: "    query(name);".to_owned(),
            ..finding("F1", Severity::Critical, "sql-injection", "src/a.c", 7)
        };
        let said = json!({"file": "src/a.c", "lines": "3", "quote": "    check(name);"});
        let plain = "// see below\nint guard(char *name) {\n    check(name);\n}\n\nint find(char *name) {\n    query(name);\n}\n";
        let never = "#ifdef NEVER\nint guard(char *name) {\n    check(name);\n}\n#endif\nint find(char *name) {\n    query(name);\n}\n";
        for (text, status, doubt) in [
            (plain, RefutationStatus::UnchangedCode, None),
            (
                never,
                RefutationStatus::ThisChange,
                Some("it is built only under a condition"),
            ),
        ] {
            let refuter = Refuter {
                source: Arc::new(OldFile(text, AtTarget::AsAtBase)),
                files: Vec::new(),
                prompt_paths: PathGlobs::default(),
            };
            let (refutation, used_as) = refuter.check(&said, &finding, &[]).await;
            assert_eq!((refutation.status, refutation.uncertain.as_deref()), (status, doubt));
            assert_eq!(used_as.is_some(), doubt.is_none());
        }
    }
}
