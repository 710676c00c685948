//! GraphQL: for what REST does not have.

use conclave_forge::{ApiError, ApiErrorKind, Repeat};
use reqwest::Method;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::{
    GitHub,
    error::{GITHUB, graphql_refusal},
};

impl GitHub {
    /// Sends a query, and reads the object at `pointer` in its data. The pull request's variables are `owner`, `name` and `number`.
    pub(crate) async fn query<T: DeserializeOwned>(
        &self,
        what: &str,
        query: &str,
        variables: &Value,
        pointer: &str,
    ) -> Result<T, ApiError> {
        let body = json!({ "query": query, "variables": variables });
        let mut data = data(what, self.http.query(what, &self.graphql_url, &body).await?)?;
        let found = data.pointer_mut(pointer).map(Value::take).unwrap_or_default();
        serde_json::from_value(found).map_err(|error| ApiError::garbage(GITHUB, what, &error))
    }

    /// Sends a mutation that may be carried out twice with the same result.
    pub(crate) async fn mutate(&self, what: &str, query: &str, variables: &Value) -> Result<(), ApiError> {
        let body = json!({ "query": query, "variables": variables });
        let (method, url) = (Method::POST, &self.graphql_url);
        let answer = self.http.write(what, method, url, &body, Repeat::Safe).await?;
        data(what, answer).map(drop)
    }

    /// The variables that name the pull request.
    pub(crate) fn place(&self) -> Value {
        json!({ "owner": self.owner, "name": self.name, "number": self.number })
    }
}

/// The data of an answer; an error where it is not all there: a part of it is worse than none.
fn data(what: &str, mut answer: Value) -> Result<Value, ApiError> {
    match answer["errors"].get(0) {
        Some(error) => Err(graphql_refusal(what, error)),
        None => Ok(answer["data"].take()),
    }
}

/// Returns whether REST may still answer where GraphQL did not: its limit is one of its own.
pub(crate) fn may_ask_rest(error: &ApiError) -> bool {
    !matches!(
        error.kind,
        ApiErrorKind::Unauthorized | ApiErrorKind::NotFound | ApiErrorKind::Unreachable | ApiErrorKind::TimedOut
    )
}
