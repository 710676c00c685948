//! Shapes of tokens: what is a secret wherever it stands, whatever its value.

/// A kind of token: beginnings of such tokens, the minimum lengths of the parts behind the beginning, which dots separate, and the
/// characters of these parts.
type Shape = (&'static [&'static str], &'static [usize], fn(char) -> bool);

/// The tokens of well-known services. What looks like an identifier (`hf_`, `npm_`, `ASIA`) needs the length and the alphabet
/// of the real token; the longest beginning of a service comes first.
const SHAPES: [Shape; 12] = [
    // GitLab: access, deploy, runner, CI job and trigger tokens, some with dots.
    (&["glcbt-", "gldt-", "glpat-", "glptt-", "glrt-"], &[16], is_token_char),
    // GitLab: feature flags, feeds, incoming mail, SCIM, workspaces, registration of runners.
    (
        &["glffct-", "glft-", "glimt-", "glsoat-", "glwt-", "GR1348941"],
        &[20],
        is_base64url,
    ),
    // GitLab: agents for Kubernetes, secrets of OAuth applications.
    (&["glagent-", "gloas-"], &[40], is_base64url),
    // GitHub: tokens of an installation may hold a JWT.
    (&["ghs_", "github_pat_"], &[20], is_token_char),
    (&["gho_", "ghp_", "ghr_", "ghu_"], &[20], is_alphanumeric),
    // Slack.
    (
        &["xapp-", "xoxa-", "xoxb-", "xoxe-", "xoxp-", "xoxr-", "xoxs-"],
        &[16],
        is_token_char,
    ),
    // Anthropic and OpenAI, and services that speak as they do.
    (&["sk-ant-", "sk-proj-"], &[16], is_token_char),
    (&["sk-"], &[24], is_token_char),
    // AWS: ids of keys, lasting and temporary.
    (&["AKIA", "ASIA"], &[16], is_uppercase_or_digit),
    // Google, and PyPI: its tokens are macaroons of the same version.
    (&["AIza", "pypi-AgE"], &[35], is_base64url),
    // Hugging Face, npm, Stripe.
    (&["hf_", "npm_", "rk_live_", "sk_live_"], &[24], is_alphanumeric),
    (&["SG."], &[22, 43], is_base64url),
];

/// Returns whether the text begins with what has to follow the token's beginning: these parts.
fn has_parts(text: &str, parts: &[usize], alphabet: fn(char) -> bool) -> bool {
    let mut rest = text;
    for (index, least) in parts.iter().enumerate() {
        if index > 0 {
            let Some(behind) = rest.strip_prefix('.') else {
                return false;
            };
            rest = behind;
        }
        let length = run(rest, alphabet);
        if length < *least {
            return false;
        }
        rest = &rest[length..];
    }
    true
}

/// The length of the token that the text begins with, in bytes.
pub(super) fn token_length(text: &str) -> Option<usize> {
    SHAPES.iter().find_map(|(prefixes, parts, alphabet)| {
        let mut tails = prefixes
            .iter()
            .filter_map(|prefix| Some((prefix, text.strip_prefix(prefix)?)));
        let (prefix, tail) = tails.find(|(_, tail)| has_parts(tail, parts, *alphabet))?;
        // Whatever the alphabet is, no rest of the word stays.
        Some(prefix.len() + run(tail, is_token_char))
    })
}

/// The length of what the text begins with in these characters, all of which are ASCII.
fn run(text: &str, alphabet: fn(char) -> bool) -> usize {
    text.find(|c| !alphabet(c)).unwrap_or(text.len())
}

fn is_token_char(c: char) -> bool {
    is_base64url(c) || c == '.'
}

fn is_base64url(c: char) -> bool {
    is_alphanumeric(c) || c == '-' || c == '_'
}

fn is_alphanumeric(c: char) -> bool {
    c.is_ascii_alphanumeric()
}

fn is_uppercase_or_digit(c: char) -> bool {
    c.is_ascii_uppercase() || c.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*, sample::select};

    use super::*;
    use crate::redact::redact_patterns;

    /// Beginnings of tokens, and what their services write behind them.
    const TOKENS: [(&str, &str); 33] = [
        ("glpat-", "[0-9A-Za-z_-]{27}\\.[0-9a-z]{9}"),
        ("gldt-", "[0-9A-Za-z_-]{20}"),
        ("glrt-", "t1_[0-9A-Za-z_-]{20}"),
        ("glcbt-", "64_[0-9A-Za-z_-]{20}"),
        ("glptt-", "[0-9a-f]{40}"),
        ("glffct-", "[0-9A-Za-z_-]{20}"),
        ("glft-", "[0-9A-Za-z_-]{20}"),
        ("glimt-", "[0-9A-Za-z_-]{25}"),
        ("glsoat-", "[0-9A-Za-z_-]{20}"),
        ("glwt-", "[0-9A-Za-z_-]{20}"),
        ("GR1348941", "[0-9A-Za-z_-]{20}"),
        ("glagent-", "[0-9A-Za-z_-]{50}"),
        ("gloas-", "[0-9a-f]{64}"),
        ("gho_", "[0-9A-Za-z]{36}"),
        ("ghp_", "[0-9A-Za-z]{36}"),
        ("ghr_", "[0-9A-Za-z]{76}"),
        ("ghs_", "[0-9]{6}_eyJ[0-9A-Za-z_-]{90}\\.[0-9A-Za-z_-]{90}"),
        ("ghu_", "[0-9A-Za-z]{36}"),
        ("github_pat_", "[0-9A-Za-z]{22}_[0-9A-Za-z]{59}"),
        ("xapp-", "1-A[0-9A-Z]{10}-[0-9]{13}-[0-9a-f]{64}"),
        ("xoxa-", "2-[0-9]{12}-[0-9]{12}-[0-9a-f]{32}"),
        ("xoxb-", "[0-9]{12}-[0-9]{12}-[0-9A-Za-z]{24}"),
        ("xoxp-", "[0-9]{12}-[0-9]{12}-[0-9]{12}-[0-9a-f]{32}"),
        ("sk-ant-", "api03-[0-9A-Za-z_-]{93}AA"),
        ("AKIA", "[A-Z2-7]{16}"),
        ("ASIA", "[A-Z2-7]{16}"),
        ("AIza", "[0-9A-Za-z_-]{35}"),
        ("hf_", "[A-Za-z]{34}"),
        ("npm_", "[0-9A-Za-z]{36}"),
        ("pypi-", "AgEIcHlwaS5vcmc[0-9A-Za-z_-]{50}"),
        ("rk_live_", "[0-9A-Za-z]{24}"),
        ("sk_live_", "[0-9A-Za-z]{24}"),
        ("SG.", "[0-9A-Za-z_-]{22}\\.[0-9A-Za-z_-]{43}"),
    ];

    fn token() -> impl Strategy<Value = String> {
        // Put together here, so that no scanner takes the test for a leak.
        select(TOKENS.to_vec()).prop_flat_map(|(prefix, rest)| rest.prop_map(move |rest| format!("{prefix}{rest}")))
    }

    /// An identifier of words, as programs have them.
    fn identifier() -> impl Strategy<Value = String> {
        let beginnings: Vec<&str> = "AKIA ASIA SG. gho_ ghp_ ghr_ ghu_ hf_ npm_ pypi- rk_live_ sk_live_"
            .split(' ')
            .collect();
        let words = (vec("[a-z]{1,9}", 1..9), select(vec!["_", "."]));
        (select(beginnings), words)
            .prop_map(|(beginning, (words, between))| beginning.to_owned() + &words.join(between))
    }

    proptest! {
        #[test]
        fn a_token_goes_whole_wherever_it_stands(token in token(), before in "(.* [\"'=(:/])?", behind in "([\"')&,;\n ].*)?") {
            let text = format!("{before}{token}{behind}");
            let shown = redact_patterns(&text);
            prop_assert!(!shown.contains(&token), "{shown}");
            prop_assert_eq!(token_length(&format!("{token}{behind}")), Some(token.len()));
        }

        #[test]
        fn identifiers_stay(identifier in identifier()) {
            prop_assert_eq!(token_length(&identifier), None);
        }
    }

    #[test]
    fn names_that_begin_like_a_token_stay() {
        for name in [
            "hf_hub_download_with_retries_and_a_cache",
            "npm_config_registry_of_the_organization",
            "npm_package_dependencies_left_pad_version",
            "ASIA_PACIFIC_SOUTHEAST_1_REGION",
            "AKIA_KEY_OF_THE_ACCOUNT",
            "pypi-publish-workflow-for-the-release-branch",
            "SG.Configuration.Builder.Factory",
            "gho_release_download_url_prefix",
            "glagent-configuration-of-production",
        ] {
            assert_eq!(token_length(name), None, "{name}");
        }
    }
}
