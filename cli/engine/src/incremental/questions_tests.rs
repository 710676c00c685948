use serde_json::json;

use super::*;
use crate::review::CommentPlace;

/// A comment that waits for an answer.
fn comment(order: u64, body: &str) -> Comment {
    Comment {
        author: "carol".into(),
        body: body.into(),
        order,
        by_program: false,
        waits: Some(CommentPlace {
            note: order,
            thread: format!("thread {order}"),
        }),
    }
}

fn carry_over(heard: u64, asked: u64) -> CarryOver {
    CarryOver {
        heard,
        asked,
        ..CarryOver::default()
    }
}

/// So many questions, as a judge is given them.
fn questions(number: u64) -> OpenQuestions {
    let comments: Vec<Comment> = (1..=number).map(|order| comment(order, "Why?")).collect();
    open_questions(&comments, &carry_over(0, 0))
}

fn notes(questions: &OpenQuestions) -> Vec<u64> {
    questions.given.iter().map(|question| question.place.note).collect()
}

#[test]
fn a_question_is_open_that_no_judge_has_read_and_that_waits() {
    let settled = Comment {
        waits: None,
        ..comment(4, "And why this?")
    };
    let comments = [
        comment(2, "Why?"),
        comment(3, "Fine."),
        settled,
        comment(7, "Why not?"),
        comment(8, "Thanks."),
    ];
    let open = open_questions(&comments, &carry_over(0, 0));
    assert_eq!((notes(&open), open.left, open.newest), (vec![2, 7], 0, 8));
    let ids: Vec<&str> = open.given.iter().map(|question| question.id.as_str()).collect();
    assert_eq!(ids, ["Q1", "Q2"]);
    assert_eq!(notes(&open_questions(&comments, &carry_over(2, 0))), [7]);
    assert_eq!(notes(&open_questions(&comments, &carry_over(8, 0))), [0; 0]);
}

#[test]
fn questions_beyond_the_limits_wait_and_are_said() {
    let flood: Vec<Comment> = (1..=9).map(|order| comment(order, "Why?")).collect();
    let first = open_questions(&flood, &carry_over(0, 0));
    assert_eq!((notes(&first), first.left), (vec![1, 2, 3, 4, 5], 4));
    // The first that was left is not heard, and the next review begins with it.
    let next = open_questions(&flood, &carry_over(first.newest, 5));
    assert_eq!((notes(&next), next.left), (vec![6, 7, 8, 9], 0));
    let said = notes_on_questions(&first, None);
    assert!(
        said.len() == 1 && said[0].starts_with("4 questions in the comments wait"),
        "{said:?}"
    );

    // All reviews together.
    let last = open_questions(&flood, &carry_over(0, MAX_OF_CHANGE - 1));
    assert_eq!((notes(&last), last.left, last.newest), (vec![1], 8, 1));
    let none = open_questions(&flood, &carry_over(1, MAX_OF_CHANGE));
    assert_eq!((notes(&none), none.left, none.newest), (vec![], 8, 1));
}

fn word(id: &str, answer: Option<&str>, light: bool) -> QuestionAnswer {
    QuestionAnswer {
        id: id.to_owned(),
        answer: answer.map(str::to_owned),
        light,
    }
}

#[test]
fn what_is_said_of_questions_is_taken_out() {
    let asked = questions(3).given;
    let mut arguments = json!({"summary": "s", "answers": [
        {"id": "Q1", "answer": "  Yes. "},
        {"id": "Q2"},
        {"id": "Q1", "answer": "No."},
        {"id": "Q9", "answer": "Nobody asked that."},
        {"id": "Q3", "answer": 7},
        "Q3"]});
    let said = take_answers(&mut arguments, &asked);
    assert_eq!(said, [word("Q1", Some("Yes."), false), word("Q2", None, false)]);
    assert_eq!(arguments, json!({"summary": "s"}));
    assert_eq!(without_answer(&asked, &said), ["Q3"]);
    let notes = notes_on_questions(&questions(3), Some(&said));
    assert_eq!(
        notes,
        ["the judge has not answered 1 question in the comments: ask again in a new comment"]
    );
    let mut long = json!({"answers": [{"id": "Q1", "answer": "ä".repeat(5000)}]});
    let long = take_answers(&mut long, &asked);
    assert_eq!(long[0].answer.as_ref().map(|text| text.chars().count()), Some(600));
}

#[test]
fn an_answer_of_which_nothing_is_seen_is_none() {
    let asked = questions(3).given;
    let mut arguments = json!({"answers": [
        {"id": "Q1", "answer": " \u{200b}\n\u{2060}"},
        {"id": "Q2", "answer": ""},
        {"id": "Q3", "answer": "\u{200b}Yes."}]});
    let said = take_answers(&mut arguments, &asked);
    let expected = [word("Q2", None, false), word("Q3", Some("\u{200b}Yes."), false)];
    assert_eq!(said, expected, "an empty one says that the question is for others");
    assert_eq!(without_answer(&asked, &said), ["Q1"]);
}

#[test]
fn an_answer_in_the_form_of_before_is_to_the_newest_question() {
    let said = |asked: u64, mut arguments: Value| take_answers(&mut arguments, &questions(asked).given);
    let aside = json!({"aside": "Tabs, of course."});
    assert_eq!(said(2, aside.clone()), [word("Q2", Some("Tabs, of course."), true)]);
    assert_eq!(said(0, aside), [], "nobody has asked");
    assert_eq!(said(1, json!({"aside": null})), []);
    assert_eq!(said(1, json!("no object")), []);
}

#[test]
fn of_light_hearted_answers_one_is_given_on_a_change() {
    let mut subject = ReviewSubject {
        questions: questions(3),
        ..ReviewSubject::default()
    };
    let said = [
        word("Q1", Some("Tabs."), true),
        word("Q2", Some("Spaces."), true),
        word("Q3", Some("Yes."), false),
    ];
    let given = |subject: &ReviewSubject| -> Vec<(u64, String)> {
        let answers = answers(subject, &said).into_iter();
        answers.map(|answer| (answer.note, answer.text)).collect()
    };
    assert_eq!(given(&subject), [(1, "Tabs.".to_owned()), (3, "Yes.".to_owned())]);
    subject.aside_given = true;
    assert_eq!(given(&subject), [(3, "Yes.".to_owned())]);
}

#[test]
fn an_answer_quotes_the_beginning_of_its_question_in_one_line() {
    let of = |body: &str| {
        let subject = ReviewSubject {
            questions: open_questions(&[comment(1, body)], &carry_over(0, 0)),
            ..ReviewSubject::default()
        };
        answers(&subject, &[word("Q1", Some("Yes."), false)]).remove(0).question
    };
    assert_eq!(of("Hello.\nDoes it?"), "Hello. Does it?");
    let long = of(&format!("Does it? {}", "é".repeat(5000)));
    assert_eq!(long.chars().count(), MAX_QUOTED + 1);
    assert!(long.ends_with('…'), "{long}");
}
