//! Texts of the administrators' page.

pub(crate) const TITLE: &str = "Reviewer configuration";
pub(crate) const LOG_IN_TITLE: &str = "Configuration of reviews";
pub(crate) const LOG_IN_HINT: &str = "One of the tokens in the Worker's secret ADMIN_TOKENS.";
pub(crate) const TOKEN: &str = "Administrator's token";
pub(crate) const WRONG_TOKEN: &str = "That token is not one of the accepted ones.";
pub(crate) const NOT_CONFIGURED: &str = "No token yet";
pub(crate) const NOT_CONFIGURED_DETAIL: &str = "Set the secret ADMIN_TOKENS to a list of name:token, as in ada:TOKEN: wrangler secret put ADMIN_TOKENS -e reviewer-config";
pub(crate) const FAILED_DETAIL: &str =
    "The Worker's log has the reason. Nothing was changed unless the history says so.";
pub(crate) const NOTHING_CHANGED: &str = "Nothing was changed";
pub(crate) const REASON_NEEDED: &str =
    "Say why: reviews tell the reason where no model is left, and the history keeps it.";
pub(crate) const BACK: &str = "Back";

pub(crate) const WARNINGS: &str = "Left out of what is stored";
pub(crate) const PROVIDERS: &str = "Providers";
pub(crate) const PROVIDERS_HINT: &str = "Running reviews go round a provider within five seconds of its switch.";
pub(crate) const ON: &str = "On";
pub(crate) const OFF: &str = "Off";
pub(crate) const SWITCH_ON: &str = "Switch on";
pub(crate) const SWITCH_OFF: &str = "Switch off";
pub(crate) const REASON: &str = "Why";
pub(crate) const REASON_EXAMPLE: &str = "incident, with its number";

pub(crate) const REVIEWERS: &str = "Reviewers";
pub(crate) const REVIEWERS_HINT: &str = "Models in the order in which they are tried, where a job has a key for them.";
pub(crate) const REVIEWER: &str = "Reviewer";
pub(crate) const MODELS: &str = "Models";
pub(crate) const CHOSEN_BY: &str = "Chosen by";
pub(crate) const BUILT_IN: &str = "built in";
pub(crate) const BY_CLASS: &str = "class of models";
pub(crate) const BY_DOCUMENT: &str = "document";
pub(crate) const DISABLED: &str = "taken off every panel";
pub(crate) const NO_MODEL: &str = "no model is left";

pub(crate) const PROJECTS: &str = "Otherwise in some projects";
pub(crate) const PATHS: &str = "Projects";
pub(crate) const SETTINGS: &str = "Settings of their own";
pub(crate) const PRICES: &str = "Prices of your own";
pub(crate) const PRICES_HINT: &str = "US dollars per million tokens.";
pub(crate) const MODEL: &str = "Model";
pub(crate) const INPUT: &str = "Input";
pub(crate) const OUTPUT: &str = "Output";
pub(crate) const AS_OF: &str = "As of";

pub(crate) const HISTORY: &str = "History";
pub(crate) const NO_HISTORY: &str = "Nothing was written through the API or this page yet.";
pub(crate) const REVISION: &str = "Revision";
pub(crate) const WHEN: &str = "When (UTC)";
pub(crate) const WHO: &str = "Who";
pub(crate) const WHAT: &str = "What";
pub(crate) const WHY: &str = "Why";
pub(crate) const OLDER: &str = "Older";
pub(crate) const NEWEST: &str = "Newest";
pub(crate) const UNNAMED: &str = "a token without a name";

/// The line below the title.
pub(crate) fn revision(revision: u64) -> String {
    match revision {
        0 => "No revision yet: the built-in defaults, and what was written to KV by hand".to_owned(),
        revision => format!("Revision {revision}"),
    }
}

/// The person who is logged in.
pub(crate) fn logged_in_as(who: &str) -> String {
    if who.is_empty() {
        "logged in".to_owned()
    } else {
        format!("logged in as {who}")
    }
}

/// The name of a switch's form.
pub(crate) fn switch_label(provider: &str, enabled: bool) -> String {
    format!("Switch {provider} {}", if enabled { "off" } else { "on" })
}

/// A time limit.
pub(crate) fn seconds(seconds: u64) -> String {
    format!("{seconds} s for one attempt")
}
