//! The review as files: for people, and for the tools that read reports.

use camino::Utf8Path;
use conclave_engine::{
    report::{
        is_code_quality, is_junit, is_markdown, is_review, is_sarif, render_code_quality, render_junit,
        render_markdown, render_sarif,
    },
    review::Review,
};

use crate::{context::Context, exit::Failure, private_files::write_file};

/// The whole review; its schema is `docs/schema/review.schema.json`.
pub(crate) const REVIEW: &str = "review.json";
/// What is posted, as Markdown.
pub(crate) const MARKDOWN: &str = "review.md";
/// SARIF 2.1.0.
pub(crate) const SARIF: &str = "review.sarif";
/// GitLab's Code Quality.
pub(crate) const CODE_QUALITY: &str = "code-quality.json";
/// `JUnit` XML.
pub(crate) const JUNIT: &str = "junit.xml";

/// The names of all files that a review leaves in a directory of reports, and in its records.
pub(crate) const NAMES: [&str; 5] = [REVIEW, MARKDOWN, SARIF, CODE_QUALITY, JUNIT];

/// Returns whether a file of this name with this text is a report that a review has written.
pub(crate) fn is_own(name: &str, text: &str) -> bool {
    match name {
        REVIEW => is_review(text),
        MARKDOWN => is_markdown(text),
        SARIF => is_sarif(text),
        CODE_QUALITY => is_code_quality(text),
        JUNIT => is_junit(text),
        _ => false,
    }
}

/// All reports, each with its file's name, without secrets.
fn reports(review: &Review, context: &Context) -> [(&'static str, String); 5] {
    let Context { output, redactor, .. } = context;
    [
        (REVIEW, output.json(review)),
        (MARKDOWN, redactor.redact(&render_markdown(review))),
        (SARIF, output.json(&render_sarif(review))),
        (CODE_QUALITY, output.json(&render_code_quality(review))),
        (JUNIT, redactor.redact(&render_junit(review))),
    ]
}

/// Writes all reports into each of these directories.
pub(crate) fn write<'a>(
    review: &Review,
    context: &Context,
    directories: impl Iterator<Item = &'a Utf8Path>,
) -> Result<(), Failure> {
    let reports = reports(review, context);
    for directory in directories {
        for (name, content) in &reports {
            write_file(&directory.join(name), content.as_bytes())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    /// Run with `CONCLAVE_WRITE_SCHEMA=1` to renew the file.
    #[test]
    fn the_published_schema_of_the_review_is_up_to_date() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/schema/review.schema.json");
        let schema = format!("{:#}\n", conclave_engine::report::review_schema());
        if std::env::var_os("CONCLAVE_WRITE_SCHEMA").is_some() {
            std::fs::write(path, &schema).expect("the file can be written");
        }
        let published = std::fs::read_to_string(path).expect("the schema is published");
        assert_eq!(published, schema, "run this test with CONCLAVE_WRITE_SCHEMA=1");
    }
}
