#!/bin/sh
# runtime.sh DIR [OPTION OF PIP…]: builds the sealed Python runtime in DIR, unless it is there already.
# PYTHON is the interpreter that it stands on. Packages come from where pip is configured to look.
python=${PYTHON:-/usr/bin/python3}
here=$(dirname "$0")
"$python" -I -c 'from importlib.util import find_spec as f; exit(not (f("pip") or f("ensurepip")))' 2>/dev/null || {
	if [ -z "$PYTHON" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
		sh "$here/apt.sh" python3 python3-venv || exit 1
	else
		echo "cannot build the Python runtime: there is no $python with pip; install python3 and python3-venv, or set PYTHON" >&2
		exit 1
	fi
}
# By its own name: a link that an upgrade turns to another version would take the runtime along.
exec "$(readlink -f "$python")" -I "$here/../runtime/build.py" "$@"
