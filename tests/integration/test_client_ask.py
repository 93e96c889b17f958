"""`locum ask` against agents over HTTP; where it is interrupted, or read while it runs, as a process."""

import asyncio
import json
import os
import signal
import sys
from dataclasses import dataclass
from typing import Any

import pytest
from click.testing import CliRunner

from locum.adapters.cli import main
from tests.agents.frames import EOF, ERR, EV, HOLD, A, M, S, T, data_part, file_part
from tests.agents.raw import RawAgent

from .explicit import BINDINGS, in_thread

both = pytest.mark.parametrize("binding", BINDINGS)
DONE = T("COMPLETED", artifacts=[A("a", "seven")])


@dataclass
class Said:
    """What a run of the command said, and how it ended."""

    status: int
    out: str
    err: str


async def _ask(*arguments: str, typed: str = "", **environ: str) -> Said:
    """Run it in a thread, which starts much sooner than a process."""
    runner = CliRunner(env={"COLUMNS": "300", **environ})
    ran = await in_thread(lambda: runner.invoke(main, ["ask", *arguments], input=typed))
    return Said(ran.exit_code, ran.stdout, ran.stderr)


async def _start(*arguments: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "locum.adapters.cli", "ask", *arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "COLUMNS": "300"},
    )


async def _ended(process: asyncio.subprocess.Process) -> Said:
    async with asyncio.timeout(30):
        out, err = await process.communicate()
    assert process.returncode is not None
    return Said(process.returncode, out.decode(), err.decode())


@both
async def test_an_answer(binding: Any) -> None:
    """G2: one question, its answer on standard output, and 0; the card is found by either URL."""
    async with RawAgent(binding) as agent:
        agent.on("SendMessage", T("WORKING"))
        agent.task = DONE
        for url in (agent.url, f"{agent.url}/.well-known/agent-card.json"):
            assert await _ask(url, "How many?") == Said(0, "seven\n", "")
        assert [seen.text for seen in agent.calls("SendMessage")] == ["How many?"] * 2


async def test_a_direct_answer_and_what_is_no_text() -> None:
    """G9: data and files are listed; nothing in an answer drives the terminal."""
    async with RawAgent() as agent:
        agent.on("SendMessage", M("hi\x1b[31m there"))
        said = await _ask(agent.url, "hello")
        assert (said.status, "\x1b" in said.out) == (0, False)
        files = [data_part({"n": 1}), file_part(b"abc", filename="x.txt", media_type="text/plain")]
        agent.on("SendMessage", T("COMPLETED", artifacts=[A("a", files)]))
        said = await _ask(agent.url, "hello")
        assert said.out == 'data: {"n":1}\nfile: x.txt, text/plain, 3 bytes\n'


async def test_streaming() -> None:
    """G3: with --stream the answer is printed as it comes, each piece once; status goes beside it."""
    async with RawAgent() as agent:
        gate = asyncio.Event()
        agent.on(
            "SendStreamingMessage",
            [
                EV(S("WORKING", "looking")),
                EV(A("a", "one ")),
                gate,
                EV(A("a", "two", 1)),
                EV(S("COMPLETED")),
                EOF,
            ],
        )
        agent.task = T("COMPLETED", artifacts=[A("a", "one two")])
        process = await _start(agent.url, "count", "--stream")
        assert process.stdout is not None
        assert await asyncio.wait_for(process.stdout.readexactly(4), 20) == b"one "
        gate.set()
        assert await _ended(process) == Said(0, "two\n", "looking\n")


async def test_a_stream_as_json() -> None:
    """G9: --json prints the result; with --stream a line for each update, the last is the result."""
    async with RawAgent() as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING")), EV(DONE), EOF])
        agent.on("SendMessage", DONE)
        lines = (await _ask(agent.url, "go", "--stream", "--json")).out.splitlines()
        assert [json.loads(line)["state"] for line in lines] == ["WORKING", "COMPLETED"]
        result = json.loads((await _ask(agent.url, "go", "--json")).out)
        assert result == json.loads(lines[-1])
        assert (result["text"], result["completed"]) == ("seven", True)


@both
@pytest.mark.parametrize("stream", [(), ("--stream",)], ids=["whole", "stream"])
async def test_it_asks_back(binding: Any, stream: tuple[str, ...]) -> None:
    """G2, G3: what the agent asks is asked at the terminal, as often as it asks; blank is no answer."""
    async with RawAgent(binding) as agent:
        asks = [T("INPUT_REQUIRED", "Which hall?"), T("INPUT_REQUIRED", "Which row?")]
        agent.on("SendMessage", *asks, DONE)
        agent.on("SendStreamingMessage", *([EV(task), EOF] for task in (*asks, DONE)))
        said = await _ask(agent.url, "count", *stream, typed="\nthe red one\n3\n")
        assert (said.status, said.out) == (0, "seven\n")
        assert "Which hall?" in said.err
        assert "Which row?" in said.err
        sent = [seen for seen in agent.calls() if seen.message]
        assert [seen.text for seen in sent] == ["count", "the red one", "3"]
        assert [seen.message.get("taskId") for seen in sent] == [None, "t1", "t1"]


@both
async def test_nobody_answers(binding: Any) -> None:
    """G2: without an answer it is status 3, and what to type later is said; then it goes on."""
    async with RawAgent(binding) as agent:
        agent.on("SendMessage", T("INPUT_REQUIRED", "Which hall?"), DONE)
        said = await _ask(agent.url, "count")
        assert (said.status, said.out) == (3, "")
        assert "--task t1 --context c1" in said.err
        assert agent.calls("CancelTask") == []
        said = await _ask(agent.url, "the red one", "--task", "t1", "--context", "c1")
        assert said == Said(0, "seven\n", "")
        assert agent.calls("SendMessage")[1].message["taskId"] == "t1"


async def test_an_authorisation_that_is_given_outside() -> None:
    """G3: with Enter the task is looked at again; what it needs may have been given meanwhile."""
    async with RawAgent() as agent:
        agent.on("SendMessage", T("AUTH_REQUIRED", "Log in at the desk"))
        agent.on("SubscribeToTask", [EV(T("WORKING")), EV(DONE), EOF])
        said = await _ask(agent.url, "count", typed="\n")
        assert (said.status, said.out) == (0, "seven\n")
        assert "Log in at the desk" in said.err


@pytest.mark.parametrize("state", ["FAILED", "REJECTED", "CANCELED"])
async def test_no_success(state: str) -> None:
    """G2: what has failed is status 1, with its reason, and nothing on standard output."""
    async with RawAgent() as agent:
        agent.on("SendMessage", T(state, "no chairs left"))
        assert await _ask(agent.url, "count") == Said(1, "", f"{state} no chairs left\n")
        said = await _ask(agent.url, "count", "--json")
        assert (said.status, json.loads(said.out)["failed"]) == (1, True)


async def test_errors_are_said_with_their_codes() -> None:
    """K4: what the agent refuses, and an agent that is not there, are status 1 and a sentence."""
    async with RawAgent() as agent:
        agent.on("SendMessage", ERR(-32603, "not today"))
        said = await _ask(agent.url, "count")
        assert (said.status, said.out) == (1, "")
        assert said.err.startswith("remote.refused: ")
        assert "not today" in said.err
        problem = json.loads((await _ask(agent.url, "count", "--json")).err)
        assert problem["code"] == "remote.refused"
    said = await _ask("http://127.0.0.1:1", "count")
    assert (said.status, said.err.startswith("card.unreachable: ")) == (1, True)
    said = await _ask("http://agent.invalid", "count")
    assert (said.status, said.err.startswith("card.insecure_url: ")) == (1, True)


async def test_usage() -> None:
    """G8: a mistake in the command is status 2; credentials in it are not repeated."""
    assert (await _ask()).status == 2
    said = await _ask("http://127.0.0.1:1", " ")
    assert (said.status, said.err) == (
        1,
        "request.invalid: message: found a string of white space; accepted: what is to be said.\n",
    )
    said = await _ask("http://127.0.0.1:1", "count", "--auth", "{ token = s3cret")
    assert (said.status, "s3cret" in said.err) == (2, False)


async def test_credentials_by_the_names_of_variables() -> None:
    """G8: credentials come from the environment, by name."""
    async with RawAgent() as agent:
        agent.on("SendMessage", DONE)
        key = '{ type = "api_key", name = "X-Key", value_env = "KEY" }'
        options = ("--bearer-env", "TOKEN", "--auth", key)
        assert (await _ask(agent.url, "go", *options, TOKEN="t0k3n", KEY="k3y")).status == 0
        for seen in agent.requests:
            assert (seen.headers["authorization"], seen.headers["x-key"]) == ("Bearer t0k3n", "k3y")
        said = await _ask(agent.url, "go", "--bearer-env", "NOBODY_SET_THIS")
        assert (said.status, "NOBODY_SET_THIS" in said.err) == (1, True)


async def test_an_interface_elsewhere() -> None:
    """G7: --allow-host lets the interface be on another origin."""
    async with RawAgent() as agent, RawAgent() as other:
        other.on("SendMessage", DONE)
        agent.card["supportedInterfaces"][0]["url"] = other.rpc_url
        assert "card.foreign_host" in (await _ask(agent.url, "go")).err
        allowed = ("--allow-host", f"127.0.0.1:{other.port}")
        assert (await _ask(agent.url, "go", *allowed)).out == "seven\n"


@pytest.mark.parametrize("when", ["at work", "asked"])
async def test_ctrl_c(when: str) -> None:
    """G5: interrupted, it cancels the task that it had started, closes and ends with 130."""
    async with RawAgent() as agent:
        agent.on("SendMessage", T("WORKING") if when == "at work" else T("INPUT_REQUIRED", "hm?"))
        process = await _start(agent.url, "count")
        if when == "at work":
            await agent.seen("GetTask", timeout=20)
        else:
            assert process.stderr is not None
            await asyncio.wait_for(process.stderr.readuntil(b"> "), 20)
        process.send_signal(signal.SIGINT)
        said = await _ended(process)
        assert (said.status, "interrupted" in said.err) == (130, True)
        assert [seen.task_id for seen in agent.calls("CancelTask")] == ["t1"]
        await agent.all_closed(timeout=1)


async def test_a_timeout() -> None:
    """G2: --timeout is for each turn; past it the task is cancelled and the status is 1."""
    async with RawAgent() as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING")), HOLD])
        said = await _ask(agent.url, "count", "--stream", "--timeout", "1")
        assert (said.status, said.err.startswith("client.timeout: ")) == (1, True)
        assert [seen.task_id for seen in agent.calls("CancelTask")] == ["t1"]
