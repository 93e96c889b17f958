"""How streams end over real sockets: by a terminal event, an error, a break, or by our hanging up."""

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from locum.core.errors import RemoteCallError

from ..agents.frames import COMMENT, CUT, EOF, ERR, EV, HOLD, RST, WAIT, Binding, M, S, T
from ..agents.raw import RawAgent
from ..agents.reply import Reply
from ..agents.sdk import send_request, states
from ..agents.seen import Seen
from .wired import wired

BINDINGS: list[Binding] = ["JSONRPC", "HTTP+JSON"]


@pytest.fixture(params=BINDINGS)
def binding(request: pytest.FixtureRequest) -> Binding:
    """Each test runs in both bindings."""
    chosen: Binding = request.param
    return chosen


@pytest.mark.parametrize("ending", [HOLD, RST, CUT, EV(S("WORKING")), b"data: {"])
async def test_a_terminal_event_ends_the_stream(binding: Binding, ending: Any) -> None:
    """K5: whether or not the agent closes it; trouble after it changes nothing."""
    async with RawAgent(binding) as agent, wired(agent) as peer:
        agent.on("SendStreamingMessage", [EV(S("FAILED", "because")), ending])
        assert states(await peer.send()) == ["FAILED"]
        assert peer.notes.ended
        await agent.all_closed()


@pytest.mark.parametrize(
    "said", [EV(M("hello")), EV({"task": {"id": "t1", "status": {"state": 7}}})]
)
async def test_other_ends_of_a_stream(binding: Binding, said: EV) -> None:
    """K5, C5: a message is the whole answer, and a state's number is that state."""
    async with RawAgent(binding) as agent, wired(agent) as peer:
        agent.on("SendStreamingMessage", [said, HOLD])
        assert len(await peer.send()) == 1
        await agent.all_closed()


async def test_a_parked_state_ends_nothing(binding: Binding) -> None:
    """K5: only a terminal state ends a stream."""
    async with RawAgent(binding) as agent, wired(agent) as peer:
        script = [
            EV(S("INPUT_REQUIRED")),
            EV(S("AUTH_REQUIRED")),
            EV(S("pondering")),
            EV(S("WORKING")),
            EOF,
        ]
        agent.on("SendStreamingMessage", script)
        heard = ["INPUT_REQUIRED", "AUTH_REQUIRED", "UNSPECIFIED", "WORKING"]
        assert states(await peer.send()) == heard
        assert not peer.notes.ended


@pytest.mark.parametrize("name", [None, "error"])
async def test_errors_on_a_stream(binding: Binding, name: str | None) -> None:
    """K4, case S10: an error in the middle of a stream keeps its code and words, named so or not."""
    async with RawAgent(binding) as agent, wired(agent) as peer:
        agent.on(
            "SubscribeToTask", [EV(T("WORKING")), EV(ERR(-32001, "it is gone"), name=name), HOLD]
        )
        with pytest.raises(RemoteCallError, match="it is gone") as raised:
            await peer.subscribe()
        assert (raised.value.code, raised.value.kind) == ("remote.not_found", "refused")
        await agent.all_closed()


async def test_an_error_in_plain_words_on_a_stream(binding: Binding) -> None:
    """K4: `event: error` with any data is an error, and the data its words."""
    async with RawAgent(binding) as agent, wired(agent) as peer:
        agent.on("SubscribeToTask", [EV("out of chairs", name="error"), HOLD])
        with pytest.raises(RemoteCallError, match="out of chairs") as raised:
            await peer.subscribe()
        assert raised.value.kind == "refused"


async def test_a_finished_task_cannot_be_subscribed_to(binding: Binding) -> None:
    """K4, case S10: ERR(-32004) for a subscription is a refusal of its own kind."""
    async with RawAgent(binding) as agent, wired(agent) as peer:
        agent.on("SubscribeToTask", [ERR(-32004, "it is over")])
        with pytest.raises(RemoteCallError, match="it is over") as raised:
            await peer.subscribe()
        assert (raised.value.code, raised.value.kind) == ("remote.unsupported", "refused")


@pytest.mark.parametrize(
    "status,headers,body,code,kind,words",
    [
        (
            401,
            {"WWW-Authenticate": 'Bearer error="expired"'},
            "",
            "unauthorized",
            "refused",
            "expired",
        ),
        (429, {"Retry-After": "1"}, "slow down", "busy", "transient", "slow down"),
        (503, {}, "<html><h1>Down</h1> for lunch</html>", "busy", "transient", "Down for lunch"),
        (404, {}, '{"detail":"Not Found"}', "refused", "refused", "Not Found"),
        (500, {}, "Internal Server Error", "failed", "in_doubt", "Internal Server Error"),
    ],
)
async def test_a_stream_refused_by_its_status(
    binding: Binding, status: int, headers: Any, body: str, code: str, kind: str, words: str
) -> None:
    """K4, case S8: status and words are kept, and say whether to try again."""
    async with RawAgent(binding) as agent, wired(agent) as peer:
        agent.on("SendStreamingMessage", [(status, headers, body)])
        with pytest.raises(RemoteCallError, match=words) as raised:
            await peer.send()
        error = raised.value
        assert (error.code, error.kind, error.status) == (f"remote.{code}", kind, status)
        assert error.retry_after == (1.0 if "Retry-After" in headers else None)


async def test_a_page_is_no_stream(binding: Binding) -> None:
    """K4: HTML with status 200 is an error, its words kept; nothing is known about the task."""
    async with RawAgent(binding) as agent, wired(agent) as peer:
        agent.on("SendStreamingMessage", [(200, {"content-type": "text/html"}, "<p>Log in</p>")])
        with pytest.raises(RemoteCallError, match="Log in") as raised:
            await peer.send()
        assert (raised.value.code, raised.value.kind) == ("remote.malformed", "in_doubt")


@pytest.mark.parametrize(
    "nothing", [[b"\n", EOF], [COMMENT(), EOF], [(204, {}, "")], [(200, {}, "")]]
)
async def test_an_empty_stream_is_no_error_of_the_wire(binding: Binding, nothing: Any) -> None:
    """C7: a stream without events says nothing; what that means is for others to find out."""
    async with RawAgent(binding) as agent, wired(agent) as peer:
        agent.on("SendStreamingMessage", nothing)
        assert await peer.send() == []
        assert peer.notes.sent
        assert peer.notes.events == 0


@pytest.mark.parametrize("ending", [CUT, RST])
async def test_a_stream_that_breaks_is_in_doubt(binding: Binding, ending: Any) -> None:
    """C7, D8: what came before is heard; the break is an error, never an end."""
    async with RawAgent(binding) as agent, wired(agent) as peer:
        agent.on("SendStreamingMessage", [EV(T("WORKING")), WAIT(0.05), ending])
        stream = peer.listen(send_request("go"))
        assert states([await anext(stream)]) == ["WORKING"]
        with pytest.raises(RemoteCallError) as raised:
            await anext(stream)
        assert (raised.value.code, raised.value.kind) == ("remote.reset", "in_doubt")


async def test_an_event_cut_by_the_end_is_left_out(binding: Binding) -> None:
    """K1, case S13: half an event is none, and no reason to lose what came before."""

    async def answer(seen: Seen, reply: Reply) -> None:
        await reply.sse(chunked=False)
        await reply.send(
            reply.event_bytes(EV(T("WORKING"))) + reply.event_bytes(EV(S("COMPLETED")))[:40]
        )

    async with RawAgent(binding) as agent, wired(agent) as peer:
        agent.on("SendStreamingMessage", answer)
        assert states(await peer.send()) == ["WORKING"]
        assert peer.notes.anomalies == ["sse.cut_event"]


@pytest.mark.parametrize("way", ["break", "raise", "cancel", "hang_up"])
async def test_the_agent_sees_us_hang_up(binding: Binding, way: str) -> None:
    """D11, case S9: leaving a stream in any way closes the connection within a second."""

    async def listen(heard: asyncio.Event) -> None:
        async with aclosing(peer.listen(send_request("go"))) as stream:
            async for _ in stream:
                heard.set()
                if way == "break":
                    break
                if way == "raise":
                    raise ValueError("ours")
                if way == "hang_up":
                    await peer.notes.hang_up()

    async with RawAgent(binding) as agent, wired(agent) as peer:
        agent.on("SendStreamingMessage", [EV(T("WORKING")), HOLD])
        heard = asyncio.Event()
        task = asyncio.create_task(listen(heard))
        await heard.wait()
        if way == "cancel":
            task.cancel()
        await asyncio.wait([task])
        await agent.all_closed(timeout=1)
        assert task.cancelled() == (way == "cancel")
        assert task.cancelled() or (task.exception() is not None) == (way == "raise")


async def test_closing_the_client_closes_its_streams(binding: Binding) -> None:
    """D11, F4: shutting down hangs up, whoever still listens."""
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING")), HOLD])
        async with wired(agent) as peer:
            stream = peer.listen(send_request("go"))
            await anext(stream)
        await agent.all_closed(timeout=1)
        with pytest.raises(RemoteCallError):
            await anext(stream)
