//! "Did you mean": the known name that is nearest to an unknown one.

/// The nearest of the known names, if any is near enough to be meant.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_ascii_lowercase();
    known
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&name, candidate), candidate))
        .filter(|(similarity, _)| *similarity >= 0.8)
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_errors_find_their_name_and_others_none() {
        let known = ["language", "strictness", "gate", "disabled_reviewers"];
        for (typed, meant) in [
            ("langauge", Some("language")),
            ("Strictness", Some("strictness")),
            ("gates", Some("gate")),
            ("disable_reviewers", Some("disabled_reviewers")),
            ("colour", None),
        ] {
            assert_eq!(nearest(typed, known), meant, "{typed}");
        }
    }
}
