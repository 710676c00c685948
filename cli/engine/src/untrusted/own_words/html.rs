//! Raw HTML in a comment: what stands between two tags is not the writer's plain text.

/// Elements that have no end.
const VOID: [&str; 7] = ["br", "hr", "img", "input", "col", "wbr", "source"];

/// The name under which everything that follows is hidden: no tag has it, so none ends it.
const REST: &str = "!--";

/// The tags that are open.
#[derive(Debug, Default)]
pub(super) struct OpenTags {
    open: Vec<String>,
    /// True if there was any tag.
    pub(super) any: bool,
}

impl OpenTags {
    /// Returns whether the text that follows stands inside of an element.
    pub(super) fn is_inside(&self) -> bool {
        !self.open.is_empty()
    }

    /// Everything that follows is hidden.
    pub(super) fn hide_rest(&mut self) {
        self.any = true;
        self.open.push(REST.to_owned());
    }

    /// Reads HTML as the parser found it. A tag that never ends is one that stays open.
    pub(super) fn read(&mut self, html: &str) {
        let mut rest = html;
        while let Some((_, tag)) = rest.split_once('<') {
            if let Some(comment) = tag.strip_prefix("!--") {
                match comment.split_once("-->") {
                    Some((_, after)) => rest = after,
                    None => return self.hide_rest(),
                }
                continue;
            }
            let (closes, tag) = match tag.strip_prefix('/') {
                Some(tag) => (true, tag),
                None => (false, tag),
            };
            let name: String = tag
                .chars()
                .take_while(|character| character.is_ascii_alphanumeric() || *character == '-')
                .collect::<String>()
                .to_ascii_lowercase();
            let Some(end) = end_of_tag(tag) else {
                return self.hide_rest();
            };
            rest = &tag[end + 1..];
            self.any = true;
            if closes {
                // What was opened since is closed with it.
                if let Some(at) = self.open.iter().rposition(|open| *open == name) {
                    self.open.truncate(at);
                }
            } else if !name.is_empty() && !VOID.contains(&name.as_str()) {
                self.open.push(name);
            }
        }
    }
}

/// Where a tag ends: at the first `>` outside of quotation marks.
fn end_of_tag(tag: &str) -> Option<usize> {
    let mut quote = None;
    for (at, character) in tag.char_indices() {
        match (quote, character) {
            (None, '>') => return Some(at),
            (None, '"' | '\'') => quote = Some(character),
            (Some(open), character) if open == character => quote = None,
            _ => {}
        }
    }
    None
}
