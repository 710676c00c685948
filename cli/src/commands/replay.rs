//! `conclave replay`: a run shown again from its records.

mod page;
mod records;

use conclave_shared::redact::Redactor;

use crate::{
    args::{ReplayArguments, ReviewFormat},
    commands::replay::records::End,
    exit::{Exit, Failure},
    output,
};

pub(crate) fn run(arguments: &ReplayArguments, redactor: &Redactor) -> Result<Exit, Failure> {
    let directory = &arguments.directory;
    let run = records::read(directory)?;
    let format = arguments.format;
    if format == ReviewFormat::Human {
        let told = run
            .lines
            .iter()
            .filter_map(|line| line.event.told(|event| output::timed_message(line.seconds, event)));
        let told: Vec<String> = told.collect();
        if !told.is_empty() {
            output::print_for_person(&redactor.redact(&told.join("\n")));
        }
    }
    match (format, &run.end) {
        (_, End::Finished(review, excerpts)) => {
            let links = output::Links::none();
            let shown = output::Shown {
                format,
                excerpts,
                directory,
                links,
            };
            output::reviewed(review, &shown, redactor);
        }
        (ReviewFormat::Human, End::Unfinished(unfinished)) => {
            output::print_for_person(&redactor.redact(&page::unfinished(unfinished, directory)));
        }
        (ReviewFormat::Json, End::Unfinished(unfinished)) => {
            output::print(output::json(unfinished, redactor).trim_end());
        }
        (_, End::Unfinished(_)) => {
            return Err(Failure::Settings(format!(
                "{directory} is of a run that ended without a review: only `--format human` and `json` can show it"
            )));
        }
    }
    Ok(Exit::Reviewed)
}
