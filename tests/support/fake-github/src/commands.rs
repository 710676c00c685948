//! The runner's view of a log: the workflow commands that it would run.

/// A workflow command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowCommand {
    /// Its name, such as `warning`.
    pub name: String,
    /// Its properties, such as `file`, decoded.
    pub properties: Vec<(String, String)>,
    /// What stands behind it, decoded.
    pub data: String,
}

/// The commands that the runner knows.
const NAMES: [&str; 15] = [
    "error",
    "warning",
    "notice",
    "debug",
    "group",
    "endgroup",
    "add-mask",
    "add-matcher",
    "remove-matcher",
    "echo",
    "save-state",
    "set-output",
    "stop-commands",
    "set-env",
    "add-path",
];

/// Returns every command in a log, standard output and standard error alike. `::name::` counts at the start of a line,
/// `##[name]` anywhere in it. Between `stop-commands` and its token nothing counts.
pub fn workflow_commands(log: &str) -> Vec<WorkflowCommand> {
    let mut commands = Vec::new();
    let mut stopped_until: Option<String> = None;
    for line in log.split(['\n', '\r']) {
        if let Some(token) = &stopped_until {
            if line.trim().eq_ignore_ascii_case(&format!("::{token}::")) {
                stopped_until = None;
            }
            continue;
        }
        let found = parse_new(line).or_else(|| parse_old(line));
        let Some(command) = found.filter(|command| NAMES.contains(&command.name.as_str())) else {
            continue;
        };
        if command.name == "stop-commands" {
            stopped_until = Some(command.data.clone());
        }
        commands.push(command);
    }
    commands
}

/// `::name key=value,key=value::data`
fn parse_new(line: &str) -> Option<WorkflowCommand> {
    let (head, data) = line.trim_start().strip_prefix("::")?.split_once("::")?;
    command(head, ',', data)
}

/// `##[name key=value;key=value]data`
fn parse_old(line: &str) -> Option<WorkflowCommand> {
    let (_, rest) = line.split_once("##[")?;
    let (head, data) = rest.split_once(']')?;
    command(head, ';', data)
}

fn command(head: &str, separator: char, data: &str) -> Option<WorkflowCommand> {
    let (name, properties) = head.split_once(' ').unwrap_or((head, ""));
    let properties = properties
        .split(separator)
        .filter_map(|pair| pair.trim().split_once('='));
    (!name.is_empty()).then(|| WorkflowCommand {
        name: name.to_lowercase(),
        properties: properties.map(|(key, value)| (key.to_owned(), decode(value))).collect(),
        data: decode(data),
    })
}

fn decode(text: &str) -> String {
    let codes = [("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")];
    codes
        .iter()
        .fold(text.to_owned(), |text, (code, mark)| text.replace(code, mark))
}

#[cfg(test)]
mod tests {
    use super::workflow_commands;

    #[test]
    fn both_forms_count_until_they_are_stopped() {
        let log = "hello ::error::no\n  ::warning file=a%2Cb.rs,line=3::100%25\nx ##[add-matcher]y.json\r::set-env name=A::b\n\
                   ::unknown::z\n::stop-commands::tok\n::error::hidden\n::TOK::\n::notice::back\n:\u{2060}:error::inert";
        let found: Vec<_> = workflow_commands(log)
            .into_iter()
            .map(|one| (one.name, one.data))
            .collect();
        let expected = [
            ("warning", "100%"),
            ("add-matcher", "y.json"),
            ("set-env", "b"),
            ("stop-commands", "tok"),
            ("notice", "back"),
        ];
        assert_eq!(found, expected.map(|(name, data)| (name.to_owned(), data.to_owned())));
        assert_eq!(
            workflow_commands(log)[0].properties[0],
            ("file".to_owned(), "a,b.rs".to_owned())
        );
    }
}
