//! Why a file is not reviewed.

use conclave_shared::path_kind::Noise;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Unread;

/// Why a file is not reviewed by models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FilterReason {
    /// Written by a package manager.
    LockFile,
    /// Minified or bundled code, or a source map.
    Minified,
    /// A copy of third-party code.
    Vendored,
    /// No text.
    Binary,
    /// Written by a generator, at base already.
    Generated,
    /// The project's own rules leave it out.
    ExcludedByProject,
    /// Its patch is larger than any model can read.
    TooLarge,
    /// Its patch does not parse.
    UnreadablePatch,
    /// Its path leaves the repository, or cannot be shown.
    UnusablePath,
    /// Git shows it as binary, but at base or at head it is text.
    HiddenText,
    /// It is binary data, but may be code, a script, configuration or a template.
    BinaryCode,
    /// It stands for a content that Git LFS keeps elsewhere, and that content may be code.
    LfsPointer,
    /// A checkout makes something else of it than what is reviewed.
    CheckoutDiffers,
    /// An earlier review looked at it, and it is unchanged since.
    ReviewedBefore,
}

impl FilterReason {
    /// The reason as a person reads it in the plan and in the review.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::LockFile => "lock file",
            Self::Minified => "minified",
            Self::Vendored => "vendored",
            Self::Binary => "binary",
            Self::Generated => "generated",
            Self::ExcludedByProject => "excluded by the project",
            Self::TooLarge => "too large to be read",
            Self::UnreadablePatch => "its patch cannot be read",
            Self::UnusablePath => "its path cannot be used",
            Self::HiddenText => "shown as binary, but it is or was text",
            Self::BinaryCode => "binary data that may be code",
            Self::LfsPointer => "a pointer to code that Git LFS keeps elsewhere",
            Self::CheckoutDiffers => "a checkout differs from what is reviewed, by .gitattributes",
            Self::ReviewedBefore => "unchanged since it was reviewed",
        }
    }

    /// Returns whether the file should have been reviewed, and could not be: no rule says that it is noise. Such a review is
    /// never an approval.
    pub const fn is_gap(self) -> bool {
        match self {
            Self::TooLarge
            | Self::UnreadablePatch
            | Self::UnusablePath
            | Self::HiddenText
            | Self::BinaryCode
            | Self::LfsPointer
            | Self::CheckoutDiffers => true,
            Self::LockFile
            | Self::Minified
            | Self::Vendored
            | Self::Binary
            | Self::Generated
            | Self::ExcludedByProject
            | Self::ReviewedBefore => false,
        }
    }

    /// Returns whether the file is left out as noise, with no other check in the place of a review.
    pub(super) const fn is_noise(self) -> bool {
        matches!(
            self,
            Self::Minified | Self::Vendored | Self::Binary | Self::Generated | Self::ExcludedByProject
        )
    }
}

impl From<Noise> for FilterReason {
    fn from(noise: Noise) -> Self {
        match noise {
            Noise::LockFile => Self::LockFile,
            Noise::Minified => Self::Minified,
            Noise::Vendored => Self::Vendored,
        }
    }
}

impl From<Unread> for FilterReason {
    fn from(unread: Unread) -> Self {
        match unread {
            Unread::Path => Self::UnusablePath,
            Unread::TooLarge => Self::TooLarge,
            Unread::Patch => Self::UnreadablePatch,
        }
    }
}
