"""AgentClient's traces: none unless they are on, and no word of anybody in a span."""

import re
from contextlib import aclosing

import pytest
from opentelemetry import trace

from locum.adapters.a2a.calls.remote_agent import AgentClient
from locum.core.errors import RemoteCallError
from tests.agents.frames import ERR
from tests.agents.raw import RawAgent

from .calling import PUSH, TOKEN, call_all
from .clients import brief, client_of
from .spans import TracerOfTest


async def test_no_trace_unless_it_is_on(agent: RawAgent, client: AgentClient) -> None:
    """C9: without tracing no `traceparent` leaves."""
    await call_all(client)
    assert not any("traceparent" in seen.headers for seen in agent.calls())


async def test_every_call_is_traced(agent: RawAgent) -> None:
    """C9, case C11: with tracing on each call has a valid `traceparent`, made up where there is
    none.
    """
    async with client_of(agent, tracing=True) as client:
        await call_all(client)
    traces = [seen.headers["traceparent"] for seen in agent.calls()]
    assert len(set(traces)) == len(traces) == 8
    for header in traces:
        assert re.fullmatch(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-01", header)


async def test_a_call_joins_the_trace_around_it(agent: RawAgent) -> None:
    """C9: within a trace the agent is told of that one, and of no baggage."""
    around = trace.SpanContext(
        trace_id=0xABC, span_id=0xDEF, is_remote=False, trace_flags=trace.TraceFlags(1)
    )
    async with client_of(agent, tracing=True) as client:
        with trace.use_span(trace.NonRecordingSpan(around)):
            await client.get("t1")
    (seen,) = agent.calls()
    assert seen.headers["traceparent"].startswith(f"00-{0xABC:032x}-")
    assert "baggage" not in seen.headers


async def test_a_span_holds_no_words(agent: RawAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    """G8, C9: each call has one span, ended with it, with ids and a code but nothing that was said."""
    tracer = TracerOfTest()
    monkeypatch.setattr("locum.adapters.a2a.calls.tracing._TRACER", tracer)
    agent.on("CreateTaskPushNotificationConfig", ERR(-32602, f"I do not like {TOKEN}"))
    async with client_of(agent, tracing=True) as client:
        async with aclosing(client.send(brief(goal="a secret plan"))) as stream:
            await anext(stream)
            assert not tracer.spans[0].is_over
        with pytest.raises(RemoteCallError):
            await client.create_push("t1", **PUSH)
    assert all(span.is_over for span in tracer.spans)
    assert [span.said for span in tracer.spans] == [
        [
            "a2a SendStreamingMessage",
            {"locum.agent": "peer", "locum.remote_task": "", "rpc.method": "SendStreamingMessage"},
        ],
        [
            "a2a CreateTaskPushNotificationConfig",
            {
                "locum.agent": "peer",
                "locum.remote_task": "t1",
                "rpc.method": "CreateTaskPushNotificationConfig",
            },
            ("ERROR", "remote.refused", None),
        ],
    ]
