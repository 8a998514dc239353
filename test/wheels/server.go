package wheels

import "strings"

// Server is a wheel of a ready server of tools, which is the module of the wheel's name: it says who it is and what it
// was given, and fails as it is asked to.
func Server(name, version string) Wheel {
	module := strings.ReplaceAll(name, "-", "_")
	return Wheel{Name: name, Version: version, Files: map[string]string{module + "/__init__.py": "", module + "/__main__.py": serverOfTools}}
}

const serverOfTools = `
import json, os, sys, time

TOOLS = ["tell", "refuse", "crash", "sleep"]

def call(name, arguments):
    if name == "refuse":
        return {"isError": True, "content": [{"type": "text", "text": "the key is refused"}]}
    if name == "crash":
        print("what it said last", file=sys.stderr, flush=True)
        os._exit(3)
    if name == "sleep":
        time.sleep(arguments["seconds"])
    about = {"pid": os.getpid(), "environment": sorted(os.environ), "arguments": arguments}
    return {"content": [{"type": "text", "text": "the answer\x1b[31m"}], "structuredContent": about}

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    kind, params, result = message["method"], message.get("params", {}), {}
    if kind == "initialize":
        result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "time", "version": "1"}}
    elif kind == "tools/list":
        result = {"tools": [{"name": t, "description": "It can " + t + ".", "inputSchema": {"type": "object"}} for t in TOOLS]}
    elif kind == "tools/call":
        result = call(params["name"], params.get("arguments", {}))
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
`
