//! Serious findings that nothing proved: they hold the approval for as long as the patch that they are about is as it was,
//! whatever a later run of the same models says.

use std::collections::BTreeMap;

use crate::{
    diff::{FileDiff, FilteredFile},
    review::{MAX_CLAIM, PatchId, RememberedUnproven, UnprovenFinding},
};

/// Maximum number of unproven findings that are remembered.
const MAX_UNPROVEN: usize = 20;

/// Maximum number of patches that are remembered with one of them.
const MAX_PARTS: usize = 40;

/// The identities of a change's patches by their paths.
pub type Identities = BTreeMap<String, PatchId>;

/// The objects of a change's files at head by their paths.
pub type Objects = BTreeMap<String, String>;

/// The objects of these files.
pub fn objects(files: &[FileDiff]) -> Objects {
    let object = |file: &FileDiff| Some((file.path.clone(), file.head_object()?.to_owned()));
    files.iter().filter_map(object).collect()
}

/// The findings of earlier reviews whose patches are as they were, or whose files have only got another name since, by which they
/// are called then. `files` are all files of the change, and `left_out` those that are noise by rule.
pub fn still_unproven(
    remembered: &[RememberedUnproven],
    identities: &Identities,
    files: &[FileDiff],
    left_out: &[FilteredFile],
) -> Vec<UnprovenFinding> {
    let held = |entry: &RememberedUnproven| {
        let is_part = |patch: &PatchId| entry.parts.contains(patch);
        if subject(&entry.finding, identities) == entry.patch || identities.values().any(is_part) {
            return Some(entry.finding.clone());
        }
        let object = entry.object.as_deref()?;
        let renamed = files.iter().find(|file| file.head_object() == Some(object));
        let path = renamed.map(|file| &file.path).or_else(|| {
            // Of noise only the names are known.
            let has_left = !identities.contains_key(&entry.finding.file);
            let mut left_out = left_out.iter().map(|file| &file.path);
            left_out.find(|path| has_left && name(path) == name(&entry.finding.file))
        })?;
        Some(UnprovenFinding {
            file: path.clone(),
            ..entry.finding.clone()
        })
    };
    let mut standing: Vec<UnprovenFinding> = Vec::new();
    for finding in remembered.iter().filter_map(held) {
        // What is remembered of its file under each of several names is one problem.
        if !standing.contains(&finding) {
            standing.push(finding);
        }
    }
    standing
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The findings without proof of a review, and those of earlier ones in files about which it says nothing of the kind.
pub(crate) fn joined(mut found: Vec<UnprovenFinding>, earlier: Vec<UnprovenFinding>) -> Vec<UnprovenFinding> {
    let files: Vec<String> = found.iter().map(|finding| finding.file.clone()).collect();
    found.extend(earlier.into_iter().filter(|finding| !files.contains(&finding.file)));
    found
}

/// The same for the next review, with those that were remembered before.
pub(crate) fn remember_unproven(
    findings: &[UnprovenFinding],
    before: Vec<RememberedUnproven>,
    identities: &Identities,
    objects: &Objects,
) -> Vec<RememberedUnproven> {
    let clip = |text: &str| text.chars().take(MAX_CLAIM).collect::<String>();
    let remembered = findings.iter().take(MAX_UNPROVEN).map(|finding| RememberedUnproven {
        finding: UnprovenFinding {
            claim: clip(&finding.claim),
            reason: clip(&finding.reason),
            ..finding.clone()
        },
        patch: subject(finding, identities),
        parts: parts(finding, identities),
        object: objects.get(&finding.file).cloned(),
    });
    let mut remembered: Vec<RememberedUnproven> = remembered.collect();
    for entry in before {
        if remembered.len() < MAX_UNPROVEN && !remembered.iter().any(|known| known.is_same(&entry)) {
            remembered.push(entry);
        }
    }
    remembered
}

/// The patches one of which a finding is about whose file is none of the change.
fn parts(finding: &UnprovenFinding, identities: &Identities) -> Vec<PatchId> {
    if identities.contains_key(&finding.file) {
        return Vec::new();
    }
    identities.values().take(MAX_PARTS).cloned().collect()
}

/// The patch that the finding is about; the whole change where it names a file that has none.
fn subject(finding: &UnprovenFinding, identities: &Identities) -> PatchId {
    let patch = identities.get(&finding.file).cloned();
    patch.unwrap_or_else(|| PatchId::of_all(identities.values()))
}

#[cfg(test)]
mod tests {
    use conclave_shared::reviewer::ReviewerName;

    use super::*;
    use crate::diff::FilterReason;

    fn identities(texts: &[(&str, &str)]) -> Identities {
        let patch = |text: &str| PatchId::new(&FileDiff::default(), format!("@@ -1 +1 @@\n+{text}\n").as_bytes());
        texts
            .iter()
            .map(|(path, text)| ((*path).to_owned(), patch(text)))
            .collect()
    }

    fn unproven(file: &str) -> UnprovenFinding {
        UnprovenFinding {
            reviewer: ReviewerName::coordinator(),
            severity: "critical".into(),
            category: "injection".into(),
            file: file.into(),
            line: Some(3),
            claim: "ä".repeat(MAX_CLAIM + 1),
            reason: "its quote is not in the file".into(),
        }
    }

    #[test]
    fn it_holds_until_the_patch_that_it_is_about_changes() {
        let then = identities(&[("a.py", "1"), ("b.py", "1")]);
        let held = |file: &str, now: &[(&str, &str)]| {
            let remembered = remember_unproven(&[unproven(file)], Vec::new(), &then, &Objects::new());
            assert_eq!(remembered[0].finding.claim.chars().count(), MAX_CLAIM);
            !still_unproven(&remembered, &identities(now), &[], &[]).is_empty()
        };
        assert!(held("a.py", &[("a.py", "1"), ("b.py", "1")]), "run again");
        assert!(held("a.py", &[("a.py", "1"), ("b.py", "2")]), "another file changed");
        assert!(!held("a.py", &[("a.py", "2"), ("b.py", "1")]));
        assert!(!held("a.py", &[("b.py", "1")]), "it left the change");
        // The file that it names is none of the change's: it may be about any.
        assert!(held("c.py", &[("a.py", "1"), ("b.py", "1")]));
        assert!(held("c.py", &[("a.py", "1"), ("b.py", "2")]));
        assert!(!held("c.py", &[("a.py", "2"), ("b.py", "2")]));
    }

    #[test]
    fn a_file_that_is_only_renamed_takes_them_with_it() {
        let file = |path: &str, object: &str| FileDiff {
            path: path.into(),
            objects: ("0".repeat(40), object.into()),
            ..FileDiff::default()
        };
        let remembered = remember_unproven(
            &[unproven("a.py")],
            Vec::new(),
            &identities(&[("a.py", "1")]),
            &objects(&[file("a.py", "1f")]),
        );
        let places = |path: &str, object: &str| {
            let held = still_unproven(&remembered, &identities(&[(path, "2")]), &[file(path, object)], &[]);
            held.iter().map(UnprovenFinding::place).collect::<Vec<_>>()
        };
        assert_eq!(places("b.py", "1f"), ["b.py:3"]);
        // Remembered under both names it is one.
        let (now, files) = (identities(&[("b.py", "2")]), [file("b.py", "1f")]);
        let held = still_unproven(&remembered, &now, &files, &[]);
        let again = remember_unproven(&held, remembered.clone(), &now, &objects(&files));
        assert_eq!(again.len(), 2);
        assert_eq!(still_unproven(&again, &now, &files, &[]), held);
        assert_eq!(places("b.py", "2f"), [""; 0], "its text is another one");
        assert_eq!(places("b.py", &"0".repeat(40)), [""; 0], "it is gone");
        let noise = FilteredFile {
            path: "vendor/a.py".into(),
            reason: FilterReason::Vendored,
        };
        let held = still_unproven(&remembered, &identities(&[]), &[], &[noise]);
        assert_eq!(held[0].place(), "vendor/a.py:3", "among what nobody reads");
        // What an earlier version remembered has no object.
        let mut old = remembered.clone();
        old[0].object = None;
        let gone = file("b.py", &"0".repeat(40));
        assert!(still_unproven(&old, &identities(&[("b.py", "2")]), &[gone], &[]).is_empty());
    }

    #[test]
    fn a_patch_that_comes_back_brings_them_back() {
        let (then, fixed) = (identities(&[("a.py", "1")]), identities(&[("a.py", "2")]));
        let first = remember_unproven(&[unproven("a.py")], Vec::new(), &then, &Objects::new());
        assert!(still_unproven(&first, &fixed, &[], &[]).is_empty());
        let second = remember_unproven(&[], first, &fixed, &Objects::new());
        assert_eq!(still_unproven(&second, &then, &[], &[]).len(), 1);
        // Again and again they are remembered once.
        let held = still_unproven(&second, &then, &[], &[]);
        assert_eq!(remember_unproven(&held, second, &then, &Objects::new()).len(), 1);
    }

    #[test]
    fn what_is_reported_again_stands_once() {
        let all = joined(vec![unproven("a.py")], vec![unproven("a.py"), unproven("b.py")]);
        let files: Vec<&str> = all.iter().map(|finding| finding.file.as_str()).collect();
        assert_eq!(files, ["a.py", "b.py"]);
    }
}
