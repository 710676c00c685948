//! Answers by agent and turn.

use crate::locked;
use crate::model::{Answer, Message, Model, ModelRequest, Part, Role};
use std::collections::HashMap;
use std::sync::Mutex;

/// A table (agent, turn) → [`Answer`], with defaults; it can be changed while it is in use.
#[derive(Default)]
pub struct Scripted {
    table: Mutex<Table>,
    fallback: Option<Box<dyn Model>>,
}

#[derive(Default)]
struct Table {
    turns: HashMap<(String, usize), Answer>,
    agents: HashMap<String, Answer>,
    words: HashMap<String, Vec<Answer>>,
    default: Option<Answer>,
}

impl Scripted {
    /// An empty table: every answer is `ok`.
    pub fn new() -> Self {
        Self::default()
    }

    /// A table in front of another model, which answers what the table does not.
    pub fn over(fallback: impl Model + 'static) -> Self {
        Self {
            table: Mutex::default(),
            fallback: Some(Box::new(fallback)),
        }
    }

    /// Adds the answer of one agent's turn.
    #[must_use]
    pub fn on(self, agent: &str, turn: usize, answer: Answer) -> Self {
        self.set(agent, turn, answer);
        self
    }

    /// Adds the answer of all other turns of one agent.
    #[must_use]
    pub fn always(self, agent: &str, answer: Answer) -> Self {
        self.set_always(agent, answer);
        self
    }

    /// Adds the answer to everything else.
    #[must_use]
    pub fn otherwise(self, answer: Answer) -> Self {
        locked(&self.table).default = Some(answer);
        self
    }

    /// Sets the answer of one agent's turn from now on.
    pub fn set(&self, agent: &str, turn: usize, answer: Answer) {
        locked(&self.table).turns.insert((agent.to_owned(), turn), answer);
    }

    /// Sets the answer of all turns of one agent that have none of their own, from now on.
    pub fn set_always(&self, agent: &str, answer: Answer) {
        locked(&self.table).agents.insert(agent.to_owned(), answer);
    }

    /// Sets what one agent says, one after the other, where the model behind the table would say something and call no tool:
    /// what it reads before is the model's own affair.
    pub fn set_words(&self, agent: &str, words: Vec<Answer>) {
        locked(&self.table).words.insert(agent.to_owned(), words);
    }

    /// Returns the answer of the agent in place of this one of the model behind the table.
    fn in_place_of(&self, answer: Answer, request: &ModelRequest) -> Answer {
        if !answer.tool_calls.is_empty() {
            return answer;
        }
        let is_word = |message: &&Message| {
            let calls = message.parts.iter().any(|part| matches!(part, Part::ToolCall(_)));
            message.role == Role::Assistant && !calls
        };
        let said = request.messages.iter().filter(is_word).count();
        let words = locked(&self.table).words.get(&request.agent).cloned();
        words.and_then(|words| words.into_iter().nth(said)).unwrap_or(answer)
    }

    fn scripted(&self, request: &ModelRequest) -> Option<Answer> {
        let table = locked(&self.table);
        table
            .turns
            .get(&(request.agent.clone(), request.turn))
            .or_else(|| table.agents.get(&request.agent))
            .or(table.default.as_ref())
            .cloned()
    }
}

impl Model for Scripted {
    fn answer(&self, request: &ModelRequest) -> Answer {
        self.scripted(request)
            .or_else(|| {
                let answer = self.fallback.as_ref()?.answer(request);
                Some(self.in_place_of(answer, request))
            })
            .unwrap_or_else(|| Answer::text("ok"))
    }
}
