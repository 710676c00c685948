//! `conclave replay`: a run shown again from its records.

use conclave_shared::redact::Redactor;

use crate::{
    args::{Format, ReplayArguments},
    exit::{Exit, Failure},
    output,
    replay::{self, End},
};

pub(crate) fn run(arguments: &ReplayArguments, redactor: &Redactor) -> Result<Exit, Failure> {
    let directory = &arguments.directory;
    let run = replay::read(directory)?;
    match (arguments.format, &run.end) {
        (Format::Json, End::Finished(review, _)) => output::print(output::json(review, redactor).trim_end()),
        (Format::Json, End::Unfinished(unfinished)) => {
            output::print(output::json(unfinished, redactor).trim_end());
        }
        (Format::Human, end) => {
            let mut text: String = run
                .lines
                .iter()
                .filter_map(|line| line.event.told(|event| output::timed_line(line.seconds, event)))
                .fold(String::new(), |text, line| text + &line + "\n");
            text.push_str(&match end {
                End::Finished(review, excerpts) => output::review(review, excerpts, directory),
                End::Unfinished(unfinished) => output::unfinished(unfinished, directory),
            });
            output::print(&redactor.redact(&text));
        }
    }
    Ok(Exit::Reviewed)
}
