#!/bin/sh
# Prints the linker flags that stamp version, commit and date. The same source and SOURCE_DATE_EPOCH
# give the same flags; without git (a source archive) the version is VERSION, else dev.
cd "$(dirname "$0")/.." || exit 1
v=hermes.example/hermes/internal/version
g() { git --no-optional-locks "$@" 2>/dev/null; }

version=${VERSION:-} commit='' epoch=${SOURCE_DATE_EPOCH:-}
# A source archive unpacked inside somebody else's repository must not take that one's commit.
if [ -e .git ] && commit=$(g rev-parse --short=12 HEAD); then
	[ -n "$version" ] || version=$(g describe --tags --match 'v[0-9]*')
	[ -n "$epoch" ] || epoch=$(g log -1 --format=%ct)
	[ -z "$(g status --porcelain --untracked-files=no)" ] || commit=$commit-dirty
else
	commit=
fi
date=
if [ -n "$epoch" ]; then # GNU date, else BSD date
	date=$(date -u -d "@$epoch" +%Y-%m-%dT%H:%M:%SZ 2>/dev/null || date -u -r "$epoch" +%Y-%m-%dT%H:%M:%SZ)
fi
printf '%s' "-X $v.Version=${version:-dev} -X $v.Commit=$commit -X $v.Date=$date"
