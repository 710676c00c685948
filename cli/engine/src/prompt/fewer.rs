//! Less to read, for a reviewer whose first session read more than fits into its model's context.

use crate::{diff::FileDiff, review::GivenPatch, untrusted::Untrusted};

/// A part of the patches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FewerPatches {
    /// What the reviewer is asked.
    pub request: String,
    /// What the review says of it.
    pub account: String,
}

/// The patches with the most changed lines, up to half of all patches' size; nothing if that cannot be less.
pub fn fewer_patches(files: &[FileDiff], patches: &[GivenPatch]) -> Option<FewerPatches> {
    let mut entries: Vec<(&FileDiff, &str)> = files
        .iter()
        .zip(patches)
        .filter(|(file, patch)| file.has_content() && !patch.is_left_out)
        .map(|(file, patch)| (file, patch.path.as_str()))
        .collect();
    if entries.len() < 2 {
        return None;
    }
    let all = entries.len();
    let most = entries.iter().map(|(file, _)| file.patch.length).sum::<u64>() / 2;
    entries.sort_by_key(|(file, _)| std::cmp::Reverse(file.changed_lines()));
    let mut size = 0;
    let mut kept: Vec<&str> = Vec::new();
    for (file, patch) in entries {
        // One is always kept, however large: without any there is no review.
        if kept.is_empty() || size + file.patch.length <= most {
            size += file.patch.length;
            kept.push(patch);
        }
    }
    let list: Vec<String> = kept
        .iter()
        .map(|patch| format!("- {}", Untrusted::from(*patch).sanitized_line()))
        .collect();
    Some(FewerPatches {
        request: format!(
            "An earlier session read more than fits into your context. Read the context file, then only these patches, \
             in pieces where they are long, and other files only where a finding depends on them:\n{}",
            list.join("\n")
        ),
        account: format!(
            "everything did not fit into its context: it was given {} of {all} files",
            kept.len()
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::{Content, PatchRange};

    fn file(path: &str, added: u64, length: u64) -> FileDiff {
        FileDiff {
            content: Content::Text,
            old_path: path.to_owned(),
            path: path.to_owned(),
            added,
            patch: PatchRange { offset: 0, length },
            ..FileDiff::default()
        }
    }

    #[test]
    fn the_most_changed_files_are_kept_up_to_half_of_the_size() {
        let files = [file("small", 1, 100), file("large", 90, 400), file("middle", 20, 100)];
        let patches = ["p/small", "p/large", "p/middle"].map(GivenPatch::file);
        let fewer = fewer_patches(&files, &patches).expect("there is less");
        assert!(fewer.request.contains("p/large"), "{}", fewer.request);
        assert!(!fewer.request.contains("p/middle"), "{}", fewer.request);
        assert_eq!(
            fewer.account,
            "everything did not fit into its context: it was given 1 of 3 files"
        );
        assert_eq!(
            fewer_patches(&files[..1], &patches[..1]),
            None,
            "one file cannot be less"
        );
    }
}
