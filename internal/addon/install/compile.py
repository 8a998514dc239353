"""Compiles modules below a directory, of which a file has the paths, one on each line.

What is not Python, as templates and tests of other versions are, is passed over: it has no bytecode. The paths in the
bytecode are relative to the directory, which is a temporary one; the interpreter puts the real ones in their place
when it loads the bytecode.
"""

import py_compile
import sys

root, listed = sys.argv[1:]
with open(listed, encoding="utf-8") as lines:
    for path in lines.read().splitlines():
        try:
            # Nobody changes a generation, so nobody has to look whether the source is still the same.
            unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
            py_compile.compile(f"{root}/{path}", dfile=path, doraise=True, invalidation_mode=unchecked)
        except py_compile.PyCompileError:
            pass
