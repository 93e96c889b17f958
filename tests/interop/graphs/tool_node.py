"""A remote agent as a tool in LangGraph's own ToolNode, called as a model would call it.

    python tool_node.py CARD_URL

Prints the tool's message.
"""

import asyncio
import sys
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.tools import StructuredTool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from locum.adapters import RemoteAgent


async def main(card_url: str) -> None:
    """One call."""
    tool = RemoteAgent("inventory", "Counts things.", card_url).as_tool()
    structured = StructuredTool(
        name=tool.name,
        description=tool.description,
        args_schema=dict(tool.parameters),
        coroutine=tool.coroutine,
    )
    graph = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode([structured]))
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)
    call: Any = {"name": "inventory", "args": {"message": "Count the chairs"}, "id": "call-1"}
    asked = {"messages": [AIMessage(content="", tool_calls=[call])]}
    state = await graph.compile().ainvoke(asked)
    print(state["messages"][-1].content)


asyncio.run(main(*sys.argv[1:]))
