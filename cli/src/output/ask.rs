//! Questions to the person at the terminal.

use std::{
    io::{BufRead, Write},
    time::Duration,
};

use super::{
    Output,
    door::{Keep, clean},
    settle,
};

/// Time that a terminal has to show what comes before a question.
const BEFORE_QUESTION: Duration = Duration::from_secs(10);

impl Output {
    /// Asks a person at the terminal; anything but a yes is a no.
    pub(crate) fn confirmed(&self, question: &str) -> bool {
        let answer = self.answer(&format!("{question} [y/N] "));
        answer.is_some_and(|answer| matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
    }

    /// Asks a person at the terminal; an empty answer is the default. Nothing is answered where the input ends (Ctrl-D).
    pub(crate) fn asked(&self, question: &str, default: &str) -> Option<String> {
        let shown = if default.is_empty() {
            String::new()
        } else {
            format!(" [{default}]")
        };
        let Some(answer) = self.answer(&format!("{question}{shown}: ")) else {
            // The next line of the terminal is somebody else's.
            let _ = writeln!(std::io::stderr());
            return None;
        };
        let answer = answer.trim();
        Some(if answer.is_empty() { default } else { answer }.to_owned())
    }

    /// The line that a person answers; nothing where the input ends.
    fn answer(&self, question: &str) -> Option<String> {
        settle(BEFORE_QUESTION);
        let mut answer = String::new();
        let asked = write!(
            std::io::stderr(),
            "{}",
            clean(&self.redactor.redact(question), Keep::Text)
        );
        let read = asked.and_then(|()| std::io::stdin().lock().read_line(&mut answer));
        read.is_ok_and(|length| length > 0).then_some(answer)
    }
}
