//! Questions to the person at the terminal.

use std::io::{BufRead, Write};

use conclave_shared::redact::Redactor;

use super::door::{Keep, clean as printed};

/// Asks a person at the terminal; anything but a yes is a no.
pub(crate) fn confirmed(question: &str, redactor: &Redactor) -> bool {
    let mut answer = String::new();
    let asked = write!(
        std::io::stderr(),
        "{} [y/N] ",
        printed(&redactor.redact(question), Keep::Text)
    );
    let read = asked.and_then(|()| std::io::stdin().lock().read_line(&mut answer));
    read.is_ok() && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

/// Asks a person at the terminal; an empty answer is the default. Nothing is answered where the input ends (Ctrl-D).
pub(crate) fn asked(question: &str, default: &str, redactor: &Redactor) -> Option<String> {
    let shown = if default.is_empty() {
        String::new()
    } else {
        format!(" [{default}]")
    };
    let mut answer = String::new();
    let asked = write!(
        std::io::stderr(),
        "{}: ",
        printed(&redactor.redact(&format!("{question}{shown}")), Keep::Text)
    );
    let read = asked.and_then(|()| std::io::stdin().lock().read_line(&mut answer));
    match (read, answer.trim()) {
        (Err(_) | Ok(0), _) => {
            // The next line of the terminal is somebody else's.
            let _ = writeln!(std::io::stderr());
            None
        }
        (Ok(_), "") => Some(default.to_owned()),
        (Ok(_), given) => Some(given.to_owned()),
    }
}
