#!/bin/sh
# Prints one line when the Go at hand cannot build this project, and nothing when it can.
# Never touches the network: from 1.21 on Go fetches the toolchain of go.mod at the first real command.
go=$1
cd "$(dirname "$0")/.." || exit 1

older() { # older 1.21 1.26.0: is the first below the second?
	awk -v a="$1" -v b="$2" 'BEGIN {
		split(a, x, "."); split(b, y, ".")
		for (i = 1; i <= 3; i++) if (x[i]+0 != y[i]+0) exit !(x[i]+0 < y[i]+0)
		exit 1
	}'
}

if ! command -v "$go" >/dev/null 2>&1; then
	echo "Go is not installed: any version since 1.21 will do, see https://go.dev/doc/install"
	exit 0
fi

have=$(GOTOOLCHAIN=local "$go" env GOVERSION 2>/dev/null)
case $have in
go[0-9]*) have=${have#go} ;;
*) exit 0 ;; # a development build: let Go itself judge
esac
have=${have%%[!0-9.]*}
want=$(awk '$1 == "go" { print $2; exit }' go.mod)

if older "$have" 1.21; then
	echo "Go $have is too old: 1.21 or newer is needed (it fetches Go $want by itself), see https://go.dev/doc/install"
elif older "$have" "$want"; then
	# Asked from outside of the module, where Go has no reason to switch toolchains.
	mode=$(cd / && "$go" env GOTOOLCHAIN 2>/dev/null)
	case $mode in
	auto | path | *+auto | *+path) ;;
	*) echo "Go $have cannot fetch Go $want because GOTOOLCHAIN=$mode: set GOTOOLCHAIN=auto, or install Go $want" ;;
	esac
fi
