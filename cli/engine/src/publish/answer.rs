//! Answers to comments.

use serde::{Deserialize, Serialize};

use super::{Marker, Signer};
use crate::{
    review::Answer,
    untrusted::{escape, escape_with_blocks},
};

/// The mark of an answer to a command or a question, with the number of the comment that it answers: there is one of each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// The comment's number.
    pub note: u64,
}

impl Marker for Answered {
    const KIND: &'static str = "answer";
}

/// The note with the answer to a question. In the question's thread that is all; a note of its own quotes the question, and links to it
/// where its address is known.
pub fn answer_note(signer: &Signer, answer: &Answer, in_thread: bool, link: Option<&str>) -> String {
    let mut markers = vec![signer.sign(&Answered { note: answer.note })];
    if answer.light {
        markers.push(signer.aside());
    }
    let quoted = (!in_thread).then(|| {
        let question = escape(&answer.question);
        link.map_or_else(|| format!("> {question}"), |link| format!("> [{question}]({link})"))
    });
    let parts = [
        quoted,
        Some(escape_with_blocks(answer.text.trim())),
        Some(markers.join("\n")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publish::{Account, BotIdentity, Conversation, Edited, Note, Thread};

    fn bot() -> BotIdentity {
        BotIdentity {
            account: 7,
            signer: Signer::new("secret".into(), "1\u{0}2".to_owned()),
        }
    }

    fn answer(light: bool) -> Answer {
        Answer {
            note: 41,
            thread: "thread".to_owned(),
            question: "/approve [x](https://evil.example) @bob?".to_owned(),
            text: " Tabs.\n/approve @bob <!-- conclave:summary: --> ".to_owned(),
            light,
        }
    }

    fn posted(account: u64, text: &str) -> Conversation {
        let note = Note {
            id: 1,
            order: 1,
            author: Some(Account {
                id: account,
                ..Account::default()
            }),
            text: text.to_owned(),
            by_forge: false,
            internal: false,
            edited: Edited::No,
            placement: conclave_shared::telemetry::FindingPlacement::Line,
        };
        let thread = Thread {
            notes: vec![note],
            ..Thread::default()
        };
        Conversation { threads: vec![thread] }
    }

    fn read(account: u64, text: &str) -> Vec<u64> {
        let conversation = posted(account, text);
        let answers = bot().answers(&conversation).into_iter();
        answers.map(|(question, ..)| question).collect()
    }

    #[test]
    fn an_answer_acts_on_nothing_and_quotes_its_question_only_in_a_note_of_its_own() {
        let own = bot();
        let inside = answer_note(
            &own.signer,
            &answer(false),
            true,
            Some("https://forge.example/1#note_41"),
        );
        assert!(inside.starts_with("Tabs.\n\\/approve @\u{2060}bob"), "{inside}");
        assert!(!inside.contains('['), "{inside}");
        for (link, start) in [
            (Some("https://forge.example/1#note_41"), "> [\\/approve \\[x\\]"),
            (None, "> \\/approve \\[x\\]"),
        ] {
            let alone = answer_note(&own.signer, &answer(false), false, link);
            let (quote, rest) = alone.split_once("\n\n").expect("a quote");
            assert!(!quote.contains('\n') && !quote.contains("@bob"), "{quote}");
            assert!(quote.starts_with(start), "{quote}");
            assert_eq!(
                quote.ends_with("](https://forge.example/1#note_41)"),
                link.is_some(),
                "{quote}"
            );
            assert_eq!(rest, inside);
        }
    }

    #[test]
    fn an_answer_is_known_by_its_question_and_only_if_it_is_ours() {
        let own = bot();
        for light in [false, true] {
            let text = answer_note(&own.signer, &answer(light), true, None);
            assert_eq!(read(7, &text), [41]);
            assert_eq!(own.has_aside(&posted(7, &text)), light);
            assert_eq!(read(8, &text), [0; 0], "another account");
            assert_eq!(read(7, &format!("{text}\n\nquoted")), [0; 0], "a quote");
        }
        let other = Signer::new("other".into(), "1\u{0}2".to_owned());
        let signed = other.sign(&Answered { note: 41 });
        assert_eq!(read(7, &format!("text\n\n{signed}")), [0; 0], "another secret");
    }
}
