//! `conclave completions` and `conclave man`: both are made of the command line itself.

use clap::CommandFactory;

use crate::{
    args::{Arguments, CompletionsArguments, ManArguments},
    exit::{Exit, Failure},
    output,
};

pub(crate) fn completions(arguments: &CompletionsArguments) -> Exit {
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "conclave", &mut text);
    output::print_verbatim(String::from_utf8_lossy(&text).trim_end());
    Exit::Reviewed
}

pub(crate) fn man(arguments: &ManArguments) -> Result<Exit, Failure> {
    let command = Arguments::command();
    if let Some(directory) = &arguments.directory {
        let failed = || Failure::io(format!("write the manual into {directory}"));
        std::fs::create_dir_all(directory).map_err(failed())?;
        clap_mangen::generate_to(command, directory).map_err(failed())?;
    } else {
        let mut text = Vec::new();
        let rendered = clap_mangen::Man::new(command).render(&mut text);
        rendered.map_err(Failure::io("draw the manual"))?;
        output::print_verbatim(String::from_utf8_lossy(&text).trim_end());
    }
    Ok(Exit::Reviewed)
}
