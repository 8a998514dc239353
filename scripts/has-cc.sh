#!/bin/sh
# Succeeds when a C compiler and its headers are here, as the race detector needs them.
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
printf '#include <stdlib.h>\nint main(void) { return 0; }\n' >"$dir/a.c"
"${CC:-gcc}" -o "$dir/a" "$dir/a.c" >/dev/null 2>&1
