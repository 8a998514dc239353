"""client.py COMMAND …: speaks to a server as the official client does, and prints what it is told."""

import asyncio
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main(command, *arguments):
    parameters = StdioServerParameters(command=command, args=list(arguments), env=dict(os.environ))
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
        told = await session.initialize()
        print(told.protocolVersion, told.serverInfo.name)
        listed = await session.list_tools()
        print(*(tool.name for tool in listed.tools))
        found = await session.call_tool("web_search", {"query": "cats", "limit": 2})
        print(", ".join(result["title"] for result in found.structuredContent["results"]))
        await session.send_ping()
        failed = await session.call_tool("web_search", {})
        print(failed.isError, failed.content[0].text)
        failed = await session.call_tool("web_search", {"query": "a teapot"})
        print(failed.isError, failed.content[0].text)


asyncio.run(main(*sys.argv[1:]))
