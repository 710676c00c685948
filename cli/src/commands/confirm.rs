//! Asking the person before something is changed.

use std::io::IsTerminal;

use crate::{exit::Failure, output::Output};

/// Asks. Where nobody can be asked, `--yes` has to be there.
pub(crate) fn confirm(question: &str, yes: bool, output: &Output) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    if !std::io::stdin().is_terminal() {
        return Err(Failure::Settings(format!(
            "{question} There is no terminal to ask on: nothing was changed; add --yes to go on"
        )));
    }
    if output.confirmed(question) {
        Ok(())
    } else {
        Err(Failure::Settings("nothing was changed".to_owned()))
    }
}
