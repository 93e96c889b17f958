"""What has not left when somebody says stop does not leave any more, and what was ready is not lost."""

import asyncio
from typing import Any

import pytest

from locum.core.errors import RequestError
from tests.agents.frames import EOF, ERR, EV, RST, A, Binding, Frame, T
from tests.agents.raw import RawAgent
from tests.agents.reply import Reply
from tests.agents.seen import Seen
from tests.integration.support import history, locum

LATER = "2099-01-01T00:00:00Z"
both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
streaming_or_not = pytest.mark.parametrize("streaming", [True, False], ids=["streaming", "asking"])


def asks() -> Frame:
    """The question that the tests' replies answer; a cancel changes it."""
    return T("INPUT_REQUIRED", "pay?")


def replies(agent: RawAgent) -> list[str]:
    """The texts of the replies that have left."""
    sends = (*agent.calls("SendMessage"), *agent.calls("SendStreamingMessage"))
    return [seen.text for seen in sends if seen.task_id]


@both
@streaming_or_not
async def test_a_reply_that_waits_for_its_place(binding: Binding, streaming: bool) -> None:
    """F2: cancelled while another call has the one place, it does not leave when that is free."""
    method = "SendStreamingMessage" if streaming else "SendMessage"
    async with RawAgent(binding, streaming=streaming) as agent:
        is_free = asyncio.Event()

        async def answer(seen: Seen, reply: Reply) -> None:
            if len(agent.calls(method)) > 1:
                await is_free.wait()
            agent.put(asks())
            await (reply.play([EV(agent.task), EOF]) if streaming else reply.json(agent.task))

        agent.on(method, answer)
        table = {"url": agent.url, "max_calls": 1, "updates": "off"}
        async with locum({"a": table}, standin={"cancel_link_wait": "30s"}) as harness:
            row = await harness.spawn("p", agent="a", goal="buy")
            row = await harness.settled(row.id, timeout=10)
            await harness.spawn("p", agent="a", goal="buy more")
            await agent.seen(method, count=2)
            await harness.reply(row.id, "yes")
            cancel = asyncio.create_task(harness.cancel(row.id))
            await agent.seen("CancelTask")
            is_free.set()
            assert (await cancel).state == "CANCELED"
        assert replies(agent) == []


@both
@pytest.mark.parametrize("how", ["cancel", "deadline"])
async def test_a_reply_in_doubt_that_is_looked_for(binding: Binding, how: str) -> None:
    """F2, C11: that it is not there is learnt after the stop: then it is not sent again."""
    async with RawAgent(binding) as agent:
        has_ended = asyncio.Event()

        async def send(seen: Seen, reply: Reply) -> None:
            if seen.task_id:
                await reply.reset()
            else:
                await reply.play([EV(agent.task), EOF])

        async def get(seen: Seen, reply: Reply) -> None:
            if replies(agent) and not has_ended.is_set():
                await agent.seen("CancelTask", timeout=15)
            await reply.json(agent.task)

        async def cancel(seen: Seen, reply: Reply) -> None:
            agent.put(T("CANCELED", "stopped", ts=LATER))
            has_ended.set()
            await reply.json(agent.task)

        agent.task = asks()
        agent.on("SendStreamingMessage", send)
        agent.on("GetTask", get)
        agent.on("CancelTask", cancel)
        standin = {"cancel_link_wait": "30s"}
        table = {"url": agent.url, "updates": "off"}
        async with locum({"a": table}, standin=standin) as harness:
            timeout = 2 if how == "deadline" else None
            row = await harness.spawn("p", agent="a", goal="buy", timeout=timeout)
            row = await harness.settled(row.id, timeout=10)
            await harness.reply(row.id, "yes")
            await agent.until(lambda: len(replies(agent)) == 1 and len(agent.calls("GetTask")) > 0)
            if how == "cancel":
                await harness.cancel(row.id)
            await agent.until(has_ended.is_set, timeout=15)
            row = await harness.settled(row.id, timeout=10)
            assert row.state == ("CANCELED" if how == "cancel" else "FAILED")
        assert replies(agent) == ["yes"]


@both
async def test_a_brief_between_two_tries(binding: Binding) -> None:
    """F2: cancelled while it waits to be sent again, it does not leave, and the end is confirmed."""
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", (503, {"Retry-After": "1"}, b"busy"))
        standin = {"cancel_link_wait": "30s", "send_timeout": "60s"}
        async with locum({"a": agent.url}, standin=standin) as harness:
            row = await harness.spawn("p", agent="a", goal="buy")
            await agent.seen("SendStreamingMessage")
            row = await harness.cancel(row.id)
            assert (row.state, row.anomalies) == ("CANCELED", ())
        assert len(agent.calls("SendStreamingMessage")) == 1


WHOLE: list[tuple[str, Frame, str]] = [
    ("COMPLETED", T("COMPLETED", artifacts=[A("a", "the report")], ts=LATER), "the report"),
    ("FAILED", T("FAILED", "the disk is full", ts=LATER), "the disk is full"),
    ("CANCELED", T("CANCELED", "stopped at page 3", ts=LATER), "stopped at page 3"),
]


@both
@streaming_or_not
@pytest.mark.parametrize("state, whole, text", WHOLE, ids=[state for state, _, _ in WHOLE])
async def test_an_end_that_canceltask_tells_without_a_word(
    binding: Binding, streaming: bool, state: str, whole: Frame, text: str
) -> None:
    """F2, D12, E7: the result or the reason is asked of GetTask, once."""
    async with RawAgent(binding, streaming=streaming) as agent:

        async def cancel(seen: Seen, reply: Reply) -> None:
            agent.put(whole)
            await reply.json(T(state, ts=LATER))

        agent.on("CancelTask", cancel)
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await harness.linked(row.id, timeout=10)
            row = await harness.cancel(row.id)
            assert (row.state, row.text) == (state, text)


@both
async def test_a_result_that_canceltask_only_speaks_of(binding: Binding) -> None:
    """F2, D12: words of CancelTask's answer are not the result that GetTask has."""
    async with RawAgent(binding) as agent:

        async def cancel(seen: Seen, reply: Reply) -> None:
            agent.put(T("COMPLETED", "done", artifacts=[A("a", "the report")], ts=LATER))
            await reply.json(T("COMPLETED", "done", ts=LATER))

        agent.on("CancelTask", cancel)
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await harness.linked(row.id, timeout=10)
            row = await harness.cancel(row.id)
            assert (row.state, row.text) == ("COMPLETED", "the report")


@both
@pytest.mark.parametrize("first", [(502, {}, b"away"), [RST]], ids=["502", "reset"])
async def test_a_canceltask_in_doubt_goes_out_again(binding: Binding, first: Any) -> None:
    """F2: asking twice does no harm: what may not have been read is sent again within the grace."""
    async with RawAgent(binding) as agent:
        agent.on("CancelTask", first, T("CANCELED", "stopped", ts=LATER))
        async with locum({"a": agent.url}, standin={"cancel_grace": "20s"}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await harness.linked(row.id, timeout=10)
            row = await harness.cancel(row.id)
            assert (row.state, row.anomalies) == ("CANCELED", ())
            assert len(agent.calls("CancelTask")) == 2


@both
async def test_a_canceltask_that_is_put_off_past_the_grace(binding: Binding) -> None:
    """F2, C11: it goes out when the agent wants it, beside the sub-task that has ended."""
    async with RawAgent(binding) as agent:
        busy = (429, {"Retry-After": "2"}, b"later")
        agent.on("CancelTask", busy, busy, T("CANCELED", ts=LATER))
        async with locum({"a": agent.url}, standin={"cancel_grace": "1s"}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await harness.linked(row.id, timeout=10)
            row = await harness.cancel(row.id)
            assert row.anomalies == ("cancel.unconfirmed",)
            await agent.seen("CancelTask", count=3, timeout=20)


@both
async def test_it_is_told_as_it_is_where_gettask_does_not_answer(binding: Binding) -> None:
    """F2: that the agent had completed it counts, though nothing more is to be had."""
    async with RawAgent(binding) as agent:
        agent.on("CancelTask", T("COMPLETED", ts=LATER))
        agent.on("GetTask", ERR(-32603, "broken"))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await harness.linked(row.id, timeout=10)
            row = await harness.cancel(row.id)
            assert (row.state, row.text) == ("COMPLETED", "")


@both
async def test_it_is_told_as_it_is_when_the_grace_is_over(binding: Binding) -> None:
    """F2: a GetTask that hangs past the grace takes nothing from what CancelTask has told."""
    async with RawAgent(binding) as agent:

        async def hang(seen: Seen, reply: Reply) -> None:
            await reply.hold()

        agent.on("CancelTask", T("COMPLETED", ts=LATER))
        agent.on("GetTask", hang)
        async with locum({"a": agent.url}, standin={"cancel_grace": "500ms"}) as harness:
            row = await harness.spawn("p", agent="a", goal="count")
            row = await harness.linked(row.id, timeout=10)
            row = await harness.cancel(row.id)
            assert (row.state, row.anomalies) == ("COMPLETED", ())


@pytest.mark.parametrize("odd", [42, "\ud800", "two\nlines", "x" * 201], ids=str)
async def test_a_correlation_id_that_is_none(odd: Any) -> None:
    """F2, H3: what no event can hold is refused, of a parent's cancel too, and nothing happens."""
    async with RawAgent() as agent, locum({"a": agent.url}) as harness:
        row = await harness.spawn("p", agent="a", goal="count")
        row = await harness.linked(row.id, timeout=10)
        for cancel in (
            harness.cancel(row.id, correlation_id=odd),
            harness.cancel_parent("p", correlation_id=odd),
        ):
            with pytest.raises(RequestError, match="correlation_id"):
                await cancel
        assert not (await harness.sub_task(row.id)).state.is_terminal
        assert await history(harness, row.id)
        assert not agent.calls("CancelTask")
