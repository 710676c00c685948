//! A provider's refusal of a call, for people.

use conclave_shared::model::ModelId;
use url::Url;

use super::{
    Rejection,
    words::{is_page, said, short},
};

/// A provider's refusal of a call, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The status.
    pub status: u16,
    /// The answer that came with it.
    pub answer: RefusalAnswer,
    /// True if the provider was asked without a key.
    pub keyless: bool,
}

/// The answer of a provider that refuses a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefusalAnswer {
    /// Its words, as one short line; empty if there are none.
    Words(String),
    /// A page, which no API sends.
    Page,
    /// A redirect to this address, which has no query.
    Redirect(String),
}

impl Refusal {
    /// A refusal with this status and body, whose secrets are masked.
    pub(crate) fn new(status: u16, body: &str) -> Self {
        let answer = if !is_page(body) {
            RefusalAnswer::Words(said(body))
        } else if status == 401 {
            // What stands in front of a model server asks for a key so.
            RefusalAnswer::Words(String::new())
        } else {
            RefusalAnswer::Page
        };
        Self {
            status,
            answer,
            keyless: false,
        }
    }

    /// The status and the words.
    pub(crate) fn words(&self) -> String {
        let status = self.status;
        match &self.answer {
            RefusalAnswer::Redirect(address) => format!("{status}, a redirect to {address}"),
            RefusalAnswer::Page => format!("{status}, with a page in place of an API's answer"),
            RefusalAnswer::Words(words) if words.is_empty() => format!("{status}, without a word about why"),
            RefusalAnswer::Words(words) => format!("{status}: \"{words}\""),
        }
    }

    /// The refusal of a call of this model in words, with what to do.
    pub(crate) fn of_call(&self, model: &ModelId, reason: Rejection) -> String {
        let (provider, status) = (model.provider(), self.status);
        let words = match &self.answer {
            RefusalAnswer::Redirect(address) => {
                return format!(
                    "{provider} answers a call of {model} with a redirect to {address} ({status}): is its base URL the address of the API?"
                );
            }
            RefusalAnswer::Page => {
                return format!(
                    "{provider} answers a call of {model} with a page in place of an API's answer ({status}): see that its base URL is the \
                     address of the API, and whether a firewall, a proxy or a login stands in between"
                );
            }
            RefusalAnswer::Words(_) => self.words(),
        };
        if reason != Rejection::CredentialsRejected {
            let step = if words.contains("max_tokens") || words.contains("max_completion_tokens") {
                "declare its `max_output`, and its `context` if that is smaller than 128,000 tokens, in `capabilities`: see docs/models.md"
            } else {
                "correct what it names; `conclave doctor` checks the address and the key"
            };
            return format!("{provider} refused a call of {model} ({words}): {step}");
        }
        if self.keyless {
            // Only an endpoint of one's own is asked without one.
            return format!(
                "{provider} wants a key for {model}, and none is set ({words}): set CONCLAVE_COMPATIBLE_API_KEY"
            );
        }
        format!("{provider} refused the key for {model} ({words}): it is mistyped, expired, or without the right")
    }
}

/// An address for people: without user, password, query and fragment, which may hold secrets.
pub(crate) fn shown_address(url: &Url) -> String {
    short(&format!("{}{}", url.origin().ascii_serialization(), url.path()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_the_status_the_words_and_what_to_do() {
        let model: ModelId = "compatible/qwen3".parse().expect("a model");
        let (key, request) = (Rejection::CredentialsRejected, Rejection::RequestRejected);
        let long = "x".repeat(300);
        let cut = format!("(400: \"{}…\")", "x".repeat(200));
        for (status, body, reason, wanted) in [
            (
                401,
                r#"{"error":{"message":"Invalid\u001b\nkey"}}"#,
                key,
                vec!["refused the key", "(401: \"Invalid key\")"],
            ),
            (401, r#"{"error":"Unauthorized"}"#, key, vec!["(401: \"Unauthorized\")"]),
            (401, "", key, vec!["refused the key", "(401, without a word about why)"]),
            (401, "<html>Sign in", key, vec!["refused the key", "without a word"]),
            (
                403,
                " <!doctype html>",
                key,
                vec!["a page", "(403)", "a firewall, a proxy"],
            ),
            (
                400,
                r#"{"detail":"no such role"}"#,
                request,
                vec!["(400: \"no such role\")", "`conclave doctor`"],
            ),
            (400, "plain words", request, vec!["(400: \"plain words\")"]),
            (
                400,
                r#"[{"error":{"code":400,"message":"no such role"}}]"#,
                request,
                vec!["(400: \"no such role\")"],
            ),
            (
                400,
                r#"{"error":{"message":"Provider returned error","metadata":{"raw":"no such role"}}}"#,
                request,
                vec!["(400: \"Provider returned error: no such role\")"],
            ),
            (
                400,
                "max_tokens must be less than or equal to `8192`",
                request,
                vec!["`8192`\")", "declare its `max_output`"],
            ),
            (400, long.as_str(), request, vec![cut.as_str()]),
        ] {
            let text = Refusal::new(status, body).of_call(&model, reason);
            assert!(text.starts_with("compatible "), "{text}");
            for part in wanted {
                assert!(text.contains(part), "{part}: {text}");
            }
            let keyless = Refusal {
                keyless: true,
                ..Refusal::new(status, body)
            };
            let names_variable = keyless
                .of_call(&model, reason)
                .contains("set CONCLAVE_COMPATIBLE_API_KEY");
            assert_eq!(names_variable, status == 401, "{body}");
        }
    }

    #[test]
    fn a_redirect_is_named_without_what_may_be_secret() {
        let url: Url = "https://me:hidden@login.example.com:8443/sign-in?state=hidden#hidden"
            .parse()
            .expect("an address");
        let refusal = Refusal {
            status: 302,
            answer: RefusalAnswer::Redirect(shown_address(&url)),
            keyless: true,
        };
        let model = "compatible/qwen3".parse().expect("a model");
        assert_eq!(
            refusal.of_call(&model, Rejection::RequestRejected),
            "compatible answers a call of compatible/qwen3 with a redirect to https://login.example.com:8443/sign-in (302): is its base \
             URL the address of the API?"
        );
    }
}
