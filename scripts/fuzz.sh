#!/bin/sh
# fuzz.sh TIME: runs every fuzz target of the module for TIME each.
# What is found is made smaller by few tries only: the default is a minute for each, and a target that makes files
# would do nothing else.
cd "$(dirname "$0")/.." || exit 1
go=${GO:-go}
# Names come before the line of their package.
out=$("$go" test -list '^Fuzz' ./...) || { printf '%s\n' "$out"; exit 1; }
targets=$(printf '%s\n' "$out" | awk '/^Fuzz/ { n[++k] = $1 } $1 == "ok" { for (i = 1; i <= k; i++) print $2, n[i]; k = 0 }')
[ -n "$targets" ] || { echo "no fuzz targets"; exit 0; }
printf '%s\n' "$targets" | {
	bad=0
	while read -r pkg name; do
		echo "== $pkg $name"
		"$go" test -run '^$' -fuzz "^$name\$" -fuzztime "$1" -fuzzminimizetime 100x "$pkg" </dev/null || bad=1
	done
	exit $bad
}
