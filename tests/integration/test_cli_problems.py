"""What `--json` says of an error: the very document that the HTTP API answers with."""

import json
from pathlib import Path

import pytest

from .site import site
from .terminal import cli


@pytest.mark.parametrize(
    "command, path, body",
    [
        (("reply", "nope", "x"), "/v1/sub-tasks/nope/reply", {"text": "x"}),
        (("cancel", "nope"), "/v1/sub-tasks/nope/cancel", {}),
        (("complete", "a\tb"), "/v1/parents/a%09b/complete", {}),
        (
            ("delegate", "ghost", "Count"),
            "/v1/parents/terminal/sub-tasks",
            {"agent": "ghost", "goal": "Count"},
        ),
        (
            ("delegate", "raw", " "),
            "/v1/parents/terminal/sub-tasks",
            {"agent": "raw", "goal": " "},
        ),
    ],
    ids=["reply", "cancel", "complete", "agent", "goal"],
)
async def test_the_document_is_the_servers(
    tmp_path: Path, command: tuple[str, ...], path: str, body: dict[str, str]
) -> None:
    """J2, API: `--json` prints the API's problem, its `status` too, member by member."""
    async with site(tmp_path) as on:
        said = await on.cli(*command, "--json")
        assert (said.status, said.out) == (1, "")
        answer = await on.http.post(path, json=body)
        assert json.loads(said.err) == answer.json()
        assert json.loads(said.err)["status"] == answer.status_code


async def test_what_only_the_terminal_meets_has_a_status_too(tmp_path: Path) -> None:
    """J2: an error that no server told has every member of a problem document."""
    missing = await cli("ls", "--json", LOCUM_STORE__URL=f"sqlite:///{tmp_path}/none.db")
    assert json.loads(missing.err)["status"] == 503
    wrong = await cli("ls", "--json", LOCUM_STORE__URL="postgres://x")
    problem = json.loads(wrong.err)
    assert (problem["code"], problem["status"]) == ("config.invalid", 500)
    assert set(problem) == {"type", "title", "status", "detail", "code"}
