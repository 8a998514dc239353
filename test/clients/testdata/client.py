"""client.py TRANSPORT …: does with a server what an agent does, by the official client, and prints what came of it, a line of
JSON for each step. TRANSPORT is "stdio" with a command, or "http" with an address and a key."""

import asyncio
import contextlib
import json
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


def say(step, **what):
    print(json.dumps({"step": step, **what}), flush=True)


@contextlib.asynccontextmanager
async def connect(transport, *rest):
    if transport == "stdio":
        async with stdio_client(StdioServerParameters(command=rest[0], args=list(rest[1:]), env=dict(os.environ))) as (read, write):
            yield read, write
        return
    from mcp.client.streamable_http import streamablehttp_client

    async with streamablehttp_client(rest[0], headers={"Authorization": "Bearer " + rest[1]}) as (read, write, _):
        yield read, write


async def main(*arguments):
    async with connect(*arguments) as (read, write), ClientSession(read, write) as session:
        told = await session.initialize()
        say("connected", server=told.serverInfo.name, instructions=bool(told.instructions))

        async def call(name, arguments, progress=None):
            result = await session.call_tool(name, arguments, progress_callback=progress)
            return {"error": result.isError, "out": result.structuredContent, "text": result.content[0].text}

        tools = (await session.list_tools()).tools
        say(
            "tools",
            names=sorted(t.name for t in tools),
            readOnly=sorted(t.name for t in tools if t.annotations and t.annotations.readOnlyHint),
        )
        await call("terminal", {"command": "cd /tmp && export COLOUR=green"})
        say("session", **await call("terminal", {"command": 'echo "$PWD $COLOUR"'}))
        say("failing", **await call("terminal", {"command": "echo no >&2; exit 3"}))

        messages = []

        async def progress(done, total, message):
            messages.append(message)

        await call("terminal", {"command": "echo begun; sleep 7; echo done"}, progress)
        say("progress", told=messages)

        # This client has no way to give up a call but to tell the server itself.
        from mcp.types import CancelledNotification, CancelledNotificationParams, ClientNotification

        number = session._request_id
        running = asyncio.create_task(call("terminal", {"command": "(sleep 4444 & sleep 4444 & wait) & sleep 4444; wait"}))
        while session._request_id == number:
            await asyncio.sleep(0)

        async def left():
            found = await call("terminal", {"command": "grep -lsa '^sl[e]ep.4444' /proc/[0-9]*/cmdline | wc -l"})
            return found["out"]["output"].strip()

        while await left() != "3":
            await asyncio.sleep(0.05)
        await session.send_notification(
            ClientNotification(CancelledNotification(method="notifications/cancelled", params=CancelledNotificationParams(requestId=number)))
        )
        remaining = await left()
        for _ in range(200):
            if remaining == "0":
                break
            await asyncio.sleep(0.05)
            remaining = await left()
        if arguments[0] == "stdio":
            if running.done():
                sys.exit("a cancelled call was answered")
            running.cancel()
        else:  # where the answer is the end of a response, and must come; to give up while it does ends this client's session
            await asyncio.wait([running])
        say("cancelled", how="given up", remaining=remaining)

        await call("write_file", {"path": "/workspace/a.txt", "content": "one\ntwo\n"})
        await call("patch", {"path": "/workspace/a.txt", "old_string": "two", "new_string": "three"})
        say("files", **await call("read_file", {"path": "/workspace/a.txt"}))
        say("refused", **await call("patch", {"path": "/workspace/a.txt", "old_string": "absent", "new_string": "x"}))

        started = await call("process", {"action": "start", "command": "echo up; sleep 4444"})
        identity = started["out"]["process"]["process_id"]
        while True:
            polled = await call("process", {"action": "log", "process_id": identity})
            if polled["out"].get("output"):
                break
        killed = await call("process", {"action": "kill", "process_id": identity})
        say("process", log=polled["out"]["output"], state=killed["out"]["process"]["state"])
        say("unknown argument", **await call("terminal", {"comand": "true"}))


asyncio.run(main(*sys.argv[1:]))
