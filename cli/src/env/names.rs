//! Every environment variable that Conclave reads, each once. `docs/configuration.md` is made of this list.

macro_rules! variables {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal;)+) => {
        $($(#[doc = $doc])+
        #[cfg_attr(not(feature = "otlp"), allow(dead_code, reason = "some are read by a feature only"))]
        pub(crate) const $name: &str = $text;)+

        /// All of them with their descriptions.
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
    /// Address of any other endpoint, up to `/chat/completions`; its models are called `compatible/NAME`.
    COMPATIBLE_BASE_URL = "CONCLAVE_COMPATIBLE_BASE_URL";
    /// Key for that endpoint, if it wants one.
    COMPATIBLE_API_KEY = "CONCLAVE_COMPATIBLE_API_KEY";
    /// API of that endpoint, `chat`, `responses` or `anthropic`; by default `chat`.
    COMPATIBLE_API = "CONCLAVE_COMPATIBLE_API";
    /// Key for Workers AI.
    CLOUDFLARE_API_TOKEN = "CLOUDFLARE_API_TOKEN";
    /// Account of the Workers AI key and of the AI Gateway.
    CLOUDFLARE_ACCOUNT_ID = "CLOUDFLARE_ACCOUNT_ID";
    /// Name of an AI Gateway: all models are then asked through it, and no provider's key is needed.
    CLOUDFLARE_GATEWAY_ID = "CLOUDFLARE_GATEWAY_ID";
    /// Token of the AI Gateway, with the permission Run.
    CF_AIG_TOKEN = "CF_AIG_TOKEN";
    /// Address of an AI Gateway elsewhere than at Cloudflare's own, up to the gateway's name.
    AI_GATEWAY_URL = "CONCLAVE_AI_GATEWAY_URL";
    /// Address of the reviewer-config Worker.
    CONFIG_URL = "CONCLAVE_CONFIG_URL";
    /// Reader token of the reviewer-config Worker.
    CONFIG_TOKEN = "CONCLAVE_CONFIG_TOKEN";
    /// The CI job's own token (`id_tokens`) for the reviewer-config Worker, beside or in place of a reader token.
    CONFIG_OIDC_TOKEN = "CONCLAVE_CONFIG_OIDC_TOKEN";
    /// Administrator's token of the reviewer-config Worker, for `conclave config`.
    CONFIG_ADMIN_TOKEN = "CONCLAVE_CONFIG_ADMIN_TOKEN";
    /// Address of the review-tracker Worker.
    TRACKER_URL = "CONCLAVE_TRACKER_URL";
    /// Ingest token of the review-tracker Worker.
    TRACKER_TOKEN = "CONCLAVE_TRACKER_TOKEN";
    /// The CI job's own token (`id_tokens`) for the review-tracker Worker: it proves the project, beside or in place of an ingest token.
    TRACKER_OIDC_TOKEN = "CONCLAVE_TRACKER_OIDC_TOKEN";
    /// Operator's token of the review-tracker Worker, for `conclave memory`.
    TRACKER_OPERATOR_TOKEN = "CONCLAVE_TRACKER_OPERATOR_TOKEN";
    /// The audience of the tokens that a job of GitHub Actions with `id-token: write` asks for, one for both Workers; by default `conclave`.
    OIDC_AUDIENCE = "CONCLAVE_OIDC_AUDIENCE";
    /// GitLab token of the bot: scope `api`, role Developer.
    GITLAB_TOKEN = "GITLAB_TOKEN";
    /// GitHub token: the job's own (`github.token`), an App's, or a fine-grained one with `Pull requests: write`.
    GITHUB_TOKEN = "GITHUB_TOKEN";
    /// The file that a workflow without rights has handed on to the one that follows it.
    HANDED_ON = "CONCLAVE_HANDED_ON";
    /// The name of the check on a commit; by default `conclave`.
    CHECK_NAME = "CONCLAVE_CHECK_NAME";
    /// Whether the findings are handed to GitHub's code scanning.
    UPLOAD_SARIF = "CONCLAVE_UPLOAD_SARIF";
    /// Minutes that the job has in all, where the CI system does not say: GitHub Actions.
    TIMEOUT_MINUTES = "CONCLAVE_TIMEOUT_MINUTES";
    /// The installation's secret, for hidden markers and prompt boundaries; by default made from the GitLab token, and on GitHub from
    /// the provider's key.
    SECRET = "CONCLAVE_SECRET";
    /// Address of the organization's template for AGENTS.md files, which all prompts get.
    AGENTS_MD_TEMPLATE_URL = "CONCLAVE_AGENTS_MD_TEMPLATE_URL";
    /// Path of the OpenCode binary; by default the one that `conclave runtime install` has fetched, else the `opencode` on `PATH` that is the right version.
    OPENCODE = "CONCLAVE_OPENCODE";
    /// Registry of npm packages that `conclave runtime install` fetches from, as npm and npx set it, in small or capital letters;
    /// `--registry` comes first, and `registry` in `~/.npmrc` last.
    NPM_REGISTRY = "npm_config_registry";
    /// `off` starts OpenCode without the operating system's sandbox, and every review says so; by default it is `on`.
    SANDBOX = "CONCLAVE_SANDBOX";
    /// Programs and directories that OpenCode may read and run in its sandbox besides the system's, with colons between them: what an `opencode` that is a script needs.
    SANDBOX_PROGRAMS = "CONCLAVE_SANDBOX_PROGRAMS";
    /// Least sandbox that `--require-sandbox` accepts; `plan`, `doctor` and `runtime install`, which lack that flag, read it, too.
    REQUIRE_SANDBOX = "CONCLAVE_REQUIRE_SANDBOX";
    /// `1` lets debuggers of the same user attach to Conclave and read its memory, secrets included; by default they cannot.
    DEBUGGABLE = "CONCLAVE_DEBUGGABLE";
    /// Address of a collector of traces (OTLP over HTTP), without `/v1/traces`.
    OTLP_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT";
    /// Headers for the collector: `name=value`, several with commas between them.
    OTLP_HEADERS = "OTEL_EXPORTER_OTLP_HEADERS";
    /// The span that the run's trace hangs below, as W3C Trace Context writes it; by default none.
    TRACEPARENT = "TRACEPARENT";
    /// Proxy for addresses that begin with `https://`.
    HTTPS_PROXY = "HTTPS_PROXY";
    /// Proxy for addresses that begin with `http://`.
    HTTP_PROXY = "HTTP_PROXY";
    /// Proxy for all addresses that have no other one.
    ALL_PROXY = "ALL_PROXY";
    /// Hosts that are reached without a proxy, with commas between them; `*` is all of them.
    NO_PROXY = "NO_PROXY";
    /// Address behind a place in the terminal, with `{path}` and `{line}`, as in `idea://open?file={path}&line={line}`.
    EDITOR_LINK = "CONCLAVE_EDITOR_LINK";
    /// Log filter, as in `debug` or `conclave_gateway=trace`; by default `conclave=warn`, which leaves out what libraries say.
    LOG = "CONCLAVE_LOG";
    /// Additional certificates (PEM) to trust in every HTTPS connection: to the forge, model providers, both Workers and a collector.
    CA_FILE = "CONCLAVE_CA_FILE";
    /// Certificates of authorities (PEM) that are trusted in place of the system's.
    SSL_CERT_FILE = "SSL_CERT_FILE";
}
