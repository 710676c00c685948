//! The state that the pull request shows of the bot: reviews that approve or request changes, and their dismissal.
//!
//! A review counts as ours only with our signature: `github-actions[bot]` is one account for all workflows of a repository. The
//! commit that GitHub shows beside a review proves nothing, since a force-push gives it the new head: the signature has it.

use async_trait::async_trait;
use conclave_forge::{
    ApiError, ApiErrorKind, Approval, ApprovedCommit, LastRequest, Lifted, RequestShown, ReviewStateApi, Version,
};
use reqwest::Method;
use serde_json::json;

use crate::{GitHub, own_reviews::SignedOpinion, wire::text};

/// The words of a review that requests changes.
const REQUEST: &str = "Changes are requested by the review in the summary.";

/// Our reviews that approve or request changes and were not dismissed, oldest first.
#[derive(Debug, Default)]
pub(crate) struct OwnOpinions {
    standing: Vec<OwnOpinion>,
    /// Those that were dismissed.
    dismissed: Vec<SignedOpinion>,
}

#[derive(Debug)]
struct OwnOpinion {
    id: u64,
    approves: bool,
    head: String,
}

impl OwnOpinions {
    /// Those that request changes of this commit.
    fn requests_of(&self, head: &str) -> Vec<u64> {
        let requests = self.standing.iter().filter(|own| !own.approves && own.head == head);
        requests.map(|own| own.id).collect()
    }

    /// Returns whether one of this commit was dismissed that approves, or requests changes.
    fn was_dismissed(&self, head: &str, approves: bool) -> bool {
        let mut dismissed = self.dismissed.iter().filter(|opinion| opinion.head == head);
        dismissed.any(|opinion| opinion.approves.unwrap_or(approves) == approves)
    }

    /// The newest one, if it requests changes: it is what GitHub counts, whatever is pushed.
    fn request(&self) -> Option<&OwnOpinion> {
        self.standing.last().filter(|newest| !newest.approves)
    }

    /// Returns whether the newest one requests changes.
    pub(crate) fn requests_changes(&self) -> bool {
        self.request().is_some()
    }
}

impl GitHub {
    /// Reads our reviews.
    pub(crate) async fn own_opinions(&self) -> Result<OwnOpinions, ApiError> {
        let (bot, signer) = (self.account().await?, self.signer().await?);
        let mut reviews = self.reviews().await?;
        reviews.retain(|review| review.user.as_ref().is_some_and(|user| user.id == bot));
        let mut own = OwnOpinions::default();
        for review in reviews {
            let (approves, body) = (review.state == "APPROVED", text(review.body));
            let opinion = match signer.read::<SignedOpinion>(&body) {
                Some(opinion) => opinion,
                // Given under another secret, for a commit that cannot be read: it has to go. A request for changes stays.
                None if approves && signer.is_foreign::<SignedOpinion>(&body) => SignedOpinion::default(),
                None => continue,
            };
            match review.state.as_str() {
                "APPROVED" | "CHANGES_REQUESTED" => own.standing.push(OwnOpinion {
                    id: review.id,
                    approves,
                    head: opinion.head,
                }),
                "DISMISSED" => own.dismissed.push(opinion),
                _ => {}
            }
        }
        Ok(own)
    }

    /// Submits a review of this commit.
    async fn submit(&self, what: &str, event: &str, words: &str, head: &str) -> Result<(), ApiError> {
        let body = self.signed(words, head, event == "APPROVE").await?;
        let review = json!({ "commit_id": head, "event": event, "body": body });
        self.create(what, &self.pull("/reviews"), &review).await.map(drop)
    }

    /// The text of a review of this commit.
    async fn signed(&self, words: &str, head: &str, approves: bool) -> Result<String, ApiError> {
        let opinion = SignedOpinion {
            head: head.to_owned(),
            approves: Some(approves),
        };
        let marker = self.signer().await?.sign(&opinion);
        Ok(format!("{words}\n\n{marker}"))
    }

    /// Makes a request for changes that stands one of this commit, of which no mail is sent. Returns false where GitHub does not allow it.
    async fn renew(&self, request: u64, head: &str) -> Result<bool, ApiError> {
        let body = json!({ "body": self.signed(REQUEST, head, false).await? });
        let url = self.pull(&format!("/reviews/{request}"));
        let what = "renew its request for changes";
        match self.http.put(what, Method::PUT, &url, &body).await {
            Err(error)
                if matches!(
                    error.kind,
                    ApiErrorKind::Forbidden | ApiErrorKind::NotFound | ApiErrorKind::Refused
                ) =>
            {
                Ok(false)
            }
            renewed => renewed.map(|()| true),
        }
    }

    async fn dismiss(&self, what: &str, review: u64) -> Result<(), ApiError> {
        let url = self.pull(&format!("/reviews/{review}/dismissals"));
        let body = json!({ "message": "A newer review takes its place.", "event": "DISMISS" });
        match self.http.put(what, Method::PUT, &url, &body).await {
            // It was dismissed before, or by a request whose answer was lost.
            Err(error) if error.kind == ApiErrorKind::Refused && error.words.contains("dismissed") => Ok(()),
            dismissed => dismissed,
        }
    }
}

fn refusal(error: &ApiError) -> String {
    if error.words.contains("GitHub Actions is not permitted") {
        return "not approved: GitHub does not let workflows approve. Allow it in the repository's settings (Actions, General, \
                \"Allow GitHub Actions to create and approve pull requests\"), or use an App's token"
            .to_owned();
    }
    if error.words.contains("your own pull request") {
        return "not approved: GitHub does not let the bot approve its own pull request".to_owned();
    }
    format!("not approved: {error}")
}

#[async_trait]
impl ReviewStateApi for GitHub {
    async fn approval(&self, _bot: u64) -> Result<Approval, ApiError> {
        let own = self.own_opinions().await?.standing;
        let newest = own.into_iter().rfind(|opinion| opinion.approves);
        Ok(Approval {
            stands: newest.is_some(),
            of: newest.map_or(ApprovedCommit::Unknown, |opinion| ApprovedCommit::Head(opinion.head)),
        })
    }

    async fn was_approved(&self, _bot: u64, version: &Version) -> Result<bool, ApiError> {
        Ok(self.own_opinions().await?.was_dismissed(&version.head, true))
    }

    async fn approve(&self, head: &str, _stands: bool) -> Result<Option<String>, ApiError> {
        // GitHub takes an approval of any commit, and counts it for all.
        match self.read_pull().await {
            Ok(now) if now.head.sha == head => {}
            Ok(_) => {
                let newer = "not approved: there is a newer commit than the reviewed one";
                return Ok(Some(newer.to_owned()));
            }
            Err(error) => return Ok(Some(format!("not approved: {error}"))),
        }
        let words = "Approved by the review in the summary.";
        match self.submit("approve it", "APPROVE", words, head).await {
            Ok(()) => Ok(None),
            Err(error) if error.may_have_happened() => {
                let own = self.own_opinions().await?.standing;
                let is_approved = own.last().is_some_and(|newest| newest.approves && newest.head == head);
                Ok((!is_approved).then(|| refusal(&error)))
            }
            Err(error) => Ok(Some(refusal(&error))),
        }
    }

    async fn withdraw_approval(&self) -> Result<(), ApiError> {
        let own = self.own_opinions().await?.standing;
        let Some(newest) = own.iter().rposition(|opinion| opinion.approves) else {
            return Ok(());
        };
        // Each, newest first: an older one counts again where a newer one is gone. A request for changes that an approval has
        // taken back must not come back with it.
        for opinion in own[..=newest].iter().rev() {
            self.dismiss("take its approval back", opinion.id).await?;
        }
        Ok(())
    }

    async fn request_changes(&self) -> Result<(), ApiError> {
        let head = self.reviewed.lock().await.clone().unwrap_or_default();
        let own = self.own_opinions().await?;
        if !own.requests_of(&head).is_empty() {
            return Ok(());
        }
        if let Some(request) = own.request()
            && self.renew(request.id, &head).await?
        {
            return Ok(());
        }
        self.submit("request changes", "REQUEST_CHANGES", REQUEST, &head)
            .await?;
        // Of two jobs at once the first one's stays.
        for twin in self.own_opinions().await?.requests_of(&head).into_iter().skip(1) {
            self.dismiss("dismiss a request for changes that another job has made too", twin)
                .await?;
        }
        Ok(())
    }

    async fn request_shown(&self, _bot: u64) -> Result<RequestShown, ApiError> {
        let (own, reviewed) = (self.own_opinions().await?, self.reviewed.lock().await.clone());
        Ok(if own.requests_changes() {
            RequestShown::Stands
        } else if reviewed.is_some_and(|head| !own.was_dismissed(&head, false)) {
            RequestShown::Unmade
        } else {
            RequestShown::Absent("changes were requested, and the request was dismissed".to_owned())
        })
    }

    async fn last_request(&self, bot: u64) -> Option<LastRequest> {
        self.memory.lock().await.own.last_request(bot)
    }

    async fn lift_request(&self, _shown: bool) -> Result<Lifted, ApiError> {
        let own = self.own_opinions().await?.standing;
        for request in own.iter().rev().filter(|opinion| !opinion.approves) {
            match self.dismiss("take its request for changes back", request.id).await {
                Err(error) if error.kind == ApiErrorKind::Forbidden => {
                    let advice = "a person with write access can dismiss it on the pull request's page";
                    return Ok(Lifted::Stands(advice.to_owned()));
                }
                dismissed => dismissed?,
            }
        }
        Ok(Lifted::Gone)
    }
}
