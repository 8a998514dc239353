#!/bin/sh
# dist-check.sh: builds the archives here and once more in a copy of the source in another directory, and compares.
set -e
cd "$(dirname "$0")/.."
if [ -n "$(git --no-optional-locks status --porcelain --untracked-files=no)" ]; then
	echo "dist-check: cannot compare: there are changes that are not committed; commit them first" >&2
	exit 1
fi
elsewhere=$(mktemp -d)
trap 'rm -rf "$elsewhere"' EXIT
git --no-optional-locks clone -q . "$elsewhere/hermes"
"${MAKE:-make}" dist
(cd "$elsewhere/hermes" && "${MAKE:-make}" dist)
cmp dist/SHA256SUMS "$elsewhere/hermes/dist/SHA256SUMS"
echo "dist-check: the same bytes"
