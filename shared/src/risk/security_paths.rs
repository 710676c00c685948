//! Which paths are security-sensitive: the built-in patterns, and an operator's changes to them.
//!
//! A pattern is one of two things. A *word* (`session`) is found where it stands as a word of a file's or directory's
//! name, between separators (`session_store.py`) or as a part of a camel-case name (`SessionStore`), also in the plural
//! and with a number behind it; so `tokenizer.rs` is no `token` and `author.md` no `auth`. A `*` at a word's ends stands
//! for any letters. Everything else (with a slash, a dot, or a bracket) is a *glob* over the whole path, as in
//! `.gitignore`. Case never counts.

use std::collections::HashSet;

use super::RiskSettings;
use crate::{
    nearest::nearest,
    path_globs::PathGlobs,
    path_kind::{PathKind, Wording},
};

/// The built-in patterns. `docs/security-paths.md` shows this list.
const BUILT_IN: &[&str] = &[
    // Directories whose every file counts.
    "auth/ crypto/ security/ iam/",
    // Who somebody is.
    "auth authn authenticat* login* logon logout signin signup signout sso saml ldap kerberos *oauth* oidc openid \
     mfa 2fa otp totp webauthn passkey identity impersonat* session cookie",
    // What somebody may do.
    "authz authoriz* authoris* permission* privilege acl rbac abac iam sudo sudoers csrf xsrf cors csp codeowners",
    // Secrets.
    "*token jwt* jwk jwks *password* *passwd* passphrase secret *credential* apikey keystore keychain keyring \
     vault kms .env .env.* .netrc .npmrc .pypirc .htpasswd .htaccess .ssh/ *.{pem,key,p12,pfx,jks,crt,cer,der}",
    // Cryptography.
    "crypto cryptograph* cipher *encrypt* *decrypt* hmac cert certificate x509 pki tls mtls ssl signing signer \
     sanitiz* sanitis*",
    // Money.
    "payment* billing payout wallet",
];

/// The built-in patterns, each once.
pub fn security_patterns() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().flat_map(|patterns| patterns.split_ascii_whitespace())
}

/// A pattern of an operator that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatternFault {
    /// The list that it is in.
    pub list: &'static str,
    /// Its place there.
    pub index: usize,
    /// What is wrong, and what would be right.
    pub detail: String,
}

/// Which paths sound like security.
#[derive(Debug, Clone)]
pub struct SecurityPaths {
    /// Words that are found as they are; every word of every changed path is looked up.
    words: HashSet<String>,
    /// Words that are open at an end.
    open: Vec<Word>,
    globs: PathGlobs,
    exempt: PathGlobs,
}

impl Default for SecurityPaths {
    fn default() -> Self {
        // The built-in patterns are valid: a test builds them, and without them nothing would be sensitive there.
        Self::new(&RiskSettings::default()).unwrap_or_else(|_| Self {
            words: HashSet::new(),
            open: Vec::new(),
            globs: PathGlobs::default(),
            exempt: PathGlobs::default(),
        })
    }
}

impl SecurityPaths {
    /// The built-in patterns with an operator's changes, or everything that is wrong with those.
    pub fn new(settings: &RiskSettings) -> Result<Self, Vec<PatternFault>> {
        let mut faults = Vec::new();
        for (index, removed) in settings.security_paths_removed.iter().enumerate() {
            if !security_patterns().any(|pattern| pattern == removed) {
                let hint = nearest(removed, security_patterns())
                    .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
                faults.push(PatternFault {
                    list: "security_paths_removed",
                    index,
                    detail: format!("`{removed}` is none of the built-in patterns{hint}"),
                });
            }
        }
        let built_in = security_patterns()
            .filter(|pattern| !settings.security_paths_removed.iter().any(|removed| removed == pattern))
            .map(|pattern| (None, pattern));
        let own = settings.security_paths.iter().enumerate();
        let mut words = HashSet::new();
        let mut open = Vec::new();
        let mut globs = Vec::new();
        let mut places = Vec::new();
        for (place, pattern) in built_in.chain(own.map(|(index, pattern)| (Some(index), pattern.as_str()))) {
            if is_glob(pattern) {
                globs.push(pattern);
                places.push(place.unwrap_or_default());
            } else {
                match Word::parse(pattern) {
                    Some(word) if word.is_open() => open.push(word),
                    Some(word) => {
                        words.insert(word.text);
                    }
                    None => faults.push(PatternFault {
                        list: "security_paths",
                        index: place.unwrap_or_default(),
                        detail: format!(
                            "`{pattern}` is neither a word (letters and digits, `*` at its ends) nor a glob with a slash \
                             or a dot"
                        ),
                    }),
                }
            }
        }
        let mut globs_of = |list: &'static str, patterns: &[&str], place: &dyn Fn(usize) -> usize| {
            PathGlobs::ignoring_case(patterns).unwrap_or_else(|bad| {
                faults.extend(bad.into_iter().map(|bad| PatternFault {
                    list,
                    index: place(bad.index),
                    detail: bad.to_string(),
                }));
                PathGlobs::default()
            })
        };
        let exempt: Vec<&str> = settings.not_security_paths.iter().map(String::as_str).collect();
        let globs = globs_of("security_paths", &globs, &|index| {
            places.get(index).copied().unwrap_or_default()
        });
        let exempt = globs_of("not_security_paths", &exempt, &|index| index);
        if faults.is_empty() {
            Ok(Self {
                words,
                open,
                globs,
                exempt,
            })
        } else {
            Err(faults)
        }
    }

    /// Why the path is security-sensitive, or `None`. Words do not count in prose: `docs/login.md` changes nobody's
    /// log-in.
    pub fn reason(&self, path: &str) -> Option<String> {
        if self.exempt.is_match(path) {
            return None;
        }
        if let Some(pattern) = self.globs.matched(path) {
            return Some(if pattern.ends_with('/') {
                format!("under `{pattern}`")
            } else {
                format!("matches `{pattern}`")
            });
        }
        if PathKind::of(path).wording == Wording::Document {
            return None;
        }
        path.split('/')
            .flat_map(words)
            .find(|word| {
                let forms = forms(word);
                forms.iter().any(|form| self.words.contains(*form))
                    || self
                        .open
                        .iter()
                        .any(|pattern| forms.iter().any(|form| pattern.matches(form)))
            })
            .map(|word| format!("`{word}` in the path"))
    }
}

/// Returns whether a pattern is matched against the whole path.
fn is_glob(pattern: &str) -> bool {
    pattern.contains(['/', '.', '?', '[', '{'])
}

/// The forms of a word that are looked up: `oauth2` carries its version, `certs` is many of them.
fn forms(word: &str) -> [&str; 3] {
    let bare = word.trim_end_matches(|character: char| character.is_ascii_digit());
    [word, bare, bare.strip_suffix('s').unwrap_or(bare)]
}

/// A word with or without `*` at its ends.
#[derive(Debug, Clone)]
struct Word {
    text: String,
    open_start: bool,
    open_end: bool,
}

impl Word {
    fn parse(pattern: &str) -> Option<Self> {
        let text = pattern.trim_matches('*').to_lowercase();
        (!text.is_empty() && text.chars().all(char::is_alphanumeric)).then(|| Self {
            text,
            open_start: pattern.starts_with('*'),
            open_end: pattern.ends_with('*'),
        })
    }

    const fn is_open(&self) -> bool {
        self.open_start || self.open_end
    }

    fn matches(&self, word: &str) -> bool {
        match (self.open_start, self.open_end) {
            (false, false) => word == self.text,
            (false, true) => word.starts_with(&self.text),
            (true, false) => word.ends_with(&self.text),
            (true, true) => word.contains(&self.text),
        }
    }
}

/// The words of a name: `loginForm.test.tsx` is `login form test tsx`, `JWTVerifier` is `jwt verifier`.
fn words(name: &str) -> Vec<String> {
    let characters: Vec<char> = name.chars().collect();
    let mut words = Vec::new();
    let mut word = String::new();
    for (at, &character) in characters.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| characters[before]);
        let after = characters.get(at + 1);
        let starts = character.is_uppercase()
            && (before.is_some_and(|before| before.is_lowercase() || before.is_ascii_digit())
                || (before.is_some_and(char::is_uppercase) && after.is_some_and(|after| after.is_lowercase())));
        if starts || !character.is_alphanumeric() {
            words.push(std::mem::take(&mut word));
        }
        if character.is_alphanumeric() {
            word.extend(character.to_lowercase());
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
#[path = "security_paths_tests.rs"]
mod tests;
