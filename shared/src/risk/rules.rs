//! The rules behind the tiers: borders and security-sensitive paths.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// Borders of the tiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RiskRules {
    /// More files than this are `full`.
    pub full_files: usize,
    /// Up to this many changed lines are `trivial`, if the files are few.
    pub trivial_lines: u64,
    /// Up to this many changed lines are `lite`, if the files are few.
    pub lite_lines: u64,
    /// Up to this many files are few.
    pub few_files: usize,
}

impl Default for RiskRules {
    fn default() -> Self {
        Self {
            full_files: 50,
            trivial_lines: 10,
            lite_lines: 100,
            few_files: 20,
        }
    }
}

/// Directories whose every file is security-sensitive.
const DIRECTORIES: [&str; 14] = [
    "auth",
    "authn",
    "authz",
    "crypto",
    "security",
    "secrets",
    "permissions",
    "acl",
    "oauth",
    "sso",
    "iam",
    "payments",
    "payment",
    "certs",
];

/// Words that make a path security-sensitive when they stand as a word of a file or directory name: between
/// separators (`session_store.py`), or as a camel-case part (`SessionStore`).
const WORDS: [&str; 38] = [
    "login",
    "logout",
    "signin",
    "signup",
    "session",
    "sessions",
    "token",
    "tokens",
    "jwt",
    "password",
    "passwords",
    "passwd",
    "secret",
    "secrets",
    "credential",
    "credentials",
    "permission",
    "permissions",
    "acl",
    "rbac",
    "oauth",
    "oidc",
    "saml",
    "sso",
    "auth",
    "authentication",
    "authorization",
    "crypto",
    "cipher",
    "encryption",
    "cert",
    "certs",
    "certificate",
    "tls",
    "signing",
    "payment",
    "payments",
    "csrf",
];

/// Which paths sound like security: words in names, directories, and configured globs.
#[derive(Debug, Clone)]
pub struct SecurityPaths {
    globs: GlobSet,
}

impl Default for SecurityPaths {
    fn default() -> Self {
        Self {
            globs: GlobSet::empty(),
        }
    }
}

impl SecurityPaths {
    /// The built-in rules and these further globs, matched against the whole path without regard to case.
    pub fn with_globs(globs: &[String]) -> Result<Self, globset::Error> {
        let mut builder = GlobSetBuilder::new();
        for glob in globs {
            builder.add(
                GlobBuilder::new(glob)
                    .literal_separator(true)
                    .case_insensitive(true)
                    .build()?,
            );
        }
        Ok(Self {
            globs: builder.build()?,
        })
    }

    /// Why the path is security-sensitive, or `None`. Documentation is not: `docs/login.md` changes nobody's log-in.
    pub fn reason(&self, path: &str) -> Option<String> {
        if self.globs.is_match(path) {
            return Some("matches a configured glob".to_owned());
        }
        let mut components = path.split('/').peekable();
        while let Some(component) = components.next() {
            let is_file = components.peek().is_none();
            if !is_file && DIRECTORIES.contains(&component.to_ascii_lowercase().as_str()) {
                return Some(format!("under `{component}/`"));
            }
            if is_file && is_prose(component) {
                return None;
            }
            // `oauth2` and `sha256`-like names carry their version in the word.
            let known = |word: &String| WORDS.contains(&word.trim_end_matches(|c: char| c.is_ascii_digit()));
            if let Some(word) = words(component).into_iter().find(known) {
                return Some(format!("`{word}` in the path"));
            }
        }
        None
    }
}

fn is_prose(file: &str) -> bool {
    let extension = file.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    ["md", "mdx", "rst", "adoc", "txt"].contains(&extension.as_str())
}

/// The words of a name: `loginForm.test.tsx` is `login form test tsx`.
fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut previous_lower = false;
    for character in name.chars() {
        if !character.is_alphanumeric() || (character.is_uppercase() && previous_lower) {
            words.push(std::mem::take(&mut word));
        }
        if character.is_alphanumeric() {
            word.extend(character.to_lowercase());
        }
        previous_lower = character.is_lowercase() || character.is_ascii_digit();
    }
    words.push(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn security_sounding_paths_are_found_and_look_alikes_are_not() {
        let paths = SecurityPaths::default();
        for path in [
            "auth/x.rs",
            "src/crypto/aes.c",
            "app/login.py",
            "src/SessionStore.ts",
            "lib/jwt-verify.js",
            "tls.go",
            "config/permissions.yml",
            "api/oauth2_callback.rb",
            "services/Payment/charge.kt",
            "src/user_password.rs",
            "pkg/signing/key.go",
        ] {
            assert!(paths.reason(path).is_some(), "{path}");
        }
        for path in [
            "author.md",
            "docs/authors.rs",
            "src/tokenizer.rs",
            "docs/login.md",
            "certainly.py",
            "obsession.py",
            "src/possession.ts",
            "README.md",
            "concert/list.py",
            "sessionize.rs",
        ] {
            assert_eq!(paths.reason(path), None, "{path}");
        }
    }

    #[test]
    fn configured_globs_add_to_the_rules() {
        let paths = SecurityPaths::with_globs(&["infra/**/*.tf".to_owned()]).expect("a glob");
        assert!(paths.reason("infra/prod/main.tf").is_some());
        assert!(paths.reason("Infra/main.TF").is_some());
        assert!(paths.reason("infra/prod/readme.md").is_none());
    }
}
