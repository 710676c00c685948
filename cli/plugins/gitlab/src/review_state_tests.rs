//! Versions of GitLab.

use super::*;

#[test]
fn versions_are_compared_as_numbers() {
    for (version, takes) in [
        ("19.5.0-ee", true),
        ("19.2.0-pre", true),
        ("19.10.1", true),
        ("20.0.0", true),
        ("19.1.9-ee", false),
        ("9.9.0", false),
        ("nightly", false),
    ] {
        assert_eq!(major_minor(version) >= Some(TAKES_STATE), takes, "{version}");
    }
}
