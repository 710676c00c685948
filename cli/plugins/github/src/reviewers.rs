//! Reviewers of the pull request: people and teams.

use std::collections::HashSet;

use conclave_forge::{ApiError, ApiErrorKind};
use serde::Deserialize;
use serde_json::json;

use crate::{GitHub, wire::User};

#[derive(Debug, Deserialize)]
struct Requested {
    #[serde(default)]
    users: Vec<User>,
    #[serde(default)]
    teams: Vec<Team>,
}

#[derive(Debug, Deserialize)]
struct Team {
    slug: String,
}

/// Asks those who were not asked and have not reviewed yet, and returns what did not work, in words.
pub(crate) async fn add(github: &GitHub, names: &[&str]) -> Result<Vec<String>, ApiError> {
    let url = github.pull("/requested_reviewers");
    let Requested { users, teams } = github.http.get("read its reviewers", &url).await?;
    let reviewed = github.reviews().await?.into_iter().filter_map(|review| review.user);
    let people = users.into_iter().chain(reviewed).map(|user| user.login);
    let known = people.chain(teams.into_iter().map(|team| team.slug));
    let known: HashSet<String> = known.map(|name| name.to_lowercase()).collect();
    let mut warnings = Vec::new();
    for name in names {
        let name = name.trim_start_matches('@');
        let (field, asked) = match name.split_once('/') {
            Some((_, team)) => ("team_reviewers", team),
            None => ("reviewers", name),
        };
        if known.contains(&asked.to_lowercase()) {
            continue;
        }
        // One by one: GitHub refuses all of them for one that it does not know.
        let asked = github.create("add reviewers", &url, &json!({ field: [asked] })).await;
        match asked {
            Err(error) if matches!(error.kind, ApiErrorKind::Refused | ApiErrorKind::NotFound) => {
                warnings.push(format!("{name} was not made a reviewer: {}", error.words));
            }
            asked => drop(asked?),
        }
    }
    Ok(warnings)
}
