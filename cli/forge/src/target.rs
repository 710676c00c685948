//! The target branch: what a review's settings are read from, and what its approval is for.

use conclave_engine::{
    ports::SettingsWatch,
    review::{ApprovalHold, HoldCause},
};

use crate::{ApiError, ForgeApi, MergeRequestState, Target};

/// The target branch when the review began, and what its settings were.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Watched<'a> {
    pub(crate) target: &'a Target,
    /// A commit that the branch has.
    pub(crate) base: &'a str,
    pub(crate) settings: &'a dyn SettingsWatch,
}

impl Watched<'_> {
    /// Returns whether the merge request is for another branch now.
    pub(crate) fn retargeted(&self, now: &MergeRequestState) -> Option<ApprovalHold> {
        let branch = now.target_branch.as_deref()?;
        (branch != self.target.branch).then(|| {
            hold(format!(
                "The target branch was changed from {} to {branch} during the review, which is of the merge into {}.",
                self.target.branch, self.target.branch
            ))
        })
    }

    /// Reads the target branch again, and says why an approval would be for another merge than the reviewed one.
    pub(crate) async fn changed(&self, api: &dyn ForgeApi) -> Result<Option<ApprovalHold>, ApiError> {
        let now = api.state().await?;
        if let Some(hold) = self.retargeted(&now) {
            return Ok(Some(hold));
        }
        let branch = &self.target.branch;
        let tip = api.branch_tip(branch, self.base).await?;
        let (Some(tip), Some(earlier)) = (&tip, &self.target.tip) else {
            let forge = api.traits().words.name;
            return Ok(Some(hold(format!(
                "{forge} does not tell the newest commit of {branch}, so its newest settings are unknown."
            ))));
        };
        if tip == earlier {
            return Ok(None);
        }
        Ok(match self.settings.differing(tip).await {
            Ok(files) if files.is_empty() => None,
            Ok(files) => Some(
                hold(format!(
                    "Settings of {branch} changed during the review, which went by the older ones. Run it again."
                ))
                .at(files),
            ),
            Err(error) => Some(hold(format!(
                "{branch} has a newer commit, and whether its settings are the same could not be found out ({error}). Run it \
                 again."
            ))),
        })
    }
}

pub(crate) fn hold(reason: String) -> ApprovalHold {
    ApprovalHold::new(HoldCause::TargetBranch, reason)
}
