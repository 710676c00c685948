//! The summary of a review that needed no judge: fixed words, in the project's language.

use crate::language::Language;

/// The sentence in a language.
const fn sentence(language: Language) -> &'static str {
    match language {
        Language::English => "The reviewers found nothing to change here.",
        Language::German => "Die Prüfer haben hier nichts gefunden, das zu ändern wäre.",
        Language::French => "Les relecteurs n'ont rien trouvé à modifier ici.",
        Language::Spanish => "Los revisores no han encontrado nada que cambiar aquí.",
        Language::Portuguese => "Os revisores não encontraram nada a mudar aqui.",
        Language::Italian => "I revisori non hanno trovato nulla da cambiare qui.",
        Language::Dutch => "De reviewers hebben hier niets gevonden dat anders moet.",
        Language::Polish => "Recenzenci nie znaleźli tu niczego do zmiany.",
        Language::Russian => "Проверяющие не нашли здесь ничего, что нужно изменить.",
        Language::Ukrainian => "Рецензенти не знайшли тут нічого, що треба змінити.",
        Language::Japanese => "レビュアーは変更すべき点を見つけませんでした。",
        Language::Chinese => "评审者没有发现需要修改的地方。",
        Language::Korean => "리뷰어들은 변경할 점을 찾지 못했습니다.",
        Language::Arabic => "لم يجد المراجعون ما يجب تغييره هنا.",
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
