//! `conclave replay`: a run shown again from its records.

mod page;
mod records;

use self::records::End;
use crate::{
    args::{ReplayArguments, ReviewFormat},
    context::Context,
    exit::{Exit, Failure},
    output::{Links, Shown, timed_message},
};

pub(crate) fn run(arguments: &ReplayArguments, context: &Context) -> Result<Exit, Failure> {
    let (output, directory, format) = (&context.output, &arguments.directory, arguments.format);
    let run = records::read(directory)?;
    if format == ReviewFormat::Human {
        let lines: Vec<String> = run.lines.iter().filter_map(timed_message).collect();
        if !lines.is_empty() {
            output.print_for_person(&lines.join("\n"));
        }
    }
    match (format, &run.end) {
        (_, End::Finished(review, excerpts)) => {
            let links = Links::none();
            let shown = Shown {
                format,
                excerpts,
                directory,
                links,
            };
            output.print_review(review, shown);
        }
        (ReviewFormat::Human, End::Unfinished(unfinished)) => {
            output.print_for_person(&page::unfinished(unfinished, directory));
        }
        (ReviewFormat::Json, End::Unfinished(unfinished)) => output.print_json(unfinished),
        (_, End::Unfinished(_)) => {
            return Err(Failure::Settings(format!(
                "{directory} is of a run that ended without a review: only `--format human` and `json` can show it"
            )));
        }
    }
    Ok(Exit::Reviewed)
}
