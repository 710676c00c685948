//! A pull request by the address that a person sees in the browser, and where its API is.

use conclave_forge::{AddressForm, ApiError};
use url::Url;

use crate::error::WORDS;

const FORM: AddressForm = AddressForm {
    noun: WORDS.noun,
    example: "https://github.com/owner/name/pull/7",
    with_user: "it holds a user or a password; the token is GITHUB_TOKEN",
};

/// Where a pull request is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequestAddress {
    /// The address of the REST API.
    pub api_url: Url,
    /// The address of the GraphQL API.
    pub graphql_url: Url,
    /// The target repository, as in `owner/name`.
    pub repository: String,
    /// The pull request's number.
    pub number: u64,
    /// Where the repository can be fetched over HTTP.
    pub repository_url: Url,
}

impl PullRequestAddress {
    /// An address that is right, for texts.
    pub const EXAMPLE: &'static str = FORM.example;

    /// Reads an address such as `https://github.com/owner/name/pull/7`, with whatever may stand behind the number. Where the server
    /// is another one than github.com, it is an Enterprise Server, or a host of data residency.
    pub fn parse(address: &str) -> Result<Self, ApiError> {
        let fault = |problem: &str| FORM.refused(address, problem);
        let (origin, segments) = FORM.read(address)?;
        let [owner, name, pull, number, ..] = segments.as_slice() else {
            return Err(fault("it names no repository and number"));
        };
        let api = segments.iter().position(|segment| segment == "repos");
        if let Some([_, owner, name, list, rest @ ..]) = api.and_then(|at| segments.get(at..))
            && (list == "pulls" || list == "issues")
        {
            let number = rest.first().filter(|number| number.parse::<u64>().is_ok());
            let number = number.map_or("N", String::as_str);
            return Err(fault(&format!(
                "it is of the API; the page's is https://HOST/{owner}/{name}/pull/{number}"
            )));
        }
        if pull == "pulls" {
            return Err(fault(&format!(
                "it has `/pulls/` where a page has `/pull/`: {}{owner}/{name}/pull/{number}",
                origin.as_str()
            )));
        }
        if pull != "pull" || [owner, name].iter().any(|part| !is_name(part)) {
            return Err(fault("it names no repository and pull request"));
        }
        let number = FORM.number(address, number)?;
        let (api_url, graphql_url) = apis(&origin).ok_or_else(|| fault("its host has no API"))?;
        let mut repository_url = origin;
        repository_url.set_path(&format!("/{owner}/{name}.git"));
        Ok(Self {
            api_url,
            graphql_url,
            repository: format!("{owner}/{name}"),
            number,
            repository_url,
        })
    }

    /// Returns whether an address looks like one of a pull request, and not of a merge request.
    pub fn is_one(address: &str) -> bool {
        let url = Url::parse(address.trim()).ok();
        let segments: Vec<&str> = url.iter().filter_map(Url::path_segments).flatten().collect();
        // Also what is nearly one: the error is then of GitHub's form.
        let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
        let is_host = ["github.com", "www.github.com", "api.github.com"].contains(&host) || host.ends_with(".ghe.com");
        let is_path = matches!(segments[..], [_, _, "pull" | "pulls", ..])
            || segments
                .windows(4)
                .any(|four| four[0] == "repos" && matches!(four[3], "pulls" | "issues"));
        (is_host || is_path) && !segments.contains(&"merge_requests")
    }
}

/// The addresses of both APIs of a server.
fn apis(origin: &Url) -> Option<(Url, Url)> {
    let (host, rest, graphql) = match origin.host_str()? {
        "github.com" | "www.github.com" => ("api.github.com".to_owned(), "", "/graphql"),
        host if host.ends_with(".ghe.com") => (format!("api.{host}"), "", "/graphql"),
        host => (host.to_owned(), "/api/v3", "/api/graphql"),
    };
    let at = |path: &str| {
        let mut url = origin.clone();
        url.set_host(Some(&host)).ok()?;
        url.set_path(path);
        Some(url)
    };
    Some((at(rest)?, at(graphql)?))
}

/// Returns whether this can be the name of an owner or a repository.
fn is_name(part: &str) -> bool {
    !matches!(part, "." | "..")
        && part
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_as_people_copy_them() {
        for (address, api, graphql, repository, number) in [
            (
                "https://github.com/acme/shop/pull/7",
                "https://api.github.com/",
                "https://api.github.com/graphql",
                "https://github.com/acme/shop.git",
                7,
            ),
            (
                " https://github.example.com:8443/acme/my.shop/pull/12/files?w=1#r3 ",
                "https://github.example.com:8443/api/v3",
                "https://github.example.com:8443/api/graphql",
                "https://github.example.com:8443/acme/my.shop.git",
                12,
            ),
            (
                "https://acme.ghe.com/acme/shop/pull/1",
                "https://api.acme.ghe.com/",
                "https://api.acme.ghe.com/graphql",
                "https://acme.ghe.com/acme/shop.git",
                1,
            ),
        ] {
            assert!(PullRequestAddress::is_one(address));
            let read = PullRequestAddress::parse(address).expect(address);
            assert_eq!(
                (
                    read.api_url.as_str(),
                    read.graphql_url.as_str(),
                    read.repository_url.as_str(),
                    read.number
                ),
                (api, graphql, repository, number)
            );
        }
    }

    #[test]
    fn what_is_no_address_says_why() {
        for (address, problem) in [
            ("7", "relative URL"),
            ("ssh://github.com/acme/shop/pull/7", "https://"),
            ("https://github.com/acme/shop", "no repository and number"),
            (
                "https://github.com/acme/shop/issues/7",
                "no repository and pull request",
            ),
            (
                "https://github.com/acme/shop/pulls/7",
                "where a page has `/pull/`: https://github.com/acme/shop/pull/7",
            ),
            ("https://git.example.com/acme/shop/pulls/7", "/acme/shop/pull/7"),
            (
                "https://api.github.com/repos/acme/shop/pulls/7",
                "it is of the API; the page's is https://HOST/acme/shop/pull/7",
            ),
            (
                "https://git.example.com/api/v3/repos/acme/shop/issues/7",
                "it is of the API",
            ),
            ("https://github.com/acme/shop/pull/new", "`new` is not the number"),
            ("https://github.com/a%2Fb/shop/pull/7", "no repository and pull request"),
            ("https://me:secret@github.com/acme/shop/pull/7", "GITHUB_TOKEN"),
        ] {
            assert!(
                PullRequestAddress::is_one(address) || !address.starts_with("https"),
                "{address}"
            );
            let error = PullRequestAddress::parse(address).expect_err(address).to_string();
            assert!(error.contains(problem), "{address}: {error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn a_merge_request_is_none() {
        assert!(!PullRequestAddress::is_one(
            "https://gitlab.com/group/sub/pull/-/merge_requests/7"
        ));
    }
}
