//! Path templates such as `/projects/{id}/merge_requests/{merge_request_iid}`.

use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;

#[derive(Debug, Clone)]
pub(crate) struct Template {
    segments: Vec<Segment>,
}

#[derive(Debug, Clone)]
enum Segment {
    Literal(String),
    Parameter(String),
    /// Any number of segments, at the end.
    Rest,
}

impl Template {
    /// Reads a template. `{name}` and `*` stand for one segment, a last `**` for all that follow.
    pub(crate) fn parse(template: &str) -> Self {
        let segments = split(template)
            .map(|segment| match segment {
                "**" => Segment::Rest,
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
        let mut parameters = BTreeMap::new();
        let mut parts = split(path);
        for segment in &self.segments {
            if matches!(segment, Segment::Rest) {
                return Some(parameters);
            }
            let part = parts.next()?;
            match segment {
                Segment::Literal(literal) if literal == part => {}
                Segment::Parameter(name) if !part.is_empty() => {
                    let decoded = percent_decode_str(part).decode_utf8_lossy().into_owned();
                    parameters.insert(name.clone(), decoded);
                }
                _ => return None,
            }
        }
        parts.next().is_none().then_some(parameters)
    }

    /// How many segments are parameters.
    pub(crate) fn parameter_count(&self) -> usize {
        self.segments
            .iter()
            .filter(|segment| !matches!(segment, Segment::Literal(_)))
            .count()
    }
}

fn split(path: &str) -> std::str::Split<'_, char> {
    path.strip_prefix('/').unwrap_or(path).split('/')
}

#[cfg(test)]
mod tests {
    use super::Template;

    #[test]
    fn an_encoded_slash_stays_inside_its_segment() {
        let template = Template::parse("/projects/{id}/repository/files/{file_path}/raw");
        let parameters = template
            .matches("/projects/group%2Fproject/repository/files/src%2Fmain%2Ers/raw")
            .unwrap();
        assert_eq!(parameters["id"], "group/project");
        assert_eq!(parameters["file_path"], "src/main.rs");
        assert!(
            template
                .matches("/projects/group/project/repository/files/a/raw")
                .is_none()
        );
    }

    #[test]
    fn a_pattern_can_end_in_anything() {
        let pattern = Template::parse("/projects/*/merge_requests/**");
        assert!(pattern.matches("/projects/1/merge_requests/2/notes").is_some());
        assert!(pattern.matches("/projects/1/repository").is_none());
    }
}
