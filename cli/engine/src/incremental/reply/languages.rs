//! Plain decisions in the project's language.
//!
//! A decision is one of these clauses, word for word. A clause stands here only if it says as much as "won't fix" or
//! "acknowledged": a mere "noted" promises as often as it declines. What is inflected or put in another way is the judge's
//! to read.

use crate::language::Language;

/// The words of a language.
#[derive(Debug, Clone, Copy)]
pub(super) struct Words {
    /// Whole clauses that decline.
    pub(super) declines: &'static [&'static str],
    /// Whole clauses that take the risk.
    pub(super) acknowledges: &'static [&'static str],
    /// Words that may stand in front of the clause.
    pub(super) openers: &'static [&'static str],
}

/// The words of the language; English ones are always in force, and stand beside this module.
pub(super) const fn words(language: Language) -> Option<Words> {
    Some(match language {
        Language::English => return None,
        Language::German => GERMAN,
        Language::French => FRENCH,
        Language::Spanish => SPANISH,
        Language::Portuguese => PORTUGUESE,
        Language::Italian => ITALIAN,
        Language::Dutch => DUTCH,
        Language::Polish => POLISH,
        Language::Russian => RUSSIAN,
        Language::Ukrainian => UKRAINIAN,
        Language::Japanese => JAPANESE,
        Language::Chinese => CHINESE,
        Language::Korean => KOREAN,
        Language::Arabic => ARABIC,
    })
}

const GERMAN: Words = Words {
    declines: &[
        "wird nicht behoben",
        "wird nicht gefixt",
        "wird nicht korrigiert",
        "beheben wir nicht",
        "behebe ich nicht",
        "fixen wir nicht",
        "fixe ich nicht",
        "wir beheben das nicht",
        "wir fixen das nicht",
        "ich behebe das nicht",
        "ich fixe das nicht",
    ],
    acknowledges: &[
        "zur kenntnis genommen",
        "risiko akzeptiert",
        "risiko wird akzeptiert",
        "bekannt und akzeptiert",
        "wir akzeptieren das risiko",
    ],
    openers: &[
        "hallo", "ok", "okay", "ja", "nein", "danke", "sorry", "das", "dies", "es",
    ],
};

const FRENCH: Words = Words {
    declines: &[
        "ne sera pas corrigé",
        "ce ne sera pas corrigé",
        "cela ne sera pas corrigé",
        "ça ne sera pas corrigé",
        "nous ne corrigerons pas",
        "nous ne corrigerons pas cela",
        "je ne corrigerai pas",
        "je ne corrigerai pas cela",
        "on ne corrige pas",
        "on ne corrigera pas",
    ],
    acknowledges: &[
        "dont acte",
        "nous en prenons acte",
        "risque accepté",
        "risque assumé",
        "connu et accepté",
        "nous acceptons le risque",
    ],
    openers: &["bonjour", "salut", "ok", "oui", "non", "merci", "désolé"],
};

const SPANISH: Words = Words {
    declines: &[
        "no se corregirá",
        "no se va a corregir",
        "no lo corregiremos",
        "no lo vamos a corregir",
        "no lo corregiré",
        "no lo voy a corregir",
        "no se arreglará",
        "no lo vamos a arreglar",
        "no lo voy a arreglar",
    ],
    acknowledges: &[
        "riesgo aceptado",
        "riesgo asumido",
        "asumimos el riesgo",
        "conocido y aceptado",
        "aceptamos el riesgo",
    ],
    openers: &["hola", "ok", "vale", "sí", "gracias", "perdón", "esto", "eso"],
};

const PORTUGUESE: Words = Words {
    declines: &[
        "não será corrigido",
        "não vai ser corrigido",
        "não vamos corrigir",
        "não vou corrigir",
        "não vamos corrigir isso",
        "não vou corrigir isso",
        "não iremos corrigir",
    ],
    acknowledges: &[
        "risco assumido",
        "assumimos o risco",
        "risco aceito",
        "risco aceite",
        "conhecido e aceito",
        "aceitamos o risco",
    ],
    openers: &[
        "olá", "oi", "ok", "sim", "obrigado", "obrigada", "desculpe", "isso", "isto",
    ],
};

const ITALIAN: Words = Words {
    declines: &[
        "non verrà corretto",
        "non sarà corretto",
        "non lo correggiamo",
        "non lo correggeremo",
        "non lo correggo",
        "non lo correggerò",
    ],
    acknowledges: &[
        "preso atto",
        "rischio accettato",
        "noto e accettato",
        "accettiamo il rischio",
    ],
    openers: &["ciao", "ok", "sì", "grazie", "scusa", "questo"],
};

const DUTCH: Words = Words {
    declines: &[
        "wordt niet opgelost",
        "wordt niet gefixt",
        "lossen we niet op",
        "los ik niet op",
        "we lossen dit niet op",
        "we fixen dit niet",
        "ik fix dit niet",
    ],
    acknowledges: &[
        "risico geaccepteerd",
        "ter kennisgeving aangenomen",
        "bekend en geaccepteerd",
        "we accepteren het risico",
    ],
    openers: &[
        "hallo", "hoi", "ok", "oké", "ja", "nee", "bedankt", "sorry", "dit", "dat", "het",
    ],
};

const POLISH: Words = Words {
    declines: &[
        "nie będzie naprawione",
        "nie będzie poprawione",
        "nie naprawimy tego",
        "nie poprawimy tego",
        "nie naprawię tego",
        "nie poprawię tego",
        "nie będziemy tego naprawiać",
        "nie będziemy tego poprawiać",
    ],
    acknowledges: &[
        "przyjęto do wiadomości",
        "ryzyko zaakceptowane",
        "znane i zaakceptowane",
        "akceptujemy ryzyko",
    ],
    openers: &["cześć", "ok", "tak", "dzięki", "dziękuję", "przepraszam", "to"],
};

const RUSSIAN: Words = Words {
    declines: &[
        "не будет исправлено",
        "исправляться не будет",
        "не будем исправлять",
        "не буду исправлять",
        "мы не будем это исправлять",
        "я не буду это исправлять",
        "исправлять не будем",
        "исправлять не буду",
    ],
    acknowledges: &[
        "принято к сведению",
        "риск принят",
        "риск осознан",
        "известно и принято",
        "мы принимаем риск",
    ],
    openers: &["привет", "ок", "да", "нет", "спасибо", "извините", "это"],
};

const UKRAINIAN: Words = Words {
    declines: &[
        "не буде виправлено",
        "не будемо виправляти",
        "не буду виправляти",
        "ми не будемо це виправляти",
        "я не буду це виправляти",
        "виправляти не будемо",
    ],
    acknowledges: &[
        "взято до відома",
        "ризик прийнято",
        "відомо і прийнято",
        "ми приймаємо ризик",
    ],
    openers: &["привіт", "ок", "так", "ні", "дякую", "вибачте", "це"],
};

const JAPANESE: Words = Words {
    declines: &[
        "修正しません",
        "修正はしません",
        "対応しません",
        "対応はしません",
        "直しません",
        "修正しない",
        "対応しない",
    ],
    acknowledges: &[
        "承知の上です",
        "リスクを受け入れます",
        "リスクは受容します",
        "リスク受容済みです",
    ],
    openers: &[
        "はい",
        "いいえ",
        "すみません",
        "ありがとうございます",
        "これは",
        "こちらは",
    ],
};

const CHINESE: Words = Words {
    declines: &[
        "不修复",
        "不会修复",
        "不予修复",
        "不打算修复",
        "我们不会修复",
        "不修改",
        "不會修復",
        "不予修復",
    ],
    acknowledges: &["接受风险", "风险已接受", "我们接受风险", "已知并接受", "接受風險"],
    openers: &["好的", "是的", "谢谢", "抱歉", "这个", "你好"],
};

const KOREAN: Words = Words {
    declines: &[
        "수정하지 않습니다",
        "수정하지 않겠습니다",
        "고치지 않겠습니다",
        "수정하지 않을 예정입니다",
    ],
    acknowledges: &["위험을 감수합니다", "위험을 수용합니다", "인지하고 수용합니다"],
    openers: &["네", "예", "아니요", "감사합니다", "죄송합니다", "이것은"],
};

const ARABIC: Words = Words {
    declines: &[
        "لن يتم إصلاحه",
        "لن يتم الإصلاح",
        "لن نصلح هذا",
        "لن نصلحه",
        "لن أصلح هذا",
        "لن أصلحه",
    ],
    acknowledges: &["تم قبول المخاطرة", "نقبل المخاطرة", "معروف ومقبول"],
    openers: &["مرحبا", "نعم", "لا", "شكرا", "شكرًا", "عذرا", "هذا"],
};

#[cfg(test)]
#[path = "languages_tests.rs"]
mod tests;
