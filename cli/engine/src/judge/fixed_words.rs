//! The summary of a review that needed no judge: fixed words, in the project's language.

/// The sentence in each language, with the names by which people call the language. The first one is in force where a language
/// is not known here.
const WORDS: [(&[&str], &str); 14] = [
    (
        &["en", "english"],
        "The reviewers found nothing to change in this merge request.",
    ),
    (
        &["de", "german", "deutsch"],
        "Die Prüfer haben in diesem Merge Request nichts gefunden, das zu ändern wäre.",
    ),
    (
        &["fr", "french", "français", "francais"],
        "Les relecteurs n'ont rien trouvé à modifier dans cette demande de fusion.",
    ),
    (
        &["es", "spanish", "español", "espanol"],
        "Los revisores no han encontrado nada que cambiar en esta solicitud de fusión.",
    ),
    (
        &["pt", "portuguese", "português", "portugues"],
        "Os revisores não encontraram nada a mudar neste pedido de merge.",
    ),
    (
        &["it", "italian", "italiano"],
        "I revisori non hanno trovato nulla da cambiare in questa richiesta di merge.",
    ),
    (
        &["nl", "dutch", "nederlands"],
        "De reviewers hebben in deze merge request niets gevonden dat anders moet.",
    ),
    (
        &["pl", "polish", "polski"],
        "Recenzenci nie znaleźli w tej prośbie o scalenie niczego do zmiany.",
    ),
    (
        &["ru", "russian", "русский"],
        "Проверяющие не нашли в этом запросе на слияние ничего, что нужно изменить.",
    ),
    (
        &["uk", "ukrainian", "українська"],
        "Рецензенти не знайшли в цьому запиті на злиття нічого, що треба змінити.",
    ),
    (
        &["ja", "japanese", "日本語"],
        "レビュアーはこのマージリクエストに変更すべき点を見つけませんでした。",
    ),
    (
        &["zh", "chinese", "中文", "简体中文"],
        "评审者在此合并请求中没有发现需要修改的地方。",
    ),
    (
        &["ko", "korean", "한국어"],
        "리뷰어들은 이 병합 요청에서 변경할 점을 찾지 못했습니다.",
    ),
    (
        &["ar", "arabic", "العربية"],
        "لم يجد المراجعون ما يجب تغييره في طلب الدمج هذا.",
    ),
];

/// The summary of a review in which these reviewers found nothing, in the language of the project's settings.
pub fn nothing_found(language: Option<&str>, reviewers: &str) -> String {
    let sentence = language.and_then(sentence).unwrap_or(WORDS[0].1);
    format!("{sentence} ({reviewers})")
}

/// The sentence in this language, however it is named: `German`, `de`, `de-AT`, `Português (Brasil)`.
fn sentence(language: &str) -> Option<&'static str> {
    let lower = language.trim().to_lowercase();
    let name = lower.split(['-', '_', ' ', '(']).next().unwrap_or_default();
    let known = WORDS.iter().find(|(names, _)| names.contains(&name))?;
    Some(known.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_is_known_by_its_name_and_by_its_code() {
        for (names, sentence) in WORDS {
            for name in names {
                assert_eq!(super::sentence(&name.to_uppercase()), Some(sentence), "{name}");
            }
        }
        for name in ["de-AT", "German (formal)", " Deutsch "] {
            assert_eq!(
                nothing_found(Some(name), "generalist"),
                format!("{} (generalist)", WORDS[1].1)
            );
        }
        for unknown in [None, Some("Klingon"), Some(""), Some("Germanic")] {
            assert_eq!(
                nothing_found(unknown, "a, b"),
                format!("{} (a, b)", WORDS[0].1),
                "{unknown:?}"
            );
        }
    }
}
