//! Bearer tokens: several valid at once for rotation, compared in constant time.

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::project::ProjectPatterns;

/// Returns whether `presented` is one of the comma-separated `accepted` tokens.
///
/// Digests are compared rather than texts, so neither the length nor the first wrong byte shows in the time taken, and
/// all accepted tokens are looked at. An empty list accepts nothing.
pub fn is_accepted(presented: &str, accepted: &str) -> bool {
    holder(presented, accepted).is_some()
}

/// Who holds `presented`, if it is one of the comma-separated `accepted` tokens; empty for a token without a name.
///
/// A token may stand as `name:token`, so that a log of changes can say who it was. Bearer tokens have no colon (RFC 6750),
/// so nothing is ambiguous. Compared like [`is_accepted`].
pub fn holder<'a>(presented: &str, accepted: &'a str) -> Option<&'a str> {
    let presented = Sha256::digest(presented.as_bytes());
    let mut holder = None;
    for (name, token) in entries(accepted) {
        let same: bool = presented.ct_eq(&Sha256::digest(token.as_bytes())).into();
        if same {
            holder = Some(name);
        }
    }
    holder
}

/// The tokens of a comma-separated list with the names of their holders.
pub fn entries(accepted: &str) -> impl Iterator<Item = (&str, &str)> {
    let entries = accepted.split(',').map(|entry| {
        let (name, token) = entry.split_once(':').unwrap_or(("", entry));
        (name.trim(), token.trim())
    });
    entries.filter(|(_, token)| !token.is_empty())
}

/// A listed token: whose it is, and for which projects it is good.
#[derive(Debug, Clone)]
pub struct Grant {
    /// The holder's name; empty for a token without one.
    pub name: String,
    /// `None` for a token that is good for all projects.
    projects: Option<ProjectPatterns>,
}

impl Grant {
    /// Returns whether it is good for a project.
    pub fn allows(&self, project: &str) -> bool {
        self.projects.as_ref().is_none_or(|projects| projects.is_match(project))
    }
}

/// The grant of `presented`, if it is one of the comma-separated `accepted` tokens. An entry is `token`, `name:token`, or
/// `name:token:projects`; the name may be empty. Patterns of projects stand between `|`, as in `group/*|tools/lint`; a list
/// that is empty or that cannot be read is good for no project, and so is an entry that is [`misplaced`]. Compared like [`is_accepted`].
pub fn grant(presented: &str, accepted: &str) -> Option<Grant> {
    let presented = Sha256::digest(presented.as_bytes());
    let mut granted: Option<(&str, Option<&str>)> = None;
    for (name, rest) in entries(accepted) {
        let (token, projects) = bound(rest);
        if is_misplaced(name, token, projects) {
            continue;
        }
        let same: bool = presented.ct_eq(&Sha256::digest(token.as_bytes())).into();
        // A token that stands there twice is bound if one of its entries is.
        if same && !token.is_empty() && granted.is_none_or(|(_, bound)| bound.is_none()) {
            granted = Some((name, projects));
        }
    }
    granted.map(|(name, projects)| Grant {
        name: name.to_owned(),
        projects: projects.map(|projects| {
            let patterns: Vec<&str> = projects.split('|').map(str::trim).collect();
            ProjectPatterns::new(&patterns).unwrap_or_default()
        }),
    })
}

/// The token of an entry, and the projects behind it.
fn bound(rest: &str) -> (&str, Option<&str>) {
    match rest.split_once(':') {
        Some((token, projects)) => (token.trim(), Some(projects.trim())),
        None => (rest, None),
    }
}

/// The places, from 1, of the entries of a list for [`grant`] that grant nothing, because projects stand in the place of their token.
/// With its name forgotten, `name:token:projects` makes the projects a token, which everybody can guess.
pub fn misplaced(accepted: &str) -> Vec<usize> {
    let places = accepted.split(',').enumerate().filter(|(_, entry)| {
        entries(entry).any(|(name, rest)| {
            let (token, projects) = bound(rest);
            is_misplaced(name, token, projects)
        })
    });
    places.map(|(index, _)| index + 1).collect()
}

/// Returns whether the token of an entry is a pattern of projects rather than a secret, or a word behind a secret that stands in the
/// place of the name.
fn is_misplaced(name: &str, token: &str, projects: Option<&str>) -> bool {
    /// Secrets of this length are not words that a person writes.
    const LONG: usize = 24;
    let has = |text: &str, of: fn(&char) -> bool| text.chars().any(|character| of(&character));
    let is_random =
        |text: &str| text.len() >= LONG && has(text, char::is_ascii_digit) && text.chars().any(char::is_alphabetic);
    // In Base64 there are slashes, too, between letters of both cases.
    let is_base64 =
        |text: &str| is_random(text) && has(text, char::is_ascii_uppercase) && has(text, char::is_ascii_lowercase);
    token.contains(['*', '|'])
        || (token.contains('/') && !is_base64(token))
        || (projects.is_none() && is_random(name) && token.len() < LONG)
}

/// What stands for a token where it is counted: a hash, so that the token itself is stored nowhere.
pub fn key(presented: &str) -> String {
    hex::encode(&Sha256::digest(presented.as_bytes())[..8])
}

/// The token of an `Authorization: Bearer …` header.
pub fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_listed_token_is_accepted_and_nothing_else() {
        assert!(is_accepted("old", "old, new"));
        assert!(is_accepted("new", "old, new"));
        for wrong in ["", "ol", "old,", "old, new", "NEW"] {
            assert!(!is_accepted(wrong, "old, new"), "{wrong:?}");
        }
        assert!(!is_accepted("", ""));
        assert!(!is_accepted("", " , "));
    }

    #[test]
    fn a_token_may_say_whose_it_is() {
        let accepted = "ada: one ,two, grace:three==";
        assert_eq!(holder("one", accepted), Some("ada"));
        assert_eq!(holder("two", accepted), Some(""));
        assert_eq!(holder("three==", accepted), Some("grace"));
        for wrong in ["", "ada", "ada:one", "ada: one", "grace"] {
            assert_eq!(holder(wrong, accepted), None, "{wrong:?}");
        }
        assert_eq!(holder("", "ada:, ,"), None);
    }

    #[test]
    fn a_token_may_be_bound_to_projects() {
        let accepted = "one, :all:**, hub:octo:github.com:octo/**, ada:two, grace:three:group/*|tools/lint, :four:other, x:five:, y:six:a{, one:one, z:seven, :seven:group";
        let of = |token: &str, project: &str| grant(token, accepted).map(|grant| grant.allows(project));
        assert_eq!(of("one", "any/project"), Some(true));
        assert_eq!(of("two", "any/project"), Some(true));
        // A pattern without a host is for projects of GitLab, as in the list of jobs' tokens.
        assert_eq!(of("all", "octo/shop"), Some(true));
        assert_eq!(of("all", "github.com:octo/shop"), Some(false));
        assert_eq!(of("octo", "github.com:octo/shop"), Some(true));
        assert_eq!(of("octo", "octo/shop"), Some(false));
        for (project, allowed) in [
            ("group/app", true),
            ("Group/App", true),
            ("tools/lint", true),
            ("tools/other", false),
            ("other/group/app", false),
            ("group", false),
            ("", false),
        ] {
            assert_eq!(of("three", project), Some(allowed), "{project}");
        }
        assert_eq!(of("four", "other/deep/project"), Some(true));
        assert_eq!(of("four", "group/app"), Some(false));
        assert_eq!(
            of("five", "group/app"),
            Some(false),
            "an empty list is good for nothing"
        );
        assert_eq!(of("six", "a{"), Some(false), "and so is a pattern that is none");
        assert_eq!(
            of("seven", "other/app"),
            Some(false),
            "the narrower of two entries counts"
        );
        for wrong in ["", "three:group/*|tools/lint", "grace:three", "group/*", "eight"] {
            assert!(grant(wrong, accepted).is_none(), "{wrong:?}");
        }
        assert_eq!(
            grant("three", accepted).map(|grant| grant.name),
            Some("grace".to_owned())
        );
        // Where nothing is bound to projects, an entry with projects is no token at all.
        assert_eq!(holder("three", accepted), None);
    }

    #[test]
    fn projects_in_the_place_of_a_token_grant_nothing() {
        const SECRET: &str = "3f9c1d0a7be24c5f8a6d";
        const LONG: &str = "3f9c1d0a7be24c5f8a6d11223344aabb";
        const BASE64: &str = "Zm9v/YmFyQmF6MTIzNDU2Nzg5MGFiY2Q=";
        let forgotten = format!("{SECRET}:platform/**");
        let accepted = format!("good:one, {forgotten}, platform/*, {LONG}:platform, :a|b, ci:{BASE64}, tools/lint,");
        assert_eq!(misplaced(&accepted), [2, 3, 4, 5, 7]);
        for pattern in [
            "platform/**",
            "platform/*",
            "platform",
            "a|b",
            "tools/lint",
            SECRET,
            LONG,
        ] {
            assert!(grant(pattern, &accepted).is_none(), "{pattern}");
        }
        for token in ["one", BASE64] {
            assert!(grant(token, &accepted).is_some(), "{token}");
        }
        for good in [
            "",
            "t",
            "ci:t",
            &format!("ci:{SECRET}:platform/**|tools/lint"),
            &format!(":{LONG}:**"),
            LONG,
        ] {
            assert_eq!(misplaced(good), Vec::<usize>::new(), "{good}");
        }
    }

    #[test]
    fn reads_bearer_headers() {
        assert_eq!(bearer("Bearer abc"), Some("abc"));
        assert_eq!(bearer("bearer  abc "), Some("abc"));
        for wrong in ["abc", "Basic abc", "Bearer ", "Bearer"] {
            assert_eq!(bearer(wrong), None, "{wrong:?}");
        }
    }
}
