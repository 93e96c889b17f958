"""An artifact whose next version begins with nothing, as a model's first token often does (D12)."""

from typing import Any

import pytest

from tests.agents.frames import EOF, EV, A, S, T
from tests.agents.raw import RawAgent
from tests.integration.support import locum, until

both = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])


@both
@pytest.mark.parametrize("nothing", ["", None], ids=["an empty text", "no parts"])
@pytest.mark.parametrize("draft", ["Yes. But no.", "Wait."])
@pytest.mark.parametrize("kept", [[A("a", "Yes.")], []], ids=["kept", "not kept"])
async def test_a_new_version_that_begins_with_nothing(
    binding: Any, nothing: str | None, draft: str, kept: list[Any]
) -> None:
    """D12: what is appended belongs to the new version; the draft before it is no result."""
    fresh = A("a", nothing, append=False) if nothing is not None else A("a", append=False)
    events = [A("a", draft), fresh, A("a", "Yes.", append=True), S("COMPLETED")]
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("SUBMITTED")), *map(EV, events), EOF])
        agent.put(T("COMPLETED", artifacts=kept))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="answer")
            assert (await until(harness, row.id, "COMPLETED")).text == "Yes."


@both
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("nothing", ["", None], ids=["an empty text", "no parts"])
async def test_an_update_that_only_closes_it(binding: Any, nothing: str | None, last: bool) -> None:
    """D12, case R5: empty parts erase nothing, not even where GetTask lists it so at the end."""
    closing = A("a", nothing, last=last) if nothing is not None else A("a", last=last)
    events = [S("WORKING", "thinking"), A("a", "answer"), closing, S("COMPLETED")]
    async with RawAgent(binding) as agent:
        agent.on("SendStreamingMessage", [EV(T("SUBMITTED")), *map(EV, events), EOF])
        agent.put(T("COMPLETED", artifacts=[A("a", nothing) if nothing is not None else A("a")]))
        async with locum({"a": agent.url}) as harness:
            row = await harness.spawn("p", agent="a", goal="answer")
            assert (await until(harness, row.id, "COMPLETED")).text == "answer"
