"""Commands that change something: what they send to the server, what they print, how they end."""

import asyncio
import getpass
import json
from pathlib import Path

import pytest

from tests.agents.frames import EOF, EV, HOLD, A, T, text_part, url_part
from tests.agents.reply import Reply
from tests.agents.seen import Seen

from .site import site
from .support import until
from .terminal import PATIENCE, ended, started

DONE = T("COMPLETED", artifacts=[A("a", "nine chairs")])
ASKS = T("INPUT_REQUIRED", "Which hall?")


async def _line(process: asyncio.subprocess.Process, wanted: str) -> str:
    """The next line of its standard error that holds `wanted`."""
    assert process.stderr is not None
    async with asyncio.timeout(PATIENCE):
        while wanted not in (line := (await process.stderr.readline()).decode()):
            assert line
    return line


async def test_delegate_hands_out_what_its_options_say(tmp_path: Path) -> None:
    """C2, C3, H1: each option is in the record, and who is at the keyboard is the actor."""
    async with site(tmp_path) as on:
        options = (
            *("--parent", "p1", "--name", "chairs", "--description", "In the hall"),
            *("--criterion", "a number", "--criterion", "no guess", "--timeout", "3600"),
            *("--idempotency-key", "k1"),
        )
        said = await on.cli("delegate", "raw", "Count the chairs", *options)
        sub_task_id, state = said.out.split()
        assert (said.status, state) == (0, "SUBMITTED")
        created = (await on.harness.events(sub_task_id))[0]
        assert created["parent_id"] == "p1"
        assert (created["name"], created["goal"]) == ("chairs", "Count the chairs")
        assert created["description"] == "In the hall"
        assert list(created["acceptance_criteria"]) == ["a number", "no guess"]
        assert created["deadline"] > created["at"]
        assert created["actor"] == getpass.getuser()
        again = await on.cli("delegate", "raw", "Count the chairs", *options, "--json")
        assert json.loads(again.out)["id"] == sub_task_id


async def test_an_actor_may_have_any_letters(tmp_path: Path) -> None:
    """H1: the user's name is recorded as it is written."""
    async with site(tmp_path) as on:
        said = await on.cli("delegate", "raw", "Count", LOGNAME="Zoë Łuk")
        assert said.status == 0, said.err
        created = (await on.harness.events(said.out.split()[0]))[0]
        assert created["actor"] == "Zoë Łuk"


async def test_a_question_is_answered_from_another_terminal(tmp_path: Path) -> None:
    """C12: `locum reply` answers; what names an old question, or nothing that asks, is refused."""
    async with site(tmp_path) as on:
        on.agent.on("SendStreamingMessage", [EV(ASKS), EOF], [EV(DONE), EOF])
        on.agent.task = ASKS
        sub_task_id = await on.delegate()
        row = await on.harness.settled(sub_task_id, timeout=10)
        said = await on.cli("reply", sub_task_id, "the big one", "--question", "1")
        assert said.status == 1
        assert said.err.startswith("sub_task.stale_question: ")
        on.agent.task = DONE
        said = await on.cli("reply", sub_task_id, "the big one", "--question", str(row.version))
        assert (said.status, said.out) == (0, f"{sub_task_id} WORKING\n")
        await until(on.harness, sub_task_id, "COMPLETED")
        said = await on.cli("reply", sub_task_id, "again", "--json")
        assert (said.status, said.out) == (1, "")
        problem = json.loads(said.err)
        assert problem["code"] == "sub_task.resolved"
        assert problem["detail"] == {"sub_task": sub_task_id, "state": "COMPLETED"}


async def test_cancel_and_complete(tmp_path: Path) -> None:
    """F2, C8: a parent completes when nothing of it is open any more."""
    async with site(tmp_path) as on:
        sub_task_id = await on.delegate("Count", "--parent", "p/1")
        said = await on.cli("complete", "p/1", "--json")
        assert said.status == 1
        problem = json.loads(said.err)
        assert problem["code"] == "parent.unresolved"
        assert problem["detail"]["unresolved"] == [sub_task_id]
        on.agent.on("CancelTask", T("CANCELED"))
        said = await on.cli("cancel", sub_task_id, "--reason", "not needed")
        assert said.status == 0, said.err
        assert said.out.split()[:2] == [sub_task_id, "CANCELED"]
        said = await on.cli("complete", "p/1")
        assert (said.status, said.out) == (0, "p/1 may complete\n")
        assert json.loads((await on.cli("complete", "p/1", "--json")).out) == {"completed": True}


async def test_a_cancel_has_a_patience_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F2, CLI: how long the server takes for a cancel, this side does not know."""
    monkeypatch.setattr("locum.adapters.cli.changing.PATIENCE", 0.01)
    monkeypatch.setattr("locum.adapters.cli.changing.CANCEL_PATIENCE", 60.0)
    async with site(tmp_path) as on:
        on.agent.on("CancelTask", [HOLD])
        sub_task_id = await on.delegate()
        await on.harness.linked(sub_task_id, timeout=10)
        said = await on.cli("cancel", sub_task_id)
        assert (said.status, said.err) == (0, "")
        monkeypatch.setattr("locum.adapters.cli.changing.CANCEL_PATIENCE", 0.01)
        said = await on.cli("cancel", await on.delegate())
        assert said.status == 1
        assert "server.no_answer" in said.err


async def test_a_follow_up(tmp_path: Path) -> None:
    """C14: `--follows` goes on in the context of one that has ended."""
    async with site(tmp_path) as on:
        on.agent.on("SendStreamingMessage", [EV(DONE), EOF])
        on.agent.task = DONE
        first = await on.delegate()
        await until(on.harness, first, "COMPLETED")
        second = await on.delegate("And the tables", "--follows", first)
        follows = (await on.harness.events(second))[0]["follows"]
        assert follows["sub_task_id"] == first


async def test_waiting_without_a_terminal(tmp_path: Path) -> None:
    """CLI: `--wait` tells each change on standard error, and the result on standard output."""
    async with site(tmp_path) as on:
        on.agent.on("SendStreamingMessage", [EV(T("WORKING", "counting")), HOLD])
        config = ("--config", str(on.config))
        async with started("delegate", "raw", "Count", "--wait", *config) as process:
            await _line(process, "counting")
            on.agent.complete("nine chairs")
            said = await ended(process)
        assert said.status == 0
        lines = said.out.splitlines()
        assert (lines[0].split()[0], lines[-1]) == ("COMPLETED", "nine chairs")


async def test_a_failure_is_exit_status_1(tmp_path: Path) -> None:
    """CLI, E7: with `--wait` an end that is no success is 1, and the reason is told."""
    async with site(tmp_path) as on:
        failed = T("FAILED", "no hall")
        on.agent.on("SendStreamingMessage", [EV(failed), EOF])
        on.agent.task = failed
        said = await on.cli("delegate", "raw", "Count", "--wait")
        assert said.status == 1
        assert said.out.splitlines()[0].startswith("FAILED  st-")
        assert said.out.splitlines()[1:] == ["text", "no hall"]
        said = await on.cli("delegate", "raw", "Count", "--wait", "--json")
        assert (said.status, said.err) == (1, "")
        assert json.loads(said.out)["state"] == "FAILED"


@pytest.mark.parametrize("is_open", [True, False], ids=["idle", "closed"])
async def test_with_nobody_to_ask(tmp_path: Path, is_open: bool) -> None:
    """CLI: without a terminal the question is told, how to answer it, and the exit status is 3.

    It waited for ever, for whoever might answer from elsewhere.
    """
    async with site(tmp_path) as on:
        on.agent.on("SendStreamingMessage", [EV(ASKS), EOF], [EV(DONE), EOF])
        on.agent.task = ASKS
        config = ("--config", str(on.config))
        async with started("delegate", "raw", "Count", "--wait", *config) as process:
            assert process.stdin is not None
            if not is_open:
                process.stdin.close()
            await _line(process, "Which hall?")
            sub_task_id = (await _line(process, "  locum reply st-")).split()[2]
            async with asyncio.timeout(PATIENCE):
                status = await process.wait()
            assert process.stdout is not None
            out = (await process.stdout.read()).decode()
        assert status == 3
        assert out.splitlines()[0].split()[:2] == ["INPUT_REQUIRED", sub_task_id]
        # What it says to do does it: the wait goes on where it was.
        on.agent.task = DONE
        said = await on.cli("reply", sub_task_id, "the big one", "--wait", "--json")
        assert said.status == 0, said.err
        assert json.loads(said.out)["text"] == "nine chairs"


async def test_an_authorisation_is_waited_for(tmp_path: Path) -> None:
    """D15, CLI: what is authorised elsewhere is waited for, with nobody at a terminal too."""
    async with site(tmp_path) as on:
        wants = T("AUTH_REQUIRED", [text_part("Sign in"), url_part("https://login.example")])
        on.agent.on("SendStreamingMessage", [EV(wants), EOF])
        on.agent.task = wants
        config = ("--config", str(on.config))
        async with started("delegate", "raw", "Count", "--wait", *config) as process:
            await _line(process, "raw needs an authorisation: Sign in")
            await _line(process, "  [file] https://login.example")
            on.agent.complete("nine chairs")
            said = await ended(process)
        assert (said.status, said.out.splitlines()[-1]) == (0, "nine chairs")


async def test_a_question_with_json(tmp_path: Path) -> None:
    """CLI: with `--json` the row of what waits is on standard output, the status 3 as well."""
    async with site(tmp_path) as on:
        on.agent.on("SendStreamingMessage", [EV(ASKS), EOF])
        on.agent.task = ASKS
        said = await on.cli("delegate", "raw", "Count", "--wait", "--json")
        assert said.status == 3
        assert json.loads(said.out)["state"] == "INPUT_REQUIRED"
        assert "raw asks: Which hall?\n" in said.err


async def test_answers_from_a_pipe(tmp_path: Path) -> None:
    """CLI: a script may answer: each question takes the next line."""
    async with site(tmp_path) as on:
        other = T("INPUT_REQUIRED", "Which colour?")
        turns = iter([ASKS, other, DONE])

        async def turn(seen: Seen, reply: Reply) -> None:
            on.agent.task = next(turns)
            await reply.play([EV(on.agent.task), EOF])

        on.agent.on("SendStreamingMessage", turn)
        config = ("--config", str(on.config))
        async with started("delegate", "raw", "Count", "--wait", *config) as process:
            said = await ended(process, "the big one\nred\n")
        assert said.status == 0, said.err
        assert said.err.index("raw asks: Which hall?") < said.err.index("raw asks: Which colour?")
        sent = await on.agent.seen("SendStreamingMessage", count=3)
        texts = [call.params["message"]["parts"][0]["text"] for call in sent]
        assert texts[1:] == ["the big one", "red"]


async def test_a_server_that_comes_back_is_waited_for(tmp_path: Path) -> None:
    """CLI, I1: a wait outlives the server, and goes on with the next one."""
    async with site(tmp_path) as on:
        on.agent.on("SendStreamingMessage", [EV(T("WORKING", "counting")), HOLD])
        config = ("--config", str(on.config))
        async with started("delegate", "raw", "Count", "--wait", *config) as process:
            assert process.stderr is not None
            await _line(process, "counting")
            await on.stop_serving()
            await _line(process, "No locum server answers")
            on.agent.complete("nine chairs")
            await on.start_serving()
            said = await ended(process)
        assert said.status == 0
        assert said.out.splitlines()[-1] == "nine chairs"
