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
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !(character.is_alphanumeric() || matches!(character, '\'' | '’')))
        .filter(|word| !word.is_empty())
}

pub(super) fn is_negation(word: &str) -> bool {
    NEGATIONS.contains(&word) || word.ends_with("n't") || word.ends_with("n’t")
}

/// Returns whether a sentence has a word for something severe that no word in front of it denies.
pub(super) fn is_severe(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    let denied = |at: usize| {
        let clause = lower[..at]
            .rsplit([',', ':', '，', '：', '、'])
            .next()
            .unwrap_or_default();
        let last: Vec<&str> = words(clause).collect();
        let close: Vec<char> = clause.chars().rev().take(6).collect();
        last.iter().rev().take(REACH).any(|word| is_negation(word))
            || CLOSE_NEGATIONS
                .iter()
                .any(|negation| close.iter().any(|near| negation.starts_with(*near)))
    };
    SEVERE
        .iter()
        .any(|stem| lower.match_indices(stem).any(|(at, _)| !denied(at)))
}
