"""An MCP client that starts the server beside it, lists its tools and calls one, twice.

    python mcp_client.py CARD_URL

Prints the tool as listed, and both answers, each as a line of JSON.
"""

import asyncio
import json
import sys
from pathlib import Path

from mcp import ClientSession, StdioServerParameters, stdio_client


async def main(card_url: str) -> None:
    """One session."""
    server = Path(__file__).with_name("mcp_server.py")
    start = StdioServerParameters(command=sys.executable, args=[str(server), card_url])
    async with stdio_client(start) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        listed = await session.list_tools()
        print(json.dumps([tool.model_dump(mode="json", by_alias=True) for tool in listed.tools]))
        for arguments in ({"message": "Count the chairs"}, {"massage": "Count the chairs"}):
            called = await session.call_tool("inventory", arguments)
            print(json.dumps("".join(part.text for part in called.content if part.type == "text")))


asyncio.run(main(*sys.argv[1:]))
