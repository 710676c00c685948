//! The classes of a provider's failures.

use std::fmt;

/// A fault on the provider's side. Another attempt, or another model, may do better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProviderFault {
    /// Too many requests for this account or model.
    RateLimited,
    /// The provider or the model has no room at the moment.
    Overloaded,
    /// Any other error of the provider's own.
    ServerError,
    /// The connection could not be made or broke before an answer.
    Network,
    /// No answer within the time.
    Timeout,
    /// The answer made no progress for too long, although its connection stood.
    Stalled,
    /// The answer broke off.
    CutStream,
    /// The answer was not what the protocol says.
    Garbage,
}

impl ProviderFault {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::RateLimited,
        Self::Overloaded,
        Self::ServerError,
        Self::Network,
        Self::Timeout,
        Self::Stalled,
        Self::CutStream,
        Self::Garbage,
    ];

    /// A word for logs and reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RateLimited => "rate limited",
            Self::Overloaded => "overloaded",
            Self::ServerError => "server error",
            Self::Network => "network",
            Self::Timeout => "timeout",
            Self::Stalled => "stalled",
            Self::CutStream => "cut stream",
            Self::Garbage => "garbage",
        }
    }
}

impl fmt::Display for ProviderFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

/// The class of a failed attempt, which decides what comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureClass {
    /// The provider's fault: the same request may succeed later, or with another model.
    Retryable(ProviderFault),
    /// This model is not to be had here; another one may be. Asking again would not help.
    ModelUnavailable,
    /// The account has nothing left. No model of this provider would help.
    QuotaExhausted,
    /// The credentials were refused. No model of this provider would help.
    Auth,
    /// The prompt does not fit into the model's context window.
    ContextOverflow,
    /// The request is wrong.
    BadRequest,
}

impl From<ProviderFault> for FailureClass {
    fn from(fault: ProviderFault) -> Self {
        Self::Retryable(fault)
    }
}

impl FailureClass {
    /// Returns whether the failure says something about the provider's health. Only such failures count for a breaker.
    pub const fn is_provider_fault(self) -> bool {
        matches!(self, Self::Retryable(_))
    }

    /// A word for logs and reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Retryable(fault) => fault.as_str(),
            Self::ModelUnavailable => "model unavailable",
            Self::QuotaExhausted => "quota exhausted",
            Self::Auth => "credentials rejected",
            Self::ContextOverflow => "context overflow",
            Self::BadRequest => "bad request",
        }
    }
}

impl fmt::Display for FailureClass {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

/// Phrases in a provider's error that mean a prompt beyond the context window.
const OVERFLOW: [&str; 5] = [
    "prompt is too long",
    "context_length_exceeded",
    "maximum context length",
    "exceed context limit",
    "context window",
];

/// Phrases in a provider's error that mean an account without money or quota.
const QUOTA: [&str; 3] = ["insufficient_quota", "credit balance is too low", "billing_hard_limit"];

/// The class of an error status, with what the provider said about it (its error body, as far as it was read).
///
/// The text only ever makes a class more precise within what the status allows: a provider's prose must not turn an
/// overload into a client error.
pub fn classify(status: u16, body: &str) -> FailureClass {
    let says = |phrases: &[&str]| {
        let text = body.to_ascii_lowercase();
        phrases.iter().any(|phrase| text.contains(phrase))
    };
    match status {
        // The prompt fits, and the answer that is asked for does not.
        400 | 422 if says(&["max_tokens"]) && says(&["is too large"]) => FailureClass::BadRequest,
        400 | 422 if says(&OVERFLOW) => FailureClass::ContextOverflow,
        400 | 429 if says(&QUOTA) => FailureClass::QuotaExhausted,
        401 | 403 | 407 => FailureClass::Auth,
        402 => FailureClass::QuotaExhausted,
        404 | 410 => FailureClass::ModelUnavailable,
        413 => FailureClass::ContextOverflow,
        // Cloudflare's: it has waited for a hundred seconds.
        524 => FailureClass::Retryable(ProviderFault::Timeout),
        429 => FailureClass::Retryable(ProviderFault::RateLimited),
        503 | 529 => FailureClass::Retryable(ProviderFault::Overloaded),
        408 | 409 | 425 | 500.. => FailureClass::Retryable(ProviderFault::ServerError),
        _ => FailureClass::BadRequest,
    }
}

/// A change of a request with which a model may take what it has refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Concession {
    /// It is asked for no thinking, no sampling, and without a key for its cache.
    NoParameters,
    /// Its earlier thoughts do not go back to it.
    NoThoughts,
    /// Calls of other models have the mark of calls without a signature.
    UnsignedCalls,
    /// It is not asked for the tokens that it uses.
    NoUsage,
    /// The answer's limit has its newer name.
    NewerLimit,
    /// A message of the user never follows another one, nor the result of a call.
    StrictTurns,
}

/// Words in a provider's error that name a parameter of thinking, sampling or caching.
const PARAMETERS: [&str; 9] = [
    "effort",
    "thinking",
    "reasoning",
    "encrypted_content",
    "verbosity",
    "temperature",
    "top_p",
    "top_k",
    "prompt_cache_key",
];

/// Words in a provider's error for earlier thoughts, in fields that have no other meaning.
const THOUGHTS: [&str; 3] = ["reasoning_content", "reasoning_details", "thinking_blocks"];

/// Names of the effort, which is a parameter and not a thought.
const EFFORT: [&str; 3] = ["reasoning_effort", "reasoning.effort", "reasoning effort"];

/// Words in a provider's error for what it did not get.
const MISSING: [&str; 8] = [
    "missing",
    "required",
    "must be passed",
    "must be provided",
    "must be included",
    "must include",
    "must contain",
    "must start",
];

/// Words in a provider's error for what it does not take.
const UNWANTED: [&str; 8] = [
    "unsupported",
    "not supported",
    "not allowed",
    "not permitted",
    "forbidden",
    "unexpected",
    "unknown",
    "unrecognized",
];

/// Words in a provider's error about messages in an order that it does not take.
const ORDER: [&str; 3] = ["must alternate", "unexpected role", "after role"];

/// The changes with which a model may take a request that it has refused in these words, the likeliest first.
pub fn concessions(status: u16, body: &str) -> Vec<Concession> {
    if !matches!(status, 400 | 422) {
        return Vec::new();
    }
    let text = body.to_ascii_lowercase();
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| text.contains(phrase));
    let rest = EFFORT.iter().fold(text.clone(), |rest, name| rest.replace(name, ""));
    // A thought that is missing would be missed the more.
    let takes_thoughts = says(&MISSING) && !says(&UNWANTED);
    [
        (says(&THOUGHTS) && !takes_thoughts, Concession::NoThoughts),
        (says(&PARAMETERS), Concession::NoParameters),
        (
            rest.contains("reasoning") && !says(&THOUGHTS) && !takes_thoughts,
            Concession::NoThoughts,
        ),
        (
            says(&["thought_signature", "thoughtsignature"]) && says(&MISSING),
            Concession::UnsignedCalls,
        ),
        (says(&["stream_options"]), Concession::NoUsage),
        (
            says(&["max_completion_tokens"]) && says(&["instead"]),
            Concession::NewerLimit,
        ),
        (says(&ORDER), Concession::StrictTurns),
    ]
    .into_iter()
    .filter_map(|(is_named, concession)| is_named.then_some(concession))
    .collect()
}

/// The class of an error that came as an event of the stream, by its type or code.
pub fn classify_event(kind: &str, message: &str) -> FailureClass {
    match kind {
        "authentication_error" | "permission_error" | "invalid_api_key" => FailureClass::Auth,
        "insufficient_quota" | "billing_error" => FailureClass::QuotaExhausted,
        "not_found_error" | "model_not_found" => FailureClass::ModelUnavailable,
        "request_too_large" | "context_length_exceeded" => FailureClass::ContextOverflow,
        "invalid_request_error" | "invalid_prompt" => classify(400, message),
        "rate_limit_error" | "rate_limit_exceeded" => FailureClass::Retryable(ProviderFault::RateLimited),
        "overloaded_error" => FailureClass::Retryable(ProviderFault::Overloaded),
        "timeout_error" => FailureClass::Retryable(ProviderFault::Timeout),
        _ => FailureClass::Retryable(ProviderFault::ServerError),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_have_their_class() {
        use FailureClass::{Auth, BadRequest, ContextOverflow, ModelUnavailable, QuotaExhausted, Retryable};
        for (status, class) in [
            (301, BadRequest),
            (400, BadRequest),
            (401, Auth),
            (402, QuotaExhausted),
            (403, Auth),
            (404, ModelUnavailable),
            (408, Retryable(ProviderFault::ServerError)),
            (409, Retryable(ProviderFault::ServerError)),
            (413, ContextOverflow),
            (422, BadRequest),
            (429, Retryable(ProviderFault::RateLimited)),
            (500, Retryable(ProviderFault::ServerError)),
            (503, Retryable(ProviderFault::Overloaded)),
            (504, Retryable(ProviderFault::ServerError)),
            (524, Retryable(ProviderFault::Timeout)),
            (529, Retryable(ProviderFault::Overloaded)),
        ] {
            assert_eq!(classify(status, ""), class, "{status}");
        }
    }

    #[test]
    fn the_text_makes_a_class_more_precise() {
        let overflow = "This model's maximum context length is 128000 tokens.";
        assert_eq!(classify(400, overflow), FailureClass::ContextOverflow);
        let answer = "'max_tokens' or 'max_completion_tokens' is too large: 16000. This model's maximum context length is 16000 tokens";
        assert_eq!(classify(400, answer), FailureClass::BadRequest);
        assert_eq!(
            classify(400, "Prompt is too long: 200001 tokens"),
            FailureClass::ContextOverflow
        );
        assert_eq!(
            classify(429, r#"{"error":{"code":"insufficient_quota"}}"#),
            FailureClass::QuotaExhausted
        );
        assert_eq!(
            classify(503, "prompt is too long"),
            FailureClass::Retryable(ProviderFault::Overloaded),
            "an overload stays one, whatever the text says"
        );
    }

    #[test]
    fn a_refusal_names_what_may_be_changed() {
        use Concession::{NewerLimit, NoParameters, NoThoughts, NoUsage, StrictTurns, UnsignedCalls};
        for (body, expected) in [
            (
                "Unsupported parameter: 'reasoning_effort' is not supported with this model.",
                vec![NoParameters],
            ),
            ("adaptive thinking is not supported on this model", vec![NoParameters]),
            (
                r#"{"detail":[{"loc":["body","top_p"],"msg":"Extra inputs are not permitted"}]}"#,
                vec![NoParameters],
            ),
            (
                "Unrecognized request argument supplied: prompt_cache_key",
                vec![NoParameters],
            ),
            ("`Temperature` is deprecated for this model.", vec![NoParameters]),
            ("messages.1: the request could not be processed", vec![]),
            (
                "messages.2.assistant.reasoning_content: property is unsupported",
                vec![NoThoughts, NoParameters],
            ),
            (
                "The reasoning_content is not allowed in input",
                vec![NoThoughts, NoParameters],
            ),
            (
                "'messages.2' : property 'reasoning' is unsupported",
                vec![NoParameters, NoThoughts],
            ),
            (
                "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
                vec![NoParameters],
            ),
            (
                "The `reasoning_content` in the thinking mode must be passed back to the API.",
                vec![NoParameters],
            ),
            (
                "Function call is missing a thought_signature in functionCall parts.",
                vec![UnsignedCalls],
            ),
            (
                "[{'type': 'extra_forbidden', 'loc': ('body', 'stream_options')}]",
                vec![NoUsage],
            ),
            (
                "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
                vec![NewerLimit],
            ),
            ("Unexpected role 'user' after role 'tool'", vec![StrictTurns]),
            (
                "After the optional system message, conversation roles must alternate user/assistant/user/assistant/...",
                vec![StrictTurns],
            ),
        ] {
            assert_eq!(concessions(400, body), expected, "{body}");
            assert_eq!(concessions(422, body), expected, "{body}");
            assert_eq!(concessions(500, body), [], "{body}");
            assert_eq!(concessions(404, body), [], "{body}");
        }
    }

    #[test]
    fn events_of_a_stream_have_their_class() {
        assert_eq!(
            classify_event("overloaded_error", "Overloaded"),
            FailureClass::Retryable(ProviderFault::Overloaded)
        );
        assert_eq!(
            classify_event("invalid_request_error", "prompt is too long"),
            FailureClass::ContextOverflow
        );
        assert_eq!(
            classify_event("something_new", ""),
            FailureClass::Retryable(ProviderFault::ServerError)
        );
        assert!(!classify_event("authentication_error", "").is_provider_fault());
    }
}
