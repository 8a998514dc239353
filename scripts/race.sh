#!/bin/sh
# race.sh PACKAGES [FLAG…]: go test with the race detector where a C compiler exists, through the summary.
cd "$(dirname "$0")/.." || exit 1
packages=$1
shift
go=${GO:-go}
race=-race
cgo=1
if ! sh scripts/has-cc.sh; then
	echo "no C compiler with headers: tests run without the race detector"
	race='' cgo=0
fi
# An ordinary user's tests count all guests of that user, so no two packages may run at once.
[ "$(id -u)" = 0 ] || set -- -p 1 "$@"
# cgo is for the race detector alone: programs that a test builds are static as everywhere else.
# shellcheck disable=SC2086 # empty when there is no compiler
exec bin/tools/summary -packages "$packages" -- env CGO_ENABLED=$cgo "$go" test -json -count=1 -timeout 20m $race -exec "env CGO_ENABLED=0" "$@"
