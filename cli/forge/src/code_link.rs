//! Addresses of lines of code on a forge.

use url::Url;

/// The address of lines, the first and the last, of a file at a commit, below `url`, a merge request's address, up to `cut`. `blob` is
/// the forge's name for such pages, `to` stands between the two lines. None if `url` is not such an address.
pub fn code_link(
    url: &str,
    cut: &str,
    blob: &str,
    head: &str,
    file: &str,
    (first, last): (u32, u32),
    to: &str,
) -> Option<String> {
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
        let link = |file: &str| code_link(url, "/-/merge_requests/", "-/blob", "abc", file, (3, 5), "-");
        let of = |path: &str| Some(format!("https://git.example.org/group/project/-/blob/abc/{path}#L3-5"));
        assert_eq!(link("src/a.rs"), of("src/a.rs"));
        assert_eq!(link("a b/(x)?#%.rs"), of("a%20b/%28x%29%3F%23%25.rs"));
        let link = code_link("https://example.org/", "/pull/", "blob", "abc", "a", (1, 1), "-L");
        assert_eq!(link, None);
    }
}
