#!/bin/sh
# clients.sh DIR: installs what reads our doors and is not ours into DIR, MCP clients above all, by the hashes of their lock, unless they are
# there already. Packages come from where npm is configured to look; none of their scripts is run.
cd "$(dirname "$0")/.." || exit 1
dir=${1:?usage: clients.sh DIR}
from=test/clients
command -v npm >/dev/null 2>&1 || {
	echo "cannot install the clients: there is no npm; install nodejs and npm" >&2
	exit 1
}
lock=$(cat $from/package.json $from/package-lock.json $from/.npmrc | sh scripts/sha256.sh) || exit 1
[ "$(cat "$dir/lock" 2>/dev/null)" = "$lock" ] && exit 0
rm -rf "$dir" && mkdir -p "$dir" && cp $from/package.json $from/package-lock.json $from/.npmrc "$dir" || exit 1
(cd "$dir" && npm ci --no-progress --loglevel=error) || {
	echo "cannot install the clients: npm could not fetch what $from/package-lock.json names" >&2
	exit 1
}
# The Inspector's command line looks for its version where it is when it comes with the Inspector itself.
echo '{"name":"inspector","version":"0"}' >"$dir/node_modules/@modelcontextprotocol/package.json"
echo "$lock" >"$dir/lock"
