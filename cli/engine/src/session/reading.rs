//! The patches that were read: a file that no reviewer read to its end was not reviewed.

use std::collections::BTreeMap;

use conclave_shared::risk::SecurityPaths;

use crate::{
    diff::{FileDiff, changes_kind},
    ports::FileRead,
    review::GivenPatch,
};

/// Lines that were read, by file of the workspace.
#[derive(Debug, Default)]
pub(crate) struct Reading<'a>(BTreeMap<&'a str, Vec<&'a FileRead>>);

/// Extent to which a patch was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HowFar {
    Not,
    Partly(String),
    Fully,
}

impl<'a> Reading<'a> {
    /// The reading that these reads amount to.
    pub(crate) fn new(reads: &'a [FileRead]) -> Self {
        let mut reading = Self::default();
        for read in reads {
            reading.0.entry(read.path.as_str()).or_default().push(read);
        }
        reading
    }

    /// Files whose patch no reviewer opened, or was given, although there is something to read in it; and those that were opened and not
    /// read whole, each with what is missing.
    ///
    /// A patch without content, as of a rename, has to be opened where it makes another kind of file of it. Of a change that
    /// has no other patches, somebody has to open at least one.
    pub(crate) fn gaps(
        &self,
        files: &[FileDiff],
        patches: &[GivenPatch],
        security: &SecurityPaths,
    ) -> (Vec<String>, Vec<String>) {
        let (mut not_read, mut partly) = (Vec::new(), Vec::new());
        if !patches.iter().any(|patch| self.0.contains_key(patch.path.as_str())) {
            not_read.extend(files.iter().map(|file| file.path.clone()));
            return (not_read, partly);
        }
        for (file, patch) in files
            .iter()
            .zip(patches)
            .filter(|(file, _)| has_to_be_read(file, security))
        {
            match self.how_far(patch) {
                _ if patch.is_left_out => not_read.push(file.path.clone()),
                HowFar::Fully => {}
                HowFar::Not => not_read.push(file.path.clone()),
                HowFar::Partly(missing) => partly.push(format!("{} was not read whole: {missing}", file.path)),
            }
        }
        (not_read, partly)
    }

    pub(super) fn how_far(&self, patch: &GivenPatch) -> HowFar {
        let Some(reads) = self.0.get(patch.path.as_str()) else {
            return HowFar::Not;
        };
        let mut reads = reads.clone();
        reads.sort_by_key(|read| read.first);
        let to_the_end = || {
            if reads.iter().any(|read| read.cut_lines) {
                HowFar::Partly("lines of its patch are too long to be shown whole".to_owned())
            } else {
                HowFar::Fully
            }
        };
        // Whoever read what, together they have to have seen every line.
        let mut next = 1;
        for read in &reads {
            if read.first > next {
                return HowFar::Partly(format!("nobody read its patch from line {next} to {}", read.first - 1));
            }
            let Some(last) = read.last else { return to_the_end() };
            next = next.max(last + 1);
            if patch.lines.is_some_and(|lines| next > lines) {
                return to_the_end();
            }
        }
        HowFar::Partly(format!("nobody read its patch from line {next} on"))
    }
}

/// Returns whether a reviewer has to open the file's patch.
pub(super) fn has_to_be_read(file: &FileDiff, security: &SecurityPaths) -> bool {
    file.has_content() || changes_kind(file, security)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::{ChangeKind, Content};

    fn read(first: u64, last: Option<u64>) -> FileRead {
        FileRead {
            path: "p".into(),
            first,
            last,
            cut_lines: false,
        }
    }

    fn how_far(reads: &[FileRead]) -> HowFar {
        Reading::new(reads).how_far(&GivenPatch::file("p"))
    }

    #[test]
    fn every_line_has_to_be_read_by_somebody() {
        assert_eq!(how_far(&[]), HowFar::Not);
        assert_eq!(how_far(&[read(1, None)]), HowFar::Fully);
        let partly = |text: &str| HowFar::Partly(format!("nobody read its patch {text}"));
        assert_eq!(how_far(&[read(1, Some(2000))]), partly("from line 2001 on"));
        assert_eq!(how_far(&[read(2001, None)]), partly("from line 1 to 2000"));
        // Two reviewers, in any order, overlapping.
        assert_eq!(how_far(&[read(1500, None), read(1, Some(2000))]), HowFar::Fully);
        assert_eq!(
            how_far(&[read(1, Some(10)), read(30, None)]),
            partly("from line 11 to 29")
        );
        // A later, shorter read takes nothing back.
        assert_eq!(
            how_far(&[read(1, Some(100)), read(5, Some(20)), read(101, None)]),
            HowFar::Fully
        );
    }

    #[test]
    fn a_rename_that_makes_something_else_has_to_be_opened() {
        let renamed = |from: &str, to: &str| FileDiff {
            old_path: from.into(),
            path: to.into(),
            kind: ChangeKind::Renamed,
            content: Content::None,
            ..FileDiff::default()
        };
        let files = [renamed("a.py", "b.py"), renamed("a.txt", "a.sh")];
        let patches = [GivenPatch::file("p"), GivenPatch::file("q")];
        let security = SecurityPaths::default();
        let not_read = |reads: &[FileRead]| Reading::new(reads).gaps(&files, &patches, &security).0;
        assert_eq!(not_read(&[]), ["b.py", "a.sh"], "nobody opened anything");
        assert_eq!(not_read(&[read(1, None)]), ["a.sh"]);
        let other = FileRead {
            path: "q".into(),
            ..read(1, None)
        };
        assert_eq!(not_read(&[other]), Vec::<String>::new());
        assert_eq!(Reading::default().gaps(&[], &[], &security).0, Vec::<String>::new());
    }

    #[test]
    fn a_patch_without_its_lines_is_not_read_by_opening_it() {
        let file = |path: &str| FileDiff {
            old_path: path.into(),
            path: path.into(),
            content: Content::Text,
            ..FileDiff::default()
        };
        let left_out = GivenPatch {
            is_left_out: true,
            ..GivenPatch::file("q")
        };
        let opened = ["p", "q"].map(|path| FileRead {
            path: path.into(),
            ..read(1, None)
        });
        let patches = [GivenPatch::file("p"), left_out];
        let gaps = Reading::new(&opened).gaps(&[file("a.py"), file("b.py")], &patches, &SecurityPaths::default());
        assert_eq!(gaps, (vec!["b.py".to_owned()], Vec::new()));
    }

    #[test]
    fn single_lines_are_the_whole_where_the_length_is_known() {
        let patch = GivenPatch {
            lines: Some(3),
            ..GivenPatch::file("p")
        };
        let lines: Vec<FileRead> = [2, 1, 3].map(|line| read(line, Some(line))).into();
        assert_eq!(Reading::new(&lines).how_far(&patch), HowFar::Fully);
        let unknown = GivenPatch::file("p");
        let partly = |text: &str| HowFar::Partly(format!("nobody read its patch {text}"));
        assert_eq!(Reading::new(&lines).how_far(&unknown), partly("from line 4 on"));
        assert_eq!(Reading::new(&lines[..2]).how_far(&patch), partly("from line 3 on"));
        assert_eq!(Reading::new(&lines[1..]).how_far(&patch), partly("from line 2 to 2"));
    }

    #[test]
    fn lines_that_were_cut_are_not_read() {
        let mut cut = read(1, None);
        cut.cut_lines = true;
        assert_eq!(
            how_far(&[cut]),
            HowFar::Partly("lines of its patch are too long to be shown whole".into())
        );
    }
}
