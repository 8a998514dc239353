#!/bin/sh
# tool.sh GO FILE PACKAGE@VERSION: leaves a tool built at that version in FILE; FILE carries the version in its name.
go=$1 file=$2 pkg=$3
[ -x "$file" ] && exit 0
cd "$(dirname "$0")/.." || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
echo "building $pkg (once)"
GOBIN=$dir "$go" install "$pkg" >"$dir/log" 2>&1 || {
	tail -n 3 "$dir/log" >&2
	exit 1
}
rm -f "$dir/log"
mkdir -p "$(dirname "$file")"
mv "$dir"/* "$file.$$" && mv -f "$file.$$" "$file"
