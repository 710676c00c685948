//! GraphQL: for what REST does not have.

use conclave_forge::{ApiError, ApiErrorKind};
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
        self.graphql(what, query, variables, pointer, false).await
    }

    /// Sends a mutation that may be carried out twice with the same result.
    pub(crate) async fn mutate(&self, what: &str, query: &str, variables: &Value) -> Result<(), ApiError> {
        let _: Value = self.graphql(what, query, variables, "", true).await?;
        Ok(())
    }

    /// The variables that name the pull request.
    pub(crate) fn place(&self) -> Value {
        json!({ "owner": self.owner, "name": self.name, "number": self.number })
    }

    async fn graphql<T: DeserializeOwned>(
        &self,
        what: &str,
        query: &str,
        variables: &Value,
        pointer: &str,
        writes: bool,
    ) -> Result<T, ApiError> {
        let body = json!({ "query": query, "variables": variables });
        let mut answer = self.send_graphql(what, &body, writes).await?;
        if let Some(error) = answer["errors"].get(0) {
            // Data may be partly there, which is worse than none.
            return Err(graphql_refusal(what, error));
        }
        let found = answer["data"].pointer_mut(pointer).map(Value::take).unwrap_or_default();
        serde_json::from_value(found).map_err(|error| ApiError::garbage(GITHUB, what, &error))
    }
}

/// Returns whether REST may still answer where GraphQL did not: its limit is one of its own.
pub(crate) fn may_ask_rest(error: &ApiError) -> bool {
    !matches!(
        error.kind,
        ApiErrorKind::Unauthorized | ApiErrorKind::NotFound | ApiErrorKind::Unreachable | ApiErrorKind::TimedOut
    )
}
