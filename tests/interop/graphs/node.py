"""A graph with a remote agent as its node, checkpointed in SQLite: one turn of its conversation.

    python node.py CARD_URL DATABASE TEXT [--sync]

Prints the state after the turn as JSON. Each turn is a process of its own.
"""

import asyncio
import json
import sys
from typing import Any, TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph

from locum.adapters import RemoteAgent

THREAD: Any = {"configurable": {"thread_id": "1"}}


class State(TypedDict, total=False):
    """What the graph keeps: nothing but plain JSON."""

    input: str
    output: str
    a2a: dict[str, Any]


def builder(card_url: str, *, awaits: bool) -> Any:
    """The graph: one step, which is the agent."""
    agent = RemoteAgent("inventory", "Counts things.", card_url, poll_interval=0.05)
    graph = StateGraph(State)
    if awaits:
        graph.add_node(agent)  # By its own name.
    else:
        graph.add_node("inventory", agent.invoke)
    graph.add_edge(START, "inventory")
    graph.add_edge("inventory", END)
    return graph


async def turn(card_url: str, database: str, text: str) -> Any:
    """One turn, awaited."""
    async with AsyncSqliteSaver.from_conn_string(database) as saver:
        graph = builder(card_url, awaits=True).compile(checkpointer=saver)
        return await graph.ainvoke({"input": text}, THREAD)


def turn_in_step(card_url: str, database: str, text: str) -> Any:
    """One turn of a graph that does not await."""
    with SqliteSaver.from_conn_string(database) as saver:
        graph = builder(card_url, awaits=False).compile(checkpointer=saver)
        return graph.invoke({"input": text}, THREAD)


if __name__ == "__main__":
    arguments = sys.argv[1:4]
    if "--sync" in sys.argv:
        print(json.dumps(turn_in_step(*arguments)))
    else:
        print(json.dumps(asyncio.run(turn(*arguments))))
