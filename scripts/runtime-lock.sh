#!/bin/sh
# runtime-lock.sh: resolves runtime/core.in into runtime/core.txt, wheels only, with the hashes of all architectures.
# Releases younger than two weeks are passed over, so that a bad one has been noticed; EXCLUDE_NEWER is another day.
cd "$(dirname "$0")/../runtime" || exit 1
python=3.11
days=14

uv=../.cache/runtime/bin/uv
[ -x "$uv" ] || uv=$(command -v uv) || {
	echo "cannot lock the core: there is no uv; run make runtime, or install uv" >&2
	exit 1
}
before=${EXCLUDE_NEWER:-$(date -u -d "$days days ago" +%Y-%m-%d)}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
"$uv" pip compile core.in --python-version "$python" --python-platform linux --only-binary :all: --generate-hashes --exclude-newer "$before" \
	--no-header --no-emit-index-url --no-emit-find-links --quiet --output-file "$work/core.txt" >/dev/null || exit 1
{
	echo "# CPython $python. Made from core.in by \`make runtime-lock\`; what was released after $before is left out."
	cat "$work/core.txt"
} >"$work/whole.txt" && cp "$work/whole.txt" core.txt
