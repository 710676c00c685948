//! Every environment variable that Conclave reads, each once. The README's table is held against this list.

macro_rules! variables {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal;)+) => {
        $($(#[doc = $doc])+ pub(crate) const $name: &str = $text;)+

        /// All of them with their descriptions.
        #[cfg(test)]
        pub(crate) const ALL: &[(&str, &str)] = &[$(($text, concat!($($doc),+))),+];
    };
}

variables! {
    /// Key for Anthropic's models.
    ANTHROPIC_API_KEY = "ANTHROPIC_API_KEY";
    /// Address of an Anthropic-compatible endpoint, with or without `/v1`.
    ANTHROPIC_BASE_URL = "ANTHROPIC_BASE_URL";
    /// Key for OpenAI's models.
    OPENAI_API_KEY = "OPENAI_API_KEY";
    /// Address of an OpenAI-compatible endpoint, with its `/v1`.
    OPENAI_BASE_URL = "OPENAI_BASE_URL";
    /// API of the OpenAI endpoint, `responses` or `chat`; by default `responses` at api.openai.com, else `chat`.
    OPENAI_API = "CONCLAVE_OPENAI_API";
    /// Key for Workers AI.
    CLOUDFLARE_API_TOKEN = "CLOUDFLARE_API_TOKEN";
    /// Account of the Workers AI key.
    CLOUDFLARE_ACCOUNT_ID = "CLOUDFLARE_ACCOUNT_ID";
    /// Address of the reviewer-config Worker.
    CONFIG_URL = "CONCLAVE_CONFIG_URL";
    /// Reader token of the reviewer-config Worker.
    CONFIG_TOKEN = "CONCLAVE_CONFIG_TOKEN";
    /// Address of the review-tracker Worker.
    TRACKER_URL = "CONCLAVE_TRACKER_URL";
    /// Ingest token of the review-tracker Worker.
    TRACKER_TOKEN = "CONCLAVE_TRACKER_TOKEN";
    /// GitLab token of the bot: scope `api`, role Developer.
    GITLAB_TOKEN = "GITLAB_TOKEN";
    /// The installation's secret, for hidden markers and prompt boundaries; by default made from the GitLab token.
    SECRET = "CONCLAVE_SECRET";
    /// Path of the OpenCode binary; by default the `opencode` on `PATH`.
    OPENCODE = "CONCLAVE_OPENCODE";
    /// Log filter, as in `debug` or `conclave_gateway=trace`; by default `warn`.
    LOG = "CONCLAVE_LOG";
    /// Additional certificates (PEM) to trust when talking to model providers.
    CA_FILE = "CONCLAVE_CA_FILE";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readme_lists_every_variable_with_this_description() {
        let readme = include_str!("../../README.md");
        for (name, description) in ALL {
            let row = format!("| `{name}` | {} |", description.trim());
            assert!(readme.contains(&row), "the README lacks the row\n{row}");
        }
    }
}
