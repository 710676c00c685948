//! Words that mean the same thing in a code review.

use std::{collections::HashMap, sync::LazyLock};

use super::stem::stem;

/// Groups of words; the first names the group.
const GROUPS: [&str; 42] = [
    "null nil none npe nullpointerexception nullable absent nullptr undefined",
    "typo misspelled misspelling misspell spelled spelling misspelt typographical",
    "compile compilation compiler build",
    "invert inverted inversion reversed backwards opposite negated swapped flipped",
    "unused dead discarded unreachable ignored unnecessary redundant useless superfluous needless",
    "await awaited async asynchronous asynchronously promise fireandforget unawaited",
    "casing casesensitive caseinsensitive lowercase uppercase lowercased uppercased casesensitivity",
    "duplicate duplicated dedupe deduplicate deduplication duplication unique uniqueness copy copied copypaste",
    "wrong incorrect incorrectly invalid wrongly bug broken mistaken mistake faulty flawed erroneous",
    "race concurrent concurrency concurrently threadsafe synchronization synchronized atomic nonatomic atomically \
     lock locking mutex thread multithreaded simultaneous simultaneously parallel",
    "leak leaking orphan orphaned unreleased unclosed",
    "remove removal delete deletion drop dropped erase",
    "crash exception raise throw thrown error panic fail failure abort typeerror attributeerror nameerror keyerror \
     valueerror nomethoderror assertionerror",
    "parameter argument param arg args",
    "function method func routine procedure handler",
    "check validate validation verify verification guard sanitize sanitise",
    "documentation doc docs javadoc docstring documented jsdoc comment readme",
    "rename renamed naming name named misnamed misleading",
    "permission auth authorization authorisation authorized unauthorized privilege access forbidden acl role",
    "inconsistent inconsistency mismatch mismatched differ different difference diverge contradict",
    "bypass skip circumvent evade slip",
    "cache cached caching memoize memoized",
    "empty blank",
    "terminate kill shutdown stop exit",
    "reference identity pointer",
    "return returned",
    "test assertion assert testing",
    "change modify modification mutate mutation alter overwrite overwritten",
    "database db sql",
    "configuration config setting option",
    "identifier id uuid",
    "call invoke invocation invoked caller",
    "slow performance inefficient expensive overhead latency",
    "log logging logger logged",
    "attack attacker vulnerability vulnerable exploit malicious security insecure unsafe",
    "inject injection xss sqli unescaped interpolate interpolation",
    "display show render shown",
    "infinite unbounded endless forever unlimited",
    "recursion recursive recursively itself",
    "overflow underflow wraparound",
    "negative minus",
    "random nondeterministic deterministic unstable flaky",
];

static CONCEPTS: LazyLock<HashMap<String, &'static str>> = LazyLock::new(|| {
    let mut concepts = HashMap::new();
    for group in GROUPS {
        for word in group.split_ascii_whitespace() {
            concepts.entry(stem(word)).or_insert(name(group));
        }
    }
    concepts
});

/// The word that names a group.
fn name(group: &'static str) -> &'static str {
    group.split_ascii_whitespace().next().unwrap_or_default()
}

/// The group that this stem is in, or the stem itself.
pub(super) fn concept(stem: &str) -> Option<&'static str> {
    CONCEPTS.get(stem).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_one_meaning_are_one() {
        for (one, other) in [
            ("nil", "None"),
            ("raises", "throws"),
            ("inverted", "reversed"),
            ("validates", "check"),
            ("awaited", "async"),
        ] {
            let (one, other) = (one.to_lowercase(), other.to_lowercase());
            assert!(concept(&stem(&one)).is_some(), "{one}");
            assert_eq!(concept(&stem(&one)), concept(&stem(&other)), "{one} {other}");
        }
    }
}
