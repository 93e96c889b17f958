"""Leaving an operation of the explicit client early: what is closed, and what is cancelled on the agent."""

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine
from contextlib import aclosing
from typing import Any

import pytest

from locum.adapters import A2AClient, RemoteAgent
from locum.core.errors import ClientTimeoutError
from tests.agents.frames import ERR, EV, HOLD, A, S, T
from tests.agents.raw import RawAgent

from .clients import only_closed_generators
from .explicit import BINDINGS, card_url, client_at

both = pytest.mark.parametrize("binding", BINDINGS)
OPEN = [EV(S("WORKING")), HOLD]
"""A stream that names its task in an update and then stays open."""


class OursError(Exception):
    """The caller's own code fails."""


async def _cancelled(work: Coroutine[Any, Any, Any], when: Callable[[], Any]) -> None:
    """Run `work` until `when` is over, cancel it, and wait for it to end."""
    task = asyncio.create_task(work)
    await when()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def _read(
    client: A2AClient, heard: Callable[[], object] = lambda: None, **options: Any
) -> None:
    """Read a stream; `heard` is called at each update."""
    async with client.stream("go", **options) as updates:
        async for _ in updates:
            heard()


async def _failing(client: A2AClient) -> None:
    async with client.stream("go") as updates:
        async for _ in updates:
            _fail()


def _fail() -> None:
    raise OursError


def _cancels(agent: RawAgent) -> list[str]:
    return [seen.task_id for seen in agent.calls("CancelTask")]


@both
@pytest.mark.parametrize("how", ["cancel", "timeout"])
async def test_a_send_that_is_given_up_cancels_its_task(binding: Any, how: str) -> None:
    """G5: cancelled or late, a send whose task is known cancels that task, once."""
    async with RawAgent(binding) as agent:
        agent.on("SendMessage", T("WORKING"))
        client = client_at(agent)
        if how == "cancel":
            await _cancelled(client.send("go"), lambda: agent.seen("GetTask"))
        else:
            with pytest.raises(ClientTimeoutError):
                await client.send("go", timeout=0.4)
        assert _cancels(agent) == ["t1"]
        await agent.all_closed(timeout=1)


@both
@pytest.mark.parametrize("how", ["cancel", "timeout"])
async def test_nothing_is_cancelled_that_was_not_named(binding: Any, how: str) -> None:
    """G5: while the agent has named no task there is none to cancel; the connection is closed."""
    async with RawAgent(binding) as agent:
        agent.on("SendMessage", HOLD)
        client = client_at(agent)
        if how == "cancel":
            await _cancelled(client.send("go"), lambda: agent.seen("SendMessage"))
        else:
            with pytest.raises(ClientTimeoutError):
                await client.send("go", timeout=0.4)
        await agent.all_closed(timeout=1)
        assert _cancels(agent) == []


@both
@pytest.mark.parametrize("how", ["cancel", "timeout", "cancel in the body", "fail", "fail closing"])
async def test_a_stream_that_is_given_up_cancels_its_task(binding: Any, how: str) -> None:
    """G5: so does a stream, whether it is given up while it waits or in the caller's own code."""
    heard = asyncio.Event()

    async def waiting() -> None:
        async with client.stream("go") as updates:
            async for _ in updates:
                heard.set()
                await asyncio.Event().wait()

    async def closing() -> None:
        async with aclosing(client.stream("go")) as updates:
            async for _ in updates:
                _fail()

    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", OPEN)
        client = client_at(agent)
        with only_closed_generators():
            match how:
                case "cancel":
                    await _cancelled(_read(client, heard.set), heard.wait)
                case "cancel in the body":
                    await _cancelled(waiting(), heard.wait)
                case "timeout":
                    with pytest.raises(ClientTimeoutError) as caught:
                        await _read(client, timeout=0.5)
                    assert caught.value.detail["task_id"] == "t1"
                case "fail":
                    with pytest.raises(OursError):
                        await _failing(client)
                case _:
                    with pytest.raises(OursError):
                        await closing()
        assert _cancels(agent) == ["t1"]
        await agent.all_closed(timeout=1)


@both
async def test_a_stream_that_is_left_goes_on_at_the_agent(binding: Any) -> None:
    """G5: `break` is no failure: the connection is closed and the task left to go on."""
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", OPEN)
        client = client_at(agent)
        with only_closed_generators():
            async with client.stream("go") as updates:
                async for _ in updates:
                    break
            await agent.all_closed(timeout=1)
            try:
                _fail()
            except OursError:
                # An error that was there before is none of this stream's.
                async with aclosing(client.stream("go")) as again:
                    async for _ in again:
                        break
        await agent.all_closed(timeout=1)
        assert _cancels(agent) == []


@both
async def test_a_subscription_is_nobodys_task(binding: Any) -> None:
    """G5: who only follows a task does not end it, however the following ends."""

    async def follow(**options: Any) -> None:
        async with client.subscribe("t1", **options) as updates:
            async for _ in updates:
                pass

    async with RawAgent(binding) as agent:
        agent.on("SubscribeToTask", OPEN)
        client = client_at(agent)
        await _cancelled(follow(), lambda: agent.seen("SubscribeToTask"))
        with pytest.raises(ClientTimeoutError):
            await follow(timeout=0.4)
        await agent.all_closed(timeout=1)
        assert _cancels(agent) == []


@both
async def test_a_task_that_is_over_or_answered_for_is_left_alone(binding: Any) -> None:
    """G5: what has ended, and a question that its caller has heard, are not cancelled."""
    async with RawAgent(binding) as agent:
        client = client_at(agent)
        for settled in (T("COMPLETED", artifacts=[A("a", "x")]), T("INPUT_REQUIRED", "which?")):
            agent.on("SendStreamingMessage", [EV(settled), HOLD])
            with pytest.raises(OursError):
                await _failing(client)
        await agent.all_closed(timeout=1)
        assert _cancels(agent) == []


@both
async def test_a_question_that_nobody_heard(binding: Any) -> None:
    """G5: a task that parked while its send was being given up would wait for ever: it is cancelled."""
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(S("INPUT_REQUIRED")), HOLD])
        agent.on("GetTask", HOLD)
        await _cancelled(_read(client_at(agent)), lambda: agent.seen("GetTask"))
        await agent.all_closed(timeout=1)
        assert _cancels(agent) == ["t1"]


@both
@pytest.mark.parametrize("answer", [HOLD, ERR(-32002), (500, {}, "oops")], ids=str)
async def test_the_cancel_is_bounded_and_best_effort(binding: Any, answer: Any) -> None:
    """G5: whatever becomes of the CancelTask, the caller gets its own cancellation, soon."""
    async with RawAgent(binding) as agent:
        agent.on("SendMessage", T("WORKING"))
        agent.on("CancelTask", answer)
        client = client_at(agent, cancel_grace=0.2)
        async with asyncio.timeout(5):
            await _cancelled(client.send("go"), lambda: agent.seen("GetTask"))
        assert _cancels(agent) == ["t1"]
        await agent.all_closed(timeout=1)


@both
async def test_a_callers_own_timeout(binding: Any) -> None:
    """G5: `asyncio.timeout` around a send, and a TaskGroup that fails beside it, cancel it as well."""
    async with RawAgent(binding) as agent:
        agent.on("SendMessage", T("WORKING"))
        client = client_at(agent)

        async def in_time() -> None:
            async with asyncio.timeout(0.4):
                await client.send("go")

        with pytest.raises(TimeoutError) as caught:
            await in_time()
        assert not isinstance(caught.value, ClientTimeoutError)

        async def fail() -> None:
            await agent.seen("SendMessage", count=2)
            await agent.seen("GetTask", count=len(agent.calls("GetTask")) + 1)
            _fail()

        async def beside() -> None:
            async with asyncio.TaskGroup() as group:
                group.create_task(client.send("go"))
                group.create_task(fail())

        with pytest.raises(ExceptionGroup):
            await beside()
        assert _cancels(agent) == ["t1", "t1"]
        await agent.all_closed(timeout=1)


@both
async def test_a_node_that_is_cancelled(binding: Any) -> None:
    """G5, G10: a graph that is given up leaves no task behind that it had started."""
    async with RawAgent(binding) as agent:
        agent.on("SendMessage", T("WORKING"))
        node = RemoteAgent("peer", "A peer", card_url(agent), poll_interval=0.05)
        await _cancelled(node({"input": "go"}), lambda: agent.seen("GetTask"))
        configuration = agent.calls("SendMessage")[0].params["configuration"]
        assert configuration["returnImmediately"] is True
        assert _cancels(agent) == ["t1"]
        await agent.all_closed(timeout=1)


CALLER = """
import asyncio, sys
from locum.adapters import A2AClient

async def main():
    client = A2AClient(sys.argv[1], streaming=True)
    async with client.stream("go") as updates:
        async for result in updates:
            print(result.task_id, flush=True)

asyncio.run(main())
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["kill", "interrupt"])
async def test_a_caller_that_dies(how: signal.Signals) -> None:
    """G5: killed, its sockets close; interrupted, it cancels its task before it goes."""
    async with RawAgent() as agent:
        agent.on("SendStreamingMessage", OPEN)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", CALLER, card_url(agent)),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        assert await process.stdout.readline() == b"t1\n"
        process.send_signal(how)
        await process.communicate()
        await agent.all_closed(timeout=1)
        assert _cancels(agent) == ([] if how is signal.SIGKILL else ["t1"])
