//! Serious findings that nothing proved: they hold the approval for as long as the patch that they are about is as it was,
//! whatever a later run of the same models says. One that is about no file of the change is ended by no edit of another file.

use std::collections::BTreeMap;

use crate::{
    diff::{FileDiff, FilteredFile},
    review::{CONTEXT_FILE, MAX_CLAIM, PatchId, RememberedUnproven, ReviewSubject, UnprovenFinding},
};

/// Maximum number of unproven findings that are remembered.
const MAX_UNPROVEN: usize = 20;

/// Maximum number of texts that are remembered with one of them.
const MAX_WRITTEN: usize = 40;

/// The identities of a change's patches by their paths.
pub type Identities = BTreeMap<String, PatchId>;

/// The objects of a change's files at head by their paths.
pub type Objects = BTreeMap<String, String>;

/// The identity of a text without white space at the ends of its lines, whatever ends those; none of one that is empty.
pub fn text_identity(text: &str) -> Option<PatchId> {
    let lines = text.split(['\n', '\r']).map(str::trim_end);
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    (!lines.is_empty()).then(|| PatchId::of_text(&lines.join("\n")))
}

/// The objects of these files.
pub fn objects(files: &[FileDiff]) -> Objects {
    let object = |file: &FileDiff| Some((file.path.clone(), file.head_object()?.to_owned()));
    files.iter().filter_map(object).collect()
}

/// The identities of what people wrote about a change: the title, the description, and the newest comments. A program's comment
/// changes by itself.
pub fn written_texts(subject: &ReviewSubject) -> Vec<PatchId> {
    let comments = subject.comments.iter().rev().filter(|comment| !comment.by_program);
    let texts = [&subject.title, &subject.description].into_iter();
    let texts = texts.chain(comments.map(|comment| &comment.body)).take(MAX_WRITTEN);
    texts.map(|text| PatchId::of_text(text.sanitized().trim())).collect()
}

/// The findings of earlier reviews whose patches are as they were, or whose files have only got another name since, by which they
/// are called then; and those about no file of the change, until a review reads their file as one, or what people have `written`, if
/// they are about that, is another text. `files` are all files of the change, `texts` the identities of their texts at head, and
/// `left_out` those that are noise by rule.
pub fn still_unproven(
    remembered: &[RememberedUnproven],
    identities: &Identities,
    files: &[FileDiff],
    texts: &Identities,
    left_out: &[FilteredFile],
    written: &[PatchId],
) -> Vec<UnprovenFinding> {
    let held = |entry: &RememberedUnproven| {
        if entry.is_outside() {
            return holds_outside(entry, identities, written).then(|| entry.finding.clone());
        }
        if subject(&entry.finding, identities) == entry.patch {
            return Some(entry.finding.clone());
        }
        let has_text = |path: &&String| entry.text.is_some() && texts.get(*path) == entry.text.as_ref();
        if has_text(&&entry.finding.file) {
            return Some(entry.finding.clone());
        }
        let object = entry.object.as_deref()?;
        let renamed = files.iter().find(|file| file.head_object() == Some(object));
        let renamed = renamed.map(|file| &file.path).or_else(|| texts.keys().find(has_text));
        let path = renamed.or_else(|| {
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

/// Returns whether one about nothing that was a file of the change holds.
fn holds_outside(entry: &RememberedUnproven, identities: &Identities, written: &[PatchId]) -> bool {
    if entry.finding.file == CONTEXT_FILE {
        // An older version has not remembered the texts.
        return entry.written.iter().all(|text| written.contains(text));
    }
    !identities.contains_key(&entry.finding.file)
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
    texts: &Identities,
    written: &[PatchId],
) -> Vec<RememberedUnproven> {
    let clip = |text: &str| text.chars().take(MAX_CLAIM).collect::<String>();
    let remembered = findings.iter().take(MAX_UNPROVEN).map(|finding| {
        let finding = UnprovenFinding {
            claim: clip(&finding.claim),
            reason: clip(&finding.reason),
            ..finding.clone()
        };
        // Of noise only the name is known: what is about it now was about a patch, and goes on by that.
        let was_inside = |known: &RememberedUnproven| {
            let of = &known.finding;
            let has_left = !known.is_outside() && !identities.contains_key(&of.file);
            has_left && of.claim == finding.claim && name(&of.file) == name(&finding.file)
        };
        let outside = !identities.contains_key(&finding.file) && !before.iter().any(was_inside);
        // What holds goes on as it was: it is about none of what was written since.
        let goes_on = |known: &&RememberedUnproven| {
            outside && known.outside && known.finding == finding && holds_outside(known, identities, written)
        };
        if let Some(known) = before.iter().find(goes_on) {
            return known.clone();
        }
        let is_about_words = finding.file == CONTEXT_FILE;
        RememberedUnproven {
            patch: if outside {
                PatchId::of_all(std::iter::empty())
            } else {
                subject(&finding, identities)
            },
            parts: Vec::new(),
            object: objects.get(&finding.file).cloned(),
            text: texts.get(&finding.file).cloned(),
            outside,
            written: if is_about_words { written.to_vec() } else { Vec::new() },
            finding,
        }
    });
    let mut remembered: Vec<RememberedUnproven> = remembered.collect();
    for entry in before {
        // An older version did not say what it is about.
        let is_older = |known: &RememberedUnproven| {
            known.outside && !entry.outside && entry.is_outside() && known.finding == entry.finding
        };
        let is_known = |known: &RememberedUnproven| known.is_same(&entry) || is_older(known);
        if remembered.len() < MAX_UNPROVEN && !remembered.iter().any(is_known) {
            remembered.push(entry);
        }
    }
    remembered
}

/// The patch that the finding is about; the whole change where its file has become noise.
fn subject(finding: &UnprovenFinding, identities: &Identities) -> PatchId {
    let patch = identities.get(&finding.file).cloned();
    patch.unwrap_or_else(|| PatchId::of_all(identities.values()))
}

#[cfg(test)]
mod tests {
    use conclave_shared::reviewer::ReviewerName;

    use super::*;
    use crate::{diff::FilterReason, review::Comment};

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
            let remembered = remember_unproven(
                &[unproven(file)],
                Vec::new(),
                &then,
                &Objects::new(),
                &Identities::new(),
                &[],
            );
            assert_eq!(remembered[0].finding.claim.chars().count(), MAX_CLAIM);
            !still_unproven(&remembered, &identities(now), &[], &Identities::new(), &[], &[]).is_empty()
        };
        assert!(held("a.py", &[("a.py", "1"), ("b.py", "1")]), "run again");
        assert!(held("a.py", &[("a.py", "1"), ("b.py", "2")]), "another file changed");
        assert!(!held("a.py", &[("a.py", "2"), ("b.py", "1")]));
        assert!(!held("a.py", &[("b.py", "1")]), "it left the change");
        // The file that it names is none of the change's: what is edited elsewhere has nothing to do with it.
        for file in ["c.py", ""] {
            assert!(held(file, &[("a.py", "1"), ("b.py", "1")]));
            assert!(held(file, &[("a.py", "2"), ("b.py", "2")]));
            assert!(held(file, &[]));
        }
        assert!(!held("c.py", &[("a.py", "1"), ("c.py", "1")]), "this review reads it");
    }

    #[test]
    fn about_no_file_of_the_change_it_is_remembered_once_and_holds_again_when_its_file_leaves() {
        let patches = |text: &str| identities(&[("a.py", text)]);
        let held = |remembered: &[RememberedUnproven], now: &Identities| {
            still_unproven(remembered, now, &[], &Identities::new(), &[], &[])
        };
        let both = [unproven("c.py"), unproven("d.py")];
        let mut remembered = remember_unproven(
            &both,
            Vec::new(),
            &patches("1"),
            &Objects::new(),
            &Identities::new(),
            &[],
        );
        for text in ["2", "3"] {
            let now = patches(text);
            remembered = remember_unproven(
                &held(&remembered, &now),
                remembered,
                &now,
                &Objects::new(),
                &Identities::new(),
                &[],
            );
            assert_eq!(remembered.len(), 2);
        }
        let with_file = identities(&[("a.py", "3"), ("c.py", "1")]);
        let now = held(&remembered, &with_file);
        assert_eq!(now.iter().map(UnprovenFinding::place).collect::<Vec<_>>(), ["d.py:3"]);
        let after = remember_unproven(&now, remembered, &with_file, &Objects::new(), &Identities::new(), &[]);
        assert_eq!(held(&after, &patches("4")).len(), 2);
        // What an older version remembered has patches instead.
        let old = RememberedUnproven {
            parts: patches("1").into_values().collect(),
            outside: false,
            ..after[0].clone()
        };
        assert_eq!(held(&[old], &patches("2")).len(), 1);
    }

    #[test]
    fn about_what_people_wrote_it_holds_until_one_of_those_texts_changes() {
        let texts = |description: &str, comments: &[&str]| {
            let comment = |body: &&str| Comment {
                body: (*body).into(),
                ..Comment::default()
            };
            written_texts(&ReviewSubject {
                description: description.into(),
                comments: comments.iter().map(comment).collect(),
                ..ReviewSubject::default()
            })
        };
        let patches = |text: &str| identities(&[("a.py", text)]);
        let first = texts("Approve this", &["Why?"]);
        let about = [unproven(CONTEXT_FILE)];
        let remembered = remember_unproven(
            &about,
            Vec::new(),
            &patches("1"),
            &Objects::new(),
            &Identities::new(),
            &first,
        );
        let held = |remembered: &[RememberedUnproven], now: &[PatchId]| {
            still_unproven(remembered, &patches("2"), &[], &Identities::new(), &[], now)
        };
        let more = texts("Approve this", &["Why?", "So."]);
        let still = held(&remembered, &more);
        assert_eq!(still.len(), 1);
        assert!(held(&remembered, &texts("Export orders", &["Why?"])).is_empty());
        assert!(held(&remembered, &texts("Approve this", &["What?"])).is_empty());
        let later = remember_unproven(
            &still,
            remembered.clone(),
            &patches("2"),
            &Objects::new(),
            &Identities::new(),
            &more,
        );
        assert_eq!(later, remembered, "a later comment is none of what it is about");
        // What an older version remembered holds until it is known what it is about.
        let old = RememberedUnproven {
            parts: patches("1").into_values().collect(),
            outside: false,
            written: Vec::new(),
            ..remembered[0].clone()
        };
        let still = held(std::slice::from_ref(&old), &first);
        assert_eq!(still.len(), 1);
        let later = remember_unproven(
            &still,
            vec![old],
            &patches("2"),
            &Objects::new(),
            &Identities::new(),
            &first,
        );
        assert!(held(&later, &texts("Export orders", &[])).is_empty());
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
            &Identities::new(),
            &[],
        );
        let places = |path: &str, object: &str| {
            let held = still_unproven(
                &remembered,
                &identities(&[(path, "2")]),
                &[file(path, object)],
                &Identities::new(),
                &[],
                &[],
            );
            held.iter().map(UnprovenFinding::place).collect::<Vec<_>>()
        };
        assert_eq!(places("b.py", "1f"), ["b.py:3"]);
        // Remembered under both names it is one.
        let (now, files) = (identities(&[("b.py", "2")]), [file("b.py", "1f")]);
        let held = still_unproven(&remembered, &now, &files, &Identities::new(), &[], &[]);
        let again = remember_unproven(
            &held,
            remembered.clone(),
            &now,
            &objects(&files),
            &Identities::new(),
            &[],
        );
        assert_eq!(again.len(), 2);
        assert_eq!(still_unproven(&again, &now, &files, &Identities::new(), &[], &[]), held);
        assert_eq!(places("b.py", "2f"), [""; 0], "its text is another one");
        assert_eq!(places("b.py", &"0".repeat(40)), [""; 0], "it is gone");
        let noise = FilteredFile {
            path: "vendor/a.py".into(),
            old_path: None,
            reason: FilterReason::Vendored,
        };
        let noise = [noise];
        let held = still_unproven(&remembered, &identities(&[]), &[], &Identities::new(), &noise, &[]);
        assert_eq!(held[0].place(), "vendor/a.py:3", "among what nobody reads");
        // It is about no other file for that: out of there and mended it holds no more.
        let again = remember_unproven(
            &held,
            remembered.clone(),
            &identities(&[]),
            &Objects::new(),
            &Identities::new(),
            &[],
        );
        assert!(still_unproven(&again, &identities(&[("a.py", "2")]), &[], &Identities::new(), &[], &[]).is_empty());
        // What an earlier version remembered has no object.
        let mut old = remembered.clone();
        old[0].object = None;
        let gone = file("b.py", &"0".repeat(40));
        assert!(
            still_unproven(
                &old,
                &identities(&[("b.py", "2")]),
                &[gone],
                &Identities::new(),
                &[],
                &[]
            )
            .is_empty()
        );
    }

    #[test]
    fn white_space_at_the_ends_of_lines_makes_no_other_patch() {
        let text = "def a():\n    return eval(x)\n";
        let texts = |path: &str, text: &str| {
            let identity = text_identity(text).map(|identity| (path.to_owned(), identity));
            identity.into_iter().collect::<Identities>()
        };
        let object = |object: &str| Objects::from([("a.py".to_owned(), object.to_owned())]);
        let (then, now) = (
            identities(&[("a.py", "1")]),
            identities(&[("a.py", "2"), ("b.py", "2")]),
        );
        let about = [unproven("a.py")];
        let remembered = remember_unproven(&about, Vec::new(), &then, &object("1f"), &texts("a.py", text), &[]);
        let places = |path: &str, text: &str| {
            let held = still_unproven(&remembered, &now, &[], &texts(path, text), &[], &[]);
            held.iter().map(UnprovenFinding::place).collect::<Vec<_>>()
        };
        for text in [
            text.to_owned(),
            text.replace("(x)\n", "(x) \n"),
            text.replace('\n', "\r\n"),
            text.replace('\n', "\r"),
            format!("{text}\n"),
        ] {
            assert_eq!(places("a.py", &text), ["a.py:3"], "{text:?}");
            assert_eq!(places("b.py", &text), ["b.py:3"], "{text:?}");
        }
        assert_eq!(places("a.py", &text.replace("    ", "  ")), [""; 0]);
        assert_eq!(places("a.py", ""), [""; 0]);
        assert_eq!(text_identity(" \r\n"), None);
    }

    #[test]
    fn a_patch_that_comes_back_brings_them_back() {
        let (then, fixed) = (identities(&[("a.py", "1")]), identities(&[("a.py", "2")]));
        let first = remember_unproven(
            &[unproven("a.py")],
            Vec::new(),
            &then,
            &Objects::new(),
            &Identities::new(),
            &[],
        );
        assert!(still_unproven(&first, &fixed, &[], &Identities::new(), &[], &[]).is_empty());
        let second = remember_unproven(&[], first, &fixed, &Objects::new(), &Identities::new(), &[]);
        assert_eq!(
            still_unproven(&second, &then, &[], &Identities::new(), &[], &[]).len(),
            1
        );
        // Again and again they are remembered once.
        let held = still_unproven(&second, &then, &[], &Identities::new(), &[], &[]);
        assert_eq!(
            remember_unproven(&held, second, &then, &Objects::new(), &Identities::new(), &[]).len(),
            1
        );
    }

    #[test]
    fn what_is_reported_again_stands_once() {
        let all = joined(vec![unproven("a.py")], vec![unproven("a.py"), unproven("b.py")]);
        let files: Vec<&str> = all.iter().map(|finding| finding.file.as_str()).collect();
        assert_eq!(files, ["a.py", "b.py"]);
    }
}
