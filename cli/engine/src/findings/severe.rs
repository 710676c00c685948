//! Words for something severe, and for what turns them into their opposite, in the languages that reviews are written in.

/// Stems of words for something severe, in the languages that reviews are written in.
const SEVERE: &str = "critical blocker severity vulnerab severe injection exploit kritisch schwerwieg sicherheitsl \
    schwachstelle injektion critique vulnérab faille crític crítica grave inyecci injeç critico critica iniezion \
    kritiek ernstig kwetsba krytyczn podatno wstrzyk критич уязвим инъекц критичн вразлив ін'єкц серьёзн серьезн 致命 \
    严重 嚴重 漏洞 注入 重大 脆弱性 インジェクション 심각 취약 인젝션 حرج خطير ثغرة";
/// Beginnings of words and phrases for harm, in the same languages: a model that has seen none writes them in plans and questions
/// only.
const ALARMING: &[&str] = &[
    "dangerous",
    "harmful",
    "malicious",
    "attacker",
    "code execution",
    "executed as code",
    "evaluated as code",
    "interpreted as code",
    "arbitrary code",
    "arbitrary command",
    "arbitrary python",
    "arbitrary javascript",
    "arbitrary sql",
    "arbitrary file",
    "whatever the user",
    "whatever a user",
    "whatever the caller",
    "whatever a caller",
    "privilege escalation",
    "path traversal",
    "directory traversal",
    "denial of service",
    "data loss",
    "data corruption",
    "data race",
    "race condition",
    "racy",
    "leak",
    "crash",
    "gefährlich",
    "angreifer",
    "schadcode",
    "beliebigen code",
    "beliebiger code",
    "datenverlust",
    "absturz",
    "abstürz",
    "stürzt ab",
    "hintertür",
    "dangereu",
    "attaquant",
    "code arbitraire",
    "perte de données",
    "fuite de",
    "porte dérobée",
    "peligros",
    "atacante",
    "código arbitrario",
    "pérdida de datos",
    "fuga de",
    "puerta trasera",
    "perigos",
    "código arbitrário",
    "perda de dados",
    "vazamento",
    "pericolos",
    "attaccante",
    "aggressore",
    "codice arbitrario",
    "perdita di dati",
    "gevaarlijk",
    "aanvaller",
    "willekeurige code",
    "gegevensverlies",
    "niebezpieczn",
    "atakując",
    "napastnik",
    "dowolny kod",
    "dowolnego kodu",
    "utrata danych",
    "utraty danych",
    "wyciek",
    "опасн",
    "злоумышленник",
    "атакующ",
    "произвольный код",
    "произвольного кода",
    "потеря данных",
    "потере данных",
    "утечк",
    "небезпечн",
    "зловмисник",
    "довільний код",
    "довільного коду",
    "втрата даних",
    "втрати даних",
    "витік",
    "危险",
    "危險",
    "危険",
    "攻击者",
    "攻擊者",
    "攻撃者",
    "任意代码",
    "任意程式碼",
    "任意のコード",
    "任意コード",
    "远程代码",
    "数据丢失",
    "資料遺失",
    "データ損失",
    "泄露",
    "洩露",
    "漏洩",
    "竞态",
    "競合状態",
    "崩溃",
    "崩潰",
    "后门",
    "後門",
    "バックドア",
    "위험",
    "공격자",
    "임의 코드",
    "임의의 코드",
    "데이터 손실",
    "유출",
    "백도어",
    "مهاجم",
    "المهاجم",
    "تسريب",
];
/// Words for what comes from outside, which alarm beside one that runs it.
const INPUTS: &str = "input untrusted eingabe benutzereingabe entrée entrada invoer wejści ввод введ 输入 輸入 入力 입력 \
    مدخلات";
/// Names of what runs a text.
const RUNNING: &[&str] = &["eval", "evals", "exec", "execs"];
/// Words between those of an enumeration of what there is none of.
const JOINING: &str = "or and nor oder und ou et o y e of lub ani или и або чи data loss race condition conditions \
    remote arbitrary code execution";
/// Words that turn what follows them into its opposite.
const NEGATIONS: &str = "no not none nothing without never zero 0 neither nor any non kein keine keinen keiner nicht \
    ohne aucun aucune pas sans ningún ninguna ninguno sin nenhum nenhuma sem nessun nessuna senza geen brak żadnych \
    нет не без немає لا لم ليس ليست";
/// The same in scripts that part no words.
pub(super) const CLOSE_NEGATIONS: &[&str] = &["没", "沒", "未", "无", "無", "없"];
/// Number of words that a negation reaches.
pub(super) const REACH: usize = 5;
/// Maximum length of the text in front of a word in which a negation is looked for, in bytes.
const MAX_BACK: usize = 256;

/// Returns whether a list, with blanks between its words, has this word.
pub(super) fn is_in(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|listed| listed == word)
}

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
    is_in(NEGATIONS, word) || word.ends_with("n't") || word.ends_with("n’t")
}

/// Returns whether a sentence has a word for something severe that no word in front of it denies.
pub(super) fn is_severe(sentence: &str) -> bool {
    severe_stems(&sentence.to_lowercase()).next().is_some()
}

/// The stems of such words of a sentence in lower case.
pub(super) fn severe_stems(lower: &str) -> impl Iterator<Item = &'static str> {
    let stems = SEVERE.split_ascii_whitespace();
    stems.filter(move |&stem| undenied(lower, stem).next().is_some())
}

/// The places of such words of a sentence in lower case, each with its stem.
pub(super) fn severe_places(lower: &str) -> impl Iterator<Item = (usize, &'static str)> {
    let stems = SEVERE.split_ascii_whitespace();
    stems.flat_map(move |stem| undenied(lower, stem).map(move |at| (at, stem)))
}

/// The places of a stem that no word in front of it denies.
fn undenied(lower: &str, stem: &'static str) -> impl Iterator<Item = usize> {
    let places = lower.match_indices(stem).map(|(at, _)| at);
    places.filter(move |at| !is_denied(&lower[..*at]))
}

/// Returns whether a sentence in lower case has a word for harm, or lets something run what comes from outside, and no word in front
/// denies it.
pub(super) fn is_alarming(lower: &str) -> bool {
    let has = |stem: &str| {
        let mut places = lower.match_indices(stem);
        places
            .any(|(at, _)| begins_word(&lower[..at], stem) && !is_denied(&lower[..at]) && !is_listed_none(&lower[..at]))
    };
    let has_input = || INPUTS.split_ascii_whitespace().any(has);
    ALARMING.iter().any(|stem| has(stem)) || (has_input() && words(lower).any(|word| RUNNING.contains(&word)))
}

pub(super) fn begins_word(before: &str, stem: &str) -> bool {
    // Some scripts part no words, or write others together with them.
    stem.starts_with(|first: char| first >= '\u{590}') || !before.ends_with(char::is_alphanumeric)
}

/// The end of a text that is of its last clause.
pub(super) fn clause_end(text: &str) -> &str {
    let mut clauses = near_end(text).rsplit([',', ':', '，', '：', '、']);
    clauses.next().unwrap_or_default()
}

fn is_denied(before: &str) -> bool {
    let clause = clause_end(before);
    let close: Vec<char> = clause.chars().rev().take(6).collect();
    last_words(clause).take(REACH).any(is_negation)
        || CLOSE_NEGATIONS
            .iter()
            .any(|negation| close.iter().any(|near| negation.starts_with(*near)))
}

/// Returns whether a text ends in an enumeration of what there is none of: "no crash, leak or".
fn is_listed_none(before: &str) -> bool {
    let is_of_list = |word: &str| {
        let mut stems = ALARMING.iter().copied().chain(SEVERE.split_ascii_whitespace());
        is_in(JOINING, word) || stems.any(|stem| word.starts_with(stem))
    };
    let first = last_words(before).find(|word| !is_of_list(word));
    first.is_some_and(is_negation)
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

    #[test]
    fn what_harms_alarms_unless_it_is_denied() {
        for text in [
            "that is dangerous.",
            "this is remote code execution.",
            "attacker-controlled input reaches eval.",
            "no check is there: an attacker gets in.",
            "das eval führt eingaben aus.",
            "der wert ist gefährlich.",
            "это опасно.",
            "这很危险。",
        ] {
            assert!(is_alarming(text), "{text}");
        }
        for text in [
            "no crash, leak or data race so far.",
            "it is not dangerous.",
            "the input is read.",
            "no input reaches eval.",
            "это безопасно.",
            "没有危险。",
            "the evaluation takes an input.",
        ] {
            assert!(!is_alarming(text), "{text}");
        }
        assert!(!is_alarming(&"no crash, leak or ".repeat(5_000)));
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
