//! Questions of people in the comments: those that a judge is given, and what it answers.
//!
//! An answer is words. Nothing here looks at a finding or a verdict.

use conclave_shared::invisible::is_invisible;
use serde::Deserialize;
use serde_json::Value;

use super::{reply::asks, texts};
use crate::review::{Answer, CarryOver, Comment, OpenQuestions, Question, ReviewSubject};

/// Maximum number of questions that the judge of a review is given; the others wait for the next review.
const MAX_OF_REVIEW: usize = 5;

/// Maximum number of questions that the judges of all reviews of a change are given. Where no budget is set, this bounds what people
/// who may only write comments can spend.
const MAX_OF_CHANGE: u64 = 20;

/// The most characters of a question that an answer quotes.
const MAX_QUOTED: usize = 200;

/// Maximum length of an answer in characters; more is cut.
pub(super) const MAX_ANSWER: usize = 600;

/// The judge's word on a question.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct QuestionAnswer {
    /// The question.
    pub id: String,
    /// The answer; none, or an empty one, where the question is not one for us.
    #[serde(default)]
    pub answer: Option<String>,
    /// True if it is a light-hearted one.
    #[serde(default)]
    pub light: bool,
}

/// The questions in these comments that no judge has read and that wait for an answer.
pub fn open_questions(comments: &[Comment], carry_over: &CarryOver) -> OpenQuestions {
    let open = comments.iter().filter_map(|comment| {
        let place = comment.waits.clone()?;
        let is_open = comment.order > carry_over.heard && asks(&comment.body.own_words());
        is_open.then_some((comment, place))
    });
    let mut open: Vec<_> = open.collect();
    let room = usize::try_from(MAX_OF_CHANGE.saturating_sub(carry_over.asked)).unwrap_or(MAX_OF_REVIEW);
    let left = open.split_off(open.len().min(room).min(MAX_OF_REVIEW));
    let newest = match left.first() {
        // It is still to be read.
        Some((next, _)) => next.order.saturating_sub(1),
        None => comments.iter().map(|comment| comment.order).max().unwrap_or_default(),
    };
    let given = (1..).zip(open).map(|(number, (comment, place))| Question {
        id: format!("Q{number}"),
        author: comment.author.clone(),
        body: comment.body.clone(),
        place,
    });
    OpenQuestions {
        given: given.collect(),
        left: left.len(),
        newest,
    }
}

/// Takes what is said of these questions out of the tool's arguments. What cannot be used is not there, and is asked for.
pub fn take_answers(arguments: &mut Value, questions: &[Question]) -> Vec<QuestionAnswer> {
    let Some(fields) = arguments.as_object_mut() else {
        return Vec::new();
    };
    let mut said: Vec<QuestionAnswer> = match fields.remove("answers") {
        Some(Value::Array(entries)) => {
            let read = entries.into_iter().map(serde_json::from_value);
            read.filter_map(Result::ok).collect()
        }
        _ => Vec::new(),
    };
    // The form of before, with one answer for all that was asked.
    if let (Some(Value::String(text)), Some(newest)) = (fields.remove("aside"), questions.last()) {
        said.push(QuestionAnswer {
            id: newest.id.clone(),
            answer: Some(text),
            light: true,
        });
    }
    let mut answers: Vec<QuestionAnswer> = Vec::new();
    for mut word in said {
        let is_asked = questions.iter().any(|question| question.id == word.id);
        let text = word.answer.as_deref().unwrap_or_default();
        let shows_nothing = !text.is_empty() && short(text).is_none();
        if is_asked && !shows_nothing && answers.iter().all(|known| known.id != word.id) {
            word.answer = word.answer.and_then(|answer| short(&answer));
            answers.push(word);
        }
    }
    answers
}

/// The answer without white space around it, cut; none if a reader sees nothing of it.
pub(super) fn short(answer: &str) -> Option<String> {
    let cut: String = answer.trim().chars().take(MAX_ANSWER).collect();
    let is_seen = |character: char| !character.is_whitespace() && !is_invisible(character);
    cut.contains(is_seen).then_some(cut)
}

/// The questions of which nothing is said.
pub(crate) fn without_answer<'q>(questions: &'q [Question], said: &[QuestionAnswer]) -> Vec<&'q str> {
    let ids = questions.iter().map(|question| question.id.as_str());
    ids.filter(|id| said.iter().all(|word| word.id != *id)).collect()
}

/// The notes of the review on questions without an answer. `said` is the judge's; there is none where no judge took part.
pub(crate) fn notes_on_questions(questions: &OpenQuestions, said: Option<&[QuestionAnswer]>) -> Vec<String> {
    let left = questions.left;
    let silent = said.map_or(0, |said| without_answer(&questions.given, said).len());
    let left = (left > 0).then(|| texts::questions_left(left, MAX_OF_REVIEW, MAX_OF_CHANGE));
    let silent = (silent > 0).then(|| texts::questions_unanswered(silent));
    left.into_iter().chain(silent).collect()
}

/// The answers that are posted. Of light-hearted ones that is the first, if none has been given before.
pub(crate) fn answers(subject: &ReviewSubject, said: &[QuestionAnswer]) -> Vec<Answer> {
    let mut light_given = subject.aside_given;
    let answer = |question: &Question| {
        let word = said.iter().find(|word| word.id == question.id)?;
        let text = word.answer.clone()?;
        if word.light && std::mem::replace(&mut light_given, true) {
            return None;
        }
        let whole = question.body.sanitized_line();
        let mut quoted: String = whole.chars().take(MAX_QUOTED).collect();
        if quoted.len() < whole.len() {
            quoted.push('…');
        }
        Some(Answer {
            note: question.place.note,
            thread: question.place.thread.clone(),
            question: quoted,
            text,
            light: word.light,
        })
    };
    subject.questions.given.iter().filter_map(answer).collect()
}

#[cfg(test)]
#[path = "questions_tests.rs"]
mod tests;
