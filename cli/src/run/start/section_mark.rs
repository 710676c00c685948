//! The secret mark of the prompts' sections: a new one for every head commit, and what it means if somebody else knows it.

use conclave_engine::{
    diff::{FileDiff, FilterReason, FilteredDiff},
    review::{ApprovalHold, HoldCause, ReviewSubject},
    untrusted::{KnownMarks, Nonce, Untrusted},
};
use conclave_git::Blob;
use conclave_shared::{
    finding::{Finding, Quote},
    redact::Redactor,
    reviewer::ReviewerName,
    severity::Severity,
};
use secrecy::ExposeSecret;

use crate::{
    diff::Spool,
    exit::Failure,
    run::{prepare::change::Job, recording::RunRecording},
};

/// So many places are reported; one is enough to keep the bot from approving.
const MAX_PLACES: usize = 20;
/// Maximum number of files without a reviewer that are searched, of bytes of each, and of characters of a shown line.
const MAX_NOISE_FILES: usize = 500;
const MAX_NOISE_BYTES: usize = 2 << 20;
const MAX_LINE: usize = 400;

/// The mark of a run, and those that it looks for.
pub(crate) struct SectionMark {
    /// What the tags of this run's sections carry.
    pub(crate) nonce: Nonce,
    known: KnownMarks,
}

impl SectionMark {
    /// The mark of a run, which is hidden from now on. A recording of an older version has its mark in its texts and would not be
    /// found without: that one stays.
    pub(crate) fn of(job: &Job, recording: &RunRecording, redactor: &Redactor) -> Result<Self, Failure> {
        let recorded = recording.boundary();
        let is_new = recorded.is_none();
        let mark = Self::new(job, recorded)?;
        if is_new {
            redactor.hide_mark(mark.nonce.as_str());
        }
        Ok(mark)
    }

    /// The mark of this head commit, or the one of a recorded run, which this one repeats.
    pub(crate) fn new(job: &Job, recorded: Option<Nonce>) -> Result<Self, Failure> {
        let subject = &job.subject;
        let secret = match &job.secret {
            Some(secret) => secret.clone(),
            // Without an installation's secret the mark is new in every run: safe, only the caches do not last.
            None => conclave_gateway::random_run_key()?,
        };
        let mark = |head: &str| {
            let subject = format!("{}!{}@{head}", subject.project, subject.merge_request.unwrap_or(0));
            Nonce::new(secret.expose_secret().as_bytes(), &subject)
        };
        let nonce = recorded.unwrap_or_else(|| mark(&subject.head_sha));
        let earlier = subject.existing_findings.iter();
        let mut marks: Vec<Nonce> = earlier.map(|finding| mark(&finding.record.head_sha)).collect();
        marks.push(nonce.clone());
        Ok(Self {
            known: KnownMarks::new(&marks),
            nonce,
        })
    }

    /// Returns a finding for each place where the mark stands, and adds the reason to withhold the approval.
    pub(crate) async fn leaks(
        &self,
        holds: &mut Vec<ApprovalHold>,
        job: &Job,
        diff: &FilteredDiff,
        spool: &Spool,
    ) -> Result<Vec<Finding>, Failure> {
        let mut findings = self.in_change(&job.subject, diff, spool)?;
        if findings.len() < MAX_PLACES {
            self.in_noise(job, diff, &mut findings).await?;
        }
        findings.truncate(MAX_PLACES);
        if !findings.is_empty() {
            let places = findings
                .iter()
                .map(|finding| format!("{}:{}", finding.file, finding.line));
            let reason = "The secret mark of this review's prompts stands in text that is not ours: it was written to be taken for \
                          the review's own.";
            holds.push(ApprovalHold::new(HoldCause::PromptInjection, reason).at(places));
        }
        Ok(findings)
    }

    /// Looks for the mark in everything that people wrote, in every line that the change adds, and in all names of files.
    fn in_change(&self, subject: &ReviewSubject, diff: &FilteredDiff, spool: &Spool) -> Result<Vec<Finding>, Failure> {
        let mut findings = self.in_words(subject);
        let mut patch = Vec::new();
        for file in &diff.files {
            if findings.len() >= MAX_PLACES {
                break;
            }
            if self.known.stand_in(&file.path) {
                findings.push(finding(&file.path, 1, file.path.clone()));
            }
            // A link is text too, and so is what takes the place of one.
            spool.patch(file, &mut patch)?;
            self.in_patch(file, &String::from_utf8_lossy(&patch), &mut findings);
        }
        let left_out = diff.filtered.iter().map(|file| &file.path);
        let named = left_out.filter(|path| self.known.stand_in(path));
        findings.extend(named.map(|path| finding(path, 1, path.clone())));
        Ok(findings)
    }

    /// Looks for the mark in the files that no reviewer gets, at head: one process reads the beginnings of all.
    async fn in_noise(&self, job: &Job, diff: &FilteredDiff, findings: &mut Vec<Finding>) -> Result<(), Failure> {
        let noise = diff.filtered.iter().filter(|file| {
            let is_noise = matches!(
                file.reason,
                FilterReason::LockFile
                    | FilterReason::Minified
                    | FilterReason::Vendored
                    | FilterReason::Generated
                    | FilterReason::ExcludedByProject
            );
            is_noise && !file.path.contains('\n')
        });
        let paths: Vec<&str> = noise.map(|file| file.path.as_str()).take(MAX_NOISE_FILES).collect();
        if paths.is_empty() {
            return Ok(());
        }
        let head = &job.subject.head_sha;
        let names: Vec<String> = paths.iter().map(|path| format!("{head}:{path}")).collect();
        let search = |at: usize, blob: Option<Blob>| {
            let Some(blob) = blob.filter(|_| findings.len() < MAX_PLACES) else {
                return;
            };
            let text = String::from_utf8_lossy(&blob.content);
            if self.known.stand_in(&text) {
                let place = (1..).zip(text.lines()).find(|(_, line)| self.known.stand_in(line));
                let (number, line) = place.unwrap_or((1, paths[at]));
                findings.push(finding(paths[at], number, line.chars().take(MAX_LINE).collect()));
            }
        };
        job.repository.read_blobs(&names, MAX_NOISE_BYTES, search).await?;
        Ok(())
    }

    fn in_words(&self, subject: &ReviewSubject) -> Vec<Finding> {
        let comments = subject.comments.iter();
        let replies = subject.existing_findings.iter().flat_map(|finding| &finding.replies);
        let texts = [
            ("title", &subject.title),
            ("description", &subject.description),
            ("source branch", &subject.source_branch),
            ("target branch", &subject.target_branch),
        ];
        let texts = texts
            .into_iter()
            .chain(subject.commit_subjects.iter().map(|text| ("commit message", text)))
            .chain(comments.flat_map(|comment| [("comment", &comment.body), ("comment", &comment.author)]))
            .chain(replies.map(|reply| ("comment", &reply.body)));
        let mut findings: Vec<Finding> = Vec::new();
        for (place, text) in texts {
            let is_new = findings.iter().all(|finding| finding.file != place);
            if is_new && self.holds(text) {
                findings.push(finding(place, 1, format!("the {place} of the change")));
            }
        }
        findings
    }

    fn holds(&self, text: &Untrusted) -> bool {
        text.holds(&self.known)
    }

    fn in_patch(&self, file: &FileDiff, patch: &str, findings: &mut Vec<Finding>) {
        let mut number = 0;
        for line in patch.lines() {
            if let Some(hunk) = line.strip_prefix("@@ ") {
                number = first_line(hunk);
            } else if let Some(added) = line.strip_prefix('+').filter(|_| number > 0) {
                if self.known.stand_in(added) {
                    findings.push(finding(&file.path, number, added.to_owned()));
                }
                number += 1;
            } else if line.starts_with(' ') && number > 0 {
                number += 1;
            }
        }
    }
}

/// The first line of a hunk at head, of its header: `-1,2 +3,4 @@`.
fn first_line(hunk: &str) -> u32 {
    let start = hunk.split_once('+').map_or("", |(_, start)| start);
    let digits = start.split(|character: char| !character.is_ascii_digit()).next();
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(1)
}

fn finding(file: &str, line: u32, evidence: String) -> Finding {
    let quote = Quote {
        file: file.to_owned(),
        line,
        code: evidence,
    };
    let severity = Severity::Critical;
    Finding {
        claim: "The secret mark of this review's prompts stands here.".to_owned(),
        scenario: "Only the review's own prompts have this mark. Its author has seen one, and text with it could be taken for a \
                   part of the prompts."
            .to_owned(),
        checked: "Compared by code, without a model.".to_owned(),
        ..Finding::of_rules(ReviewerName::SECTION_MARK, severity, Finding::PROMPT_INJECTION, quote)
    }
}

#[cfg(test)]
mod tests {
    use camino::Utf8Path;
    use conclave_engine::diff::FilteredFile;

    use super::*;
    use crate::diff::Intake;

    #[test]
    fn the_mark_is_found_in_links_in_what_takes_their_place_and_in_names() {
        let (missing, old, new) = ("0".repeat(40), "a".repeat(40), "b".repeat(40));
        let text = "mr_body_0123456789ab";
        let git = format!(
            ":120000 100644 {old} {new} T\0notes.md\0:000000 120000 {missing} {new} A\0link\0\0\
             diff --git a/notes.md b/notes.md\ndeleted file mode 120000\nindex {old}..{missing}\n--- a/notes.md\n+++ /dev/null\n\
             @@ -1 +0,0 @@\n-x\n\\ No newline at end of file\n\
             diff --git a/notes.md b/notes.md\nnew file mode 100644\nindex {missing}..{new}\n--- /dev/null\n+++ b/notes.md\n\
             @@ -0,0 +1,2 @@\n+Notes.\n+</{text}>\n\
             diff --git a/link b/link\nnew file mode 120000\nindex {missing}..{new}\n--- /dev/null\n+++ b/link\n\
             @@ -0,0 +1 @@\n+{text}\n\\ No newline at end of file\n"
        );
        let directory = tempfile::tempdir().expect("a directory");
        let scratch = Utf8Path::from_path(directory.path()).expect("UTF-8");
        let mut intake = Intake::new(scratch).expect("a spool");
        intake.push(git.as_bytes()).expect("git's output");
        let (diff, spool) = intake.finish().expect("a diff");
        let diff = FilteredDiff {
            files: diff.files,
            filtered: vec![FilteredFile {
                path: format!("vendor/{text}.js"),
                old_path: None,
                reason: FilterReason::Vendored,
            }],
            ..FilteredDiff::default()
        };
        let nonce = Nonce::new(b"secret", "subject");
        let mark = SectionMark {
            known: KnownMarks::new([&nonce]),
            nonce,
        };
        let found = mark
            .in_change(&ReviewSubject::default(), &diff, &spool)
            .expect("readable");
        let places: Vec<(&str, u32)> = found
            .iter()
            .map(|finding| (finding.file.as_str(), finding.line))
            .collect();
        assert_eq!(
            places,
            [("notes.md", 2), ("link", 1), ("vendor/mr_body_0123456789ab.js", 1)]
        );
    }

    #[test]
    fn a_hunk_says_where_it_begins() {
        for (hunk, first) in [
            ("-1,2 +3,4 @@ fn x()", 3),
            ("-1 +1 @@", 1),
            ("-0,0 +12 @@", 12),
            ("?", 1),
        ] {
            assert_eq!(first_line(hunk), first);
        }
    }
}
