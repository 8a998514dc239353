"""python3 -I -m hermes_host adapter NAME | module NAME [ARGUMENT …]"""

import sys

USAGE = "cannot start: wanted is adapter NAME, or module NAME [ARGUMENT …]"


def main(kind="", name="", *arguments):
    if kind == "adapter" and name.isidentifier() and not arguments:
        from . import adapter

        adapter.run(name)
    elif kind == "module" and name:
        # A server of others: it has the standard input and output as they are.
        import runpy

        sys.argv = [name, *arguments]
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    else:
        sys.exit(USAGE)


main(*sys.argv[1:])
