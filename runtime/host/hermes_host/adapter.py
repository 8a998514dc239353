"""Runs an adapter: a module of hermes_adapters with BACKEND, its feature, TOOLS, and load(), which imports the SDK."""

import importlib
import threading
import traceback

from . import credential, pipes
from .server import Server
from .tool import said

# Of each thread. The usual 8 MiB count against the memory that a backend may use, and a call may have several threads.
STACK = 2 << 20


def run(name):
    """Serves until the standard input ends."""
    reader, writer = pipes.take()
    threading.stack_size(STACK)
    try:
        module = importlib.import_module("hermes_adapters." + name)
    except ModuleNotFoundError as error:
        if error.name not in ("hermes_adapters", "hermes_adapters." + name):
            raise
        raise SystemExit(f'cannot start: there is no adapter "{name}"') from None
    server = Server(module.BACKEND, module.TOOLS, writer)
    # The SDK takes most of the time that there is, and who asks which tools there are need not wait for it.
    threading.Thread(target=_load, args=(module, server), daemon=True).start()
    server.serve(reader)
    pipes.leave(0)


def _load(module, server):
    """Without its SDK a backend is of no use: it ends, and whoever started it says why."""
    try:
        module.load()
    except BaseException as error:
        reason = f"cannot load {module.BACKEND}: {type(error).__name__}: {' '.join(said(error).split())}"
        pipes.leave(1, credential.hide(f"{traceback.format_exc()}{reason}\n").encode("utf-8", "replace"))
    server.ready.set()
