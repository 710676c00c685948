//! Path templates such as `/repos/{owner}/{repo}/pulls/{pull_number}`.

use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;

/// A path with parameters.
#[derive(Debug, Clone)]
pub(crate) struct Template {
    segments: Vec<Segment>,
}

#[derive(Debug, Clone)]
enum Segment {
    Literal(String),
    Parameter(String),
    /// Any number of segments, at the end: of a pattern, or of a path of a file.
    Rest(String),
}

impl Template {
    /// Reads a template. `{name}` and `*` stand for one segment, a last `**` or `{path}` for all that follow.
    pub(crate) fn parse(template: &str) -> Self {
        let segments = split(template)
            .map(|segment| match segment {
                "**" => Segment::Rest("**".to_owned()),
                "{path}" => Segment::Rest("path".to_owned()),
                "*" => Segment::Parameter("*".to_owned()),
                _ => match segment.strip_prefix('{').and_then(|inner| inner.strip_suffix('}')) {
                    Some(name) => Segment::Parameter(name.to_owned()),
                    None => Segment::Literal(segment.to_owned()),
                },
            })
            .collect();
        Self { segments }
    }

    /// Matches a path whose segments are still percent-encoded; returns the decoded parameters.
    pub(crate) fn matches(&self, path: &str) -> Option<BTreeMap<String, String>> {
        let decode = |part: &str| percent_decode_str(part).decode_utf8_lossy().into_owned();
        let mut parameters = BTreeMap::new();
        let mut parts = split(path);
        for segment in &self.segments {
            if let Segment::Rest(name) = segment {
                let rest: Vec<&str> = parts.collect();
                parameters.insert(name.clone(), decode(&rest.join("/")));
                return Some(parameters);
            }
            let part = parts.next()?;
            match segment {
                Segment::Literal(literal) if literal == part => {}
                Segment::Parameter(name) if !part.is_empty() => {
                    parameters.insert(name.clone(), decode(part));
                }
                _ => return None,
            }
        }
        parts.next().is_none().then_some(parameters)
    }

    /// The number of segments that are parameters.
    pub(crate) fn parameter_count(&self) -> usize {
        let is_parameter = |segment: &&Segment| !matches!(segment, Segment::Literal(_));
        self.segments.iter().filter(is_parameter).count()
    }
}

fn split(path: &str) -> std::str::Split<'_, char> {
    path.strip_prefix('/').unwrap_or(path).split('/')
}
