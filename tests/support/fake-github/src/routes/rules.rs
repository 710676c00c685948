//! What a branch asks for, and what workflows may do.

use serde_json::{Value, json};

use crate::call::Call;
use crate::entities::people;
use crate::reply::{Outcome, Refusal, Reply};
use crate::state::repository::Protection;

pub(super) fn protection(call: &mut Call<'_>) -> Outcome {
    let (branch, protection) = of(call)?;
    let protection = protection.ok_or_else(|| Refusal::new(404, "Branch not protected"))?;
    let name = call.state.full_name(call.repository()?);
    let url = format!("{}/repos/{name}/branches/{branch}/protection", call.state.api_url);
    let checks = protection.required_checks.iter();
    let checks: Vec<Value> = checks
        .map(|(name, app)| json!({ "context": name, "app_id": app.map(|app| app.0) }))
        .collect();
    let mut reviews = json!({
        "dismiss_stale_reviews": protection.dismiss_stale_approvals,
        "require_code_owner_reviews": false,
        "required_approving_review_count": protection.required_approvals,
        "require_last_push_approval": protection.require_last_push_approval,
    });
    if let Some(list) = &protection.may_dismiss {
        let users: Vec<Value> = list.iter().map(|user| people::simple(call.state, *user)).collect();
        reviews["dismissal_restrictions"] = json!({ "users": users, "teams": [], "apps": [] });
    }
    Ok(Reply::json(
        200,
        json!({
            "url": url,
            "required_pull_request_reviews": reviews,
            "required_status_checks": {
                "strict": false,
                "contexts": protection.required_checks.iter().map(|(name, _)| name).collect::<Vec<_>>(),
                "checks": checks,
            },
            "required_conversation_resolution": { "enabled": protection.require_resolution },
        }),
    ))
}

/// The same as rules of a ruleset, which every reader may see.
pub(super) fn of_branch(call: &mut Call<'_>) -> Outcome {
    let Some(protection) = of(call)?.1 else {
        return Ok(Reply::list(Vec::new()));
    };
    let source = call.state.full_name(call.repository()?);
    let rule = |kind: &str, parameters: Value| {
        json!({ "type": kind, "parameters": parameters, "ruleset_source_type": "Repository", "ruleset_source": source,
            "ruleset_id": 1 })
    };
    let mut rules = vec![rule(
        "pull_request",
        json!({
            "dismiss_stale_reviews_on_push": protection.dismiss_stale_approvals,
            "require_code_owner_review": false,
            "require_last_push_approval": protection.require_last_push_approval,
            "required_approving_review_count": protection.required_approvals,
            "required_review_thread_resolution": protection.require_resolution,
        }),
    )];
    let checks = protection.required_checks.iter().map(|(name, app)| match app {
        Some(app) => json!({ "context": name, "integration_id": app.0 }),
        None => json!({ "context": name }),
    });
    let checks: Vec<Value> = checks.collect();
    if !checks.is_empty() {
        let parameters = json!({ "required_status_checks": checks, "strict_required_status_checks_policy": false });
        rules.push(rule("required_status_checks", parameters));
    }
    Ok(Reply::list(rules))
}

pub(super) fn workflow_permissions(call: &mut Call<'_>) -> Outcome {
    let may_approve = call.state.repository(call.repository()?).actions_may_approve;
    let value = json!({ "default_workflow_permissions": "read", "can_approve_pull_request_reviews": may_approve });
    Ok(Reply::json(200, value))
}

fn of(call: &Call<'_>) -> Result<(String, Option<Protection>), Refusal> {
    let repository = call.state.repository(call.repository()?);
    let branch = call.part("branch").to_owned();
    let protection = repository.protections.get(&branch).cloned();
    Ok((branch, protection))
}
