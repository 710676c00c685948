//! Words for something severe, and for what turns them into their opposite, in the languages that reviews are written in.

/// Stems of words for something severe, in the languages that reviews are written in.
const SEVERE: &[&str] = &[
    "critical",
    "blocker",
    "severity",
    "vulnerab",
    "severe",
    "injection",
    "exploit",
    "kritisch",
    "schwerwieg",
    "sicherheitsl",
    "schwachstelle",
    "injektion",
    "critique",
    "vulnérab",
    "faille",
    "crític",
    "crítica",
    "grave",
    "inyecci",
    "injeç",
    "critico",
    "critica",
    "iniezion",
    "kritiek",
    "ernstig",
    "kwetsba",
    "krytyczn",
    "podatno",
    "wstrzyk",
    "критич",
    "уязвим",
    "инъекц",
    "критичн",
    "вразлив",
    "ін'єкц",
    "серьёзн",
    "серьезн",
    "致命",
    "严重",
    "嚴重",
    "漏洞",
    "注入",
    "重大",
    "脆弱性",
    "インジェクション",
    "심각",
    "취약",
    "인젝션",
    "حرج",
    "خطير",
    "ثغرة",
];
/// Words that turn what follows them into its opposite.
const NEGATIONS: &[&str] = &[
    "no",
    "not",
    "none",
    "nothing",
    "without",
    "never",
    "zero",
    "0",
    "neither",
    "nor",
    "any",
    "non",
    "kein",
    "keine",
    "keinen",
    "keiner",
    "nicht",
    "ohne",
    "aucun",
    "aucune",
    "pas",
    "sans",
    "ningún",
    "ninguna",
    "ninguno",
    "sin",
    "nenhum",
    "nenhuma",
    "sem",
    "nessun",
    "nessuna",
    "senza",
    "geen",
    "brak",
    "żadnych",
    "нет",
    "не",
    "без",
    "немає",
    "لا",
];
/// The same in scripts that part no words.
const CLOSE_NEGATIONS: &[&str] = &["没", "沒", "未", "无", "無", "없"];
/// Number of words that a negation reaches.
pub(super) const REACH: usize = 5;
/// Maximum length of the text in front of a word in which a negation is looked for, in bytes.
const MAX_BACK: usize = 256;

fn is_between_words(character: char) -> bool {
    !(character.is_alphanumeric() || matches!(character, '\'' | '’'))
}

pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_between_words).filter(|word| !word.is_empty())
}

/// The words near the end of a text, the last one first. A text has many words for something severe, and one of each is looked
/// back from.
pub(super) fn last_words(text: &str) -> impl Iterator<Item = &str> {
    near_end(text).rsplit(is_between_words).filter(|word| !word.is_empty())
}

fn near_end(text: &str) -> &str {
    let mut starts = text.len().saturating_sub(MAX_BACK)..=text.len();
    let start = starts.find(|start| text.is_char_boundary(*start));
    start.map_or(text, |start| &text[start..])
}

pub(super) fn is_negation(word: &str) -> bool {
    NEGATIONS.contains(&word) || word.ends_with("n't") || word.ends_with("n’t")
}

/// Returns whether a sentence has a word for something severe that no word in front of it denies.
pub(super) fn is_severe(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    let denied = |at: usize| {
        let clause = near_end(&lower[..at])
            .rsplit([',', ':', '，', '：', '、'])
            .next()
            .unwrap_or_default();
        let close: Vec<char> = clause.chars().rev().take(6).collect();
        last_words(clause).take(REACH).any(is_negation)
            || CLOSE_NEGATIONS
                .iter()
                .any(|negation| close.iter().any(|near| negation.starts_with(*near)))
    };
    SEVERE
        .iter()
        .any(|stem| lower.match_indices(stem).any(|(at, _)| !denied(at)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_negation_reaches_a_few_words_and_no_further() {
        for text in [
            "No critical problem.",
            "没有严重问题",
            "The query is not open to injection.",
        ] {
            assert!(!is_severe(text), "{text}");
        }
        for text in [
            "No, critical.",
            "Not one of all the words here denies an injection.",
            "A critical problem.",
        ] {
            assert!(is_severe(text), "{text}");
        }
        assert_eq!(
            last_words("One, two  three").collect::<Vec<_>>(),
            ["three", "two", "One"]
        );
        assert_eq!(near_end(&"ж".repeat(200)).chars().count(), MAX_BACK / 2);
        assert_eq!(near_end(&format!("{}y", "ж".repeat(200))).chars().count(), MAX_BACK / 2);
        assert_eq!(near_end("short"), "short");
    }

    /// Looking back to the beginning from each word would take minutes here.
    #[test]
    fn a_long_text_of_severe_words_is_read_once() {
        assert!(!is_severe(&"no critical ".repeat(25_000)));
        assert!(!is_severe(&format!("no {}", "critical".repeat(20))));
        let long = "no critical ".repeat(25_000);
        assert!(is_severe(&format!("{long} and so on, and a critical one")));
    }
}
