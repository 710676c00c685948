//! Serious findings that a judge took out by code. They stay out for as long as that code stands and theirs does not change; where
//! it is code of the change itself, the bot leaves the approval to a person, because nothing of them is decided anew.

use conclave_shared::{path_globs::PathGlobs, telemetry::FindingFate};

use super::{
    Texts,
    assess::{file_of, is_there, lines_of},
    authority::is_settled_by_word,
    surroundings::{UsedAs, is_at_target, standing},
};
use crate::{
    diff::{ChangeKind, FileDiff},
    findings::{QuotedFile, Refuting, doubt_about},
    incremental::carried::recorded,
    review::{
        ExistingFinding, FindingRecord, JudgedFinding, MAX_CLAIM, RefutationStatus, RefutedFinding, RefutingCode,
        RemovedBy, Squeezed, ThreadState,
    },
};

/// Maximum number of refuted findings of one review that are remembered. Of more than that the files are reviewed again instead.
pub(super) const MAX_REFUTED: usize = 20;

/// Maximum length of each code that is remembered to be shown, in characters.
const MAX_CODE: usize = 600;

/// The same where nothing is shown of it.
const MAX_NOT_SHOWN: usize = 80;

impl RefutedFinding {
    /// The findings of a review that were refuted by code.
    pub(super) fn all_of(findings: &[JudgedFinding], head_sha: &str) -> Vec<Self> {
        let refuted = findings.iter().filter_map(|entry| {
            let refutation = entry.refuted_by_code()?.clone();
            let is_shown = refutation.status == RefutationStatus::ThisChange;
            let most = if is_shown { MAX_CODE } else { MAX_NOT_SHOWN };
            let mut record = FindingRecord::new(entry, head_sha);
            record.severity = entry.reported.unwrap_or(record.severity).max(record.severity);
            record.claim = clip(&record.claim, MAX_CLAIM);
            record.production_risk |= entry.production_risk;
            if let Some(since) = &entry.since {
                record.head_sha.clone_from(since);
            }
            Some(Self {
                record,
                evidence: clip(&entry.finding.evidence, most),
                code: Squeezed::of(&refutation.quote),
                refutation: refutation.clipped(most),
                reason: entry.reason.as_deref().map(|reason| clip(reason, MAX_CLAIM)),
                now: RefutingCode::None,
            })
        });
        refuted.collect()
    }

    /// Returns whether the refutation counts as far as it was judged anew.
    pub(super) const fn counts(&self) -> bool {
        matches!(self.now, RefutingCode::None | RefutingCode::Stands)
    }

    /// Looks for the code that refutes it in the files as they are, and holds it against the change as it is. Returns it if the change
    /// leaves it as it was, with the names by which it is used.
    fn judge_code(
        &mut self,
        files: &[FileDiff],
        texts: &Texts,
        at_base: &Texts,
        at_target: Option<&Texts>,
    ) -> Option<(Refuting, UsedAs)> {
        self.now = RefutingCode::Stands;
        let code = self.code.as_ref()?;
        let path = self.refuting_path(files);
        let change = files.iter().find(|file| file.path == path);
        let is_deleted = change.is_some_and(|change| change.kind == ChangeKind::Deleted);
        // Code of the change is for a person to compare, wherever it stands.
        let of_change = self.refutation.status == RefutationStatus::ThisChange;
        let known = self.refutation.surroundings.as_ref().filter(|_| !of_change);
        let found = texts.get(path).filter(|_| !is_deleted).and_then(|head| {
            let base = at_base.get(path).map(String::as_str);
            let file = QuotedFile {
                path,
                head,
                base,
                change,
            };
            let found = standing(code, known, file)?;
            let lacks_it = |target: &Texts| target.get(path).is_none_or(|text| !is_at_target(&found, file, text));
            let is_lost = !found.is_of_this_change && at_target.is_some_and(lacks_it);
            let used_as = UsedAs::of(file, (found.line, found.end_line), &self.evidence);
            Some((found, is_lost, used_as))
        });
        let doubt = found
            .as_ref()
            .and_then(|(found, ..)| doubt_about(&self.record.file, path, texts.get(path)?, found.line, found.end_line));
        let Some((found, is_lost, used_as)) = found else {
            self.now = RefutingCode::Gone;
            return None;
        };
        if of_change {
            return None;
        }
        if found.is_of_this_change || is_lost || doubt.is_some() {
            self.refutation.lost_by_target = is_lost;
            let is_only_doubt = !found.is_of_this_change && !is_lost;
            self.refutation.uncertain = doubt.filter(|_| is_only_doubt).map(str::to_owned);
            self.is_of_this_change(&found);
            return None;
        }
        Some((found, used_as))
    }

    /// Leaves what is refuted by this code to a person.
    fn is_of_this_change(&mut self, found: &Refuting) {
        let refutation = &mut self.refutation;
        refutation.status = RefutationStatus::ThisChange;
        refutation.line = found.line;
        refutation.end_line = (found.end_line > found.line).then_some(found.end_line);
        refutation.quote = clip(&found.code, MAX_CODE);
    }

    /// The file with the code that refutes it, by its present name.
    pub(super) fn refuting_path<'a>(&'a self, files: &'a [FileDiff]) -> &'a str {
        let old = &self.refutation.file;
        let renamed = files
            .iter()
            .find(|file| file.kind == ChangeKind::Renamed && file.old_path == *old);
        renamed.map_or(old, |file| &file.path)
    }

    /// The finding in a later review: it does not stand, and a person still has to compare it with its refutation.
    fn carried(&self) -> JudgedFinding {
        let mut entry = recorded("", &self.record, self.evidence.clone());
        entry.production_risk = self.record.production_risk;
        entry.since = Some(self.record.head_sha.clone());
        entry.remove(FindingFate::Dropped, RemovedBy::Judge);
        entry.reason_code = Some("refuted".to_owned());
        entry.reason.clone_from(&self.reason);
        entry.refutation = Some(self.refutation.clone());
        entry
    }
}

/// Judges the refutations anew that earlier reviews remember, by the change and the settings as they are now. Code that the change only
/// now adds or alters, whose surroundings are others, or that the target branch no longer has, is code of the change from then on; and
/// what was taken out under `prompt_paths` counts where these do not cover its file. `at_base` has the files of [`refuting_files`], and
/// `at_target` those that the target branch has by now, if that has moved on. Returns the code that stands as it was: whether the change
/// alters how it is used is for the caller to find out, and for [`uses_are_altered`].
pub fn judge_anew(
    refuted: &mut [RefutedFinding],
    files: &[FileDiff],
    texts: &Texts,
    at_base: &Texts,
    at_target: Option<&Texts>,
    prompt_paths: &PathGlobs,
) -> Vec<StandingCode> {
    let lines = lines_of(texts);
    let mut standing = Vec::new();
    for (at, entry) in refuted.iter_mut().enumerate() {
        let found = entry.judge_code(files, texts, at_base, at_target);
        standing.extend(found.map(|(code, used_as)| StandingCode { at, code, used_as }));
        if entry.counts() && entry.record.is_prompt_injection() {
            let file = file_of(&entry.record, files, &lines);
            if file.is_some_and(|file| !prompt_paths.is_match(&file)) {
                entry.now = RefutingCode::Uncovered;
            }
        }
    }
    standing
}

/// Code that refutes a remembered finding and stands as it was.
#[derive(Debug)]
pub struct StandingCode {
    /// The index of the finding.
    at: usize,
    code: Refuting,
    /// The names by which it is used.
    pub used_as: UsedAs,
}

/// Leaves to a person what is refuted by code whose use the change alters; `places` says where, for each of `standing`.
pub fn uses_are_altered(
    refuted: &mut [RefutedFinding],
    standing: &[StandingCode],
    places: impl IntoIterator<Item = Option<String>>,
) {
    for (StandingCode { at, code, .. }, place) in standing.iter().zip(places) {
        if let (Some(entry), Some(place)) = (refuted.get_mut(*at), place) {
            entry.is_of_this_change(code);
            entry.refutation.altered_use = Some(place);
        }
    }
}

/// The files with code that refutes findings, by their present names.
pub fn refuting_files(refuted: &[RefutedFinding], files: &[FileDiff]) -> Vec<String> {
    let mut paths: Vec<String> = refuted
        .iter()
        .map(|refuted| refuted.refuting_path(files).to_owned())
        .collect();
    paths.sort();
    paths.dedup();
    paths
}

/// The findings that earlier reviews refuted by code of the change itself, where the code of both is as it was, and no person has settled it
/// since. `unchanged` are the files whose patches are as they were, by which older versions go.
pub fn still_refuted(
    refuted: &[RefutedFinding],
    unchanged: &[FileDiff],
    earlier: &[ExistingFinding],
    files: &[FileDiff],
    texts: &Texts,
) -> Vec<JudgedFinding> {
    let lines = lines_of(texts);
    let is_settled = |refuted: &RefutedFinding| {
        let same = |finding: &&ExistingFinding| finding.record.fingerprint == refuted.record.fingerprint;
        earlier
            .iter()
            .find(same)
            .is_some_and(|finding| finding.state == ThreadState::ResolvedByPerson || is_settled_by_word(finding))
    };
    let holds = |refuted: &&RefutedFinding| {
        let of_change = refuted.refutation.status == RefutationStatus::ThisChange;
        let stands = match refuted.record.anchor {
            Some(_) => is_there(&refuted.record, files, &lines),
            None => unchanged.iter().any(|file| file.path == refuted.record.file),
        };
        of_change && stands && refuted.counts() && !is_settled(refuted)
    };
    refuted.iter().filter(holds).map(RefutedFinding::carried).collect()
}

fn clip(text: &str, max_characters: usize) -> String {
    text.chars().take(max_characters).collect()
}

#[cfg(test)]
mod tests {
    use conclave_shared::severity::Severity;

    use super::*;
    use crate::{
        incremental::{
            WhoseWords, assess,
            test_support::{FILE, TEXT, existing, fresh, said},
        },
        review::{AuthorRole, CarryOver, Refutation},
        rules::RuleBook,
    };

    #[test]
    fn without_anchors_it_is_carried_while_its_file_is_as_it_was_and_no_person_has_settled_it() {
        let refuted = RefutedFinding {
            record: FindingRecord {
                anchor: None,
                ..FindingRecord::new(&fresh("F1", Severity::Critical, "c"), "1111111111")
            },
            evidence: "c".into(),
            refutation: Refutation {
                file: "src/guard.py".into(),
                line: 3,
                end_line: None,
                quote: "name = checked(name)".into(),
                status: RefutationStatus::ThisChange,
                needed: true,
                lost_by_target: false,
                altered_use: None,
                uncertain: None,
                fault: None,
                surroundings: None,
            },
            code: None,
            reason: None,
            now: RefutingCode::None,
        };
        let unchanged = [FileDiff {
            path: FILE.into(),
            ..FileDiff::default()
        }];
        let carried = |unchanged: &[FileDiff], earlier: &[ExistingFinding]| {
            let refuted = std::slice::from_ref(&refuted);
            still_refuted(refuted, unchanged, earlier, &[], &Texts::new())
        };
        let [entry] = &carried(&unchanged, &[])[..] else {
            panic!("it is carried")
        };
        assert!(!entry.stands() && entry.refuted_by_this_change().is_some());
        assert_eq!(carried(&[], &[]), [], "its file is reviewed again, or gone");
        let mut argued = existing("E1", "c");
        argued.replies.push(said(AuthorRole::Member, "I disagree."));
        assert_eq!(carried(&unchanged, &[argued.clone()]).len(), 1, "that is no decision");
        argued.replies.push(said(AuthorRole::Member, "won't fix"));
        assert_eq!(carried(&unchanged, &[argued]), []);
        let mut resolved = existing("E1", "c");
        resolved.state = ThreadState::ResolvedByPerson;
        assert_eq!(carried(&unchanged, &[resolved]), []);
    }

    #[test]
    fn it_is_carried_while_its_own_code_and_the_code_that_refutes_it_stand() {
        let guard = "name = checked(name)";
        let refuted = |status| RefutedFinding {
            record: FindingRecord::new(&fresh("F1", Severity::Critical, "c"), "1111111111"),
            evidence: "c".into(),
            refutation: Refutation {
                file: "src/guard.py".into(),
                line: 3,
                end_line: None,
                quote: guard.into(),
                status,
                needed: true,
                lost_by_target: false,
                altered_use: None,
                uncertain: None,
                fault: None,
                surroundings: None,
            },
            code: Squeezed::of(guard),
            reason: None,
            now: RefutingCode::None,
        };
        let carried = |status, own: &str, other: Option<&str>| {
            let mut texts = Texts::from([(FILE.to_owned(), own.to_owned())]);
            texts.extend(other.map(|text| ("src/guard.py".to_owned(), text.to_owned())));
            let at_base = Texts::from([("src/guard.py".to_owned(), guard.to_owned())]);
            let mut refuted = [refuted(status)];
            judge_anew(&mut refuted, &[], &texts, &at_base, None, &PathGlobs::default());
            still_refuted(&refuted, &[], &[], &[], &texts).len()
        };
        let of_change = RefutationStatus::ThisChange;
        let edited = TEXT.replace("i\n", "i # x\n");
        assert_eq!(carried(of_change, &edited, Some(guard)), 1, "another line of its file");
        assert_eq!(carried(of_change, &TEXT.replace("c\n", "C\n"), Some(guard)), 0);
        assert_eq!(carried(of_change, TEXT, Some("# name = checked(name)")), 0);
        assert_eq!(carried(of_change, TEXT, None), 0);
        assert_eq!(
            carried(RefutationStatus::UnchangedCode, TEXT, Some(guard)),
            0,
            "nobody has to compare"
        );
    }

    /// A critical finding that code of the target branch refutes.
    fn by_unchanged_code(code: &str) -> RefutedFinding {
        RefutedFinding {
            record: FindingRecord::new(&fresh("F1", Severity::Critical, "c"), "1111111111"),
            evidence: "c".into(),
            refutation: Refutation {
                file: "src/guard.py".into(),
                line: 3,
                end_line: None,
                quote: code.into(),
                status: RefutationStatus::UnchangedCode,
                needed: true,
                lost_by_target: false,
                altered_use: None,
                uncertain: None,
                fault: None,
                surroundings: None,
            },
            code: Squeezed::of(code),
            reason: None,
            now: RefutingCode::None,
        }
    }

    #[test]
    fn code_that_only_now_is_of_the_change_is_for_a_person_from_then_on() {
        let guard = "name = checked(name)";
        let mut refuted = [by_unchanged_code(guard)];
        let texts = Texts::from([
            (FILE.to_owned(), TEXT.to_owned()),
            ("src/guard.py".to_owned(), format!("{guard}\n")),
        ]);
        judge_anew(&mut refuted, &[], &texts, &texts, None, &PathGlobs::default());
        assert_eq!(still_refuted(&refuted, &[], &[], &[], &texts), []);
        // The target branch has lost it, and the change adds it.
        judge_anew(&mut refuted, &[], &texts, &Texts::new(), None, &PathGlobs::default());
        let held = still_refuted(&refuted, &[], &[], &[], &texts);
        let [entry] = &held[..] else {
            panic!("it is held, not {held:?}")
        };
        let shown = entry.refuted_by_this_change().expect("code of the change");
        assert_eq!((shown.line, shown.quote.as_str()), (1, guard));
        let next = RefutedFinding::all_of(&held, "2222222222");
        assert_eq!(next[0].refutation.status, RefutationStatus::ThisChange);
        judge_anew(&mut refuted, &[], &texts, &texts, None, &PathGlobs::default());
        assert_eq!(still_refuted(&refuted, &[], &[], &[], &texts).len(), 1);
    }

    #[test]
    fn code_that_may_not_run_is_for_a_person_from_then_on() {
        let guard = "name = checked(name)";
        for (path, condition, is_held) in [
            ("src/guard.py", "known", false),
            ("src/guard.py", "False", true),
            ("tests/test_guard.py", "known", true),
        ] {
            let text = format!("if {condition}:\n    {guard}\n");
            let texts = Texts::from([(FILE.to_owned(), TEXT.to_owned()), (path.to_owned(), text.clone())]);
            let mut refuted = [by_unchanged_code(guard)];
            refuted[0].refutation.file = path.to_owned();
            judge_anew(&mut refuted, &[], &texts, &texts, None, &PathGlobs::default());
            let held = still_refuted(&refuted, &[], &[], &[], &texts);
            let shown = held.iter().filter_map(JudgedFinding::refuted_by_this_change);
            let is_doubtful: Vec<bool> = shown.map(|shown| shown.uncertain.is_some()).collect();
            assert_eq!(is_doubtful, if is_held { vec![true] } else { vec![] }, "{path}: {text}");
        }
    }

    #[test]
    fn code_that_the_target_branch_no_longer_has_is_for_a_person_from_then_on() {
        let guard = "name = checked(name)";
        let at = |text: &str| Texts::from([("src/guard.py".to_owned(), text.to_owned())]);
        let mut texts = at(guard);
        texts.insert(FILE.to_owned(), TEXT.to_owned());
        let held = |at_target: Option<&Texts>| {
            let mut refuted = [by_unchanged_code(guard)];
            let paths = PathGlobs::default();
            judge_anew(&mut refuted, &[], &texts, &texts, at_target, &paths);
            assert!(refuted[0].counts());
            let held = still_refuted(&refuted, &[], &[], &[], &texts);
            held.iter()
                .any(|entry| entry.refuted_by_this_change().is_some_and(|shown| shown.lost_by_target))
        };
        assert!(!held(None), "the tip is the merge base, or is not known");
        assert!(!held(Some(&at(&format!("{guard}\n\n\ndef other():\n    pass\n")))));
        assert!(held(Some(&at("name = raw"))));
        assert!(held(Some(&Texts::new())));
    }

    #[test]
    fn words_that_were_harmless_only_under_a_setting_stand_again_without_it() {
        let guard = "name = checked(name)";
        let mut steering = by_unchanged_code(guard);
        steering.record.category = "prompt-injection".to_owned();
        let back = |paths: &[&str], path: &str, own: &str| -> Vec<String> {
            let files = [FileDiff {
                path: path.to_owned(),
                old_path: FILE.to_owned(),
                kind: if path == FILE {
                    ChangeKind::Modified
                } else {
                    ChangeKind::Renamed
                },
                ..FileDiff::default()
            }];
            let guards = Texts::from([("src/guard.py".to_owned(), guard.to_owned())]);
            let mut texts = guards.clone();
            texts.insert(path.to_owned(), own.to_owned());
            let mut carry_over = CarryOver {
                refuted: vec![steering.clone()],
                ..CarryOver::default()
            };
            let paths = PathGlobs::new(paths).expect("patterns");
            judge_anew(&mut carry_over.refuted, &files, &texts, &guards, None, &paths);
            let words = WhoseWords::default();
            let all = assess(Vec::new(), &carry_over, &files, &texts, words, &RuleBook::default());
            all.into_iter().map(|finding| finding.record.file).collect()
        };
        let without = TEXT.replace("c\n", "");
        assert_eq!(back(&["src/**"], FILE, TEXT), [""; 0]);
        assert_eq!(back(&[], FILE, TEXT), [FILE]);
        assert_eq!(back(&[], FILE, &without), [""; 0], "the words are gone");
        assert_eq!(back(&["src/**"], "docs/a.md", TEXT), ["docs/a.md"]);
        assert_eq!(back(&["docs/**"], "docs/a.md", TEXT), [""; 0]);
    }
}
