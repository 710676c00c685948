//! Patches whose text stands in the prompt: a small change is read without a call.
//!
//! Every reviewer is given all of them, and a provider's cache serves them to all but the first. Opened with a tool, the same
//! patches cost each reviewer one more turn, which repeats its whole conversation. That is worth more than what a reviewer
//! does not need of the others' patches as long as all of them together are small.

use std::fmt::Write;

use conclave_shared::risk::{RiskTier, SecurityPaths};

use crate::{
    diff::{FileDiff, changes_kind},
    untrusted::{Nonce, Untrusted},
};

/// Maximum length of all patches in a prompt, in bytes: about the size of one turn's rules, role and tools.
pub const MAX_PATCH_TEXTS: usize = 24_000;

/// Mark before each patch. No line of a patch can begin like this.
const MARK: &str = "=== ";

/// Returns which patches stand in the prompt, by their lengths in bytes. Of a change of the trivial and the lite tier those that
/// fit, in order; of a larger one all, or none.
pub fn choose_patch_texts(tier: RiskTier, lengths: &[usize]) -> Vec<bool> {
    let all = lengths.iter().sum::<usize>() <= MAX_PATCH_TEXTS;
    let mut left = MAX_PATCH_TEXTS;
    let fits = |length: &usize| {
        let fits = (all || tier != RiskTier::Full) && *length <= left;
        left -= if fits { *length } else { 0 };
        fits
    };
    lengths.iter().map(fits).collect()
}

/// Returns whether the file's patch may stand in the prompt. One that makes another kind of file of a path, without content, has to be
/// opened: it is easily overlooked.
pub fn may_stand_in_prompt(file: &FileDiff, security: &SecurityPaths) -> bool {
    file.has_content() || !changes_kind(file, security)
}

/// The text of a patch for a prompt; nothing if anything of it would be lost there. Findings quote it, so it stands in the prompt as
/// it is or not at all.
pub fn patch_text(patch: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(patch).ok()?;
    (Untrusted::from(text).sanitized() == text).then_some(text)
}

/// The section of these patches, each behind its number in the index; nothing if there is none.
///
/// The hashes of git's `index` line are left out: no finding quotes them, and every reviewer pays for them.
pub fn render_patch_texts<'a>(patches: impl Iterator<Item = (usize, &'a str)>, nonce: &Nonce) -> Option<String> {
    let mut content = String::new();
    for (number, text) in patches {
        let _ = writeln!(content, "{MARK}{number:04}");
        let hunks = text.find("\n@@").unwrap_or(0);
        let (header, rest) = text.split_at(hunks);
        for line in header.split_inclusive('\n').filter(|line| !line.starts_with("index ")) {
            content.push_str(line);
        }
        content.push_str(rest);
        if !content.ends_with('\n') {
            content.push('\n');
        }
    }
    (!content.is_empty()).then(|| nonce.section("patch_texts", &content))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::{ChangeKind, Content};

    #[test]
    fn a_small_change_stands_in_the_prompt_and_of_a_large_one_nothing() {
        let small = [10_000, 14_000];
        let large = [MAX_PATCH_TEXTS - 10, 20, 10];
        for tier in [RiskTier::Trivial, RiskTier::Lite] {
            assert_eq!(choose_patch_texts(tier, &small), [true, true]);
            assert_eq!(choose_patch_texts(tier, &large), [true, false, true]);
        }
        assert_eq!(choose_patch_texts(RiskTier::Full, &small), [true, true]);
        assert_eq!(choose_patch_texts(RiskTier::Full, &large), [false; 3]);
        assert_eq!(choose_patch_texts(RiskTier::Full, &[]), [false; 0]);
    }

    #[test]
    fn a_rename_stands_in_the_prompt_unless_it_makes_something_else() {
        let renamed = |to: &str| FileDiff {
            old_path: "src/x.py".to_owned(),
            path: to.to_owned(),
            kind: ChangeKind::Renamed,
            content: Content::None,
            ..FileDiff::default()
        };
        let security = SecurityPaths::default();
        assert!(may_stand_in_prompt(&renamed("services/x.py"), &security));
        assert!(!may_stand_in_prompt(&renamed("services/x.sh"), &security));
    }

    #[test]
    fn a_patch_is_given_as_it_is_or_not_at_all() {
        assert_eq!(patch_text(b"+a < b && c\n"), Some("+a < b && c\n"));
        for altered in ["+<mr_body_0>\n", "+a\u{200b}b\n", "+</patch_texts>\n"] {
            assert_eq!(patch_text(altered.as_bytes()), None, "{altered:?}");
        }
        assert_eq!(patch_text(b"+\xff\n"), None);
    }

    #[test]
    fn each_patch_has_its_number_in_front_and_no_hashes() {
        let nonce = Nonce::new(b"secret", "subject");
        let renamed = "diff --git a/b b/c\nsimilarity index 90%\nindex 1234..5678 100644\n--- a/b\n+++ b/c\n@@ -1 +1 @@\n+b\nindex kept\n";
        let patches = [(1, "@@ -1 +1 @@\n+a"), (12, renamed)];
        let text = render_patch_texts(patches.into_iter(), &nonce).expect("a section");
        assert!(
            text.contains(
                ">\n=== 0001\n@@ -1 +1 @@\n+a\n=== 0012\ndiff --git a/b b/c\nsimilarity index 90%\n--- a/b\n+++ b/c\n@@ -1 +1 @@\n+b\nindex \
                 kept\n</patch_texts_"
            ),
            "{text}"
        );
        assert_eq!(render_patch_texts(std::iter::empty(), &nonce), None);
    }
}
