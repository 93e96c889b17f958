"""What is kept and told of an end: all that was heard, the agent's words, and locum's apart."""

import asyncio
from typing import Any

import pytest

from tests.agents.frames import EOF, ERR, EV, A, S, T
from tests.agents.raw import RawAgent
from tests.integration.support import history, locum, until

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
LATER = "2099-01-01T00:00:00Z"
QUICK = {"cancel_grace": "600ms", "send_timeout": "1s"}


@both
@pytest.mark.parametrize("how", ["deadline", "cancel", "gone"])
async def test_what_was_heard_is_kept(binding: Any, how: str) -> None:
    """D12, C11, F2, D10: what the agent had brought by then is in the row, whoever ended it."""
    async with RawAgent(binding) as agent:
        agent.on("CancelTask", ERR(-32002, "no"))

        dropped = asyncio.Event()
        heard = [EV(T("WORKING")), EV(A("a", "rows 1-500")), EV(S("WORKING", "500"))]
        agent.on("SubscribeToTask", [*heard, dropped, EOF], ERR(-32001, "what?"))
        timeout = 1.5 if how == "deadline" else None
        async with locum({"a": agent.url}, standin=QUICK) as harness:
            row = await harness.spawn("p", agent="a", goal="count", timeout=timeout)
            with harness.changes(row.id) as changed:
                while (await harness.sub_task(row.id)).text != "500":
                    await changed.wait()
                    changed.clear()
            if how == "cancel":
                await harness.cancel(row.id, "not needed")
            if how == "gone":
                agent.on("GetTask", ERR(-32001, "what?"))
                dropped.set()
            row = await until(harness, row.id, "FAILED", "CANCELED")
            assert [part.text for one in row.artifacts for part in one.parts] == ["rows 1-500"]
            assert "rows" not in row.said
            (note,), _ = await harness.notes("p")
            assert "which is not a success" in note.as_text()
            assert "rows 1-500" in note.as_text()
            assert row.reason == ("not needed" if how == "cancel" else "")


@both
async def test_the_agents_words_at_the_deadline(binding: Any) -> None:
    """E7, C11: what the canceled task says is the reason, with its artifacts."""
    stopped = T("CANCELED", "the disk is slow", artifacts=[A("a", "rows 1-500")], ts=LATER)
    async with RawAgent(binding) as agent:
        agent.on("CancelTask", stopped)
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count", timeout=0.6)
            row = await until(harness, row.id, "FAILED")
            assert row.said == "the disk is slow"
            assert row.account.startswith("The deadline ")
            assert [one.artifact_id for one in row.artifacts] == ["a"]


@both
async def test_a_silent_agent_gives_no_reason_at_the_deadline(binding: Any) -> None:
    """E6, E7: what locum says of the deadline is not told as the agent's words."""
    async with RawAgent(binding) as agent, locum({"a": agent.url}) as harness:
        row = await harness.spawn("p", agent="a", goal="count", timeout=0.6)
        row = await until(harness, row.id, "FAILED")
        (note,), _ = await harness.notes("p")
        assert row.said == ""
        assert "written by the agent" not in note.as_text()


@both
async def test_the_words_beside_a_result(binding: Any) -> None:
    """D12, H1: the text is the artifacts'; what the last message says is in the record and told."""
    words = "Done, but two chairs could not be counted"
    async with RawAgent(binding) as agent:
        done = T("COMPLETED", words, artifacts=[A("a", "12 chairs")])
        agent.on("SendStreamingMessage", [EV(done), EOF])
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await until(harness, row.id, "COMPLETED")
            assert (row.text, row.status_text) == ("12 chairs", words)
            (note,), _ = await harness.notes("p")
            assert f"12 chairs\n{words}\n</untrusted>" in note.as_text()
            assert (await history(harness, row.id))[-1]["status_text"] == words


HTML = (503, {"Content-Type": "text/html"}, b"<h1>We are busy</h1>")
REDIRECT = (302, {"Location": "https://other.example/x"}, b"")


@both
@pytest.mark.parametrize(
    "answer,said,account",
    [
        (ERR(-32602, "no such skill"), "no such skill", "The agent refused the call (code "),
        (HTML, "We are busy", "The agent was too busy to take the call (HTTP 503)."),
        ((503, {}, b""), "", "The agent was too busy to take the call (HTTP 503)."),
        (REDIRECT, "https://other.example/x", "The agent answered with a redirect; "),
    ],
    ids=["error", "html", "nothing", "redirect"],
)
async def test_a_refused_brief(binding: Any, answer: Any, said: str, account: str) -> None:
    """E6, C7: the text is what the agent said, the account what happened, and neither the other's."""
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", answer)
        async with locum({"a": agent.url}, standin=QUICK) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await until(harness, row.id, "FAILED")
            assert row.said == said
            assert row.account.startswith(account)
            (note,), _ = await harness.notes("p")
            block = f'<untrusted agent="a">\n{said}\n</untrusted>'
            assert (block in note.as_text()) is bool(said)
            assert f"locum: {account}" in note.as_text()


@both
async def test_an_agent_that_cannot_be_reached(binding: Any) -> None:
    """E6, C7: one plain sentence says where nobody answered and why; the agent said nothing."""
    async with RawAgent(binding) as agent, locum({"a": agent.url}, standin=QUICK) as harness:
        await agent.stop_listening()
        row = await harness.spawn("p", agent="a", goal="count")
        row = await until(harness, row.id, "FAILED")
        where = f"{agent.host}:{agent.port}"
        sentence = f"The agent cannot be reached: {where}, connection refused."
        assert (row.text, row.account, row.said) == (sentence, sentence, "")
        (note,), _ = await harness.notes("p")
        assert note.as_text().count(where) == 1
        assert "written by the agent" not in note.as_text()


@both
async def test_a_task_that_is_gone_was_told_so_in_the_agents_words(binding: Any) -> None:
    """E6, D10: the text is the agent's message alone, without locum's sentence around it."""
    async with RawAgent(binding) as agent:
        agent.on("SubscribeToTask", ERR(-32001, "no such thing here"))
        agent.on("GetTask", ERR(-32001, "no such thing here"))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await until(harness, row.id, "FAILED")
            assert row.said == "no such thing here"
            assert row.account == "The agent no longer knows the task."


@both
async def test_a_refused_reply_in_the_agents_words(binding: Any) -> None:
    """E6, C12: the refusal is what the agent said, with its code, and nothing of locum's."""
    asked = T("INPUT_REQUIRED", "which?", ts=LATER)
    async with RawAgent(binding) as agent:
        agent.put(asked)
        agent.on("SendStreamingMessage", [EV(asked), EOF], ERR(-32602, "only red or blue"))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            await harness.settled(row.id, timeout=5)
            await harness.reply(row.id, "green")
            async with asyncio.timeout(5):
                async for note in harness.notifications("p"):
                    if note.refusal is not None:
                        break
            code = "-32602" if binding == "JSONRPC" else "INVALID_PARAMS"
            assert (note.text, note.refusal) == ("which?", f"only red or blue (code {code})")


@both
@pytest.mark.parametrize("state", ["COMPLETED", "FAILED"])
async def test_a_blank_message_of_gettask_hides_no_words(binding: Any, state: Any) -> None:
    """D12, E7: what only the stream said counts where GetTask's message says nothing."""
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING")), EOF])
        agent.on("SubscribeToTask", [EV(T("WORKING")), EV(S(state, "no chairs", LATER)), EOF])
        agent.put(T(state, " ", ts=LATER))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            assert (await until(harness, row.id, state)).text == "no chairs"
