//! The hidden marker by which our own note is found again.

use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;

/// The marker of a merge request: a comment that GitLab does not show. Only somebody who knows the secret can make it,
/// and it counts only in a note of our own account.
pub(crate) fn marker(secret: &SecretString, project: u64, iid: u64) -> String {
    let mut code = String::new();
    if let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.expose_secret().as_bytes()) {
        mac.update(format!("conclave summary\0{project}\0{iid}").as_bytes());
        code = hex::encode(&mac.finalize().into_bytes()[..16]);
    }
    format!("<!-- conclave:summary:{code} -->")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_depends_on_everything() {
        let of = |secret: &str, project, iid| marker(&SecretString::from(secret), project, iid);
        assert_eq!(of("s", 1, 2), of("s", 1, 2));
        for other in [of("t", 1, 2), of("s", 2, 2), of("s", 1, 3)] {
            assert_ne!(other, of("s", 1, 2));
        }
        assert_eq!(of("s", 1, 2).len(), "<!-- conclave:summary: -->".len() + 32);
    }
}
