//! Summaries of reviews that needed no judge: fixed words, in the project's language.

use crate::language::Language;

/// The sentences of a language.
#[derive(Debug, Clone, Copy)]
struct Sentences {
    nothing_found: &'static str,
    /// With `{}` for the commit that was reviewed before.
    nothing_changed: &'static str,
    only_noise: &'static str,
}

impl Sentences {
    /// Those of the language of the project's settings, or the English ones where that language is not known here.
    fn of(language: Option<&str>) -> Self {
        sentences(language.and_then(Language::of).unwrap_or(Language::English))
    }
}

/// The summary of a review in which these reviewers found nothing, in the language of the project's settings.
pub fn nothing_found(language: Option<&str>, reviewers: &str) -> String {
    format!("{} ({reviewers})", Sentences::of(language).nothing_found)
}

/// The summary of a review of files that are all unchanged since the review of this commit.
pub fn nothing_changed(language: Option<&str>, commit: &str) -> String {
    Sentences::of(language).nothing_changed.replace("{}", commit)
}

/// The summary of a review of a change that is nothing but noise.
pub fn only_noise(language: Option<&str>) -> String {
    Sentences::of(language).only_noise.to_owned()
}

const fn sentences(language: Language) -> Sentences {
    match language {
        Language::English => Sentences {
            nothing_found: "The reviewers found nothing to change here.",
            nothing_changed: "No reviewed file has changed since the review of {}, so no model was asked.",
            only_noise: "Every changed file is noise by rule, so no model was asked.",
        },
        Language::German => Sentences {
            nothing_found: "Die Prüfer haben hier nichts gefunden, das zu ändern wäre.",
            nothing_changed: "Seit der Prüfung von {} hat sich keine geprüfte Datei geändert, daher wurde kein Modell \
                              gefragt.",
            only_noise: "Alle geänderten Dateien sind nach den Regeln von der Prüfung ausgenommen, daher wurde kein Modell \
                         gefragt.",
        },
        Language::French => Sentences {
            nothing_found: "Les relecteurs n'ont rien trouvé à modifier ici.",
            nothing_changed: "Aucun fichier relu n'a changé depuis la relecture de {} : aucun modèle n'a donc été interrogé.",
            only_noise: "Les règles excluent tous les fichiers modifiés de la relecture : aucun modèle n'a donc été interrogé.",
        },
        Language::Spanish => Sentences {
            nothing_found: "Los revisores no han encontrado nada que cambiar aquí.",
            nothing_changed: "Ningún archivo revisado ha cambiado desde la revisión de {}, así que no se ha consultado ningún \
                              modelo.",
            only_noise: "Las reglas excluyen de la revisión todos los archivos modificados, así que no se ha consultado ningún \
                         modelo.",
        },
        Language::Portuguese => Sentences {
            nothing_found: "Os revisores não encontraram nada a mudar aqui.",
            nothing_changed: "Nenhum arquivo revisado mudou desde a revisão de {}, por isso nenhum modelo foi consultado.",
            only_noise: "As regras excluem da revisão todos os arquivos alterados, por isso nenhum modelo foi consultado.",
        },
        Language::Italian => Sentences {
            nothing_found: "I revisori non hanno trovato nulla da cambiare qui.",
            nothing_changed: "Nessun file revisionato è cambiato dalla revisione di {}, quindi nessun modello è stato \
                              interpellato.",
            only_noise: "Le regole escludono dalla revisione tutti i file modificati, quindi nessun modello è stato \
                         interpellato.",
        },
        Language::Dutch => Sentences {
            nothing_found: "De reviewers hebben hier niets gevonden dat anders moet.",
            nothing_changed: "Sinds de review van {} is geen enkel gereviewd bestand gewijzigd, dus is er geen model \
                              geraadpleegd.",
            only_noise: "Volgens de regels vallen alle gewijzigde bestanden buiten de review, dus is er geen model \
                         geraadpleegd.",
        },
        Language::Polish => Sentences {
            nothing_found: "Recenzenci nie znaleźli tu niczego do zmiany.",
            nothing_changed: "Od recenzji {} nie zmienił się żaden recenzowany plik, więc nie pytano żadnego modelu.",
            only_noise: "Reguły wyłączają z recenzji wszystkie zmienione pliki, więc nie pytano żadnego modelu.",
        },
        Language::Russian => Sentences {
            nothing_found: "Проверяющие не нашли здесь ничего, что нужно изменить.",
            nothing_changed: "С проверки {} ни один проверяемый файл не изменился, поэтому модели не запрашивались.",
            only_noise: "По правилам все изменённые файлы исключены из проверки, поэтому модели не запрашивались.",
        },
        Language::Ukrainian => Sentences {
            nothing_found: "Рецензенти не знайшли тут нічого, що треба змінити.",
            nothing_changed: "Від рецензії {} жоден рецензований файл не змінився, тому жодної моделі не запитували.",
            only_noise: "За правилами всі змінені файли виключено з рецензії, тому жодної моделі не запитували.",
        },
        Language::Japanese => Sentences {
            nothing_found: "レビュアーは変更すべき点を見つけませんでした。",
            nothing_changed: "{} のレビュー以降、レビュー対象のファイルに変更がないため、モデルには問い合わせていません。",
            only_noise: "変更されたファイルはすべて規則によりレビュー対象外のため、モデルには問い合わせていません。",
        },
        Language::Chinese => Sentences {
            nothing_found: "评审者没有发现需要修改的地方。",
            nothing_changed: "自 {} 的评审以来，被评审的文件没有变化，因此没有询问任何模型。",
            only_noise: "按照规则，所有更改的文件都不在评审范围内，因此没有询问任何模型。",
        },
        Language::Korean => Sentences {
            nothing_found: "리뷰어들은 변경할 점을 찾지 못했습니다.",
            nothing_changed: "{} 리뷰 이후 리뷰 대상 파일이 변경되지 않아 모델에 묻지 않았습니다.",
            only_noise: "변경된 파일이 모두 규칙에 따라 리뷰에서 제외되어 모델에 묻지 않았습니다.",
        },
        Language::Arabic => Sentences {
            nothing_found: "لم يجد المراجعون ما يجب تغييره هنا.",
            nothing_changed: "لم يتغير أي ملف خاضع للمراجعة منذ مراجعة {}، لذلك لم يُسأل أي نموذج.",
            only_noise: "تستثني القواعد جميع الملفات المتغيرة من المراجعة، لذلك لم يُسأل أي نموذج.",
        },
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_language_has_sentences_of_its_own_and_an_unknown_one_the_english() {
        let all = || Language::all().map(|(language, _)| sentences(language));
        for sentence in [
            |sentences: Sentences| sentences.nothing_found,
            |sentences: Sentences| sentences.nothing_changed,
            |sentences: Sentences| sentences.only_noise,
        ] {
            let own: HashSet<&str> = all().map(sentence).collect();
            assert_eq!(own.len(), Language::all().count());
        }
        let german = sentences(Language::German);
        assert_eq!(
            nothing_found(Some("de-AT"), "generalist"),
            format!("{} (generalist)", german.nothing_found)
        );
        assert_eq!(only_noise(Some("German")), german.only_noise);
        let english = sentences(Language::English);
        for unknown in [None, Some("Klingon"), Some("")] {
            assert_eq!(
                nothing_found(unknown, "a, b"),
                format!("{} (a, b)", english.nothing_found),
                "{unknown:?}"
            );
            assert_eq!(only_noise(unknown), english.only_noise, "{unknown:?}");
        }
    }

    #[test]
    fn each_language_names_the_commit_once() {
        for (_, names) in Language::all() {
            let sentence = nothing_changed(Some(names[0]), "`0a1b2c3d`");
            assert_eq!(sentence.matches("`0a1b2c3d`").count(), 1, "{sentence}");
            assert!(!sentence.contains(['{', '}']), "{sentence}");
        }
    }
}
