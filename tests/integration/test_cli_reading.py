"""Commands that only read: they open the store themselves, and print what the API says."""

import json
from pathlib import Path

from tests.agents.frames import EOF, ERR, EV, A, T

from .site import Site, site
from .support import until
from .terminal import cli

DONE = T("COMPLETED", artifacts=[A("a", "nine chairs")])
ASKS = T("INPUT_REQUIRED", "Which hall?")


async def _two(on: Site) -> tuple[str, str]:
    """One sub-task that has ended, and one of another parent that asks."""
    on.agent.on("SendStreamingMessage", [EV(DONE), EOF], [EV(ASKS), EOF])
    on.agent.task = DONE
    first = await on.delegate("Count the chairs", "--name", "chairs", "--wait")
    on.agent.task = ASKS
    second = await on.delegate("Find them", "--parent", "p2")
    await on.harness.settled(second, timeout=10)
    return first, second


async def test_what_is_printed_is_what_the_api_says(tmp_path: Path) -> None:
    """CLI: `--json` prints the API's JSON: rows, a row, events, notifications, agents."""
    async with site(tmp_path) as on:
        first, second = await _two(on)
        one = f"/v1/sub-tasks/{first}"
        for arguments, path in (
            (("ls", "--parent", "terminal"), "/v1/parents/terminal/sub-tasks"),
            (("ls", "--parent", "p2", "--unresolved"), "/v1/parents/p2/sub-tasks?unresolved=true"),
            (("show", first), one),
            (("events", first), f"{one}/events"),
            (("notifications", "terminal"), "/v1/parents/terminal/notifications"),
            (("notifications", "p2", "--after", "1000"), "/v1/parents/p2/notifications?after=1000"),
            (("agents",), "/v1/agents"),
        ):
            said = await on.cli(*arguments, "--json")
            assert (said.status, said.err) == (0, "")
            assert json.loads(said.out) == (await on.http.get(path)).json(), arguments
        said = await on.cli("ls", "--json")
        assert [row["id"] for row in json.loads(said.out)["sub_tasks"]] == [first, second]


async def test_no_server_is_needed(tmp_path: Path) -> None:
    """CLI: what only reads works while no server runs."""
    async with site(tmp_path) as on:
        first, _ = await _two(on)
    said = await on.cli("ls")
    assert said.status == 0
    assert "nine chairs" in said.out
    for command in ("show", "events"):
        said = await on.cli(command, first)
        assert (said.status, said.err) == (0, "")
        assert "nine chairs" in said.out
    said = await on.cli("notifications", "p2")
    assert "Which hall?" in said.out


async def test_a_list_has_a_line_for_each(tmp_path: Path) -> None:
    """CLI: into a pipe, each sub-task, event and notification is one line, its id whole."""
    async with site(tmp_path) as on:
        first, second = await _two(on)
    lines = (await on.cli("ls")).out.splitlines()
    assert [line.split()[:3] for line in lines] == [
        ["COMPLETED", first, "raw"],
        ["INPUT_REQUIRED", second, "raw"],
    ]
    assert (await on.cli("ls", "--unresolved")).out.splitlines() == lines[1:]
    events = (await on.cli("events", first)).out.splitlines()
    assert [line.split()[2] for line in events] == ["Created", "Linked", "Resolved"]
    notes = (await on.cli("notifications", "terminal")).out.splitlines()
    assert len(notes) == 1


async def test_where_there_is_nothing_that_is_said(tmp_path: Path) -> None:
    """CLI: an empty list is told in words, and as an empty list in JSON."""
    async with site(tmp_path) as on:
        assert (await on.cli("ls")).out == "No sub-task yet.\n"
        assert (await on.cli("ls", "--parent", "p")).out == "There is no such sub-task.\n"
        assert (await on.cli("notifications", "p")).out == "Nothing was told.\n"
        assert json.loads((await on.cli("ls", "--json")).out) == {"sub_tasks": []}
        for command in ("show", "events"):
            said = await on.cli(command, "st-none")
            assert (said.status, said.out) == (1, "")
            assert said.err.startswith("sub_task.not_found: There is no sub-task 'st-none'.")


async def test_a_result_is_shown_whole(tmp_path: Path) -> None:
    """CLI, D12: `show` has every part; the text parts of an artifact are one text."""
    async with site(tmp_path) as on:
        parts = [
            {"text": "one "},
            {"text": "text"},
            {"data": {"n": 9}, "mediaType": "application/json"},
            {"raw": "AAAA", "filename": "a.bin"},
            {"url": "https://files.example/b", "filename": "b"},
        ]
        done = T("COMPLETED", artifacts=[{"artifactId": "a", "name": "report", "parts": parts}])
        on.agent.on("SendStreamingMessage", [EV(done), EOF])
        on.agent.task = done
        said = await on.cli("delegate", "raw", "Count", "--wait")
        assert said.status == 0
        sub_task_id = said.out.split()[1]
        lines = (await on.cli("show", sub_task_id)).out.splitlines()
    start = lines.index("artifact report")
    assert lines[start + 1 :] == [
        "one text",
        '[application/json] {"n": 9}',
        "[a.bin] 3 bytes",
        "[b] https://files.example/b",
    ]
    assert lines[start - 1].startswith("anomalies")


async def test_what_happened_is_shown_beside_the_agents_words(tmp_path: Path) -> None:
    """CLI, E6: `show`, `ls`, `events` and `notifications` say what happened where no agent did."""
    async with site(tmp_path) as on:
        row = await on.harness.spawn("p", agent="raw", goal="Count", timeout=0.3)
        row = await until(on.harness, row.id, "FAILED")
        for command in (("show", row.id), ("ls",), ("events", row.id), ("notifications", "p")):
            assert "The deadline " in (await on.cli(*command)).out
        on.agent.on("SubscribeToTask", ERR(-32001, "unknown"))
        row = await on.harness.spawn("p", agent="raw", goal="Count")
        await on.agent.seen("SubscribeToTask", timeout=10)
        on.agent.on("GetTask", ERR(-32001, "Nowhere to be found"))
        row = await until(on.harness, row.id, "FAILED")
        lines = (await on.cli("show", row.id)).out.splitlines()
    assert lines[lines.index("account") + 1] == "The agent no longer knows the task."
    assert "Nowhere to be found" in lines[lines.index("text") + 1]


async def test_a_refused_reply_is_shown_with_the_question(tmp_path: Path) -> None:
    """CLI, C12: `notifications` tells the question again, after why the reply was refused."""
    async with site(tmp_path) as on:
        _, second = await _two(on)
        on.agent.on("SendStreamingMessage", ERR(-32602, "There is no such hall"))
        await on.harness.reply(second, "the blue one")
        await until(on.harness, second, "INPUT_REQUIRED")
        lines = (await on.cli("notifications", "p2")).out.splitlines()
    assert "There is no such hall" in lines[-1]
    assert lines[-1].endswith("Which hall?")


async def test_refused_agents_are_shown_with_the_reason(tmp_path: Path) -> None:
    """A3: `locum agents` says who is refused and why; the refusal is not logged besides."""
    async with site(tmp_path) as on:
        on.agent.card["supportedInterfaces"][0]["protocolVersion"] = "0.3"
        said = await on.cli("agents")
        assert (said.status, said.err) == (0, "")
        assert said.out.startswith("refused   raw")
        assert "0.3" in said.out
        listed = json.loads((await on.cli("agents", "--json")).out)["agents"]
        assert [agent["state"] for agent in listed] == ["refused"]
    assert (await cli("agents", LOCUM_CONFIG=None)).out == "No agent is configured.\n"


async def test_the_agent_that_locum_itself_is(tmp_path: Path) -> None:
    """A9: `locum agents` lists `self` as the server does; its card is made here, and not fetched."""
    config = tmp_path / "locum.toml"
    config.write_text(
        '[card]\nname = "Hall"\ndescription = "Knows the hall."\nexecutor = "hall:Hall"\n'
    )
    listed = json.loads((await cli("agents", "--json", LOCUM_CONFIG=str(config))).out)["agents"]
    assert [(agent["id"], agent["name"], agent["state"]) for agent in listed] == [
        ("self", "Hall", "accepted")
    ]
    config.write_text(config.read_text() + "[server]\nport = 0\n")
    said = await cli("agents", LOCUM_CONFIG=str(config))
    assert (said.status, said.out) == (0, "No agent is configured.\n")


async def test_the_machine_is_drawn(tmp_path: Path) -> None:
    """CLI, H2: as Mermaid, as a drawing in a file, and as JSON."""
    said = await cli("machine")
    assert said.out.startswith("stateDiagram-v2\n")
    assert (await cli("machine", "--mermaid")).out == said.out
    drawing = tmp_path / "machine.svg"
    said = await cli("machine", "--svg", str(drawing))
    assert (said.status, said.out, said.err) == (0, "", f"wrote {drawing}\n")
    assert drawing.read_text(encoding="utf-8").startswith("<svg")
    both = await cli("machine", "--svg", str(drawing), "--mermaid")
    assert both.out.startswith("stateDiagram-v2\n")
    transitions = json.loads((await cli("machine", "--json")).out)["transitions"]
    assert {"from": "WORKING", "trigger": "ask", "to": "INPUT_REQUIRED"} in transitions
    said = await cli("machine", "--svg", str(tmp_path / "none" / "machine.svg"))
    assert said.status == 1
    assert said.err.startswith("request.invalid: --svg ")


async def test_a_store_is_rebuilt_while_the_server_runs(tmp_path: Path) -> None:
    """E5: `locum rebuild` beside a running server changes nothing that is read, and stops nobody."""
    async with site(tmp_path) as on:
        first, second = await _two(on)
        paths = (
            f"/v1/sub-tasks/{first}",
            "/v1/parents/p2/sub-tasks",
            "/v1/parents/p2/notifications",
        )
        before = [(await on.http.get(path)).json() for path in paths]
        events = before[0]["version"] + before[1]["sub_tasks"][0]["version"]
        said = await on.cli("rebuild")
        assert (said.status, said.out) == (0, f"rebuilt up to position {events}\n")
        assert [(await on.http.get(path)).json() for path in paths] == before
        on.agent.on("SendStreamingMessage", [EV(DONE), EOF])
        on.agent.task = DONE
        assert (await on.cli("reply", second, "the big one")).status == 0
        assert (await until(on.harness, second, "COMPLETED")).text == "nine chairs"
        told = (await on.http.get("/v1/parents/p2/notifications")).json()["notifications"]
        assert [note["state"] for note in told] == ["INPUT_REQUIRED", "COMPLETED"]
        rebuilt = json.loads((await on.cli("rebuild", "--json")).out)
        assert rebuilt["position"] > events
        assert (await on.http.get("/v1/parents/p2/notifications")).json()["notifications"] == told
