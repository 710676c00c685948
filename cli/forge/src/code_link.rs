//! Addresses of lines of code on a forge.

use url::Url;

/// How a forge names lines of code.
#[derive(Debug, Clone, Copy)]
pub struct CodeForm {
    /// What a merge request's address has behind the project's.
    pub cut: &'static str,
    /// The name of pages that show a file.
    pub blob: &'static str,
    /// What stands between the first line and the last.
    pub to: &'static str,
}

/// The address of lines, the first and the last, of a file at a commit, in the project of the merge request at `url`. None if that is
/// no such address.
pub fn code_link(form: CodeForm, url: &str, head: &str, file: &str, (first, last): (u32, u32)) -> Option<String> {
    let CodeForm { cut, blob, to } = form;
    let anchor = if first == last {
        format!("L{first}")
    } else {
        format!("L{first}{to}{last}")
    };
    let (project, _) = url.rsplit_once(cut)?;
    let mut address = Url::parse(project).ok()?;
    address
        .path_segments_mut()
        .ok()?
        .extend(blob.split('/'))
        .push(head)
        .extend(file.split('/'));
    address.set_fragment(Some(&anchor));
    // They would end a link in Markdown.
    Some(String::from(address).replace('(', "%28").replace(')', "%29"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_file_has_an_address_below_its_project() {
        let url = "https://git.example.org/group/project/-/merge_requests/7";
        let form = CodeForm {
            cut: "/-/merge_requests/",
            blob: "-/blob",
            to: "-",
        };
        let link = |file: &str| code_link(form, url, "abc", file, (3, 5));
        let of = |path: &str| Some(format!("https://git.example.org/group/project/-/blob/abc/{path}#L3-5"));
        assert_eq!(link("src/a.rs"), of("src/a.rs"));
        assert_eq!(link("a b/(x)?#%.rs"), of("a%20b/%28x%29%3F%23%25.rs"));
        assert_eq!(code_link(form, "https://example.org/", "abc", "a", (1, 1)), None);
    }
}
