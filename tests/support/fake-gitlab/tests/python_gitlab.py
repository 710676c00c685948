"""Reviews a merge request with python-gitlab as it is.

Usage: python_gitlab.py URL TOKEN PROJECT_ID MERGE_REQUEST_IID
"""

import sys

try:
    import gitlab
except ImportError:
    sys.exit("python-gitlab is not installed: run `python3 -m pip install python-gitlab==8.6.0`")


def main(url: str, token: str, project_id: str, iid: str) -> None:
    client = gitlab.Gitlab(url, private_token=token)
    client.auth()
    assert client.user.bot is True
    assert client.version()[0].startswith("19.")

    project = client.projects.get(int(project_id))
    assert client.projects.get(project.path_with_namespace).id == project.id
    opened = project.mergerequests.list(state="opened", iterator=True)
    assert [entry.iid for entry in opened] == [int(iid)]
    request = project.mergerequests.get(int(iid))
    assert project.members_all.get(client.user.id).access_level == gitlab.const.AccessLevel.DEVELOPER

    # What is there to review.
    version = request.diffs.list(get_all=True)[0]
    assert version.head_commit_sha == request.diff_refs["head_sha"]
    changed = {diff["new_path"] for diff in request.diffs.get(version.id).diffs}
    listed = client.http_list(f"/projects/{project_id}/merge_requests/{iid}/diffs", iterator=True, per_page=2)
    assert {diff["new_path"] for diff in listed} == changed
    assert [commit.id for commit in request.commits()] == [version.head_commit_sha]
    compare = project.repository_compare(version.base_commit_sha, version.head_commit_sha)
    assert len(compare["diffs"]) == len(changed)
    assert b"line five" in project.files.raw(file_path="src/lib.rs", ref=version.head_commit_sha)

    # A note.
    note = request.notes.create({"body": "A note."})
    note.body = "A note, changed."
    note.save()
    assert "A note, changed." in [entry.body for entry in request.notes.list(iterator=True)]

    # A thread on the diff.
    position = {
        "base_sha": version.base_commit_sha,
        "start_sha": version.start_commit_sha,
        "head_sha": version.head_commit_sha,
        "position_type": "text",
        "old_path": "src/lib.rs",
        "new_path": "src/lib.rs",
        "new_line": 5,
    }
    discussion = request.discussions.create({"body": "A finding.", "position": position})
    assert discussion.attributes["notes"][0]["type"] == "DiffNote"
    discussion.notes.create({"body": "An answer."})
    discussion.resolved = True
    discussion.save()
    resolved = request.discussions.get(discussion.id)
    assert all(entry["resolved"] for entry in resolved.attributes["notes"])
    try:
        request.discussions.create({"body": "Nowhere.", "position": {**position, "new_line": 9999}})
    except gitlab.exceptions.GitlabCreateError as error:
        assert error.response_code == 400 and "line_code" in error.error_message
    else:
        raise AssertionError("a line outside the diff was accepted")

    # Drafts.
    request.draft_notes.create({"note": "A draft."})
    assert len(request.draft_notes.list(get_all=True)) == 1
    request.draft_notes.bulk_publish()

    # The verdict.
    request.approve(sha=version.head_commit_sha)
    assert request.approvals.get().user_has_approved is True
    request.unapprove()
    assert request.approvals.get().approved_by == []
    assert request.approval_state.get().rules[0]["approved_by"] == []

    # The rest.
    request.labels = ["reviewed"]
    request.save()
    assert [reviewer.state for reviewer in request.reviewer_details.list(get_all=True)] == []
    assert request.resourcestateevents.list(get_all=True) == []


if __name__ == "__main__":
    main(*sys.argv[1:])
