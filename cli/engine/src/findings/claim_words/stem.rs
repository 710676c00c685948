//! Forms of a word brought together.

/// The word without the endings of English grammar. Rough on purpose: it only has to bring forms of one word together.
pub(super) fn stem(word: &str) -> String {
    /// Ending, what takes its place, and how long the word must be at least.
    const ENDINGS: [(&str, &str, usize); 16] = [
        ("ization", "ize", 9),
        ("ations", "ate", 8),
        ("ation", "ate", 7),
        ("ically", "ic", 8),
        ("ities", "ity", 6),
        ("iness", "y", 7),
        ("ness", "", 7),
        ("ments", "ment", 7),
        ("ingly", "", 7),
        ("ing", "", 6),
        ("ied", "y", 5),
        ("ies", "y", 5),
        ("ed", "", 5),
        ("ly", "", 5),
        ("es", "", 5),
        ("s", "", 4),
    ];
    if !word.is_ascii() || word.len() <= 3 {
        return word.to_owned();
    }
    let mut stem = word.to_owned();
    for (ending, instead, least) in ENDINGS {
        if word.len() >= least && word.ends_with(ending) {
            if ending == "s" && ["ss", "us", "is"].iter().any(|end| word.ends_with(end)) {
                continue;
            }
            stem.truncate(word.len() - ending.len());
            stem.push_str(instead);
            break;
        }
    }
    let mut last = stem.chars().rev();
    if let (Some(one), Some(two)) = (last.next(), last.next())
        && stem.len() > 4
        && one == two
        && !matches!(one, 'l' | 's' | 'z')
    {
        stem.pop();
    }
    if stem.len() > 4 && stem.ends_with('e') {
        stem.pop();
    }
    stem
}

#[cfg(test)]
mod tests {
    use super::stem;

    #[test]
    fn forms_of_a_word_are_one() {
        for (one, other) in [
            ("validates", "validating"),
            ("queries", "query"),
            ("orphaned", "orphan"),
            ("caching", "caches"),
            ("dropped", "drops"),
            ("allocation", "allocations"),
        ] {
            assert_eq!(stem(one), stem(other), "{one} {other}");
        }
        assert_eq!(stem("class"), "class");
        assert_eq!(stem("größe"), "größe");
    }
}
