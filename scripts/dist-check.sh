#!/bin/sh
# dist-check.sh: builds dist/ once more from a copy of the source in another directory, and compares the checksums.
set -e
cd "$(dirname "$0")/.."
elsewhere=$(mktemp -d)
trap 'rm -rf "$elsewhere"' EXIT
git --no-optional-locks clone -q . "$elsewhere/hermes"
if [ -n "$(git --no-optional-locks status --porcelain --untracked-files=no)" ]; then
	echo "dist-check: cannot compare: there are changes that are not committed" >&2
	exit 1
fi
(cd "$elsewhere/hermes" && "${MAKE:-make}" dist)
cmp dist/SHA256SUMS "$elsewhere/hermes/dist/SHA256SUMS"
echo "dist-check: the same bytes"
