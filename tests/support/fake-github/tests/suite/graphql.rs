//! GraphQL: threads, who may resolve them, pages, and documents that do not fit the schema.

use conclave_fake_github::{FakeGithub, Options, Permissions, Protection, ReviewState, Side, ViolationKind};
use serde_json::{Value, json};

use crate::stage::Stage;

const RESOLVE: &str =
    "mutation($id: ID!) { resolveReviewThread(input: {threadId: $id}) { thread { isResolved resolvedBy { login } } } }";
const UNRESOLVE: &str =
    "mutation($id: ID!) { unresolveReviewThread(input: {threadId: $id}) { thread { isResolved } } }";

#[tokio::test]
async fn threads_are_resolved_by_who_may_push_and_by_the_author() {
    let stage = Stage::new().await;
    stage
        .thread(&stage.bot, json!({ "path": "src/lib.rs", "line": 5, "body": "Here." }))
        .await;
    let threads = stage
        .bot
        .threads("isResolved viewerCanResolve line path diffSide")
        .await;
    assert_eq!(threads[0]["viewerCanResolve"], false);
    let id = json!({ "id": threads[0]["id"] });

    let refused = stage.bot.graphql(RESOLVE, id.clone()).await;
    assert_eq!(refused["errors"][0]["type"], "FORBIDDEN");
    assert_eq!(
        refused["errors"][0]["message"],
        "Resource not accessible by integration"
    );
    assert_eq!(refused["data"], json!({ "resolveReviewThread": null }));

    let writer = stage.installation(Permissions::review().write("contents"));
    assert_eq!(writer.threads("viewerCanResolve").await[0]["viewerCanResolve"], true);
    let resolved = &writer.graphql(RESOLVE, id.clone()).await["data"]["resolveReviewThread"]["thread"];
    // A bot is no `User`, so the schema cannot name it.
    assert_eq!(*resolved, json!({ "isResolved": true, "resolvedBy": null }));
    assert_eq!(
        stage.github.snapshot(stage.pull).threads[0].resolved_by.as_deref(),
        Some("conclave[bot]")
    );

    let author = stage.person(stage.alice);
    assert_eq!(
        author.graphql(UNRESOLVE, id.clone()).await["data"]["unresolveReviewThread"]["thread"]["isResolved"],
        false
    );
    let by_author = author.graphql(RESOLVE, id.clone()).await;
    assert_eq!(
        by_author["data"]["resolveReviewThread"]["thread"]["resolvedBy"]["login"],
        "alice"
    );
    let stranger = stage.person(stage.github.create_user("eve"));
    let message = "The viewer does not have the correct permissions to execute `unresolveReviewThread`";
    assert_eq!(stranger.graphql(UNRESOLVE, id).await["errors"][0]["message"], message);
    let missing = writer.graphql(RESOLVE, json!({ "id": "PRRT_kwDO1" })).await;
    assert_eq!(missing["errors"][0]["type"], "NOT_FOUND");
    stage.assert_no_violations();
}

#[tokio::test]
async fn pages_need_a_size_and_lead_to_the_next() {
    let stage = Stage::new().await;
    for line in 2..=7 {
        stage
            .thread(
                &stage.bot,
                json!({ "path": "src/lib.rs", "line": line, "body": "Here." }),
            )
            .await;
    }
    let query = "query($after: String, $size: Int) { repository(owner: \"acme\", name: \"shop\") { pullRequest(number: 1) {
        reviewThreads(first: $size, after: $after) { totalCount pageInfo { hasNextPage endCursor } nodes { line comments(last: 1) { nodes { body } } } } } } }";
    let mut lines = Vec::new();
    let mut after = Value::Null;
    loop {
        let answer = stage.bot.graphql(query, json!({ "after": after, "size": 4 })).await;
        let page = &answer["data"]["repository"]["pullRequest"]["reviewThreads"];
        assert_eq!(page["totalCount"], 6, "{answer}");
        lines.extend(
            page["nodes"]
                .as_array()
                .unwrap()
                .iter()
                .map(|node| node["line"].as_u64().unwrap()),
        );
        after = page["pageInfo"]["endCursor"].clone();
        if page["pageInfo"]["hasNextPage"] == false {
            break;
        }
    }
    assert_eq!(lines, [2, 3, 4, 5, 6, 7]);
    stage.assert_no_violations();

    let unbounded = stage.bot.graphql(query, json!({})).await;
    assert_eq!(unbounded["errors"][0]["type"], "MISSING_PAGINATION_BOUNDARIES");
    let large = stage.bot.graphql(query, json!({ "size": 101 })).await;
    assert_eq!(large["errors"][0]["type"], "EXCESSIVE_PAGINATION");
    assert_eq!(stage.github.violations().len(), 2);
}

#[tokio::test]
async fn names_ids_editors_and_decisions_are_those_of_the_schema() {
    let stage = Stage::new().await;
    let protection = Protection {
        required_approvals: 1,
        ..Protection::default()
    };
    stage.github.protect(stage.repository, "main", protection);
    stage
        .thread(&stage.bot, json!({ "path": "src/lib.rs", "line": 5, "body": "Here." }))
        .await;
    let comment = stage.github.comment(stage.pull, stage.bob, "Break glass.");
    stage
        .github
        .edit_comment(stage.pull, stage.alice, comment, "Break glass!");
    stage
        .github
        .review(stage.pull, stage.bob, ReviewState::Approved, "Good.");
    let query = "{ viewer { login databaseId } repository(owner: \"acme\", name: \"shop\") { viewerPermission pullRequest(number: 1) {
        state isDraft reviewDecision mergeStateStatus headRefOid viewerDidAuthor
        latestOpinionatedReviews(first: 10, writersOnly: true) { nodes { state author { __typename login } authorCanPushToRepository } }
        comments(first: 10) { nodes { databaseId fullDatabaseId editor { login } lastEditedAt body author { login } } }
        reviewThreads(first: 10) { nodes { comments(first: 1) { nodes { author { __typename login ... on Bot { databaseId } } replyTo { id } pullRequestReview { fullDatabaseId } } } } } } } }";
    let answer = stage.bot.graphql(query, json!({})).await;
    let data = &answer["data"];
    assert!(answer.get("errors").is_none(), "{answer}");
    let pull = &data["repository"]["pullRequest"];
    // The viewer has REST's name, everybody else GraphQL's: only ids tell that the two are the same.
    let author = &pull["reviewThreads"]["nodes"][0]["comments"]["nodes"][0]["author"];
    assert_eq!(
        (&data["viewer"]["login"], &author["login"]),
        (&json!("conclave[bot]"), &json!("conclave"))
    );
    assert_eq!(data["viewer"]["databaseId"], author["databaseId"]);
    assert_eq!(author["__typename"], "Bot");
    let edited = &pull["comments"]["nodes"][0];
    assert_eq!(
        (&edited["editor"]["login"], &edited["author"]["login"]),
        (&json!("alice"), &json!("bob"))
    );
    assert_eq!(
        (&edited["databaseId"], &edited["fullDatabaseId"]),
        (&Value::Null, &json!(comment.to_string()))
    );
    assert_eq!(pull["reviewDecision"], "APPROVED");
    assert_eq!(pull["latestOpinionatedReviews"]["nodes"][0]["author"]["login"], "bob");
    assert_eq!(
        (&pull["mergeStateStatus"], &pull["state"]),
        (&json!("CLEAN"), &json!("OPEN"))
    );
    assert_eq!(data["repository"]["viewerPermission"], Value::Null);
    assert_eq!(pull["headRefOid"], json!(stage.github.head(stage.pull)));
    stage.assert_no_violations();
}

#[tokio::test]
async fn a_dismissal_names_the_account_and_the_review() {
    let stage = Stage::new().await;
    let review = stage
        .github
        .review(stage.pull, stage.bob, ReviewState::ChangesRequested, "No.");
    stage.github.dismiss_review(stage.pull, stage.alice, review);
    let query = |kinds: &str| {
        format!(
            "{{ repository(owner: \"acme\", name: \"shop\") {{ pullRequest(number: 1) {{ timelineItems(last: 10{kinds}) {{ nodes {{ \
             ... on ReviewDismissedEvent {{ actor {{ login }} previousReviewState review {{ fullDatabaseId state }} }} }} }} }} }} }}"
        )
    };
    let answer = stage
        .bot
        .graphql(&query(", itemTypes: [REVIEW_DISMISSED_EVENT]"), json!({}))
        .await;
    let events = &answer["data"]["repository"]["pullRequest"]["timelineItems"]["nodes"];
    let expected = json!([{
        "actor": { "login": "alice" },
        "previousReviewState": "CHANGES_REQUESTED",
        "review": { "fullDatabaseId": review.to_string(), "state": "DISMISSED" },
    }]);
    assert_eq!(*events, expected, "{answer}");
    stage.assert_no_violations();
    // It knows no other events, and does not look as if there were none.
    let answer = stage.bot.graphql(&query(""), json!({})).await;
    assert_eq!(answer["errors"][0]["type"], "UNKNOWN_BOUNDARIES");
    assert_eq!(stage.github.violations().len(), 1);
}

#[tokio::test]
async fn comments_are_minimized_and_threads_answered() {
    let stage = Stage::new().await;
    let (_, comment) = stage.bot.post("/issues/1/comments", json!({ "body": "Old." })).await;
    let minimize = "mutation($id: ID!) { minimizeComment(input: {subjectId: $id, classifier: OFF_TOPIC}) {
        minimizedComment { isMinimized minimizedReason ... on IssueComment { body } } } }";
    let minimized = stage.bot.graphql(minimize, json!({ "id": comment["node_id"] })).await;
    let expected = json!({ "isMinimized": true, "minimizedReason": "off-topic", "body": "Old." });
    assert_eq!(minimized["data"]["minimizeComment"]["minimizedComment"], expected);
    assert_eq!(
        stage.github.snapshot(stage.pull).comments[0].minimized.as_deref(),
        Some("OFF_TOPIC")
    );
    let foreign = stage.github.comment(stage.pull, stage.bob, "Mine.");
    let (_, foreign) = stage.bot.get(&format!("/issues/comments/{foreign}")).await;
    let refused = stage.bot.graphql(minimize, json!({ "id": foreign["node_id"] })).await;
    assert_eq!(refused["errors"][0]["type"], "FORBIDDEN");

    stage
        .github
        .review_comment(stage.pull, stage.bob, ("src/lib.rs", Side::Right, 5), "Why?");
    let thread = stage.bot.threads("").await[0]["id"].clone();
    let reply = "mutation($id: ID!) { addPullRequestReviewThreadReply(input: {pullRequestReviewThreadId: $id, body: \"Because.\", clientMutationId: \"7\"}) {
        clientMutationId comment { body replyTo { body } } } }";
    let answer = stage.bot.graphql(reply, json!({ "id": thread })).await;
    let expected = json!({ "clientMutationId": "7", "comment": { "body": "Because.", "replyTo": { "body": "Why?" } } });
    assert_eq!(answer["data"]["addPullRequestReviewThreadReply"], expected);
    let review = stage.github.review(stage.pull, stage.bob, ReviewState::Approved, "");
    let (_, review) = stage.bot.get(&format!("/pulls/1/reviews/{review}")).await;
    let dismiss = "mutation($id: ID!) { dismissPullRequestReview(input: {pullRequestReviewId: $id, message: \"x\"}) { pullRequestReview { state } } }";
    let dismissed = stage.bot.graphql(dismiss, json!({ "id": review["node_id"] })).await;
    assert_eq!(
        dismissed["data"]["dismissPullRequestReview"]["pullRequestReview"]["state"],
        "DISMISSED"
    );
    stage.assert_no_violations();
}

#[tokio::test]
async fn a_document_that_does_not_fit_the_schema_is_refused_and_remembered() {
    let stage = Stage::new().await;
    for query in [
        "{ viewer { password } }",
        "{ viewer { login }",
        // This mutation accepts lines outside of the diff and shows nothing: it is not in the subset, on purpose.
        "mutation { addPullRequestReviewThread(input: {}) { thread { id } } }",
        "mutation { minimizeComment(input: {subjectId: \"x\"}) { clientMutationId } }",
    ] {
        let answer = stage.bot.graphql(query, json!({})).await;
        assert!(
            answer["errors"][0]["message"].is_string() && answer.get("data").is_none(),
            "{answer}"
        );
        let violations = stage.github.violations();
        assert!(
            matches!(&violations[..], [one] if one.kind == ViolationKind::Request),
            "{query}: {violations:?}"
        );
        stage.github.forget_requests();
    }
    let wrong = stage.bot.graphql(RESOLVE, json!({})).await;
    assert!(
        wrong["errors"][0]["message"].as_str().unwrap().contains("id"),
        "{wrong}"
    );
    assert_eq!(stage.github.violations().len(), 1);
}

#[tokio::test]
async fn a_wrong_answer_of_the_stand_in_is_found() {
    let stage = Stage::new().await;
    stage.github.tamper_with_answers(|body| {
        if body.is_array() {
            body[0]["id"] = json!("one");
        }
    });
    stage.bot.get("/pulls").await;
    let violations = stage.github.violations();
    assert!(
        violations.iter().any(|one| one.kind == ViolationKind::Response),
        "{violations:?}"
    );
}

#[tokio::test]
async fn an_older_server_does_not_know_some_fields() {
    let options = Options {
        enterprise: Some("3.17.0".to_owned()),
        missing_fields: vec!["PullRequestReviewThread.subjectType".to_owned()],
        missing_operations: vec!["GET /repos/{owner}/{repo}/rules/branches/{branch}".to_owned()],
        ..Options::default()
    };
    let stage = Stage::with(FakeGithub::builder().options(options)).await;
    assert!(stage.github.api_url().ends_with("/api/v3") && stage.github.graphql_url().ends_with("/api/graphql"));
    stage
        .thread(&stage.bot, json!({ "path": "src/lib.rs", "line": 5, "body": "Here." }))
        .await;
    assert_eq!(stage.bot.threads("line").await.len(), 1);
    let query = "{ repository(owner: \"acme\", name: \"shop\") { pullRequest(number: 1) { reviewThreads(first: 1) { nodes { subjectType } } } } }";
    let answer = stage.bot.graphql(query, json!({})).await;
    assert_eq!(
        answer["errors"][0]["message"],
        "Field 'subjectType' doesn't exist on type 'PullRequestReviewThread'"
    );
    assert!(answer.get("data").is_none());
    assert_eq!(stage.bot.get("/rules/branches/main").await.0, 404);
    let (_, meta) = stage.bot.at("").get("/meta").await;
    assert_eq!(meta["installed_version"], "3.17.0");
    stage.assert_no_violations();
}
