//! A merge request that a single reviewer looks at, and models that say what a test wants.

use conclave_scripted_provider::{Answer, ScriptedProvider};
use serde_json::Value;

use crate::support::{Outcome, Pipeline, Repository, provider};

/// The only reviewer of a change this small.
pub(super) const REVIEWER: &str = "generalist";

/// The merge request and its models.
pub(super) struct Scene {
    pub(super) provider: ScriptedProvider,
    pub(super) repository: Repository,
    pub(super) pipeline: Pipeline,
}

/// The result of a review.
pub(super) struct Seen {
    pub(super) outcome: Outcome,
    pub(super) review: Value,
    pub(super) note: String,
    pub(super) approved: bool,
}

impl Scene {
    /// The merge of the repository's `feature` into its `main`.
    pub(super) async fn of(repository: Repository) -> Self {
        Self {
            provider: provider().await,
            pipeline: Pipeline::new(&repository).await,
            repository,
        }
    }

    /// The reviewer reads what it has to open, as the demo model does, and gives these answers, one after the other.
    pub(super) fn answers(&self, answers: &[&str]) {
        let answers = answers.iter().map(|answer| Answer::text(*answer));
        self.provider.set_words(REVIEWER, answers.collect());
    }

    /// Another commit of the merge request, with this file.
    pub(super) fn push(&self, path: &str, content: &str) {
        // A job's checkout is of a commit, and of no branch.
        self.repository.git(&["checkout", "--quiet", "feature"]);
        self.repository.write(path, content);
        self.repository.commit("A file more");
        let project = self.pipeline.merge_request.project;
        self.pipeline.gitlab.push(project, self.repository.path(), "feature");
    }

    pub(super) async fn review(&self) -> Seen {
        let job = self.pipeline.job(&self.repository, &[]).anthropic(&self.provider);
        self.seen(job.run().await)
    }

    /// The result of a run of another call.
    pub(super) fn seen(&self, outcome: Outcome) -> Seen {
        let outcome = outcome.expect_code(0);
        assert_eq!(self.pipeline.gitlab.violations(), []);
        Seen {
            review: outcome.review(),
            note: self.pipeline.notes().concat(),
            approved: self.pipeline.approved(),
            outcome,
        }
    }
}

impl Seen {
    /// The causes of the reasons to withhold the approval.
    pub(super) fn holds(&self) -> Vec<&str> {
        let holds = self.review["approval_holds"].as_array().into_iter().flatten();
        holds.map(|hold| hold["cause"].as_str().expect("a cause")).collect()
    }
}
