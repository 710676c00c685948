//! The repository's settings: those that a review would take, and those that this branch would bring.

use conclave_engine::repo_config::{ParsedRepoConfig, REPO_CONFIG_FILE, RepoConfig, RepoConfigProblem, parse};
use conclave_git::{GitError, Repository};

use super::{Check, Request};
use crate::run::prepare::organization::faults_of_rules;

const NAME: &str = "settings";

/// The settings of one commit, and how a person calls it.
struct Version {
    name: String,
    counts: Counts,
    problems: Vec<RepoConfigProblem>,
}

/// The answer to whether a review takes settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counts {
    /// It takes them.
    Yes,
    /// It does once the branch is merged.
    OnceMerged,
    /// The tip of the target branch is not here: it may have others, which count.
    NotHere,
}

/// Looks at the settings of the target branch's tip, which count, and at those of `HEAD` where they are others. No check where
/// there are none.
pub(super) async fn examine(request: &Request<'_>, repository: &Repository) -> Option<Check> {
    match versions(request, repository).await {
        Ok(versions) => check(&versions),
        Err(error) => Some(Check::of_error(NAME, &error)),
    }
}

/// Returns the settings of the target branch's tip, if they can be read; where the tip is not here, those of `HEAD`, which may be
/// others: asking for too much of a sandbox runs nothing that should not run.
pub(super) async fn of_review(request: &Request<'_>) -> Option<RepoConfig> {
    // The check of the repository says why there is none.
    let repository = Repository::open(request.directory()).await.ok()?;
    let commit = match target(request, &repository).await {
        Target::At(_, commit) => commit,
        Target::NotHere(_) | Target::Unknown => repository.commit("HEAD").await.ok()?,
    };
    let parsed = read(&repository, &commit).await.ok()?;
    Some(parsed.unwrap_or_default().config)
}

/// Looks at the engineering rules that count, as a review reads them. No check where there are none, and where they are not known.
pub(super) async fn rules(request: &Request<'_>, repository: &Repository) -> Option<Check> {
    const NAME: &str = "rules";
    let Target::At(_, commit) = target(request, repository).await else {
        return None;
    };
    let settings = read(repository, &commit).await.ok()?.unwrap_or_default();
    let place = settings.config.codex.rules.as_deref();
    Some(match faults_of_rules(request.env, repository, &commit, place).await {
        Ok(None) => return None,
        Ok(Some(faults)) if faults.is_empty() => Check::ok(NAME, "the engineering rules have no fault"),
        Ok(Some(faults)) => Check::warning(NAME, faults.join("\n"))
            .next("correct them where they are; what cannot be read is left out, and the bot does not approve"),
        Err(failure) => Check::of_error(NAME, &failure),
    })
}

async fn versions(request: &Request<'_>, repository: &Repository) -> Result<Vec<Version>, GitError> {
    let head = repository.commit("HEAD").await?;
    let (name, target) = match target(request, repository).await {
        Target::At(name, commit) => (name, commit),
        Target::NotHere(name) => {
            let name = format!("HEAD (the tip of {name}, which counts, is not in this checkout)");
            let version = version(repository, &head, name, Counts::NotHere).await?;
            return Ok(version.into_iter().collect());
        }
        Target::Unknown => {
            let version = version(repository, &head, "HEAD".to_owned(), Counts::NotHere).await?;
            return Ok(version.into_iter().collect());
        }
    };
    let short = target.get(..10).unwrap_or(&target);
    let counting = version(repository, &target, format!("{name} ({short})"), Counts::Yes).await?;
    let differing = repository.differing(&target, &head, &[REPO_CONFIG_FILE]).await?;
    let brought = if differing.is_empty() {
        None
    } else {
        version(repository, &head, "HEAD".to_owned(), Counts::OnceMerged).await?
    };
    Ok(counting.into_iter().chain(brought).collect())
}

/// The branch whose settings count.
enum Target {
    /// Its name, and the commit at its tip.
    At(String, String),
    /// A branch whose tip is not here.
    NotHere(String),
    /// Nothing says which branch it is.
    Unknown,
}

async fn target(request: &Request<'_>, repository: &Repository) -> Target {
    let Some(branch) = request.env.target_branch() else {
        return match repository.default_branch().await {
            Some(name) => match whole(repository, &name).await {
                Some(commit) => Target::At(name, commit),
                None => Target::NotHere(name),
            },
            None => Target::Unknown,
        };
    };
    for (name, place) in [(format!("origin/{branch}"), "remotes"), (branch.to_owned(), "heads")] {
        if let Some(commit) = whole(repository, &format!("refs/{place}/{name}")).await {
            return Target::At(name, commit);
        }
    }
    Target::NotHere(branch.to_owned())
}

/// The commit of that name, if all of it is here: in a partial clone its settings may be missing.
async fn whole(repository: &Repository, name: &str) -> Option<String> {
    let commit = repository.commit(name).await.ok()?;
    let lacks = repository.lacks_objects(&[&commit]).await.unwrap_or(true);
    (!lacks).then_some(commit)
}

/// The settings at this commit, read as a review reads them, if there are any.
async fn read(repository: &Repository, commit: &str) -> Result<Option<ParsedRepoConfig>, GitError> {
    Ok(match repository.is_plain_file(commit, REPO_CONFIG_FILE).await? {
        None => None,
        Some(false) => Some(ParsedRepoConfig::not_a_file()),
        Some(true) => repository
            .file(commit, REPO_CONFIG_FILE)
            .await?
            .map(|text| parse(&text)),
    })
}

/// The same, for the check.
async fn version(
    repository: &Repository,
    commit: &str,
    name: String,
    counts: Counts,
) -> Result<Option<Version>, GitError> {
    let parsed = read(repository, commit).await?;
    Ok(parsed.map(|parsed| Version {
        name,
        counts,
        problems: parsed.problems,
    }))
}

/// One check of all versions, if there are any.
fn check(versions: &[Version]) -> Option<Check> {
    if versions.is_empty() {
        return None;
    }
    let faulty: Vec<String> = versions
        .iter()
        .filter(|version| !version.problems.is_empty())
        .map(|version| {
            let problems: Vec<String> = version.problems.iter().map(ToString::to_string).collect();
            format!("{}:\n{}", version.name, problems.join("\n"))
        })
        .collect();
    if faulty.is_empty() {
        let names: Vec<&str> = versions.iter().map(|version| version.name.as_str()).collect();
        let detail = format!("{REPO_CONFIG_FILE} of {} has no fault", names.join(" and of "));
        return Some(Check::ok(NAME, detail));
    }
    let in_force = versions
        .iter()
        .filter(|version| version.counts == Counts::Yes)
        .flat_map(|version| &version.problems);
    let unknown = versions.iter().any(|version| version.counts == Counts::NotHere);
    let step = if unknown {
        "correct it before it is merged, and fetch the target branch to see which settings count"
    } else if in_force.clone().any(|problem| problem.protects) {
        "correct it on the target branch; until then these settings keep their defaults, or the strictest value where they \
         protect, and the bot does not approve"
    } else if in_force.count() == 0 {
        "correct it before it is merged; the review of this branch names it, too"
    } else {
        "correct it on the target branch; until then these settings keep their defaults"
    };
    Some(Check::warning(NAME, faulty.join("\n")).next(step))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Status;

    fn version(name: &str, text: &[u8]) -> Version {
        Version {
            name: name.to_owned(),
            counts: match name {
                "HEAD" => Counts::OnceMerged,
                "HEAD alone" => Counts::NotHere,
                _ => Counts::Yes,
            },
            problems: parse(text).problems,
        }
    }

    #[test]
    fn faults_are_told_with_their_places_and_the_branch() {
        let good = || version("main", b"[review]\nstrictness = \"strict\"\n");
        let bad = |name| version(name, b"[review]\nstrictness = \"harsh\"\n");
        assert!(check(&[]).is_none());
        let fine = check(&[good()]).expect("a check");
        assert_eq!(fine.status, Status::Ok);
        assert!(fine.detail.contains("of main has no fault"), "{}", fine.detail);
        for (versions, places, step) in [
            (vec![bad("main")], vec!["main:\n"], "the bot does not approve"),
            (vec![good(), bad("HEAD")], vec!["HEAD:\n"], "before it is merged"),
            (vec![bad("HEAD")], vec!["HEAD:\n"], "before it is merged"),
            (
                vec![bad("HEAD alone")],
                vec!["HEAD alone:\n"],
                "fetch the target branch to see which settings count",
            ),
            (
                vec![bad("main"), bad("HEAD")],
                vec!["main:\n", "HEAD:\n"],
                "the bot does not approve",
            ),
        ] {
            let check = check(&versions).expect("a check");
            assert_eq!(check.status, Status::Warning);
            for part in places.iter().chain(&["harsh", "2"]) {
                assert!(check.detail.contains(part), "{}", check.detail);
            }
            assert!(
                check.next_step.as_deref().unwrap_or_default().contains(step),
                "{check:?}"
            );
        }
    }
}
