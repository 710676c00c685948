//! How bad a finding is.

use serde::{Deserialize, Serialize};

use crate::named_enum;

named_enum! {
    /// The three severities of a finding, least to most severe, so that `max` and sorting mean what they say.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[derive(schemars::JsonSchema)]
    pub enum Severity {
        /// An improvement worth considering.
        Suggestion = "suggestion",
        /// A measurable regression or a concrete risk.
        Warning = "warning",
        /// Will cause an outage, or is exploitable.
        Critical = "critical",
    }
}

/// Words of models for severities, ours and those of other scales, and their forms in the languages that a project may be in. A word
/// that may be two of ours is the worse one.
const CALLED: [(Severity, &str); 3] = [
    (
        Severity::Suggestion,
        "suggestion suggestions nit nits nitpick low lowest minor info informational information trivial style stylistic cosmetic \
         hint note notice p3 p4 hinweis vorschlag niedrig gering faible mineur mineure sugerencia bajo baja menor sugestão baixo baixa \
         suggerimento basso bassa minore suggestie laag sugestia niski niska niskie предложение рекомендация низкий низкая низкое \
         пропозиція низький низька 提案 低 建议 輕微 轻微 제안 낮음 اقتراح منخفض منخفضة",
    ),
    (
        Severity::Warning,
        "warning warnings warn medium moderate major important p2 warnung mittel avertissement moyen moyenne modéré modérée majeur \
         majeure advertencia medio media aviso médio média avviso avvertimento waarschuwing gemiddeld middel ostrzeżenie średni \
         średnia średnie предупреждение средний средняя среднее попередження середній середня 警告 中 中等 경고 중간 보통 تحذير متوسط متوسطة",
    ),
    (
        Severity::Critical,
        "critical high highest severe blocker blocking fatal error urgent catastrophic emergency showstopper must p0 p1 sev0 sev1 kritisch kritische \
         kritischer hoch schwerwiegend blockierend critique élevé élevée haute grave bloquant bloquante crítico crítica alto alta critico \
         critica elevato elevata bloccante kritiek hoog ernstig krytyczny krytyczna krytyczne wysoki wysoka wysokie poważny poważna \
         критический критическая критическое критичный критично высокий высокая высокое серьёзный серьезный критичний критична високий \
         висока серйозний 致命的 致命 重大 緊急 严重 嚴重 紧急 高 심각 치명적 긴급 높음 حرج حرجة خطير خطيرة عالية عالي",
    ),
];
/// Words beside a severity that say what it is, or between the ends of a range.
const NOUNS: &str = "severity level priority fix very to or until bis oder \
    schweregrad gravité gravedad severidad gravidade gravità priorität 严重性 重要度 심각도";
/// A range has two ends; with more words it is the list of all severities, or a sentence.
const MAX_WORDS: usize = 2;

impl Severity {
    /// Reads a severity as models write it: in any case, with marks around it, in the words of another scale. Of two the worse
    /// one counts. A remark in parentheses behind it says nothing, unless another severity is named there.
    pub fn parse_lenient(text: &str) -> Option<Self> {
        let with_remark = || {
            let (before, remark) = text.trim().strip_suffix(')')?.split_once('(')?;
            let severity = Self::of_words(before)?;
            let remark = remark.to_lowercase();
            let mut words = remark.split(|character: char| !character.is_alphanumeric());
            let is_other = |word: &str| called(word).is_some_and(|other| other != severity);
            (!words.any(is_other)).then_some(severity)
        };
        Self::of_words(text).or_else(with_remark)
    }

    /// Reads a text that has no other words.
    fn of_words(text: &str) -> Option<Self> {
        // In lower case, `s1` is the name of a variable.
        let text = text.replace("S0", "sev0").replace("S1", "sev1");
        let lower = text.to_lowercase().replace("sev-", "sev").replace("sev ", "sev");
        let words = lower.split(|character: char| !character.is_alphanumeric());
        let is_noun = |word: &str| NOUNS.split_whitespace().any(|noun| noun == word);
        let words: Vec<&str> = words.filter(|word| !word.is_empty() && !is_noun(word)).collect();
        if let [points, all] = words[..]
            && points == all
            && lower.contains('/')
            && points.parse::<u32>().is_ok_and(|points| points > 0)
        {
            // All points of a scale, as in `10/10`.
            return Some(Self::Critical);
        }
        let severities: Option<Vec<Self>> = words.iter().map(|word| called(word)).collect();
        severities?.into_iter().max().filter(|_| words.len() <= MAX_WORDS)
    }
}

/// The severity that a word stands for.
fn called(word: &str) -> Option<Severity> {
    CALLED
        .iter()
        .find(|(_, names)| names.split_whitespace().any(|name| name == word))
        .map(|(severity, _)| *severity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_severity_is_known_in_the_words_of_other_scales_and_the_worse_one_counts() {
        for (severity, names) in CALLED {
            for name in names.split_whitespace() {
                assert_eq!(Severity::parse_lenient(name), Some(severity), "{name}");
            }
        }
        for severity in Severity::ALL {
            assert_eq!(Severity::parse_lenient(severity.as_str()), Some(severity));
        }
        for (written, severity) in [
            (" Warning\n", Severity::Warning),
            ("**HIGH**", Severity::Critical),
            ("`Low`", Severity::Suggestion),
            ("[medium]", Severity::Warning),
            ("🔴 Critical", Severity::Critical),
            ("Severity: high", Severity::Critical),
            ("medium/high", Severity::Critical),
            ("low-medium", Severity::Warning),
            ("medium to high", Severity::Critical),
            ("suggestion -> critical", Severity::Critical),
            ("Critical (P0)", Severity::Critical),
            ("P1", Severity::Critical),
            ("must fix", Severity::Critical),
            ("very high", Severity::Critical),
            ("URGENT", Severity::Critical),
            ("Schweregrad: Kritisch", Severity::Critical),
            ("Élevée", Severity::Critical),
            ("严重性：高", Severity::Critical),
            ("mittel", Severity::Warning),
            ("S1", Severity::Critical),
            ("**S0**", Severity::Critical),
            ("SEV-1", Severity::Critical),
            ("sev 0", Severity::Critical),
            ("S1 (blocker)", Severity::Critical),
            ("10/10", Severity::Critical),
            ("Severity: 5 / 5", Severity::Critical),
            ("critical (CWE-89)", Severity::Critical),
            ("Warning (see the second file, line 4)", Severity::Warning),
        ] {
            assert_eq!(Severity::parse_lenient(written), Some(severity), "{written}");
        }
        for written in [
            "",
            "severity",
            "horrible",
            "to",
            "not urgent",
            "must not",
            "not critical",
            "non-critical",
            "no warning",
            "7",
            "bug",
            "s1",
            "S2",
            "SEV5",
            "9/10",
            "0/0",
            "10",
            "critical|warning|suggestion",
            "warning (high confidence)",
            "not critical (CWE-89)",
            "(CWE-89)",
        ] {
            assert_eq!(Severity::parse_lenient(written), None, "{written}");
        }
    }
}
