"""An MCP server over standard input and output that offers a remote agent as its tool.

python mcp_server.py CARD_URL
"""

import asyncio
import sys
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import CallToolResult, ListToolsResult, TextContent, Tool

from locum.adapters import RemoteAgent


async def main(card_url: str) -> None:
    """Serve until standard input ends."""
    tool = RemoteAgent("inventory", "Counts things.", card_url).as_tool()

    async def list_tools(context: Any, params: Any) -> ListToolsResult:
        return ListToolsResult(tools=[Tool(**tool.mcp())])

    async def call_tool(context: Any, params: Any) -> CallToolResult:
        text = await tool(**(params.arguments or {}))
        return CallToolResult(content=[TextContent(type="text", text=text)])

    server = Server("agents", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


asyncio.run(main(*sys.argv[1:]))
