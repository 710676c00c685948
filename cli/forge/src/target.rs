//! The target branch: what a review's settings are read from, and what its approval is for. An approval is for one merge: of the
//! reviewed commit, into the branch that the review looked at, of a merge request that is open.

use conclave_engine::{
    ports::SettingsWatch,
    review::{ApprovalHold, HoldCause},
};

use crate::{ApiError, ForgeApi, Lifecycle, MergeRequestState, Target};

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

    /// Says why an approval that was just given to this commit is for another merge than the reviewed one. One that has happened by
    /// now, as a merge that only waited for the approval does, lets nothing through any more.
    pub(crate) fn overtaken(&self, api: &dyn ForgeApi, now: &MergeRequestState, head: &str) -> Option<ApprovalHold> {
        match now.lifecycle {
            Lifecycle::Over(_) => None,
            Lifecycle::Closed => closed(api, now),
            Lifecycle::Open if now.is_newer_than(head) => {
                Some(hold("There is a newer commit than the reviewed one.".to_owned()))
            }
            Lifecycle::Open => self.retargeted(now),
        }
    }

    /// Reads the target branch again, and says why an approval would be for another merge than the reviewed one. The merge request was
    /// just read.
    pub(crate) async fn changed(
        &self,
        api: &dyn ForgeApi,
        now: &MergeRequestState,
    ) -> Result<Option<ApprovalHold>, ApiError> {
        if let Some(hold) = closed(api, now).or_else(|| self.retargeted(now)) {
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

/// The reason not to approve a merge request that is not open any more.
fn closed(api: &dyn ForgeApi, now: &MergeRequestState) -> Option<ApprovalHold> {
    let noun = api.traits().words.noun;
    (!now.is_open()).then(|| hold(format!("The {noun} is {} by now.", now.lifecycle.word())))
}

pub(crate) fn hold(reason: String) -> ApprovalHold {
    ApprovalHold::new(HoldCause::TargetBranch, reason)
}
