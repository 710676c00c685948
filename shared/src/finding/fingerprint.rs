//! The identity of a problem over re-wording and moved lines.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// 64 bits of SHA-256 in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
#[derive(schemars::JsonSchema)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// The 16 hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The fingerprint of another problem of the same kind at the same code, counted from 1, which is this one.
    #[must_use]
    pub fn variant(&self, number: usize) -> Self {
        if number <= 1 {
            return self.clone();
        }
        let mut hash = Sha256::new();
        hash.update(self.0.as_bytes());
        hash.update([0]);
        hash.update(number.to_string().as_bytes());
        Self(hex::encode(&hash.finalize()[..8]))
    }
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.pad(&self.0)
    }
}

/// The fingerprint of a problem of this category at this code. Neither the claim's wording nor the line number takes
/// part, and white space in the code does not matter: a re-worded report of a moved line is the same problem.
pub fn fingerprint(path: &str, category: &str, code: &str) -> Fingerprint {
    let mut hash = Sha256::new();
    for part in [path, &category.to_ascii_lowercase()] {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    for word in code.split_whitespace() {
        hash.update(word.as_bytes());
        hash.update(b" ");
    }
    Fingerprint(hex::encode(&hash.finalize()[..8]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indentation_does_not_matter_and_everything_else_does() {
        let one = fingerprint("a.py", "sql-injection", "x = 1\n    y = 2");
        assert_eq!(one, fingerprint("a.py", "SQL-Injection", "  x =  1\n\ty = 2\n"));
        assert_ne!(one, fingerprint("b.py", "sql-injection", "x = 1\n    y = 2"));
        assert_ne!(one, fingerprint("a.py", "n-plus-one", "x = 1\n    y = 2"));
        assert_ne!(one, fingerprint("a.py", "sql-injection", "x = 1"));
        assert_eq!(one.as_str().len(), 16);
    }

    #[test]
    fn parts_cannot_slide_into_each_other() {
        assert_ne!(fingerprint("ab", "c", "d"), fingerprint("a", "bc", "d"));
    }
}
