//! A merge request by the address that a person sees in the browser.

use std::{path::PathBuf, time::Duration};

use conclave_forge::{AddressForm, ApiError, ApiErrorKind};
use serde_json::Value;
use url::Url;

use crate::{
    error::{GITLAB, WORDS},
    gitlab::builder,
};

const FORM: AddressForm = AddressForm {
    noun: WORDS.noun,
    example: "https://gitlab.example.com/group/project/-/merge_requests/7",
    with_user: "it holds a user or a password; the token is GITLAB_TOKEN",
};

/// Time for a server to say whether it is a GitLab.
const TIMEOUT: Duration = Duration::from_secs(15);

/// Where a merge request is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeRequestAddress {
    /// The server: scheme, host and port.
    origin: Url,
    /// Everything between the host and `/-/merge_requests/`: the path that GitLab is installed at, if it is at one, the groups
    /// and the project.
    segments: Vec<String>,
    iid: u64,
}

/// The same, once it is known where GitLab itself is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// The API's address, ending in `/api/v4`.
    pub api_url: Url,
    /// The project's path, groups included.
    pub project: String,
    /// The merge request's number in the project.
    pub iid: u64,
    /// Where the project's repository can be fetched over HTTP.
    pub repository_url: Url,
}

impl MergeRequestAddress {
    /// Reads an address such as `https://gitlab.example.com/group/project/-/merge_requests/7`, with whatever may stand
    /// behind the number.
    pub fn parse(address: &str) -> Result<Self, ApiError> {
        let fault = |problem: &str| FORM.refused(address, problem);
        let (origin, segments) = FORM.read(address)?;
        let at = segments
            .iter()
            .rposition(|segment| segment == "merge_requests")
            .ok_or_else(|| fault("it has no `merge_requests` in it"))?;
        let iid = segments.get(at + 1).ok_or_else(|| fault("the number is missing"))?;
        let iid = FORM.number(address, iid)?;
        // Older versions of GitLab have no `-` in between.
        let end = if at > 0 && segments[at - 1] == "-" { at - 1 } else { at };
        let segments = segments[..end].to_vec();
        if segments.len() < 2 || segments.iter().any(|segment| segment.contains('/')) {
            return Err(fault("it names no group and project"));
        }
        Ok(Self { origin, segments, iid })
    }

    /// Everything between the host and the merge request: the project's path, with the path of a GitLab that is below one.
    pub fn path(&self) -> String {
        self.segments.join("/")
    }

    /// The merge request's number.
    pub const fn iid(&self) -> u64 {
        self.iid
    }

    /// Finds out where GitLab is. Below a path its address looks like a group's, so the server is asked, without the token:
    /// what else answers there need not get it. An address that is known already, as in a CI job, is believed.
    pub async fn locate(&self, known: Option<&Url>, ca_files: &[PathBuf]) -> Result<Located, ApiError> {
        if let Some(located) = known.and_then(|api| self.below(api)) {
            return Ok(located);
        }
        let http = builder(ca_files, Some(&self.origin))?.timeout(TIMEOUT).build();
        let http = http.map_err(|error| ApiError::unreachable(GITLAB, self.host(), "prepare the client", error))?;
        let mut reason = None;
        for depth in 0..self.segments.len() - 1 {
            let located = self.at(depth)?;
            let asked = format!("{}/version", located.api_url.as_str().trim_end_matches('/'));
            match http.get(asked).send().await {
                Err(error) => return Err(ApiError::unreachable(GITLAB, self.host(), "look for GitLab", error)),
                Ok(response) => {
                    let status = response.status();
                    let body = response.text().await.unwrap_or_default();
                    if matches!(status.as_u16(), 200 | 401 | 403) && is_gitlab(&body) {
                        return Ok(located);
                    }
                    reason.get_or_insert(format!("{} answered {status}", located.api_url));
                }
            }
        }
        let text = format!(
            "no GitLab answers at {}, nor below a path of it that {} could mean: {}",
            self.origin.as_str().trim_end_matches('/'),
            self.path(),
            reason.unwrap_or_default()
        );
        Err(ApiError::new(ApiErrorKind::Other, text))
    }

    fn host(&self) -> &str {
        self.origin.host_str().unwrap_or_default()
    }

    /// With so many segments for the path that GitLab is installed at.
    fn at(&self, depth: usize) -> Result<Located, ApiError> {
        let (installed, project) = self.segments.split_at(depth);
        let url = |segments: &[&str]| {
            let mut url = self.origin.clone();
            let fault = || FORM.refused(self.origin.as_str(), "it can have no path");
            url.path_segments_mut()
                .map_err(|()| fault())?
                .clear()
                .extend(installed)
                .extend(segments);
            Ok::<_, ApiError>(url)
        };
        let project = project.join("/");
        let mut repository: Vec<&str> = project.split('/').collect();
        let last = format!("{}.git", repository.pop().unwrap_or_default());
        repository.push(&last);
        Ok(Located {
            api_url: url(&["api", "v4"])?,
            repository_url: url(&repository)?,
            project,
            iid: self.iid,
        })
    }

    /// On a GitLab whose address is known.
    fn below(&self, api: &Url) -> Option<Located> {
        if api.origin() != self.origin.origin() {
            return None;
        }
        let installed: Vec<&str> = api
            .path()
            .trim_end_matches('/')
            .strip_suffix("/api/v4")?
            .split('/')
            .filter(|segment| !segment.is_empty())
            .collect();
        let fits =
            self.segments.len() >= installed.len() + 2 && self.segments.iter().zip(&installed).all(|(a, b)| a == b);
        if fits { self.at(installed.len()).ok() } else { None }
    }
}

/// Returns whether this is what GitLab answers to somebody without a token, or with one.
fn is_gitlab(body: &str) -> bool {
    serde_json::from_str::<Value>(body).is_ok_and(|value| {
        ["message", "error", "version"]
            .iter()
            .any(|key| value.get(*key).is_some())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(address: &str) -> (String, Vec<String>, u64) {
        let address = MergeRequestAddress::parse(address).expect(address);
        (address.origin.to_string(), address.segments, address.iid)
    }

    #[test]
    fn addresses_as_people_copy_them() {
        for (address, origin, segments, iid) in [
            (
                "https://gitlab.com/group/project/-/merge_requests/7",
                "https://gitlab.com/",
                "group project",
                7,
            ),
            (
                " https://gitlab.example.com:8443/a/b/c.d/my.project/-/merge_requests/12/diffs?view=inline#note_3 ",
                "https://gitlab.example.com:8443/",
                "a b c.d my.project",
                12,
            ),
            (
                "http://127.0.0.1:3000/gitlab/group/project/merge_requests/1",
                "http://127.0.0.1:3000/",
                "gitlab group project",
                1,
            ),
            (
                "https://x.example/g/merge_requests/-/merge_requests/3",
                "https://x.example/",
                "g merge_requests",
                3,
            ),
        ] {
            let expected: Vec<String> = segments.split(' ').map(str::to_owned).collect();
            assert_eq!(parsed(address), (origin.to_owned(), expected, iid));
        }
    }

    #[test]
    fn what_is_no_address_is_told_why() {
        for (address, problem) in [
            ("7", "relative URL"),
            ("git@gitlab.com:group/project.git", "relative URL"),
            ("ssh://gitlab.com/group/project/-/merge_requests/7", "https://"),
            ("https://gitlab.com/group/project", "no `merge_requests`"),
            ("https://gitlab.com/group/project/-/merge_requests", "number is missing"),
            (
                "https://gitlab.com/group/project/-/merge_requests/new",
                "`new` is not the number",
            ),
            ("https://gitlab.com/project/-/merge_requests/7", "no group and project"),
            ("https://gitlab.com/a%2Fb/c/-/merge_requests/7", "no group and project"),
            ("https://me:secret@gitlab.com/g/p/-/merge_requests/7", "GITLAB_TOKEN"),
        ] {
            let error = MergeRequestAddress::parse(address).expect_err(address).to_string();
            assert!(error.contains(problem), "{address}: {error}");
        }
    }

    #[test]
    fn a_known_gitlab_is_believed() {
        let address = MergeRequestAddress::parse("https://x.example/gitlab/g/p.q/-/merge_requests/7").expect("one");
        let below = |api: &str| address.below(&api.parse().expect("an address"));
        let located = below("https://x.example/gitlab/api/v4").expect("below the path");
        assert_eq!((located.project.as_str(), located.iid), ("g/p.q", 7));
        assert_eq!(located.repository_url.as_str(), "https://x.example/gitlab/g/p.q.git");
        let root = below("https://x.example/api/v4/").expect("at the root");
        assert_eq!(root.project, "gitlab/g/p.q");
        for other in [
            "https://y.example/api/v4",
            "https://x.example:444/api/v4",
            "https://x.example/other/api/v4",
            "https://x.example/gitlab/g/api/v4",
        ] {
            assert_eq!(below(other), None, "{other}");
        }
    }
}
