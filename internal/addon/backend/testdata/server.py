"""A server of tools whose tools are the ways in which one can misbehave. It stands in for what add-ons bring."""

import json
import os
import signal
import sys
import threading
import time

lock = threading.Lock()


def send(message):
    raw(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def raw(data):
    with lock:
        while data:
            data = data[os.write(1, data) :]


def complain(text):
    os.write(2, text.encode() + b"\n")


def answer(id, **result):
    send({"id": id, "result": {"content": [{"type": "text", "text": "done"}], "structuredContent": result}})


def echo(id, a):
    answer(id, **a)


def slowly(id, a):
    time.sleep(a["seconds"])
    answer(id, slept=True)


def hang(id, a):
    complain("about to hang")
    time.sleep(600)


def crash(id, a):
    complain("about to crash with " + os.environ.get("API_KEY", "no key"))
    os._exit(7)


def kill_itself(id, a):
    os.kill(os.getpid(), signal.SIGKILL)


def answer_and_crash(id, a):
    answer(id, ok=True)
    os._exit(7)


def rubbish(id, a):
    raw(b"Downloading...\n\x80\xff\n\n{'a': 1}\n[1]\nnull\n42 {\n")
    answer(id, ok=True)


def flood(id, a):
    words = b"x" * 65000 + b"\n"
    for _ in range(a["bytes"] // len(words)):
        os.write(2, words)
    os.write(2, b"the last line\n")
    answer(id, ok=True)


def another_id(id, a):
    answer(id + 1000, ok=True)
    answer(str(id), ok=True)


def large(id, a):
    answer(id, data="x" * a["bytes"])


def endless(id, a):
    while True:
        raw(b"x" * 65536)


def other_encoding(id, a):
    raw(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"caf\xe9"}]}}\n' % id)


def deep(id, a):
    n = a["levels"]
    raw(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[],"structuredContent":{"a":%s%s}}}\n' % (id, b"[" * n, b"]" * n))


def batch(id, a):
    raw(b'[{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}]\n' % id)


def no_result(id, a):
    send({"id": id, "result": [1]})


def fail(id, a):
    text = "401: bad key " + os.environ.get("API_KEY", "")
    send({"id": id, "result": {"content": [{"type": "text", "text": text}], "isError": True}})


def refuse(id, a):
    send({"id": id, "error": {"code": -32602, "message": "bad arguments for " + os.environ.get("API_KEY", "")}})


def close_output(id, a):
    os.close(1)


def leak(id, a):
    kept = []
    try:
        while True:
            kept.append(bytearray(8 << 20))
    except MemoryError:
        held = len(kept) * 8
        kept.clear()
        complain("out of memory at %d MiB" % held)
        os._exit(9)


def bear(id, a):
    """Children that a child outlives, in sessions of their own."""
    read, write = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.write(write, str(os.getpid()).encode())
            os.close(0), os.close(1), os.close(2)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(600)
        os._exit(0)
    os.wait()
    answer(id, child=int(os.read(read, 20)))


def environment(id, a):
    answer(id, pid=os.getpid(), cwd=os.getcwd(), arguments=sys.argv[1:], **dict(os.environ))


def imports(id, a):
    module = __import__(a["module"])
    answer(id, file=module.__file__, version=getattr(module, "version", ""))


def peek(id, a):
    try:
        with open("/proc/%d/environ" % a["pid"], "rb") as f:
            answer(id, seen=f.read().decode())
    except OSError as e:
        answer(id, refused=e.strerror)


def ask(id, a):
    asked[id] = a["times"]
    for n in range(a["times"]):
        send({"id": "ask-%d" % n, "method": a.get("method", "ping")})


def ask_and_never_read(id, a):
    while True:
        send({"id": "ask-%d" % time.monotonic_ns(), "method": "ping"})


def notify(id, a):
    for n in range(a["times"]):
        send({"method": "notifications/message", "params": {"level": "info", "data": "x" * 100}})
    answer(id, ok=True)


def cancelled(id, a):
    answer(id, cancelled=told)


def begun(id, a):
    answer(id, others=called[0])


told, asked, answers, called = [], {}, [], [0]
calls = (echo, slowly, hang, crash, kill_itself, answer_and_crash, rubbish, flood, another_id, large, endless, other_encoding, deep, batch)
calls += (no_result, fail, refuse, close_output, leak, bear, environment, imports, peek, ask, ask_and_never_read, notify, cancelled, begun)
tools = {f.__name__: f for f in calls}


def handle(m):
    method, id = m.get("method"), m.get("id")
    if method == "initialize":
        send({"id": id, "result": {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "t", "version": "1"}}})
    elif method == "tools/list":
        send({"id": id, "result": {"tools": [{"name": n, "description": "", "inputSchema": {"type": "object"}} for n in tools]}})
    elif method == "tools/call":
        call = (id, m["params"].get("arguments", {}))
        called[0] += m["params"]["name"] != "begun"
        threading.Thread(target=tools[m["params"]["name"]], args=call, daemon=True).start()
    elif method == "notifications/cancelled":
        told.append(m["params"]["requestId"])
    elif method is None:
        answers.append(m)
        for call, times in list(asked.items()):
            if len(answers) == times:
                del asked[call]
                answer(call, answers=answers[:3])
    elif id is not None:
        send({"id": id, "error": {"code": -32601, "message": "no " + method}})


mode = sys.argv[1] if len(sys.argv) > 1 else ""
if mode == "die":
    complain("ImportError: no module named sdk, key " + os.environ.get("API_KEY", ""))
    sys.exit(3)
if mode == "silent":
    complain("thinking")
    time.sleep(600)
if mode == "deaf":
    send({"id": 1, "result": {}})
    time.sleep(600)
if mode == "noisy":
    raw(b"Welcome to the server!\n")
for line in sys.stdin:
    handle(json.loads(line))
    if mode == "unread" and '"tools/call"' in line:
        time.sleep(600)
