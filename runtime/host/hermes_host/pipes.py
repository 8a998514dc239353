"""The two pipes of the protocol, out of the reach of whatever an SDK prints, reads or starts."""

import contextlib
import os
import sys


def take():
    """Takes standard input and output away for the protocol: a file to read lines from, and a descriptor to write to.

    Whoever prints prints to standard error from now on, also from C, and whoever reads finds nothing. A child never has
    the pipes: one that outlives us would keep them open, and our end would not be seen.
    """
    reader = os.fdopen(os.dup(0), "rb")
    writer = os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout.reconfigure(line_buffering=True, errors="backslashreplace")
    ours = [reader.fileno(), writer]
    os.register_at_fork(after_in_child=lambda: _close(ours))
    return reader, writer


def _close(descriptors):
    """Once: what a child has under these numbers later is its own, and its children's."""
    while descriptors:
        os.close(descriptors.pop())


def write(descriptor, data):
    """Writes all of it. If nobody reads any more there is nobody to work for."""
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[os.write(descriptor, rest) :]
    except BrokenPipeError:
        leave(0)


def complain(text):
    """Says it on standard error. An SDK may have closed that, and a call needs its answer nevertheless."""
    with contextlib.suppress(Exception):
        sys.stderr.write(text)


def leave(status, last_words=b""):
    """Ends the process now, whatever its threads are doing."""
    try:
        os.write(2, last_words)
    finally:
        os._exit(status)
