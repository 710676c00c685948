//! Who asks, without saying who it is.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use uuid::{Builder, Uuid};

/// A name for an installation and a project: the same in every run, and neither can be found out from it without the
/// installation's secret. A UUID of version 8, the one for values of one's own making.
pub fn anonymous_user(secret: &[u8], project: &str) -> Uuid {
    let mut bytes = [0; 16];
    // HMAC takes keys of every length.
    if let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret) {
        mac.update(b"conclave ai gateway user\0");
        mac.update(project.as_bytes());
        bytes.copy_from_slice(&mac.finalize().into_bytes()[..16]);
    }
    Builder::from_custom_bytes(bytes).into_uuid()
}
