"""The examples of docs/client.md, and the agent that they talk to. No tests."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.agents.frames import EOF, EV, A, Frame, S, T, data_part
from tests.agents.raw import RawAgent
from tests.agents.reply import Reply
from tests.agents.seen import Seen

__all__ = ["Example", "examples", "inventory"]

PAGE = Path(__file__).parents[2] / "docs" / "client.md"
URL = "https://inventory.example"
_FENCED = re.compile(r"^```(\w+)\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
_ELSEWHERE = ("langgraph", "mcp")
"""Packages that only the environment of `make interop` has."""


class Example(NamedTuple):
    """One program, the heading that it stands under, and what it prints."""

    heading: str
    program: str
    prints: str

    @property
    def is_for_interop(self) -> bool:
        """It needs a package that is not among the checkout's."""
        return any(f"from {package}" in self.program for package in _ELSEWHERE)

    def about(self, agent: RawAgent) -> str:
        """The program, for this agent."""
        return self.program.replace(URL, agent.url)


def examples() -> Iterator[Example]:
    """Every Python block of the page; each is followed by what it prints."""
    page = PAGE.read_text(encoding="utf-8")
    blocks = [(found.start(), found[1], found[2]) for found in _FENCED.finditer(page)]
    for place, (start, kind, program) in enumerate(blocks):
        if kind == "python":
            heading = [found[1] for found in _HEADING.finditer(page, 0, start)][-1]
            after = blocks[place + 1]
            assert after[1] == "text", f"nothing is said of what {heading!r} prints"
            yield Example(heading, program, after[2])


def inventory(agent: RawAgent) -> None:
    """Make the agent the one of the page."""
    agent.card["name"] = "Inventory"
    halls = T("COMPLETED", artifacts=[A("count", "red: 7, blue: 4")])

    async def send(seen: Seen, reply: Reply) -> None:
        task = _task_for(seen)
        if seen.method == "SendMessage":
            await reply.play([task])
        elif seen.text == "Count all halls":
            agent.put(halls)
            chunks = [EV(A("count", "red: 7")), EV(A("count", ", blue: 4", append=True))]
            steps = [EV(task), EV(S("WORKING", "looking")), *chunks, EV(S("COMPLETED")), EOF]
            await reply.play(steps)
        else:
            await reply.play([EV(task), EOF])

    async def subscribe(_: Seen, reply: Reply) -> None:
        agent.put(halls)
        await reply.play([EV(T("WORKING", "looking")), EV(S("COMPLETED")), EOF])

    agent.on("SendMessage", send)
    agent.on("SendStreamingMessage", send)
    agent.on("SubscribeToTask", subscribe)


def _task_for(seen: Seen) -> Frame:
    if seen.task_id:
        return T("COMPLETED", artifacts=[A("count", "There are 7 chairs in the red hall.")])
    match seen.text:
        case "Count the chairs":
            return T("INPUT_REQUIRED", "Which hall?")
        case "Count all halls":
            return T("WORKING")
        case _:
            count = A("count", [{"text": "There are 7 red chairs."}, data_part({"red": 7})])
            return T("COMPLETED", artifacts=[count])
