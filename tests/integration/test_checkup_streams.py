"""The check of an agent's streams: what A2A 1.0 has otherwise is found, by its code."""

from typing import Any

import pytest

from ..agents.frames import CUT, EOF, ERR, EV, HOLD, RST, A, M, S, T
from ..agents.raw import RawAgent
from ..agents.reply import Reply
from ..agents.seen import Seen
from .checking import SEND, STAMP, SUBSCRIBE, about_t1, both, checked, codes, outcomes


def _kind(frame: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "status-update", "final": False, **frame}


def _less(frame: Any, *names: str) -> Any:
    """The frame without some of its fields."""
    for name in names:
        del frame[name]
    return frame


SAID: dict[str, tuple[list[Any], set[str]]] = {
    "a flat event": (
        [EV(T("WORKING")), EV(_kind(S("WORKING", ts=STAMP))), HOLD],
        {"json.kind_frame"},
    ),
    "an alias": ([EV(T("working")), HOLD], {"json.state_alias"}),
    "a mark": ([b"\xef\xbb\xbf", EV(T("WORKING")), HOLD], {"sse.bom"}),
    "a bad time": ([EV(T("WORKING", ts="yesterday")), HOLD], {"json.timestamp"}),
    "a null": (
        [EV({"task": T("WORKING", ts=STAMP) | {"artifacts": None}}), HOLD],
        {"json.null_list"},
    ),
    "an update first": ([EV(S("WORKING")), HOLD], {"stream.first_event"}),
    "an early end": ([EV(T("WORKING")), EOF], {"stream.early_end"}),
    "a cut": ([EV(T("WORKING")), CUT], {"remote.reset"}),
    "no end": ([EV(T("WORKING")), EV(S("COMPLETED")), HOLD], {"stream.not_closed"}),
    "no end of a message": ([EV(M("hello", context="c9")), HOLD], {"stream.not_closed"}),
    "nothing": ([b"", EOF], {"remote.empty"}),
    "no answer": ([RST], {"remote.reset"}),
    "JSON": ([T("WORKING")], {"http.json_for_stream"}),
    "an error event": ([EV(T("WORKING")), EV(ERR(-32603, "oops")), EOF], {"remote.refused"}),
    "words": ([(200, {"content-type": "text/plain"}, b"hello")], {"remote.malformed"}),
    "no context": ([EV(T("WORKING", context="")), HOLD], {"context.missing"}),
    "another context": (
        [EV(T("WORKING")), EV(S("WORKING", context="c2")), HOLD],
        {"context.changed"},
    ),
    "an update without one": (
        [EV(T("WORKING")), EV(_less(S("WORKING"), "contextId")), HOLD],
        {"fields.missing"},
    ),
    "an empty artifact": (
        [EV(T("WORKING")), EV(A("a")), HOLD],
        {"fields.missing"},
    ),
    "an unknown method": ([ERR(-32601, "no such method")], {"remote.refused"}),
    "a redirect": ([(307, {"location": "http://elsewhere.example/"}, b"")], {"remote.redirected"}),
}


@both
@pytest.mark.parametrize("what", SAID)
async def test_what_is_odd_about_a_stream(binding: Any, what: str) -> None:
    """K2: each deviation on the stream of a send is found, by its code."""
    script, expected = SAID[what]
    async with RawAgent(binding) as agent:
        agent.on(SEND, script)
        if what == "no end":
            agent.task = T("COMPLETED")
        checkup = await checked(agent.url)
        found = {code for code, method in codes(checkup) if method == SEND}
        assert found == expected
        assert {method for _, method in codes(checkup)} <= {SEND, "GetTask", "ListTasks"}
        await agent.all_closed(timeout=1)


@both
async def test_what_is_odd_about_a_subscription(binding: Any) -> None:
    """K2: a subscription begins with the task, lasts while it works, and is refused when it is over."""
    async with RawAgent(binding) as agent:
        agent.on(SUBSCRIBE, [EV(S("WORKING")), EOF])
        checkup = await checked(agent.url)
        assert codes(checkup) == {
            ("stream.first_event", SUBSCRIBE),
            ("stream.early_end", SUBSCRIBE),
            ("remote.wrong_task", SUBSCRIBE),
        }
    async with RawAgent(binding) as agent:
        done = T("COMPLETED")
        agent.task = done
        agent.on(SEND, [EV(done), EOF])
        agent.on(SUBSCRIBE, about_t1(agent, EV(done)))
        checkup = await checked(agent.url)
        assert codes(checkup) == {("error.missing", SUBSCRIBE)}


@both
async def test_a_task_that_ends_before_the_subscription(binding: Any) -> None:
    """K2: an agent that was quicker is not found fault with."""

    async def ends(seen: Seen, reply: Reply) -> None:
        if seen.task_id == "t1":
            agent.complete("done")
        await agent.answer(seen, reply)

    async with RawAgent(binding) as agent:
        agent.on(SUBSCRIBE, ends)
        checkup = await checked(agent.url)
        assert checkup.ok
        assert outcomes(checkup)[SUBSCRIBE] == "ok"
