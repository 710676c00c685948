//! Claims about words that try to steer the review, where they do not name it: a text asks reviewers to approve, or to leave
//! something out.
//!
//! No single word says that: a comment may ask its readers for something, and a reviewer approves payments. So a claim has to
//! speak of a text, of its asking, of a reviewer, and of what it asks for. In English the reviewer stands beside the asking.

use std::sync::LazyLock;

use unicode_normalization::UnicodeNormalization as _;

use super::plain_words;
use crate::findings::fold::{decoded, is_invisible};

/// Returns whether a claim says that a text is about to steer its reviewers.
pub(super) fn is_claimed(claim: &str) -> bool {
    let claim = decoded(claim);
    let visible = claim.chars().filter(|character| !is_invisible(*character));
    let text = visible.nfkc().collect::<String>().to_lowercase();
    let words = text.split(|character: char| !character.is_alphanumeric());
    let words: Vec<String> = words.filter(|word| !word.is_empty()).map(folded_word).collect();
    ENGLISH.tells(&words) || LANGUAGES.iter().any(|language| language.tells(&words))
}

fn folded_word(word: &str) -> String {
    plain_words(word).concat()
}

/// Words of one meaning.
struct Class(Vec<(String, Form)>);

enum Form {
    Whole,
    /// `approv*`
    Beginning,
    /// In scripts that part no words, or write others together with them.
    Part,
}

impl Class {
    fn new(words: &str) -> Self {
        let entries = words.split_whitespace().map(|entry| {
            let word = entry.trim_end_matches('*');
            // Behind Cyrillic.
            let form = if word.starts_with(|first: char| first >= '\u{590}') {
                Form::Part
            } else if word.len() < entry.len() {
                Form::Beginning
            } else {
                Form::Whole
            };
            (folded_word(word), form)
        });
        Self(entries.collect())
    }

    fn has(&self, word: &str) -> bool {
        self.0.iter().any(|(entry, form)| match form {
            Form::Whole => word == entry,
            Form::Beginning => word.starts_with(entry),
            Form::Part => word.contains(entry.as_str()),
        })
    }

    fn places(&self, words: &[String]) -> Vec<usize> {
        let places = words.iter().enumerate().filter(|(_, word)| self.has(word));
        places.map(|(at, _)| at).collect()
    }

    fn is_in(&self, words: &[String]) -> bool {
        words.iter().any(|word| self.has(word))
    }
}

struct English {
    texts: Class,
    tells: Class,
    /// Names of reviewers, and of nothing else.
    reviewers: Class,
    /// Names that others have as well.
    models: Class,
    reviews: Class,
    /// Words for the results of a review.
    approvals: Class,
    /// Words for other things that a text asks of reviewers.
    omissions: Class,
    /// Words between the asking and a reviewer which say that others are asked, or that it is a question.
    others: Class,
    steers: Class,
    modals: Class,
    attempts: Class,
    suppressions: Class,
    findings: Class,
    linters: Class,
    instructions: Class,
    kinds: Class,
}

static ENGLISH: LazyLock<English> = LazyLock::new(|| English {
    texts: Class::new(
        "comment comments docstring docstrings text texts description string strings line lines note notes title message \
         readme words word sentence paragraph wording phrase instruction instructions commit marker annotation file document",
    ),
    tells: Class::new(
        "tell* told instruct instructs instructed instructing ask asks asked asking directs directed directing \
         orders ordered ordering requested requesting urge* commands commanded demand* beg begs invite* encourag* \
         advise* pressur* convinc* persuad* address addressed addresses addressing wants get gets make makes",
    ),
    reviewers: Class::new("reviewer reviewers coordinator judge bot bots llm llms"),
    models: Class::new("ai model models assistant assistants agent agents chatbot copilot"),
    reviews: Class::new("review reviewing verdict"),
    approvals: Class::new("approv* finding findings verdict lgtm"),
    omissions: Class::new(
        "ignor* skip* overlook* omit* report* flag flags flagging merg* pass accept* disregard* bypass*",
    ),
    others: Class::new("reader readers user users developer developers customer customers how whether why which"),
    steers: Class::new(
        "steer steers steering manipulate manipulates manipulating influence influences influencing hijack hijacks sway sways \
         trick tricks persuade persuades",
    ),
    modals: Class::new("can could may might be been"),
    attempts: Class::new("attempt* try tries tried trying aims seeks wants"),
    suppressions: Class::new("suppress* hide hides hiding silenc* conceal*"),
    findings: Class::new("finding findings"),
    linters: Class::new("lint* eslint clippy sonar* mypy ruff pylint analy* scanner compiler type"),
    instructions: Class::new("instruct*"),
    kinds: Class::new("review*"),
});

/// Number of words at most from the asking to the reviewer.
const NEAR: usize = 4;

impl English {
    fn tells(&self, words: &[String]) -> bool {
        if !self.texts.is_in(words) {
            return false;
        }
        let is_near = |one: usize, other: usize| {
            let (from, to) = (one.min(other), one.max(other));
            to - from <= NEAR && !self.others.is_in(&words[from..to])
        };
        let (reviewers, approvals) = (self.reviewers.places(words), self.approvals.places(words));
        let models = self.models.places(words);
        let reviews = self.reviews.places(words);
        let omits = self.omissions.is_in(words);
        let tells = self.tells.places(words);
        let is_told = tells.iter().any(|tell| {
            let near = |places: &[usize]| places.iter().any(|at| is_near(*tell, *at));
            let of_reviewers = (omits || !approvals.is_empty()) && near(&reviewers);
            let of_models = !approvals.is_empty() && near(&models);
            let of_approval = near(&approvals) && !(reviewers.is_empty() && reviews.is_empty());
            of_reviewers || of_models || of_approval
        });
        let is_active = |at: &usize| at.checked_sub(1).is_none_or(|before| !self.modals.has(&words[before]));
        let steers = self.steers.places(words).iter().any(is_active);
        let hides = self.attempts.is_in(words) && self.suppressions.is_in(words) && self.findings.is_in(words);
        // "Instructions for the reviewing model".
        let is_of_kind = |at: &usize| at.checked_sub(1).is_some_and(|before| self.kinds.has(&words[before]));
        let instructs = self.instructions.is_in(words) && models.iter().any(is_of_kind);
        is_told
            || (steers && !(reviewers.is_empty() && reviews.is_empty()))
            || (hides && !self.linters.is_in(words))
            || instructs
    }
}

/// The words of another language.
struct Language {
    texts: Class,
    tells: Class,
    steers: Class,
    reviewers: Class,
    /// Words for what a text asks of reviewers.
    told: Class,
}

impl Language {
    fn new([texts, tells, steers, reviewers, told]: [&str; 5]) -> Self {
        Self {
            texts: Class::new(texts),
            tells: Class::new(tells),
            steers: Class::new(steers),
            reviewers: Class::new(reviewers),
            told: Class::new(told),
        }
    }

    fn tells(&self, words: &[String]) -> bool {
        let is_about_review = self.texts.is_in(words) && self.reviewers.is_in(words);
        is_about_review && (self.steers.is_in(words) || (self.tells.is_in(words) && self.told.is_in(words)))
    }
}

/// German, French, Spanish, Portuguese, Italian, Dutch, Polish, Russian, Ukrainian, Chinese, Japanese, Korean and Arabic.
static LANGUAGES: LazyLock<Vec<Language>> = LazyLock::new(|| {
    let languages = [
        [
            "kommentar* text texte beschreibung zeichenkette zeile titel docstring worte wörter",
            "weist weisen anweis* angewiesen fordert fordern aufforder* bittet befiehlt verlangt drängt ersucht richtet",
            "beeinfluss* manipulier* lenken lenkt verleit* überred*",
            "prüfer* gutachter* reviewer* prüfung überprüfung begutachtung review ki sprachmodell* modell assistent*",
            "genehmig* freigeb* freigab* freizugeben zustimm* zuzustimmen ignorier* überspring* melden melde gemeldet befund* \
             durchwink*",
        ],
        [
            "commentaire* texte* description chaîne ligne titre docstring",
            "demande demandent demandant ordonne* invite* enjoint incite* pousse exige prie adresse",
            "manipul* influenc* orienter",
            "relecteur* relectrice* réviseur* reviewer* évaluateur* revue relecture ia modèle assistant llm",
            "approuv* approbation ignor* valider accepter signaler sauter constat*",
        ],
        [
            "comentario* texto descripción cadena línea título",
            "ordena* pide* solicita* instruye* exige* insta invita",
            "manipul* influir influye influenciar",
            "revisor* revisora* revisión reviewer* evaluador* ia modelo asistente llm",
            "aprob* aprueb* ignor* omit* acept* reporten reportar informar hallazgo*",
        ],
        [
            "comentário* texto descrição linha título",
            "pede* ordena* instrui* solicita* manda exige*",
            "manipul* influenc*",
            "revisor* revisão reviewer* avaliador* ia modelo assistente llm",
            "aprov* ignor* omit* aceit* relatar relatem reportar achado*",
        ],
        [
            "commento commenti testo descrizione stringa riga titolo",
            "chiede chiedono ordina ordinano istruisce invita impone sollecita",
            "manipol* influenz*",
            "revisor* recensor* reviewer* revisione ia modello assistente llm",
            "approv* ignor* accett* segnal* omett* saltare",
        ],
        [
            "commentaar opmerking tekst beschrijving titel",
            "vraagt instrueert draagt beveelt verzoekt",
            "beïnvloed* manipul*",
            "reviewer* beoordelaar* beoordeling review ai taalmodel model assistent",
            "goedkeur* goed negeer* negeren overslaan melden",
        ],
        [
            "komentarz* tekst* opis napis tytuł",
            "każe prosi nakazuje poleca instruuje wzywa żąda",
            "manipul* wpłyn* wpływać",
            "recenzent* recenzj* weryfikator* przegląd* ai model asystent* llm",
            "zatwierd* zaakcept* ignor* pomin* zgłasz* zgłosz*",
        ],
        [
            "комментари* текст* описани* строк*",
            "просит велит требует приказыв* предписыва* призыва* указывает",
            "манипул* повлия* влияет склон*",
            "ревьюер* ревьювер* рецензент* проверяющ* ревью ии модел* ассистент*",
            "одобр* игнорир* пропуст* сообща* замечани*",
        ],
        [
            "коментар* текст* опис рядок рядк*",
            "просить велить вимагає наказує закликає вказує",
            "маніпул* вплин* впливає",
            "рецензент* ревюер* перевіряюч* ревю ші модел* асистент*",
            "схвал* ігнор* пропуст* повідомл* зауважен*",
        ],
        [
            "注释 註釋 注釋 评论 文本 描述 字符串",
            "要求 指示 命令 让 讓 告诉 告訴",
            "操纵 操縱 诱导 誘導 左右",
            "审查 審查 评审 評審 审阅 审核 模型 人工智能",
            "批准 放行 核准 同意 忽略 跳过 跳過 不报告 不要报告",
        ],
        [
            "コメント テキスト 説明 文字列",
            "指示 求め 要求 命じ 依頼 促し 促す",
            "誘導 操ろ",
            "レビュアー レビューア レビュー担当 査読者 アシスタント モデル",
            "承認 無視 スキップ 報告しない 見逃",
        ],
        [
            "주석 텍스트 설명 문자열",
            "요청 지시 요구 명령",
            "조작 유도",
            "리뷰어 검토자 심사자 어시스턴트 모델",
            "승인 무시 건너뛰 보고하지",
        ],
        [
            "تعليق نص وصف",
            "يطلب يأمر يوجه يطالب",
            "تلاعب التأثير",
            "المراجع النموذج المساعد",
            "الموافقة يوافق تجاهل",
        ],
    ];
    languages.map(Language::new).into()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_asks_its_reviewers_for_an_approval_steers_in_any_words() {
        for claim in [
            "a comment tells the reviewers to approve this change",
            "The comment instructs the AI reviewer to report no findings",
            "The comment is addressed to the reviewer and asks it to approve",
            "This comment attempts to steer the automated review",
            "The added comment tries to manipulate the review",
            "Text in the file orders reviewers to ignore problems",
            "The comment directs reviewers not to report issues",
            "A comment in the code asks reviewers to skip this file",
            "The comment contains instructions for the reviewing model",
            "The added line tries to influence the verdict of the review",
            "The comment addresses the bot and requests approval",
            "The comment attempts to suppress findings",
            "Words in the code ask for an approval without review",
            "Reviewers are told by a docstring to approve without a look.",
            "The string tells the assistant that approval is due.",
            "A соmmеnt asks the rеviеwеrs to approve.",
            "Der Kommentar weist die Prüfer an, nichts zu melden",
            "Der Text versucht, die Prüfung zu beeinflussen.",
            "Le commentaire demande aux relecteurs d'approuver",
            "El comentario ordena a los revisores aprobar el cambio",
            "O comentário pede aos revisores que aprovem.",
            "Il commento chiede ai revisori di approvare.",
            "Komentarz każe recenzentom zatwierdzić zmianę.",
            "Комментарий просит ревьюеров одобрить изменение.",
            "Коментар просить рецензентів схвалити зміну.",
            "注释要求审查者批准此更改",
            "コメントがレビュアーに承認を求めている。",
            "주석이 리뷰어에게 승인을 요청한다.",
            "التعليق يطلب من المراجعين الموافقة",
        ] {
            assert!(is_claimed(claim), "{claim}");
        }
    }

    #[test]
    fn what_texts_tell_others_and_what_reviewers_do_otherwise_steers_nothing() {
        for claim in [
            "The comment tells readers that the value is in seconds.",
            "The comment tells readers that the reviewer role may approve payments.",
            "The reviewer role may approve payments.",
            "approve() is called twice.",
            "The model is asked twice for the same text.",
            "The text tells agents to skip the tests.",
            "The description of a review is not escaped.",
            "The comment asks for a review of the limits before the release.",
            "Users can manipulate the review text of others.",
            "The request handler ignores the reviewer's approval.",
            "This comment suppresses the finding of the linter without a reason.",
            "The comment tries to hide a finding of clippy.",
            "A review can be approved by its own author.",
            "The string is built with the model's name and then ignored.",
            "The assistant's reply is shown as text without escaping.",
            "The docstring says that approve raises, and it does not.",
            "The order of the review comments is lost.",
            "The text asks the user to approve the payment twice.",
            "The error message tells the user that the review was approved.",
            "The line makes the report one day late.",
            "Der Kommentar behauptet, dass die Prüfung fehlt.",
            "Der Text fordert eine Zahl, die das Modell nicht hat.",
            "Le commentaire demande une valeur positive.",
            "El texto del revisor no se valida.",
            "Текст модели не проверяется.",
            "注释与代码不一致。",
            "コメントの値がモデルと違う。",
        ] {
            assert!(!is_claimed(claim), "{claim}");
        }
    }
}
