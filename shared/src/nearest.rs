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

/// A name held against the known ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spelling<'a> {
    /// It is this one; case does not count.
    Known(&'a str),
    /// It is most likely this one, misspelled by a letter or two.
    Mistake(&'a str),
    /// It is another name.
    Unknown,
}

/// Holds a name against the known ones. Narrower than [`nearest`]: `openai-eu` and `openai2` are names of their own, and `opnai` is not.
pub fn spelling<'a>(name: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> Spelling<'a> {
    if let Some(same) = known.clone().into_iter().find(|known| known.eq_ignore_ascii_case(name)) {
        return Spelling::Known(same);
    }
    let name = name.to_ascii_lowercase();
    let mistakes = |known: &str| match known.len() {
        0..=3 => 0,
        4..=6 => 1,
        _ => 2,
    };
    known
        .into_iter()
        .filter(|known| !name.starts_with(known))
        .map(|known| (strsim::osa_distance(&name, known), known))
        .filter(|(distance, known)| *distance <= mistakes(known))
        .min()
        .map_or(Spelling::Unknown, |(_, known)| Spelling::Mistake(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_or_two_are_a_mistake_and_an_addition_is_another_name() {
        let known = ["anthropic", "openai", "security", "tests"];
        for (name, expected) in [
            ("openai", Spelling::Known("openai")),
            ("OpenAI", Spelling::Known("openai")),
            ("antropic", Spelling::Mistake("anthropic")),
            ("Antrhopic", Spelling::Mistake("anthropic")),
            ("opnai", Spelling::Mistake("openai")),
            ("secruity", Spelling::Mistake("security")),
            ("openai-eu", Spelling::Unknown),
            ("openai2", Spelling::Unknown),
            ("vllm", Spelling::Unknown),
            ("screen_readers", Spelling::Unknown),
            ("", Spelling::Unknown),
        ] {
            assert_eq!(spelling(name, known), expected, "{name}");
        }
    }

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
