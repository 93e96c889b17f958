"""`locum agents --check` as somebody at a terminal has it: lines, JSON, exit status."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from locum.adapters.cli import main

from ..agents.frames import EOF, EV, S, T
from ..agents.raw import RawAgent

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
QUESTION = "Anybody there?"


async def agents(*arguments: str, **environ: str) -> Result:
    """`locum agents` with these arguments. It runs in a thread, with an event loop of its own."""
    return await asyncio.to_thread(
        CliRunner().invoke, main, ["agents", *arguments], env={"COLUMNS": "200", **environ}
    )


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@both
async def test_an_agent_in_order(binding: Any) -> None:
    """A3: nothing is wrong: exit status 0, and every step is shown."""
    async with RawAgent(binding) as agent:
        said = await agents("--check", agent.url, "--message", QUESTION)
        assert (said.exit_code, said.stderr) == (0, "")
        assert "Nothing is wrong." in said.stdout
        assert "CreateTaskPushNotificationConfig: created" in said.stdout
        assert f"over {binding}" in said.stdout
        assert agent.calls("SendStreamingMessage")[0].text == QUESTION


async def test_an_agent_with_accents() -> None:
    """K2: what was seen and what A2A 1.0 has, within 80 columns; exit status 1."""
    noise = "x" * 300 + "\x1b[31mred"
    async with RawAgent("JSONRPC", name=noise) as agent:
        agent.on("SendStreamingMessage", [EV(T("working")), EV(S("WORKING")), EOF])
        said = await agents("--check", agent.url)
        assert said.exit_code == 1
        assert all(len(line) <= 80 for line in said.stdout.splitlines())
        assert "\x1b" not in said.stdout
        assert "  json.state_alias (SendStreamingMessage)\n" in said.stdout
        assert "    seen:     A state was written otherwise" in said.stdout
        assert "    expected: The state's own name" in said.stdout
        assert "stream.early_end (SendStreamingMessage)" in said.stdout
        assert said.stdout.endswith("2 deviations.\n")


async def test_an_agent_that_is_refused() -> None:
    """A3: what would be refused, and why; exit status 1."""
    async with RawAgent("JSONRPC", extensions=[{"uri": "urn:x", "required": True}]) as agent:
        said = await agents("--check", agent.url)
        assert said.exit_code == 1
        assert "Refused:\n  card.unsupported\n    The card requires what" in said.stdout
        assert said.stdout.endswith("1 refusal.\n")
        assert not agent.calls()


async def test_as_json() -> None:
    """K2: the same for programs, the exit status too; a card's URL will do."""
    async with RawAgent("HTTP+JSON", streaming=False) as agent:
        card_url = f"{agent.url}/.well-known/agent-card.json"
        said = await agents("--check", card_url, "--json")
        (check,) = json.loads(said.stdout)["checks"]
        assert (said.exit_code, check["ok"], check["url"]) == (0, True, card_url)
        agent.on("SendMessage", T("working"))
        said = await agents("--check", agent.url, "--json")
        (check,) = json.loads(said.stdout)["checks"]
        assert (said.exit_code, check["ok"]) == (1, False)
        assert [one["code"] for one in check["findings"]] == ["json.state_alias"]
        assert {one["name"] for one in check["steps"]} >= {"AgentCard", "GetTask", "ListTasks"}


async def test_configured_agents(tmp_path: Path) -> None:
    """A2, A6: without a URL all of them; with the URL of one, that one's credentials go along."""
    async with (
        RawAgent("JSONRPC", name="One", streaming=False) as one,
        RawAgent("HTTP+JSON", name="Two", streaming=False) as two,
    ):
        tables = f'''
            [[agents]]
            id = "one"
            url = "{one.url}"
            auth = {{ type = "bearer", token_env = "ONE_TOKEN" }}
            [[agents]]
            id = "two"
            url = "{two.url}"
        '''
        (tmp_path / "locum.toml").write_text(tables, encoding="utf-8")
        said = await agents("--check", ONE_TOKEN="t0k3n")
        assert said.exit_code == 0
        assert said.stdout.index("One 1.0.0") < said.stdout.index("Two 1.0.0")
        assert {seen.headers.get("authorization") for seen in one.requests} == {"Bearer t0k3n"}
        assert {seen.headers.get("authorization") for seen in two.requests} == {None}
        before = len(two.requests)
        said = await agents("--check", f"{one.url}/", "--json")
        (check,) = json.loads(said.stdout)["checks"]
        assert (said.exit_code, check["id"]) == (1, "one")
        assert "ONE_TOKEN" in check["refusals"][0]["reason"]
        assert len(two.requests) == before


async def test_credentials_of_the_command_line() -> None:
    """G8: options name the variables that hold the secrets."""
    async with RawAgent("JSONRPC", streaming=False) as agent:
        said = await agents(
            *("--check", agent.url, "--bearer-env", "A_TOKEN"),
            *("--auth", '{ type = "api_key", name = "X-Key", value_env = "A_KEY" }'),
            A_TOKEN="t0k3n",
            A_KEY="k3y",
        )
        assert said.exit_code == 0
        assert {seen.headers.get("authorization") for seen in agent.requests} == {"Bearer t0k3n"}
        assert {seen.headers.get("x-key") for seen in agent.requests} == {"k3y"}


async def test_usage() -> None:
    """A2: no agent is nothing to check; a URL is for a check only; no URL is no URL."""
    said = await agents("--check")
    assert (said.exit_code, said.stdout) == (0, "No agent is configured.\n")
    said = await agents("http://127.0.0.1:1")
    assert said.exit_code == 2
    for nonsense in ("nonsense", "", " ", "http://[::1"):
        said = await agents("--check", nonsense)
        assert said.exit_code == 1
        assert said.stderr.lower().startswith("config.invalid: url:")
    said = await agents("--check", "http://127.0.0.1:1")
    assert said.exit_code == 1
    assert "card.unreachable" in said.stdout
