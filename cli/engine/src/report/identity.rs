//! Names for findings that tools compare from run to run.

use std::collections::HashMap;

use sha2::{Digest, Sha256};

use crate::review::Review;

/// The fingerprint of each finding that stands, in their order, each different from the others: several problems of one
/// kind in the same code are several issues to a tool that counts by fingerprint.
pub(super) fn fingerprints(review: &Review) -> Vec<String> {
    let mut seen: HashMap<&str, u32> = HashMap::new();
    review
        .surviving()
        .map(|entry| {
            let print = entry.finding.fingerprint.as_str();
            let count = seen.entry(print).or_insert(0);
            *count += 1;
            if *count == 1 {
                print.to_owned()
            } else {
                hex::encode(&Sha256::digest(format!("{print} {count}"))[..8])
            }
        })
        .collect()
}
