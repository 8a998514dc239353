#!/bin/sh
# web.sh [--must]: fetches the terminal of the dashboard's pages by the hashes of its lock, unless it is there already. Packages
# come from where npm is configured to look; none of their scripts is run. Where it cannot be had one line says so and the
# build goes on: the page of the terminal says it too. With --must it is an error.
cd "$(dirname "$0")/.." || exit 1
from=internal/dashboard/web
to=$from/xterm

without() {
	if [ "$1" = --must ]; then
		echo "cannot fetch the dashboard's terminal: $2" >&2
		exit 1
	fi
	echo "the dashboard is built without its terminal: $2" >&2
	exit 0
}

lock=$(cat $from/package.json $from/package-lock.json $from/.npmrc scripts/web.sh | sh scripts/sha256.sh) || exit 1
[ "$(cat $to/.lock 2>/dev/null)" = "$lock" ] && exit 0
command -v npm >/dev/null 2>&1 || without "$1" "there is no npm; install nodejs and npm, and run make again"

# In a directory of its own, for two builds of one checkout may run at a time.
mkdir -p .cache && mine=$(mktemp -d .cache/web.XXXXXX) || exit 1
trap 'rm -rf "$mine"' EXIT
cp $from/package.json $from/package-lock.json $from/.npmrc "$mine" || exit 1
(cd "$mine" && npm ci --no-progress --loglevel=error >/dev/null) ||
	without "$1" "npm could not fetch what $from/package-lock.json names; run make again where it can"

# place FILE NAME: puts it where it is embedded, without the name of a map that is not shipped.
place() {
	sed '/^\/\/# sourceMappingURL=/d' "$mine/node_modules/@xterm/$1" >"$mine/file" && mv -f "$mine/file" "$to/$2" || exit 1
}
place xterm/lib/xterm.mjs xterm.mjs
place addon-fit/lib/addon-fit.mjs addon-fit.mjs
place xterm/css/xterm.css xterm.css
place xterm/LICENSE xterm.LICENSE.txt
place addon-fit/LICENSE addon-fit.LICENSE.txt
echo "$lock" >$to/.lock
