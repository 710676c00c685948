use super::super::{ReplyIntent, intent, sentences::QUESTION_MARKS};
use super::*;
use crate::untrusted::OwnWords;

fn said(language: Language, answer: &str) -> ReplyIntent {
    intent(&OwnWords::of(answer), Some(language))
}

fn is_decision(intent: ReplyIntent) -> bool {
    matches!(intent, ReplyIntent::Declines | ReplyIntent::Acknowledges)
}

/// Each language that has words, and its words.
fn all() -> impl Iterator<Item = (Language, Words)> {
    Language::all().filter_map(|(language, _)| Some((language, words(language)?)))
}

/// Each clause with what it says.
fn clauses(words: &Words) -> impl Iterator<Item = (&'static str, ReplyIntent)> + use<> {
    let declines = words.declines.iter().map(|clause| (*clause, ReplyIntent::Declines));
    let acknowledges = words
        .acknowledges
        .iter()
        .map(|clause| (*clause, ReplyIntent::Acknowledges));
    declines.chain(acknowledges)
}

#[test]
fn there_are_words_for_ten_languages_and_more() {
    assert!(all().count() >= 10);
    for (language, words) in all() {
        assert!(
            !words.declines.is_empty() && !words.acknowledges.is_empty(),
            "{language:?}"
        );
    }
}

#[test]
fn each_clause_decides_in_its_language_alone() {
    for (language, words) in all() {
        for (clause, expected) in clauses(&words) {
            for answer in [
                clause.to_owned(),
                format!("{clause}."),
                format!("**{}**!", clause.to_uppercase()),
                format!("@conclave-bot {clause}"),
                format!("{}, {clause}。", words.openers[0]),
                format!("> Something is wrong here.\n\n{clause}"),
            ] {
                assert_eq!(said(language, &answer), expected, "{language:?}: {answer}");
            }
            assert!(
                !is_decision(intent(&OwnWords::of(clause), None)),
                "not in an English project: {clause}"
            );
        }
    }
}

#[test]
fn no_clause_decides_as_a_question() {
    for (language, words) in all() {
        for (clause, _) in clauses(&words) {
            for mark in QUESTION_MARKS {
                for answer in [
                    format!("{clause}{mark}"),
                    format!("{clause} {mark}!"),
                    format!("{clause}...{mark}"),
                    format!("{clause}. X{mark}"),
                ] {
                    assert_eq!(said(language, &answer), ReplyIntent::Asks, "{language:?}: {answer}");
                }
            }
            assert_eq!(said(language, &format!("¿{clause}")), ReplyIntent::Asks, "{clause}");
        }
    }
}

#[test]
fn no_clause_decides_beside_anything_else() {
    for (language, words) in all() {
        for (clause, _) in clauses(&words) {
            for answer in [
                format!("{clause}, x"),
                format!("{clause} (x)"),
                format!("{clause}. x"),
                format!("{clause}: x"),
                format!("{clause}！x"),
                format!("{clause}、x"),
                format!("{clause}\nx"),
                format!("{clause}\n\nx"),
                format!("{clause}\n\n> x"),
                format!("{clause} 🚫"),
                format!("{clause}: [x](https://example.org)"),
            ] {
                assert!(!is_decision(said(language, &answer)), "{language:?}: {answer}");
            }
        }
    }
}

#[test]
fn no_clause_decides_that_is_quoted_or_stands_within_other_words() {
    for (language, words) in all() {
        for (clause, _) in clauses(&words) {
            for answer in [
                format!("> {clause}"),
                format!("> {clause}\n\nX"),
                format!(">>>\n{clause}\n>>>\nX"),
                format!("```\n{clause}\n```\nX"),
                format!("`{clause}`"),
                format!("„{clause}“"),
                format!("\"{clause}\", X"),
                format!("« {clause} », X"),
                format!("「{clause}」、X"),
                format!("‘{clause}’, X"),
                format!("- {clause}"),
                format!("~~{clause}~~"),
                format!("<details>\n\n{clause}\n\n</details>"),
                format!("x {clause}"),
                format!("{clause} x"),
                format!("x{clause}"),
                format!("{clause}x"),
                format!("{clause}-x"),
                format!("{clause} `x`"),
            ] {
                assert!(!is_decision(said(language, &answer)), "{language:?}: {answer}");
            }
        }
    }
}

/// Answers that look like a decision in each language, and are not one: promises, negations, conditions, questions without a mark, and
/// other words.
const LOOK_ALIKES: [(Language, &[&str]); 13] = [
    (
        Language::German,
        &[
            "Zur Kenntnis genommen, Blocker",
            "Zur Kenntnis genommen. Bitte vor dem Merge ändern.",
            "Risiko akzeptiert: nein",
            "Risiko akzeptiert: niemals",
            "Wird nicht behoben: inakzeptabel!",
            "Wird nicht behoben. Autor soll das tun.",
            "Nein Risiko akzeptiert",
            "Wird nicht nur behoben, sondern neu gebaut.",
            "Wird behoben.",
            "Das Risiko wird nicht akzeptiert.",
            "Wird nicht behoben, wenn niemand widerspricht.",
            "Wird nicht behoben, oder",
            "Wird nicht behoben. Ich behebe es doch.",
            "Zur Kenntnis genommen, fixe ich gleich.",
            "Niemand sagt: wird nicht behoben.",
        ],
    ),
    (
        Language::French,
        &[
            "Risque accepté, non.",
            "Ne sera pas corrigé, inacceptable",
            "C'est noté.",
            "Ce sera corrigé.",
            "Le risque n'est pas accepté.",
            "Ne sera pas corrigé, sauf si vous insistez.",
            "Risque accepté, mais je corrige.",
            "Ne sera pas corrigé, n'est-ce pas",
        ],
    ),
    (
        Language::Spanish,
        &[
            "Riesgo aceptado. Mentira.",
            "Riesgo aceptado. Arréglalo.",
            "No se corregirá, inaceptable.",
            "Enterado.",
            "Se corregirá.",
            "Riesgo no aceptado.",
            "No se corregirá si nadie lo pide.",
            "No se corregirá, pero lo arreglo mañana.",
            "Riesgo aceptado, ¿verdad?",
        ],
    ),
    (
        Language::Portuguese,
        &[
            "Ciente.",
            "Será corrigido.",
            "Risco não aceito.",
            "Não vou corrigir, a menos que peçam.",
            "Risco aceito, mas corrijo amanhã.",
        ],
    ),
    (
        Language::Italian,
        &[
            "Sarà corretto.",
            "Rischio non accettato.",
            "Non sarà corretto, a meno che non insistiate.",
            "Preso atto, lo correggo subito.",
            "Non sarà corretto, vero",
        ],
    ),
    (
        Language::Dutch,
        &[
            "Wordt opgelost.",
            "Risico niet geaccepteerd.",
            "Wordt niet opgelost tenzij iemand aandringt.",
            "Risico geaccepteerd, maar ik los het op.",
            "Wordt niet opgelost, of toch wel",
        ],
    ),
    (
        Language::Polish,
        &[
            "Będzie naprawione.",
            "Ryzyko nie zaakceptowane.",
            "Nie naprawimy tego, chyba że ktoś nalega.",
            "Przyjęto do wiadomości, zaraz poprawię.",
        ],
    ),
    (
        Language::Russian,
        &[
            "Риск принят: нет",
            "Не будет исправлено, неприемлемо.",
            "Будет исправлено.",
            "Риск не принят.",
            "Не будем исправлять, если никто не настаивает.",
            "Принято к сведению, исправлю.",
            "Не будет исправлено ли это",
        ],
    ),
    (
        Language::Ukrainian,
        &[
            "Буде виправлено.",
            "Ризик не прийнято.",
            "Не будемо виправляти, якщо ніхто не наполягає.",
            "Взято до відома, виправлю.",
        ],
    ),
    (
        Language::Japanese,
        &[
            "対応しません、とは言えない。",
            "リスクを受け入れます、なんて言いません",
            "修正しません、では済みません",
            "修正します。",
            "修正しませんか。",
            "修正しませんが、検討します。",
            "修正しないわけではありません。",
            "対応しません、後で直します。",
            "リスクを受け入れません。",
        ],
    ),
    (
        Language::Chinese,
        &[
            "接受风险：否",
            "已知悉。",
            "会修复。",
            "不修复吗",
            "不会修复得太晚。",
            "不修复，除非有人坚持。",
            "风险未已接受。",
            "接受风险，但我会修复。",
        ],
    ),
    (
        Language::Korean,
        &[
            "수정합니다.",
            "수정하지 않습니까",
            "수정하지 않습니다만 검토하겠습니다.",
            "위험을 감수하지 않습니다.",
            "수정하지 않습니다, 하지만 다음에 고치겠습니다.",
        ],
    ),
    (
        Language::Arabic,
        &[
            "سيتم إصلاحه.",
            "هل لن نصلحه؟",
            "لن نصلحه إلا إذا طلبتم.",
            "لم يتم قبول المخاطرة.",
            "تم قبول المخاطرة، لكن سأصلحه.",
        ],
    ),
];

/// Answers in each language that say how the code is, and decide nothing: not fixed, not fixed yet, fixed, who fixes it.
const STATES: [(Language, &[&str]); 13] = [
    (
        Language::German,
        &[
            "Nicht behoben.",
            "Noch nicht behoben.",
            "Behoben.",
            "Wurde nicht behoben",
            "Wer behebt das",
            "Nicht akzeptiert",
        ],
    ),
    (
        Language::French,
        &[
            "Pas corrigé.",
            "Pas encore corrigé.",
            "Corrigé.",
            "N'a pas été corrigé",
            "Qui corrige",
            "Non accepté",
        ],
    ),
    (
        Language::Spanish,
        &[
            "No corregido.",
            "Todavía no corregido.",
            "Corregido.",
            "No se ha corregido",
            "Quién lo corrige",
            "No aceptado",
        ],
    ),
    (
        Language::Portuguese,
        &[
            "Não corrigido.",
            "Ainda não corrigido.",
            "Corrigido.",
            "Não foi corrigido",
            "Quem corrige",
            "Não aceito",
        ],
    ),
    (
        Language::Italian,
        &[
            "Non corretto.",
            "Non ancora corretto.",
            "Corretto.",
            "Non è stato corretto",
            "Chi lo corregge",
            "Non accettato",
        ],
    ),
    (
        Language::Dutch,
        &[
            "Niet opgelost.",
            "Nog niet opgelost.",
            "Opgelost.",
            "Is niet opgelost",
            "Wie lost dit op",
            "Niet geaccepteerd",
        ],
    ),
    (
        Language::Polish,
        &[
            "Nie naprawione.",
            "Jeszcze nie naprawione.",
            "Naprawione.",
            "Nie zostało naprawione",
            "Kto to naprawi",
            "Nie zaakceptowane",
        ],
    ),
    (
        Language::Russian,
        &[
            "Не исправлено.",
            "Ещё не исправлено.",
            "Исправлено.",
            "Не было исправлено",
            "Кто исправит",
            "Не принято",
        ],
    ),
    (
        Language::Ukrainian,
        &[
            "Не виправлено.",
            "Ще не виправлено.",
            "Виправлено.",
            "Не було виправлено",
            "Хто виправить",
            "Не прийнято",
        ],
    ),
    (
        Language::Japanese,
        &[
            "未修正です。",
            "まだ修正していません。",
            "修正済みです。",
            "修正されていません",
            "誰が修正しますか",
            "受け入れられません",
        ],
    ),
    (
        Language::Chinese,
        &["未修复。", "还没有修复。", "已修复。", "没有修复", "谁来修复", "不接受"],
    ),
    (
        Language::Korean,
        &[
            "수정되지 않았습니다.",
            "아직 수정되지 않았습니다.",
            "수정했습니다.",
            "누가 수정합니까",
            "수용하지 않습니다",
        ],
    ),
    (
        Language::Arabic,
        &[
            "لم يتم إصلاحه.",
            "لم يتم إصلاحه بعد.",
            "تم إصلاحه.",
            "من سيصلحه",
            "غير مقبول",
        ],
    ),
];

#[test]
fn how_the_code_is_decides_nothing() {
    assert_eq!(STATES.len(), all().count());
    for (language, answers) in STATES {
        for answer in answers {
            for written in [
                (*answer).to_owned(),
                format!("> {answer}"),
                format!("\"{answer}\""),
                format!("{answer}?"),
            ] {
                assert!(!is_decision(said(language, &written)), "{language:?}: {written}");
            }
        }
    }
    for answer in [
        "Not fixed.",
        "Not fixed yet.",
        "Fixed.",
        "\"won't fix\"",
        "> won't fix",
        "Won't fix?",
        "Who fixes this?",
    ] {
        assert!(!is_decision(intent(&OwnWords::of(answer), None)), "{answer}");
    }
}

#[test]
fn look_alikes_decide_nothing() {
    assert_eq!(LOOK_ALIKES.len(), all().count());
    for (language, answers) in LOOK_ALIKES {
        for answer in answers {
            assert!(!is_decision(said(language, answer)), "{language:?}: {answer}");
        }
    }
}

#[test]
fn an_english_decision_counts_in_every_project_if_it_stands_alone() {
    for (language, words) in all() {
        for answer in ["won't fix", "Won't fix this.", "Acknowledged."] {
            assert!(is_decision(said(language, answer)), "{language:?}: {answer}");
        }
        assert_eq!(said(language, "Ich widerspreche."), ReplyIntent::Other);
        assert_eq!(said(language, "I disagree, aber mais pero"), ReplyIntent::Disagrees);
        for answer in [
            format!("Won't fix. {}", words.declines[0]),
            "Won't fix, aber mais pero".to_owned(),
        ] {
            assert!(!is_decision(said(language, &answer)), "{language:?}: {answer}");
        }
    }
}
