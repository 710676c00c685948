//! Fields as models write them: paths, lines, categories, numbers.

mod steering;

use conclave_shared::finding::Finding;

use super::fold::{decoded, folded, is_invisible};
use crate::{diff::FileDiff, review::CONTEXT_FILE};

/// Returns the changed file that a path written by a model means; the path itself if there is none.
pub fn path_of(written: &str, files: &[FileDiff]) -> String {
    let known = |path: &str| files.iter().any(|file| file.path == path);
    resolved(written, known, files.iter().map(|file| file.path.as_str()))
}

/// The path that is meant: as it is written, without what stands around it or what a patch or a root puts in front, or the only one
/// that looks the same.
pub(super) fn resolved<'f>(
    written: &str,
    known: impl Fn(&str) -> bool,
    files: impl Iterator<Item = &'f str>,
) -> String {
    let path = normalise_path(written);
    let unescaped = htmlize::unescape(written);
    // A name may begin or end with what mostly stands around one.
    let forms = [written, written.trim(), path.as_str(), &*unescaped];
    if let Some(form) = forms.into_iter().find(|form| known(form)) {
        return form.to_owned();
    }
    if path == CONTEXT_FILE {
        return path;
    }
    let bare = ["a/", "b/", "/"].iter().find_map(|prefix| path.strip_prefix(prefix));
    if let Some(bare) = bare.filter(|bare| known(bare)) {
        return bare.to_owned();
    }
    let files: Vec<&str> = files.collect();
    let only = |is_meant: &dyn Fn(&str) -> bool| {
        let mut meant = files.iter().filter(|file| is_meant(file));
        match (meant.next(), meant.next()) {
            (Some(file), None) => Some((*file).to_owned()),
            _ => None,
        }
    };
    let wanted = folded(&path);
    let alike = only(&|file| !(file.is_ascii() && path.is_ascii()) && folded(file) == wanted);
    // With a line's number behind it, below another directory, or in other letters.
    let bare = path.trim_end_matches(|character: char| character.is_ascii_digit() || matches!(character, ':' | '-'));
    let named = [without_marks(&path), without_marks(bare)];
    let ends = |long: &str, short: &str| long.strip_suffix(short).is_some_and(|head| head.ends_with('/'));
    alike
        .or_else(|| only(&|file| file == bare))
        .or_else(|| only(&|file| named.contains(&without_marks(file))))
        .or_else(|| only(&|file| ends(bare, file) || ends(file, bare)))
        .or_else(|| only(&|file| file.eq_ignore_ascii_case(bare)))
        .unwrap_or(path)
}

/// A path without blanks, invisible characters and quotation marks, wherever in it they are.
pub(super) fn without_marks(path: &str) -> String {
    let is_mark = |sign: char| sign.is_whitespace() || is_invisible(sign) || matches!(sign, '`' | '\'' | '"');
    path.chars().filter(|sign| !is_mark(*sign)).collect()
}

/// A path without what surrounds it.
fn normalise_path(path: &str) -> String {
    let path = path.trim().trim_matches('`');
    path.strip_prefix("./").unwrap_or(path).to_owned()
}

/// The line number that a text begins with.
pub(super) fn parse_line(text: &str) -> Result<u32, String> {
    let digits: String = text
        .chars()
        .skip_while(|c| !c.is_ascii_digit())
        .take_while(char::is_ascii_digit)
        .collect();
    match digits.parse::<u32>() {
        Ok(line) if line > 0 => Ok(line),
        _ => Err(format!("`{}` is not a line number", shorten(text))),
    }
}

/// How sure the reviewer is; in the middle, if it does not say. Some write per cent.
pub(super) fn confidence(written: Option<&str>) -> f64 {
    let Some(text) = written else { return 0.5 };
    let (text, scale) = match text.strip_suffix('%') {
        Some(text) => (text.trim(), 100.0),
        None => (text, 1.0),
    };
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => (number / scale).clamp(0.0, 1.0),
        _ => 0.5,
    }
}

/// A category as it is recorded: words joined by hyphens, and one spelling for attempts to steer the review, which rules
/// go by.
pub(super) fn category_of(written: &str) -> String {
    if is_injection(written) {
        Finding::PROMPT_INJECTION.to_owned()
    } else {
        kebab(written)
    }
}

/// Stems of what is done to steer a model.
const STEERING: &str = "inject manipul hijack steer smuggl poison subver influenc injek inyec injeç iniez iniett \
    wstrzyk инъекц инжект ін'єкц внедрен манипул маніпул 注入 操纵 操縱 操作 劫持 インジェクション 誘導 인젝션 주입 조작 حقن";
/// Stems of what is steered.
const STEERED: &str = "prompt llm instruction instruct instruk instruc instruç istruz anweisung review agent model \
    assistant chatbot промпт промт подсказ инструкц інструкц запрос 提示 指令 大模型 模型 评审 評審 人工智能 プロンプト 指示 レビュー 프롬프트 리뷰 지시 \
    موجه تعليمات أوامر";
/// Words for a model that are parts of other words.
const STEERED_WORDS: &[&str] = &["ai", "ki", "ia", "gpt", "ии", "ші", "llms", "bot"];

/// Categories of their own that mean the same.
const STEERING_NAMES: &[&str] = &[
    "steering",
    "social engineering",
    "ai instruction",
    "ai instructions",
    "llm instruction",
    "llm instructions",
    "reviewer instruction",
    "reviewer instructions",
    "comment to reviewer",
    "comment to reviewers",
];

/// Returns whether a category means text that tries to steer the review, however a model puts it: in another language,
/// with look-alikes of letters.
fn is_injection(category: &str) -> bool {
    let words = plain_words(category);
    let joined = words.concat();
    let is_said = |stem: &str| joined.contains(&plain_words(stem).concat());
    let has = |stems: &str| stems.split_ascii_whitespace().any(is_said);
    let is_aim = |word: &String| STEERED_WORDS.iter().any(|aim| plain_words(aim).concat() == *word);
    let is_named = || STEERING_NAMES.iter().any(|name| plain_words(name).concat() == joined);
    is_named() || is_said("jailbreak") || (has(STEERING) && (has(STEERED) || words.iter().any(is_aim)))
}

/// Returns whether a claim speaks of an attempt to steer the review.
pub(super) fn claims_injection(claim: &str) -> bool {
    const NAMES: &[&str] = &[
        "prompt injection",
        "promptinjektion",
        "prompt-injektion",
        "injection de prompt",
        "inyección de prompt",
        "injeção de prompt",
        "iniezione di prompt",
        "инъекция промпт",
        "промпт-инъекц",
        "提示注入",
        "提示词注入",
        "プロンプトインジェクション",
        "프롬프트 인젝션",
    ];
    const VERBS: &[&str] = &["steer", "manipul", "hijack", "influenc", "instruct", "trick"];
    const READERS: &[&str] = &[
        "reviewer",
        "reviewers",
        "ai",
        "llm",
        "llms",
        "assistant",
        "assistants",
        "coordinator",
    ];
    let words = plain_words(claim);
    let joined = words.concat();
    let folded = |word: &&str| plain_words(word).concat();
    let named = NAMES.iter().any(|name| joined.contains(&folded(name)));
    let steers = || {
        words
            .iter()
            .any(|word| VERBS.iter().any(|verb| word.starts_with(&folded(verb))))
    };
    let reads = || {
        words
            .iter()
            .any(|word| READERS.iter().any(|reader| folded(reader) == *word))
    };
    named || (steers() && reads()) || steering::is_claimed(claim)
}

/// The words of a text in small letters, with look-alikes as what they look like.
fn plain_words(text: &str) -> Vec<String> {
    let folded = folded(&decoded(text).to_lowercase()).to_lowercase();
    let words = folded.split(|character: char| !character.is_alphanumeric());
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn kebab(text: &str) -> String {
    let mut kebab = String::new();
    for character in text.chars().take(60) {
        if character.is_ascii_alphanumeric() {
            kebab.push(character.to_ascii_lowercase());
        } else if !kebab.is_empty() && !kebab.ends_with('-') {
            kebab.push('-');
        }
    }
    let kebab = kebab.trim_end_matches('-');
    if kebab.is_empty() {
        "other".to_owned()
    } else {
        kebab.to_owned()
    }
}

/// The beginning of a text, for a message.
pub(super) fn shorten(text: &str) -> String {
    text.chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_to_steer_the_review_have_one_category_in_every_spelling() {
        for written in [
            "prompt-injection",
            "Prompt Injection",
            "promptInjection",
            "提示注入",
            "提示词注入",
            "Promptinjektion",
            "inyección de prompt",
            "injeção de prompt",
            "iniezione di prompt",
            "промпт-инъекция",
            "プロンプトインジェクション",
            "프롬프트 인젝션",
            "حقن الموجه",
            "ai-manipulation",
            "KI-Manipulation",
            "llm-steering",
            "ai-injection",
            "reviewer_steering",
            "instruction-smuggling",
            "jailbreak",
            "steering",
            "ai-instruction",
            "social-engineering",
            "Comment to reviewer",
            // Cyrillic letters.
            "рrоmрt-injесtiоn",
            "ｐｒｏｍｐｔ－ｉｎｊｅｃｔｉｏｎ",
            "prompt\u{200b}-inj\u{ad}ection",
        ] {
            assert_eq!(category_of(written), Finding::PROMPT_INJECTION, "{written}");
        }
        for (written, expected) in [
            ("SQL injection", "sql-injection"),
            ("email-injection", "email-injection"),
            ("Key Error", "key-error"),
            ("Naming", "naming"),
            ("chain manipulation", "chain-manipulation"),
            ("命名", "other"),
            ("agent-instructions", "agent-instructions"),
            ("misleading-comment", "misleading-comment"),
        ] {
            assert_eq!(category_of(written), expected);
        }
    }

    #[test]
    fn a_claim_may_say_what_its_category_does_not() {
        for claim in [
            "A prompt injection in the comment.",
            "The comment tries to steer the reviewers towards an approval.",
            "This text manipulates the AI that reads it.",
            "注释中含有提示注入。",
            "Der Kommentar ist eine Prompt-Injektion.",
            "The comment is a рrоmрt injесtiоn.",
            "A comment tells the reviewers to approve this change.",
            "The comment is a &#112;rompt &#x69;njection.",
            "A comment tells the &amp;#114;eviewers to &#97;pprove this change.",
        ] {
            assert!(claims_injection(claim), "{claim}");
        }
        for claim in [
            "SQL injection in the review endpoint.",
            "The prompt is not escaped.",
            "The chain manipulates its state.",
            "An instruction is missing.",
            "The comment tells readers that the reviewer role may approve payments.",
            "The text tells agents to skip the tests.",
        ] {
            assert!(!claims_injection(claim), "{claim}");
        }
    }
}
