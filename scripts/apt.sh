#!/bin/sh
# apt.sh PACKAGE…: installs Debian packages as root, quietly unless it fails.
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
get() { apt-get install -y --no-install-recommends "$@" >"$log" 2>&1 </dev/null; }

echo "installing: $*"
get "$@" && exit 0
apt-get update >"$log" 2>&1 </dev/null && get "$@" && exit 0
tail -n 5 "$log" >&2
exit 1
