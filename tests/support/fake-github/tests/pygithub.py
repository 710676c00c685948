"""A whole review with PyGithub, unmodified: load, comment, review, reply, resolve, check, status, dismiss."""

import sys

import github


def main(api_url, token, name, number):
    client = github.Github(
        auth=github.Auth.Token(token), base_url=api_url, per_page=2, seconds_between_requests=0, seconds_between_writes=0
    )
    repository = client.get_repo(name)
    pull = repository.get_pull(int(number))
    assert [found.number for found in repository.get_pulls(state="open", base="main")] == [pull.number]
    assert repository.get_collaborator_permission("bob") == "write"

    # What is there to review; two rows a page.
    files = {file.filename: file for file in pull.get_files()}
    assert len(files) == 5 and files["new_name.txt"].previous_filename == "old_name.txt"
    assert files["logo.png"].patch is None
    commit = pull.get_commits()[0]
    assert commit.sha == pull.head.sha
    comparison = repository.compare("main", pull.head.sha)
    assert comparison.ahead_by == 1 and comparison.merge_base_commit.sha != pull.base.sha
    assert b"line five" in repository.get_contents("src/lib.rs", ref=pull.head.sha).decoded_content

    # The summary.
    summary = pull.create_issue_comment("A summary.")
    summary.edit("A summary, changed.")
    assert [comment.body for comment in pull.get_issue_comments()] == ["A summary, changed."]

    # A review with threads.
    review = pull.create_review(
        commit=commit,
        body="Two findings.",
        event="REQUEST_CHANGES",
        comments=[
            {"path": "src/lib.rs", "body": "On a line.", "line": 5, "side": "RIGHT"},
            {"path": "src/lib.rs", "body": "On a removed one.", "line": 40, "side": "LEFT"},
        ],
    )
    assert review.state == "CHANGES_REQUESTED"
    comments = list(pull.get_review_comments())
    assert [comment.line for comment in comments] == [5, 40]
    pull.create_review_comment("On the file.", commit, "new.txt", subject_type="file")
    pull.create_review_comment_reply(comments[0].id, "An answer.")
    comments[0].edit("On a line, changed.")
    try:
        pull.create_review_comment("Nowhere.", commit, "src/lib.rs", line=999)
    except github.GithubException as error:
        assert error.status == 422 and error.data["errors"][0]["field"] == "pull_request_review_thread.line"
    else:
        raise AssertionError("a line outside of the diff was accepted")

    # Threads are GraphQL's.
    owner, repo = name.split("/")
    query = """query($owner: String!, $repo: String!, $number: Int!) {
        repository(owner: $owner, name: $repo) { pullRequest(number: $number) {
            reviewThreads(first: 10) { nodes { id isResolved comments(first: 10) { nodes { fullDatabaseId } } } } } } }"""
    _, data = client.requester.graphql_query(query, {"owner": owner, "repo": repo, "number": pull.number})
    threads = data["data"]["repository"]["pullRequest"]["reviewThreads"]["nodes"]
    assert threads[0]["comments"]["nodes"][0]["fullDatabaseId"] == str(comments[0].id)
    _, data = client.requester.graphql_named_mutation(
        "resolveReviewThread", {"threadId": threads[0]["id"]}, "thread { isResolved }"
    )
    assert data["thread"]["isResolved"]
    assert summary.minimize() and summary.unminimize()

    # The stance, taken and taken back.
    assert [found.state for found in pull.get_reviews()][0] == "CHANGES_REQUESTED"
    review.dismiss("Fixed.")
    assert pull.get_review(review.id).state == "DISMISSED"

    # The gate.
    check = repository.create_check_run("conclave", pull.head.sha, status="in_progress", external_id="1/main")
    annotation = {"path": "new.txt", "start_line": 1, "end_line": 1, "annotation_level": "warning", "message": "m"}
    check.edit(
        status="completed",
        conclusion="failure",
        output={"title": "Concerns", "summary": "One.", "annotations": [annotation]},
    )
    assert [found.conclusion for found in commit.get_check_runs(check_name="conclave")] == ["failure"]
    assert [found.message for found in check.get_annotations()] == ["m"]
    commit.create_status("success", context="conclave", description="d")
    assert commit.get_combined_status().state == "success"


if __name__ == "__main__":
    main(*sys.argv[1:])
