//! Our account, and the signature of what we post on the pull request.

use conclave_engine::publish::Signer;
use conclave_forge::{ApiError, ApiErrorKind};

use crate::{GitHub, wire::User};

impl GitHub {
    /// The number of our account. The GraphQL API says it of every token, the other one of people's only.
    pub(crate) async fn account(&self) -> Result<u64, ApiError> {
        const WHAT: &str = "say whose token it is";
        let read = async || {
            let viewer = "query { viewer { databaseId } }";
            let id: Result<u64, _> = self.query(WHAT, viewer, &self.place(), "/viewer/databaseId").await;
            match id {
                Err(error) if error.kind != ApiErrorKind::Unauthorized => {
                    let user: Result<User, _> = self.http.get(WHAT, &self.url("user")).await;
                    user.map(|user| user.id).map_err(|_| error)
                }
                id => id,
            }
        };
        self.account.get_or_try_init(read).await.copied()
    }

    /// The scope of our signatures: no other pull request has the same, on no forge.
    pub(crate) async fn marker_scope(&self) -> Result<String, ApiError> {
        let read = async || Ok::<_, ApiError>(self.read_pull().await?.base.repository_id());
        let repository = self.repository_id.get_or_try_init(read).await?;
        Ok(format!("github\0{repository}\0{}", self.number))
    }

    /// Signs what we post, and knows it again.
    pub(crate) async fn signer(&self) -> Result<Signer, ApiError> {
        Ok(Signer::new(self.secret.clone(), self.marker_scope().await?))
    }
}
