//! GitLab's API for one merge request: its addresses and its authentication.

use std::path::PathBuf;

use conclave_forge::{
    ApiError, ClientTimeouts, Committers, HttpClient, HttpDialect, Publisher, Repeat, asked_wait, client_builder,
    token_header,
};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{
    ClientBuilder, Method,
    header::{HeaderMap, HeaderName},
};
use secrecy::ExposeSecret;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::Instant;
use url::Url;

use crate::{
    GitLabSettings,
    error::{WORDS, refusal},
};

/// GitLab's API for one merge request.
#[derive(Debug)]
pub struct GitLab {
    pub(crate) http: HttpClient,
    /// The API's address without a slash at its end.
    api_url: String,
    pub(crate) project: String,
    pub(crate) iid: u64,
    /// The addresses of the merge request's commits, since it was last loaded.
    pub(crate) committers: Committers<String>,
}

impl GitLab {
    /// The API with these time limits; nothing is asked yet.
    pub fn new(settings: &GitLabSettings, timeouts: ClientTimeouts) -> Result<Self, ApiError> {
        let unusable =
            "GITLAB_TOKEN holds characters that no token has, such as a line break or a letter with an accent";
        let token = token_header(settings.token.expose_secret(), unusable)?;
        let dialect = HttpDialect {
            words: WORDS,
            headers: HeaderMap::from_iter([(HeaderName::from_static("private-token"), token)]),
            refusal,
            hidden_limit: |_, _, _| None,
            wait: |_, headers| asked_wait(headers),
        };
        let builder = builder(&settings.ca_files, Some(&settings.api_url))?;
        Ok(Self {
            http: HttpClient::new(builder, &settings.api_url, dialect, timeouts)?,
            api_url: settings.api_url.as_str().trim_end_matches('/').to_owned(),
            project: settings.project.clone(),
            iid: settings.iid,
            committers: Committers::default(),
        })
    }

    /// A publisher for the merge request, with the usual time limits, in a job that ends then.
    pub fn publisher(settings: &GitLabSettings, ends: Option<Instant>) -> Result<Publisher, ApiError> {
        let usual = ClientTimeouts::default();
        let api = Self::new(settings, ClientTimeouts { ends, ..usual })?;
        Ok(Publisher::new(Box::new(api), settings.secret.clone()))
    }

    /// The address of something in the API.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}/{path}", self.api_url)
    }

    /// The path of the project, or of something below it.
    pub(crate) fn project_path(&self, below: &str) -> String {
        format!("projects/{}{below}", encoded(&self.project))
    }

    /// Reads one object of the API.
    pub(crate) async fn get<T: DeserializeOwned>(&self, what: &str, path: &str) -> Result<T, ApiError> {
        self.http.get(what, &self.url(path)).await
    }

    /// The address of the merge request, or of something below it.
    pub(crate) fn merge_request(&self, below: &str) -> String {
        self.url(&self.project_path(&format!("/merge_requests/{}{below}", self.iid)))
    }

    /// Reads one object of the merge request.
    pub(crate) async fn read<T: DeserializeOwned>(&self, what: &str, below: &str) -> Result<T, ApiError> {
        self.http.get(what, &self.merge_request(below)).await
    }

    /// Changes something of the merge request that may be changed twice with the same result.
    pub(crate) async fn put(&self, what: &str, below: &str, body: &Value) -> Result<(), ApiError> {
        self.http.put(what, Method::PUT, &self.merge_request(below), body).await
    }

    /// Asks for something that may be asked for twice with the same result.
    pub(crate) async fn ask(&self, what: &str, below: &str, body: &Value) -> Result<(), ApiError> {
        self.http
            .put(what, Method::POST, &self.merge_request(below), body)
            .await
    }

    /// Creates something, which must not happen twice.
    pub(crate) async fn create(&self, what: &str, below: &str, body: &Value) -> Result<Value, ApiError> {
        let url = self.merge_request(below);
        self.http.write(what, Method::POST, &url, body, Repeat::Never).await
    }

    /// Sends a query to GitLab's other API, for what the one used elsewhere does not have.
    pub(crate) async fn graphql(&self, what: &str, body: &Value) -> Result<Value, ApiError> {
        let url = format!("{}/graphql", self.api_url.trim_end_matches("/v4"));
        self.http.write(what, Method::POST, &url, body, Repeat::Safe).await
    }
}

/// A part of a path.
pub(crate) fn encoded(part: &str) -> impl std::fmt::Display {
    utf8_percent_encode(part, NON_ALPHANUMERIC)
}

/// A client's settings that hold for every request to GitLab, which is at this address, if it is known.
pub(crate) fn builder(ca_files: &[PathBuf], address: Option<&Url>) -> Result<ClientBuilder, ApiError> {
    let correct = "CONCLAVE_CA_FILE, what --ca-file names, or CI_SERVER_TLS_CA_FILE";
    client_builder(ca_files, correct, address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_is_not_printed() {
        let settings = GitLabSettings {
            api_url: "https://gitlab.example/api/v4".parse().unwrap(),
            token: "glpat-x".to_owned().into(),
            project: "1".to_owned(),
            iid: 1,
            secret: "s".to_owned().into(),
            ca_files: Vec::new(),
        };
        let client = GitLab::new(&settings, ClientTimeouts::default()).unwrap();
        assert!(!format!("{client:?}").contains("glpat"));
    }
}
