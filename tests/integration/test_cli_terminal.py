"""`locum` at a terminal: what is shown there, asked there and typed there; signals and Ctrl-C."""

import re
import signal
from pathlib import Path

import pytest

from tests.agents.frames import EOF, EV, HOLD, A, S, T, url_part

from .site import Site, site
from .terminal import Terminal, ended, started, without_escapes

DONE = T("COMPLETED", artifacts=[A("a", "nine chairs")])
ASKS = T("INPUT_REQUIRED", "Which hall?")


def _at_terminal(on: Site, *arguments: str) -> Terminal:
    return Terminal(*arguments, LOCUM_CONFIG=str(on.config))


async def _asked(on: Site) -> None:
    """The agent asks first, and is done when it has its answer."""
    on.agent.on("SendStreamingMessage", [EV(ASKS), EOF], [EV(DONE), EOF])
    on.agent.task = ASKS


async def test_the_question_is_asked_at_the_terminal(tmp_path: Path) -> None:
    """C12: `delegate --wait` asks when the agent asks; an empty line is no answer."""
    async with site(tmp_path) as on:
        await _asked(on)
        async with _at_terminal(on, "delegate", "raw", "Count", "--wait") as terminal:
            await terminal.shows("raw asks: Which hall?")
            await terminal.shows("> ")
            terminal.type("\n")
            await terminal.shows("> ", 2)
            terminal.type("  \n")
            await terminal.shows("> ", 3)
            on.agent.task = DONE
            terminal.type("the big one\n")
            await terminal.shows("nine chairs")
            assert await terminal.ends() == 0
        sent = await on.agent.seen("SendStreamingMessage", count=2)
        message = sent[1].params["message"]
        assert [part["text"] for part in message["parts"]] == ["the big one"]
        assert message["taskId"] == "t1"
        events = await on.harness.events((await on.harness.rows("terminal"))[0].id)
        replied = next(event for event in events if event["cause"] == "reply")
        assert replied["question"] == next(e for e in events if e["type"] == "Parked")["version"]


async def test_progress_moves(tmp_path: Path) -> None:
    """CLI: while something is awaited a line at the terminal moves, and is gone at the end."""
    async with site(tmp_path) as on:
        on.agent.on("SendStreamingMessage", [EV(T("WORKING", "counting")), HOLD])
        async with _at_terminal(on, "delegate", "raw", "Count", "--wait") as terminal:
            await terminal.shows("Count  WORKING  counting", 8)
            assert len(set(re.findall(r"(\S) Count  WORKING", terminal.text))) > 1
            on.agent.complete("nine chairs")
            assert await terminal.ends() == 0
            *_, erased, result = terminal.raw.rpartition("\x1b[2K")
            assert erased
            assert "COMPLETED" in result
            assert "counting" not in result


async def test_a_cancel_is_waited_for(tmp_path: Path) -> None:
    """F2, CLI: while the agent takes its time with a cancel, something moves."""
    async with site(tmp_path) as on:
        on.agent.on("SendStreamingMessage", [EV(T("WORKING", "counting")), HOLD])
        on.agent.on("CancelTask", [HOLD])
        sub_task_id = await on.delegate()
        await on.harness.linked(sub_task_id, timeout=10)
        async with _at_terminal(on, "cancel", sub_task_id) as terminal:
            await terminal.shows("waiting for the server", 3)
            assert await terminal.ends() == 0
            last = terminal.raw.rpartition("\x1b[2K")[2]
            assert f"{sub_task_id} CANCELED" in last
            assert "waiting" not in last


async def test_what_was_typed_before_is_no_answer(tmp_path: Path) -> None:
    """C12: keys that were pressed before the question was there do not answer it."""
    async with site(tmp_path) as on:
        on.agent.on("SendStreamingMessage", [EV(T("WORKING", "counting")), HOLD], [EV(DONE), EOF])
        async with _at_terminal(on, "delegate", "raw", "Count", "--wait") as terminal:
            await terminal.shows("counting")
            terminal.type("rm -rf hall\n")
            on.agent.tell(S("INPUT_REQUIRED", "Which hall?"))
            await terminal.shows("raw asks: Which hall?")
            await terminal.shows("> ")
            on.agent.task = DONE
            terminal.type("the big one\n")
            assert await terminal.ends() == 0
        sent = await on.agent.seen("SendStreamingMessage", count=2)
        assert sent[1].params["message"]["parts"][0]["text"] == "the big one"


async def test_a_question_that_is_answered_elsewhere(tmp_path: Path) -> None:
    """C12: when another answers, the terminal stops asking and goes on."""
    async with site(tmp_path) as on:
        await _asked(on)
        async with _at_terminal(on, "delegate", "raw", "Count", "--wait") as terminal:
            await terminal.shows("> ")
            on.agent.task = DONE
            (row,) = await on.harness.rows("terminal")
            await on.harness.reply(row.id, "the big one")
            await terminal.shows("That was answered elsewhere, or is no longer asked.")
            assert await terminal.ends() == 0
            assert "nine chairs" in terminal.text


async def test_an_answer_that_is_refused_is_asked_for_again(tmp_path: Path) -> None:
    """C12: the refusal is told, and the question stands."""
    async with site(tmp_path, limits={"body_limit": "500B"}) as on:
        await _asked(on)
        async with _at_terminal(on, "delegate", "raw", "Count", "--wait") as terminal:
            await terminal.shows("> ")
            terminal.type("big " * 200 + "\n")
            await terminal.shows("request.too_large: ")
            await terminal.shows("> ", 2)
            on.agent.task = DONE
            terminal.type("the big one\n")
            assert await terminal.ends() == 0


async def test_an_authorisation_is_told_of(tmp_path: Path) -> None:
    """D15: what has to be authorised is said once, and the wait goes on until that is done."""
    async with site(tmp_path) as on:
        wants = T("AUTH_REQUIRED", [url_part("https://login.example", filename="sign in")])
        on.agent.on("SendStreamingMessage", [EV(wants), EOF])
        on.agent.task = wants
        async with _at_terminal(on, "delegate", "raw", "Count", "--wait") as terminal:
            await terminal.shows("raw needs an authorisation:")
            await terminal.shows("[sign in] https://login.example")
            on.agent.complete("nine chairs")
            assert await terminal.ends() == 0
            assert terminal.text.count("needs an authorisation") == 1


@pytest.mark.parametrize("is_asked", [False, True], ids=["working", "asked"])
async def test_ctrl_c_ends_the_wait_alone(tmp_path: Path, is_asked: bool) -> None:
    """CLI, D11: Ctrl-C ends the command at once, also at a question; the work goes on."""
    async with site(tmp_path) as on:
        first = ASKS if is_asked else T("WORKING", "counting")
        on.agent.on("SendStreamingMessage", [EV(first), HOLD])
        on.agent.task = first
        async with _at_terminal(on, "delegate", "raw", "Count", "--wait") as terminal:
            await terminal.shows("> " if is_asked else "counting")
            terminal.type("\x03")
            assert await terminal.ends() == 130
            (row,) = await on.harness.rows("terminal")
            assert f"{row.id} goes on" in terminal.text.replace("\n", "")
            assert "Traceback" not in terminal.text
        assert not row.state.is_terminal


async def test_ctrl_d_leaves_the_question_to_others(tmp_path: Path) -> None:
    """CLI: the end of the input is no answer; the command says how to give one, and waits on."""
    async with site(tmp_path) as on:
        await _asked(on)
        async with _at_terminal(on, "delegate", "raw", "Count", "--wait") as terminal:
            await terminal.shows("> ")
            terminal.type("\x04")
            await terminal.shows("Nobody answers here")
            on.agent.task = DONE
            (row,) = await on.harness.rows("terminal")
            await on.harness.reply(row.id, "the big one")
            assert await terminal.ends() == 0


async def test_80_columns_are_enough(tmp_path: Path) -> None:
    """CLI: at a terminal nothing is wider than it, and the ids are whole."""
    async with site(tmp_path) as on:
        long = T("COMPLETED", artifacts=[A("a", "nine chairs, " * 40)])
        on.agent.on("SendStreamingMessage", [EV(long), EOF], [EV(ASKS), EOF])
        on.agent.task = long
        first = await on.delegate("Count all the chairs that are in the big hall", "--wait")
        on.agent.task = ASKS
        second = await on.delegate()
        await on.harness.settled(second, timeout=10)
        wide = {"FORCE_COLOR": "1", "COLUMNS": "80"}  # rich takes this for a terminal
        for command in (
            ("ls",),
            ("show", first),
            ("events", first),
            ("notifications", "terminal"),
            ("agents",),
            ("--help",),
            ("delegate", "--help"),
        ):
            said = await on.cli(*command, **wide)
            lines = without_escapes(said.out).splitlines()
            assert max(map(len, lines)) <= 80, said.out
            if command[0] in ("ls", "notifications"):
                assert first in said.out
                assert second in said.out
            if command[0] == "events":
                assert lines[0].endswith(" (UTC)")


async def test_notifications_are_followed(tmp_path: Path) -> None:
    """E3: `--follow` tells what is there and what comes, once each, and ends well at Ctrl-C."""
    async with site(tmp_path) as on:
        await _asked(on)
        first = await on.delegate()
        await on.harness.settled(first, timeout=10)
        async with _at_terminal(on, "notifications", "terminal", "--follow") as terminal:
            await terminal.shows("Which hall?")
            on.agent.task = DONE
            await on.harness.reply(first, "the big one")
            await terminal.shows("nine chairs")
            assert terminal.text.count(first) == 2
            terminal.type("\x03")
            assert await terminal.ends() == 0
            assert "interrupted" not in terminal.text
            assert "Traceback" not in terminal.text


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM], ids=lambda sign: sign.name)
async def test_a_followed_feed_is_lines_of_json(tmp_path: Path, sign: signal.Signals) -> None:
    """E3: with `--json` each notification is one line; after a cursor nothing is told twice."""
    async with site(tmp_path) as on:
        await _asked(on)
        await on.harness.settled(await on.delegate(), timeout=10)
        notes = (await on.http.get("/v1/parents/terminal/notifications")).json()
        environ = {"LOCUM_CONFIG": str(on.config)}
        command = ("notifications", "terminal", "--follow", "--json")
        async with started(*command, **environ) as process:
            assert process.stdout is not None
            assert (await process.stdout.readline()).count(b"Which hall?") == 1
            process.send_signal(sign)
            said = await ended(process)
            assert said.status == (0 if sign is signal.SIGINT else -sign)
            assert "Traceback" not in said.err
        async with started(*command, "--after", str(notes["cursor"]), **environ) as process:
            assert process.stdout is not None
            on.agent.task = DONE
            (row,) = await on.harness.rows("terminal")
            await on.harness.reply(row.id, "the big one")
            assert (await process.stdout.readline()).count(b"nine chairs") == 1
