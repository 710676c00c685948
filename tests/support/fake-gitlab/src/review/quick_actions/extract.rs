//! Finding quick actions in a text, the way GitLab finds them: outside fenced code, at the very start of a line.

use super::Command;

/// The commands that exist on merge requests. What is not in this list stays text.
const COMMANDS: &[&str] = &[
    "add_child",
    "add_contacts",
    "approve",
    "assign",
    "assign_reviewer",
    "award",
    "cc",
    "clear_health_status",
    "close",
    "confidential",
    "convert_to_ticket",
    "copy_metadata",
    "create_merge_request",
    "done",
    "draft",
    "due",
    "duplicate",
    "epic",
    "estimate",
    "invite_email",
    "iteration",
    "label",
    "labels",
    "lock",
    "merge",
    "milestone",
    "move",
    "react",
    "ready",
    "reassign",
    "reassign_reviewer",
    "rebase",
    "relabel",
    "relate",
    "remove_due_date",
    "remove_estimate",
    "remove_milestone",
    "remove_parent",
    "remove_reviewer",
    "remove_time_spent",
    "reopen",
    "request_changes",
    "request_review",
    "reviewer",
    "set_parent",
    "shrug",
    "spend",
    "ship",
    "submit_review",
    "subscribe",
    "tableflip",
    "target_branch",
    "task",
    "title",
    "todo",
    "type",
    "unapprove",
    "unassign",
    "unassign_reviewer",
    "unlabel",
    "unlock",
    "unrelate",
    "unsubscribe",
    "wip",
    "zoom",
];

/// Splits a text into what stays and the commands in it.
pub(crate) fn extract(body: &str) -> (String, Vec<Command>) {
    // GitLab drops carriage returns first, so a command may hide behind one.
    let body = body.replace('\r', "");
    let mut kept = Vec::new();
    let mut commands = Vec::new();
    let mut fence: Option<usize> = None;
    for line in body.split('\n') {
        let ticks = line.len() - line.trim_start_matches('`').len();
        match fence {
            Some(opened) => {
                if ticks >= opened && line.trim_matches([' ', '`']).is_empty() {
                    fence = None;
                }
                kept.push(line);
            }
            None if ticks >= 3 && !line[ticks..].contains('`') => {
                fence = Some(ticks);
                kept.push(line);
            }
            None => match parse(line) {
                Some(command) => commands.push(command),
                None => kept.push(line),
            },
        }
    }
    (kept.join("\n").trim().to_owned(), commands)
}

fn parse(line: &str) -> Option<Command> {
    let text = line.strip_prefix('/')?;
    let (name, argument) = text.split_once(' ').unwrap_or((text, ""));
    let name = name.trim_end().to_ascii_lowercase();
    COMMANDS.contains(&name.as_str()).then(|| Command {
        name,
        argument: argument.trim().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::extract;

    fn names(body: &str) -> Vec<String> {
        extract(body).1.into_iter().map(|command| command.name).collect()
    }

    #[test]
    fn a_line_that_starts_with_a_command_is_one() {
        let (rest, commands) = extract("Summary.\n\n/submit_review requested_changes\n");
        assert_eq!(rest, "Summary.");
        assert_eq!(
            (commands[0].name.as_str(), commands[0].argument.as_str()),
            ("submit_review", "requested_changes")
        );
        assert_eq!(names("a\n\r/approve\nb"), ["approve"]);
        assert_eq!(names("/MERGE"), ["merge"]);
    }

    #[test]
    fn other_lines_are_text() {
        for body in [
            "see /approve",
            " /approve",
            "> /approve",
            "/etc/passwd",
            "/unknown",
            "```\n/approve\n```",
            "`/merge`",
        ] {
            assert!(names(body).is_empty(), "{body:?}");
        }
        assert_eq!(names("````\n```\n/approve\n````\n/merge"), ["merge"]);
    }
}
