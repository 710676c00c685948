//! How much a run may still use.

/// How close a run is to the end of its budget. The texts name the budget, as in `$2 for the run`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BudgetState {
    /// Far enough, or there is none.
    Free,
    /// Four fifths of this one are used: nothing optional begins.
    Tight(String),
    /// This one is used up: models are not asked any more.
    Spent(String),
}

impl BudgetState {
    /// Why a session must not begin, if so.
    pub fn forbids(&self, required: bool) -> Option<String> {
        match self {
            Self::Spent(budget) => Some(format!("not started: the budget of {budget} is spent")),
            Self::Tight(budget) if !required => {
                Some(format!("not started: four fifths of the budget of {budget} are spent"))
            }
            Self::Free | Self::Tight(_) => None,
        }
    }
}
