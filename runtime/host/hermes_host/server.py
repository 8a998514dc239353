"""The protocol: messages of JSON-RPC, one a line."""

import json
import queue
import threading
import traceback

from . import credential, pipes
from .tool import Failure, said, text

# The newest first. 2025-03-26 is not among them: it wants several messages in one line.
VERSIONS = ("2025-11-25", "2025-06-18", "2024-11-05")

# How many calls run at the same time; further ones wait for their turn.
WORKERS = 32

# How many calls that were cancelled may go on. A process with more of them is of no use, and ends.
LOST = 64

# How large an answer may be. What reads them ends a backend that sends more than 16 MiB.
ANSWER = 15 << 20

# How many characters of what went wrong somebody reads. Some APIs send a whole page.
LINE = 2000

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602


class Refused(Exception):
    """A request that is answered with an error of the protocol."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Call:
    """A call of a tool. It is wanted until it is cancelled, and running when a worker has taken it up before that."""

    def __init__(self, id, tool, arguments):
        self.id, self.tool, self.arguments = id, tool, arguments
        self.wanted, self.running = True, False


class Server:
    """Answers requests. One thread reads, and answers whatever takes no time; calls of tools have threads of their own."""

    def __init__(self, name, tools, writer):
        self.name = name
        self.tools = {tool.name: tool for tool in tools}
        self.ready = threading.Event()  # set when the tools can be called
        self._writer = writer
        self._writing = threading.Lock()
        self._queue = queue.SimpleQueue()
        self._lock = threading.Lock()  # of the four below
        self._workers = 0
        self._unfinished = 0  # calls that wait for a worker or have one
        self._lost = 0  # workers beside those, with calls that nobody waits for any more
        self._wanted = {}  # calls whose answer somebody waits for, by their ids
        self._methods = {
            "initialize": self._initialize,
            "ping": lambda params: {},
            "tools/list": lambda params: {"tools": [tool.listed() for tool in self.tools.values()]},
        }

    def serve(self, reader):
        for line in reader:
            if line.strip():
                self._receive(line)

    def _receive(self, line):
        try:
            message = json.loads(line)
        except (ValueError, RecursionError) as error:
            return self._send_error(None, PARSE_ERROR, f"this is no JSON: {error}")
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            return self._send_error(None, INVALID_REQUEST, "this is no message of JSON-RPC 2.0")
        method, params, id = message.get("method"), message.get("params") or {}, message.get("id")
        if method is None:
            return None  # an answer, and we ask nothing
        if "id" not in message:
            return self._notified(method, params)
        named = isinstance(method, str) and isinstance(params, dict)
        if not named or not isinstance(id, (str, int)) or isinstance(id, bool):
            return self._send_error(None, INVALID_REQUEST, "a request needs an id, a method and named parameters")
        try:
            if method == "tools/call":
                return self._begin(id, params)
            if method not in self._methods:
                raise Refused(METHOD_NOT_FOUND, f"there is no method {method}")
            return self._send({"id": id, "result": self._methods[method](params)})
        except Refused as refused:
            return self._send_error(id, refused.code, str(refused))

    def _initialize(self, params):
        wanted = params.get("protocolVersion")
        return {
            "protocolVersion": wanted if wanted in VERSIONS else VERSIONS[0],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": self.name, "version": "1"},
        }

    def _notified(self, method, params):
        if method == "notifications/cancelled" and isinstance(params, dict):
            with self._lock:
                call = self._wanted.pop(_key(params.get("requestId")), None)
                if call:
                    call.wanted = False
                if call and call.running:
                    self._lose()

    def _begin(self, id, params):
        name, arguments = params.get("name"), params.get("arguments") or {}
        tool = self.tools.get(name) if isinstance(name, str) else None
        if tool is None:
            raise Refused(INVALID_PARAMS, f"{self.name} has no tool {str(name):.80}; it has {', '.join(self.tools)}")
        call = Call(id, tool, arguments)
        with self._lock:
            if _key(id) in self._wanted:
                raise Refused(INVALID_REQUEST, f"a call with the id {id} runs already")
            self._wanted[_key(id)] = call
            self._unfinished += 1
            self._hire()
        self._queue.put(call)

    def _hire(self):
        """Sees to it that there are workers for what there is to do."""
        if self._workers < min(WORKERS, self._unfinished):
            self._workers += 1
            threading.Thread(target=self._work, daemon=True).start()

    def _lose(self):
        """A call that nobody waits for may never end: another worker takes the place of its own."""
        self._workers -= 1
        self._unfinished -= 1
        self._lost += 1
        if self._lost > LOST:
            pipes.leave(1, f"{self._lost} calls do not end\n".encode())
        self._hire()

    def _work(self):
        replaced = False
        while not replaced:
            call = self._queue.get()
            with self._lock:
                call.running = call.wanted
            answer = self._answer(call.id, call.tool, call.arguments) if call.running else None
            with self._lock:
                replaced = call.running and not call.wanted
                if replaced:
                    self._lost -= 1
                else:
                    self._unfinished -= 1
                    self._wanted.pop(_key(call.id) if call.wanted else None, None)
            if call.wanted:
                self._write(answer)

    def _answer(self, id, tool, arguments):
        """Calls a tool. Whatever it raises is its answer: one call's failure is not another one's."""
        self.ready.wait()
        try:
            answer = _encode({"id": id, "result": tool.call(arguments)})
            if len(answer) > ANSWER:
                raise Failure(f"the answer of {tool.name} has {len(answer)} bytes, more than {ANSWER}: ask for less")
            return answer
        except Failure as failure:
            return _failed(id, str(failure))
        except MemoryError:
            # There is none left for an answer either, and for no other call.
            pipes.leave(1, b"out of memory\n")
        except BaseException as error:
            pipes.complain(credential.hide(traceback.format_exc()))
            return _failed(id, f"{tool.name} has failed: {type(error).__name__}: {said(error)}")

    def _send_error(self, id, code, message):
        self._send({"id": id, "error": {"code": code, "message": message}})

    def _send(self, message):
        self._write(_encode(message))

    def _write(self, line):
        with self._writing:
            pipes.write(self._writer, line)


def _key(id):
    """1 and "1" are two ids, and 1 and True would be one."""
    return type(id), id if isinstance(id, (str, int)) else None


def _failed(id, line):
    """What a tool could not do, in one line without secrets."""
    line = " ".join(credential.hide(line).split())[:LINE]
    return _encode({"id": id, "result": {"content": [text(line)], "isError": True}})


def _encode(message):
    """A line for the client: UTF-8 also where a tool has found half of a character, and no numbers that JSON lacks."""
    line = json.dumps({"jsonrpc": "2.0"} | message, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return line.encode("utf-8", "replace") + b"\n"
