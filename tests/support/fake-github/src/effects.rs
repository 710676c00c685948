//! What a posted text does on GitHub besides being read.

use std::sync::LazyLock;

use regex::Regex;
use serde::Serialize;

/// What a text did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectKind {
    /// `@name` notifies a person.
    Mention,
    /// `@organization/team` notifies a team.
    TeamMention,
    /// `#12`, `GH-12`, `owner/name#12` or an address leave an event in another issue.
    Reference,
    /// `fixes #12` closes an issue with the merge.
    Closing,
    /// Seven or more hexadecimal digits link to a commit.
    Commit,
    /// `Duplicate of #12` marks as a duplicate.
    Duplicate,
    /// An image is loaded.
    Image,
}

/// A text that acted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Effect {
    /// What it did.
    pub kind: EffectKind,
    /// The words that did it.
    pub text: String,
    /// Where it was posted: the `html_url` of the pull request.
    pub place: String,
}

static PATTERNS: LazyLock<Vec<(EffectKind, Regex)>> = LazyLock::new(|| {
    let pattern = |kind, text: &str| (kind, Regex::new(text).expect("the pattern is valid"));
    vec![
        pattern(
            EffectKind::TeamMention,
            r"(?:^|[^\w/@`])(@[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9][\w-]*)",
        ),
        pattern(
            EffectKind::Mention,
            r"(?:^|[^\w/@`])(@[A-Za-z0-9][A-Za-z0-9-]*)(?:[^\w/-]|$)",
        ),
        pattern(
            EffectKind::Closing,
            r"(?i)\b((?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+(?:[\w.-]+/[\w.-]+)?#\d+)",
        ),
        pattern(EffectKind::Duplicate, r"(?im)^\s*(duplicate of #\d+)"),
        pattern(
            EffectKind::Reference,
            r"(?:^|[^\w&])((?:[\w.-]+/[\w.-]+)?#\d+|GH-\d+)\b",
        ),
        pattern(
            EffectKind::Reference,
            r"(https?://[^\s/]+/[\w.-]+/[\w.-]+/(?:issues|pull)/\d+)",
        ),
        pattern(EffectKind::Commit, r"(?:^|[\s(\[@])([0-9a-f]{7,40})(?:[\s.,;:!?)\]]|$)"),
        // A backslash makes the mark behind it a plain one.
        pattern(EffectKind::Image, r"(?:^|[^\\])(!\[[^\]]*\]\([^)]*\)|<img\b[^>]*>)"),
    ]
});

/// Returns what a text does. Code and comments of HTML do nothing.
pub(crate) fn of(body: &str, place: &str) -> Vec<Effect> {
    static INERT: LazyLock<Regex> = LazyLock::new(|| {
        let text = r"(?s)<!--.*?-->|(?m:^[ ]{0,3}````[^\n]*\n).*?(?m:^[ ]{0,3}````+[ ]*$)|(?m:^[ ]{0,3}```[^\n]*\n).*?(?m:^[ ]{0,3}```+[ ]*$)|``.*?``|`[^`]*`";
        Regex::new(text).expect("the pattern is valid")
    });
    let text = INERT.replace_all(body, "`");
    let found = PATTERNS.iter().flat_map(|(kind, pattern)| {
        let captures = pattern.captures_iter(&text);
        captures.map(|capture| Effect {
            kind: *kind,
            text: capture[1].to_owned(),
            place: place.to_owned(),
        })
    });
    // Numbers alone are no commits, and a pull request's own address leads to no other one.
    let acts = |effect: &Effect| match effect.kind {
        EffectKind::Commit => effect.text.contains(char::is_alphabetic),
        EffectKind::Reference => effect.text != place,
        _ => true,
    };
    found.filter(acts).collect()
}

#[cfg(test)]
mod tests {
    use super::{EffectKind, of};

    fn kinds(body: &str) -> Vec<EffectKind> {
        of(body, "").into_iter().map(|effect| effect.kind).collect()
    }

    #[test]
    fn words_act_and_code_does_not() {
        use EffectKind::{Closing, Commit, Duplicate, Image, Mention, Reference, TeamMention};
        assert_eq!(kinds("Thanks, @alice!"), [Mention]);
        assert_eq!(kinds("cc @acme/security"), [TeamMention]);
        assert_eq!(
            kinds("see #12 and acme/shop#3, GH-4"),
            [Reference, Reference, Reference]
        );
        assert_eq!(kinds("Fixes: #12"), [Closing, Reference]);
        assert_eq!(kinds("Duplicate of #12"), [Duplicate, Reference]);
        assert_eq!(kinds("since 0123abc it fails"), [Commit]);
        assert_eq!(kinds("![x](http://example.com/x.png)"), [Image]);
        let own = "http://127.0.0.1/acme/shop/pull/1";
        assert_eq!(of(&format!("[here]({own}#discussion_r3)"), own), []);
        for inert in [
            "`@alice` and `#12`",
            "```\n@alice fixes #12\n```",
            "<!-- fixes #12 -->",
            "@\u{2060}alice #\u{2060}12",
            "alice@example.com, 1234567 rows",
            "\\<img src=x\\> and \\![x](y)",
        ] {
            assert_eq!(kinds(inert), [], "{inert}");
        }
    }
}
