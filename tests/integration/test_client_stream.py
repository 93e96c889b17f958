"""The explicit client's streams: what each update tells, and who finishes a stream that ends early."""

import asyncio
from typing import Any

import pytest
from a2a.types.a2a_pb2 import Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent

from locum.adapters import A2AClient, A2AResult
from locum.adapters.client import Updates, account
from locum.core.errors import ClientError, ClientTimeoutError, RemoteCallError
from tests.agents.frames import CUT, EOF, ERR, EV, HOLD, RST, A, M, S, T
from tests.agents.process import lawful_agent
from tests.agents.raw import RawAgent
from tests.agents.reply import Reply
from tests.agents.seen import Seen

from .explicit import BINDINGS, card_url, client_at

both = pytest.mark.parametrize("binding", BINDINGS)
DONE = T("COMPLETED", artifacts=[A("a", "done")])


async def _all(updates: Updates) -> list[A2AResult]:
    async with updates:
        return [result async for result in updates]


def _told(results: list[A2AResult]) -> list[tuple[str, str]]:
    return [(str(result.state), result.text) for result in results]


async def test_streaming_has_to_be_asked_for() -> None:
    """G3: without `streaming=True` neither `stream` nor `subscribe` sends anything."""
    async with RawAgent() as agent:
        client = A2AClient(card_url(agent))
        for operation in (client.stream, client.subscribe):
            with pytest.raises(ClientError) as caught:
                operation("go")
            assert caught.value.code == "client.streaming_off"
        assert agent.requests == []


@both
async def test_updates_are_normalised(binding: Any) -> None:
    """G3: each update gives what is known by then: state, text so far, ids, the event itself."""
    async with RawAgent(binding) as agent:
        agent.on(
            "SendStreamingMessage",
            [
                EV(T("SUBMITTED")),
                EV(S("WORKING", "looking")),
                EV(A("a", "Hello, ")),
                EV(A("a", "big ", 1)),
                EV(A("a", "world!", 1, 1)),
                EV(S("COMPLETED", "ready")),
                HOLD,
            ],
        )
        agent.task = T("COMPLETED", "ready", artifacts=[A("a", "Hello, big world!")])
        results = await _all(client_at(agent).stream("go"))
        assert _told(results) == [
            ("SUBMITTED", ""),
            ("WORKING", "looking"),
            ("WORKING", "Hello, "),
            ("WORKING", "Hello, big "),
            ("WORKING", "Hello, big world!"),
            ("COMPLETED", "Hello, big world!"),
        ]
        assert {(one.task_id, one.context_id) for one in results} == {("t1", "c1")}
        kinds = [type(one.task or one.update) for one in results]
        assert kinds == [
            Task,
            TaskStatusUpdateEvent,
            *[TaskArtifactUpdateEvent] * 3,
            Task,
        ]
        assert len(agent.calls("GetTask")) == 1
        await agent.all_closed(timeout=1)


@both
async def test_a_whole_task_at_the_end_needs_no_gettask(binding: Any) -> None:
    """G3: a stream that brings the whole settled task is complete."""
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING")), EV(DONE), EOF])
        results = await _all(client_at(agent).stream("go"))
        assert _told(results) == [("WORKING", ""), ("COMPLETED", "done")]
        assert agent.calls("GetTask") == []


@both
@pytest.mark.parametrize("end", [EOF, CUT, RST, EV(ERR(-32603, "oops"))], ids=str)
async def test_a_stream_that_ends_early_is_finished_by_gettask(binding: Any, end: Any) -> None:
    """G3: a stream that ends or breaks before the task has settled is never taken for an end."""
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING")), EV(A("a", "do")), end])
        agent.on("GetTask", T("WORKING", artifacts=[A("a", "do")]), DONE)
        results = await _all(client_at(agent).stream("go"))
        assert _told(results) == [("WORKING", ""), ("WORKING", "do"), ("COMPLETED", "done")]
        assert len(agent.calls("SendStreamingMessage")) == 1
        assert len(agent.calls("GetTask")) == 2


@both
async def test_a_task_that_never_ends_is_no_end_either(binding: Any) -> None:
    """G3: a stream that ended with the task at work goes on until the caller's time is up."""
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING")), EOF])
        with pytest.raises(ClientTimeoutError):
            await _all(client_at(agent).stream("go", timeout=0.5))
        assert len(agent.calls("GetTask")) > 1


@both
async def test_a_stream_that_breaks_before_a_word(binding: Any) -> None:
    """G3: without a task that could be asked about the error stands, and nothing is sent again."""
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [RST])
        with pytest.raises(RemoteCallError) as caught:
            await _all(client_at(agent).stream("go"))
        assert caught.value.kind == "in_doubt"
        assert [seen.method for seen in agent.calls()] == ["SendStreamingMessage"]


@both
async def test_a_question_ends_a_stream(binding: Any) -> None:
    """G3, case Q11: a parked task has settled, also on a stream that stays open; its words are
    fetched.
    """
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("WORKING")), EV(S("INPUT_REQUIRED")), HOLD])
        agent.on("GetTask", T("INPUT_REQUIRED", "which?"))
        results = await _all(client_at(agent).stream("go"))
        assert _told(results) == [("WORKING", ""), ("INPUT_REQUIRED", "which?")]
        await agent.all_closed(timeout=1)


@both
async def test_the_words_that_only_the_stream_had(binding: Any) -> None:
    """G3, K5, case Q10: a question that GetTask has dropped, and an end that it lags behind, are
    kept.
    """
    async with RawAgent(binding) as agent:
        client = client_at(agent)
        agent.on("SendStreamingMessage", [EV(T("WORKING")), EV(S("INPUT_REQUIRED", "which?")), EOF])
        agent.on("GetTask", T("INPUT_REQUIRED"))
        assert _told(await _all(client.stream("go")))[-1] == ("INPUT_REQUIRED", "which?")

        agent.on("SendStreamingMessage", [EV(T("WORKING")), EV(S("FAILED", "no chairs")), EOF])
        behind = T("WORKING", ts="2020-01-01T00:00:00Z", artifacts=[A("a", "half")])
        for lagging in (behind, ERR(-32603)):
            agent.on("GetTask", lagging)
            (*_, last) = await _all(client.stream("go"))
            assert (last.state, last.text, last.task) == ("FAILED", "no chairs", None)


@both
async def test_the_last_words_of_a_task_without_a_result(binding: Any) -> None:
    """G3, case Q7: what was said last at work is the text of a task that ends without another word."""
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(S("WORKING", "forty-two")), EV(S("COMPLETED")), EOF])
        agent.on("GetTask", T("COMPLETED"))
        (*_, last) = await _all(client_at(agent).stream("go"))
        assert (last.state, last.text) == ("COMPLETED", "forty-two")


@both
async def test_a_direct_answer_on_a_stream(binding: Any) -> None:
    """G3: a Message is all there is; what comes after it is ignored."""
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(M("hello")), EV(M("again")), HOLD])
        (only,) = await _all(client_at(agent).stream("hi"))
        assert (only.text, only.completed, only.message is not None) == ("hello", True, True)
        await agent.all_closed(timeout=1)


@both
async def test_an_agent_that_does_not_stream(binding: Any) -> None:
    """G3: an agent whose card has no streaming is asked with SendMessage and GetTask instead."""
    async with RawAgent(binding, streaming=False) as agent:
        agent.on("SendMessage", T("WORKING"))
        agent.on("GetTask", T("WORKING", "looking"), DONE)
        client = client_at(agent)
        expected = [("WORKING", ""), ("WORKING", "looking"), ("COMPLETED", "done")]
        assert _told(await _all(client.stream("go"))) == expected
        agent.on("GetTask", T("WORKING", "looking"), DONE)
        assert _told(await _all(client.subscribe("t1"))) == expected[1:]
        assert {seen.method for seen in agent.calls()} == {"SendMessage", "GetTask"}


@both
async def test_a_task_is_followed_to_its_end(binding: Any) -> None:
    """G3: `subscribe` tells how the task is and what changes, until it settles."""
    async with RawAgent(binding) as agent:
        agent.on(
            "SubscribeToTask",
            [EV(T("WORKING", artifacts=[A("a", "do")])), EV(A("a", "ne", 1)), EV(S("COMPLETED"))],
        )
        agent.on("GetTask", DONE)
        results = await _all(client_at(agent).subscribe("t1"))
        assert _told(results) == [("WORKING", "do"), ("WORKING", "done"), ("COMPLETED", "done")]


@both
async def test_following_what_is_over(binding: Any) -> None:
    """G3, case S10: a subscription that the agent refuses is finished by GetTask too."""
    async with RawAgent(binding) as agent:
        agent.on("SubscribeToTask", ERR(-32004, "it is over"))
        agent.on("GetTask", DONE)
        client = client_at(agent)
        assert _told(await _all(client.subscribe("t1"))) == [("COMPLETED", "done")]
        agent.on("SubscribeToTask", ERR(-32001))
        agent.on("GetTask", ERR(-32001))
        with pytest.raises(RemoteCallError) as caught:
            await _all(client.subscribe("t1"))
        assert caught.value.code == "remote.not_found"


@both
async def test_following_what_is_parked(binding: Any) -> None:
    """G3: a task that is parked already is followed until it moves on, or the stream ends."""
    async with RawAgent(binding) as agent:
        client = client_at(agent)
        waits = EV(T("AUTH_REQUIRED", "log in"))
        agent.on("SubscribeToTask", [waits, waits, EV(S("WORKING")), EV(S("COMPLETED")), HOLD])
        agent.on("GetTask", DONE)
        results = await _all(client.subscribe("t1"))
        assert [str(one.state) for one in results] == [
            *("AUTH_REQUIRED", "AUTH_REQUIRED", "WORKING", "COMPLETED")
        ]
        agent.on("SubscribeToTask", [waits, EV(T("INPUT_REQUIRED", "which?")), HOLD])
        results = await _all(client.subscribe("t1"))
        assert _told(results) == [("AUTH_REQUIRED", "log in"), ("INPUT_REQUIRED", "which?")]
        agent.on("SubscribeToTask", [waits, EOF])
        assert _told(await _all(client.subscribe("t1"))) == [("AUTH_REQUIRED", "log in")]


@both
async def test_what_a_subscription_replays_is_no_change(binding: Any) -> None:
    """G3, D7: a state older than what is known is skipped."""
    async with RawAgent(binding) as agent:
        agent.on(
            "SubscribeToTask",
            [
                EV(T("WORKING", "second", ts="2026-01-01T00:00:05Z")),
                EV(S("INPUT_REQUIRED", "first?", ts="2026-01-01T00:00:01Z")),
                EV(S("WORKING", "third", ts="2026-01-01T00:00:06Z")),
                EV(S("COMPLETED", ts="2026-01-01T00:00:07Z")),
            ],
        )
        agent.on("GetTask", DONE)
        results = await _all(client_at(agent).subscribe("t1"))
        assert [one.text for one in results] == ["second", "third", "done"]


@both
async def test_a_reply_that_moves_to_another_task(binding: Any) -> None:
    """G3, C13: nothing of the task that was left behind is in the result of the new one."""
    async with RawAgent(binding) as agent:
        agent.on(
            "SendStreamingMessage",
            [
                EV(T("WORKING", artifacts=[A("a", "old")])),
                EV(T("WORKING", id="t2")),
                EV(S("COMPLETED", task="t2")),
            ],
        )
        agent.put(T("COMPLETED", id="t2", artifacts=[A("b", "new")]))
        results = await _all(client_at(agent).stream("go on", task_id="t1", context_id="c1"))
        assert [(one.task_id, one.text) for one in results] == [
            *(("t1", "old"), ("t2", ""), ("t2", "new"))
        ]


async def test_artifacts_cannot_grow_without_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """J3: a result that grows past its limit ends the operation with a clear error."""
    monkeypatch.setattr(account, "RESULT_LIMIT", 10_000)

    async def flood(_: Seen, reply: Reply) -> None:
        await reply.sse()
        await reply.event(T("WORKING"))
        while True:
            await reply.event(A("a", "x" * 1_000, append=True))

    async with RawAgent() as agent:
        agent.on("SendStreamingMessage", flood)
        with pytest.raises(RemoteCallError) as caught:
            await _all(client_at(agent).stream("go"))
        assert (caught.value.code, caught.value.kind) == ("remote.too_large", "refused")
        await agent.all_closed(timeout=1)


async def test_with_a_lawful_agent() -> None:
    """G3: streams and subscriptions against a2a-sdk's own server."""
    async with lawful_agent() as agent:
        client = A2AClient(f"{agent.url}/.well-known/agent-card.json", streaming=True)
        script = '[[ work; artifact a "Hello, "; append a "world" last; complete ]]'
        results = await _all(client.stream(script))
        assert _told(results)[-1] == ("COMPLETED", "Hello, world")
        assert results[-1].task is not None

        waits = await client.send("[[ work; wait go; complete \"done\" ]]", wait=False,
                                  return_immediately=True)  # fmt: skip
        following = asyncio.create_task(_all(client.subscribe(waits.task_id)))
        await agent.wait_streams(1)
        await agent.release("go")
        assert _told(await following)[-1] == ("COMPLETED", "done")
        assert await agent.open_streams() == 0
