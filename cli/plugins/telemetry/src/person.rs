//! People, as the tracker knows them: by a hash that nobody can compute who does not have the installation's secret.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// What stands for an account of the forge: the same for every review of an installation, and no name. 32 hexadecimal
/// digits.
pub fn anonymous_person(secret: &[u8], forge: &str, account: u64) -> Option<String> {
    // HMAC takes keys of every length, so this is always there.
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).ok()?;
    mac.update(b"conclave person in telemetry\0");
    mac.update(forge.as_bytes());
    mac.update(b"\0");
    mac.update(account.to_string().as_bytes());
    Some(hex::encode(&mac.finalize().into_bytes()[..16]))
}

#[cfg(test)]
mod tests {
    use conclave_shared::telemetry::is_keyed_hash;

    use super::*;

    #[test]
    fn a_person_is_the_same_in_every_run_and_somebody_else_under_another_secret() {
        let alice = anonymous_person(b"secret", "gitlab", 17).expect("a hash");
        assert!(is_keyed_hash(&alice), "{alice}");
        assert_eq!(anonymous_person(b"secret", "gitlab", 17).as_ref(), Some(&alice));
        for other in [
            anonymous_person(b"secret", "gitlab", 18),
            anonymous_person(b"other", "gitlab", 17),
        ] {
            assert_ne!(other.as_ref(), Some(&alice));
        }
    }
}
