//! The languages in which the program has words of its own.

/// A language that is known, by whatever name the settings give it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is the language that it is named after")]
pub enum Language {
    English,
    German,
    French,
    Spanish,
    Portuguese,
    Italian,
    Dutch,
    Polish,
    Russian,
    Ukrainian,
    Japanese,
    Chinese,
    Korean,
    Arabic,
}

/// The names by which people call each language.
const NAMES: [(Language, &[&str]); 14] = [
    (Language::English, &["en", "english"]),
    (Language::German, &["de", "german", "deutsch"]),
    (Language::French, &["fr", "french", "français", "francais"]),
    (Language::Spanish, &["es", "spanish", "español", "espanol"]),
    (Language::Portuguese, &["pt", "portuguese", "português", "portugues"]),
    (Language::Italian, &["it", "italian", "italiano"]),
    (Language::Dutch, &["nl", "dutch", "nederlands"]),
    (Language::Polish, &["pl", "polish", "polski"]),
    (Language::Russian, &["ru", "russian", "русский"]),
    (Language::Ukrainian, &["uk", "ukrainian", "українська"]),
    (Language::Japanese, &["ja", "japanese", "日本語"]),
    (Language::Chinese, &["zh", "chinese", "中文", "简体中文"]),
    (Language::Korean, &["ko", "korean", "한국어"]),
    (Language::Arabic, &["ar", "arabic", "العربية"]),
];

impl Language {
    /// All of them, each with its names in lower case.
    pub fn all() -> impl Iterator<Item = (Self, &'static [&'static str])> {
        NAMES.into_iter()
    }

    /// The language of this name: `German`, `de`, `de-AT`, `Português (Brasil)`.
    pub fn of(name: &str) -> Option<Self> {
        let lower = name.trim().to_lowercase();
        let name = lower.split(['-', '_', ' ', '(']).next().unwrap_or_default();
        let known = NAMES.iter().find(|(_, names)| names.contains(&name))?;
        Some(known.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_known_by_its_name_and_by_its_code() {
        for (language, names) in Language::all() {
            for name in names {
                assert_eq!(Language::of(&name.to_uppercase()), Some(language), "{name}");
            }
        }
        for name in ["de-AT", "German (formal)", " Deutsch "] {
            assert_eq!(Language::of(name), Some(Language::German), "{name}");
        }
        for unknown in ["Klingon", "", "Germanic"] {
            assert_eq!(Language::of(unknown), None, "{unknown}");
        }
    }
}
