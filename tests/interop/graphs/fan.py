"""A graph in which two remote agents run in one step, and are asked twice.

    python fan.py CARD_URL CARD_URL

Prints the references after each round as JSON.
"""

import asyncio
import json
import operator
import sys
from typing import Annotated, Any, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph

from locum.adapters import RemoteAgent

THREAD: Any = {"configurable": {"thread_id": "1"}}


class State(TypedDict, total=False):
    """What both agents share."""

    input: str
    left: str
    right: str
    a2a: Annotated[dict[str, Any], operator.or_]


async def main(left: str, right: str) -> None:
    """Both rounds."""
    graph = StateGraph(State)
    for name, url in (("left", left), ("right", right)):
        agent = RemoteAgent(name, "Counts.", url, output_key=f"{name}", keep_others=False)
        graph.add_node(f"ask {name}", agent)
        graph.add_edge(START, f"ask {name}")
        graph.add_edge(f"ask {name}", END)
    compiled = graph.compile(checkpointer=InMemorySaver())
    for text in ("Count", "the hall"):
        state = await compiled.ainvoke({"input": text}, THREAD)
        print(json.dumps(state, sort_keys=True))


asyncio.run(main(*sys.argv[1:]))
