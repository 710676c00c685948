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

/// What the reviews of a merge request have cost so far, in millionths of a dollar, as a comment that GitLab does not
/// show. Nobody but the holder of the secret can make one.
pub(crate) fn spent(secret: &SecretString, project: u64, iid: u64, micros: u64) -> String {
    let mut code = String::new();
    if let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.expose_secret().as_bytes()) {
        mac.update(format!("conclave spent\0{project}\0{iid}\0{micros}").as_bytes());
        code = hex::encode(&mac.finalize().into_bytes()[..16]);
    }
    format!("<!-- conclave:spent:{micros}:{code} -->")
}

/// Reads such a comment; nothing if there is none, or none that was made with this secret for this merge request.
pub(crate) fn read_spent(secret: &SecretString, project: u64, iid: u64, body: &str) -> Option<u64> {
    body.match_indices("<!-- conclave:spent:")
        .filter_map(|(at, start)| {
            let digits = body.get(at + start.len()..)?.split(':').next()?;
            let micros: u64 = digits.parse().ok()?;
            let genuine = spent(secret, project, iid, micros);
            // Compared as a whole by whoever already holds the note: its time tells nobody anything.
            body.get(at..)?.starts_with(&genuine).then_some(micros)
        })
        .max()
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

    #[test]
    fn what_was_spent_is_read_from_our_own_comment_only() {
        let secret = SecretString::from("s");
        let read = |body: &str| read_spent(&secret, 1, 2, body);
        let own = spent(&secret, 1, 2, 1_230_000);
        assert_eq!(read(&format!("text\n\n{own}\n")), Some(1_230_000));
        assert_eq!(read("text"), None);
        for foreign in [
            spent(&SecretString::from("t"), 1, 2, 1),
            spent(&secret, 1, 3, 1),
            own.replace("1230000", "1"),
            own.replace("1230000", "99999999999999999999999"),
            own.get(..own.len() - 10).expect("ASCII").to_owned(),
        ] {
            assert_eq!(read(&foreign), None, "{foreign}");
            assert_eq!(read(&format!("{foreign}{own}")), Some(1_230_000), "{foreign}");
        }
    }
}
