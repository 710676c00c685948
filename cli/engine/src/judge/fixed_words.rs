//! The summary of a review that needed no judge: fixed words, in the project's language.

use crate::language::Language;

/// The sentence in a language.
const fn sentence(language: Language) -> &'static str {
    match language {
        Language::English => "The reviewers found nothing to change in this merge request.",
        Language::German => "Die Prüfer haben in diesem Merge Request nichts gefunden, das zu ändern wäre.",
        Language::French => "Les relecteurs n'ont rien trouvé à modifier dans cette demande de fusion.",
        Language::Spanish => "Los revisores no han encontrado nada que cambiar en esta solicitud de fusión.",
        Language::Portuguese => "Os revisores não encontraram nada a mudar neste pedido de merge.",
        Language::Italian => "I revisori non hanno trovato nulla da cambiare in questa richiesta di merge.",
        Language::Dutch => "De reviewers hebben in deze merge request niets gevonden dat anders moet.",
        Language::Polish => "Recenzenci nie znaleźli w tej prośbie o scalenie niczego do zmiany.",
        Language::Russian => "Проверяющие не нашли в этом запросе на слияние ничего, что нужно изменить.",
        Language::Ukrainian => "Рецензенти не знайшли в цьому запиті на злиття нічого, що треба змінити.",
        Language::Japanese => "レビュアーはこのマージリクエストに変更すべき点を見つけませんでした。",
        Language::Chinese => "评审者在此合并请求中没有发现需要修改的地方。",
        Language::Korean => "리뷰어들은 이 병합 요청에서 변경할 점을 찾지 못했습니다.",
        Language::Arabic => "لم يجد المراجعون ما يجب تغييره في طلب الدمج هذا.",
    }
}

/// The summary of a review in which these reviewers found nothing, in the language of the project's settings, or in English
/// where that language is not known here.
pub fn nothing_found(language: Option<&str>, reviewers: &str) -> String {
    let language = language.and_then(Language::of).unwrap_or(Language::English);
    format!("{} ({reviewers})", sentence(language))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_language_has_a_sentence_of_its_own_and_an_unknown_one_the_english() {
        let sentences: HashSet<&str> = Language::all().map(|(language, _)| sentence(language)).collect();
        assert_eq!(sentences.len(), Language::all().count());
        assert_eq!(
            nothing_found(Some("de-AT"), "generalist"),
            format!("{} (generalist)", sentence(Language::German))
        );
        for unknown in [None, Some("Klingon"), Some("")] {
            assert_eq!(
                nothing_found(unknown, "a, b"),
                format!("{} (a, b)", sentence(Language::English)),
                "{unknown:?}"
            );
        }
    }
}
