#!/bin/sh
# lock.sh [-table]: resolves every add-on for every platform of the image against the runtime's own versions, and writes runtime/locks and
# docs/addons.md. Releases younger than two weeks are passed over; EXCLUDE_NEWER is another day. With -table, only the table, from the locks.
cd "$(dirname "$0")/.." || exit 1
[ "$1" = -table ] && exec "${GO:-go}" run ./internal/addon/lockgen -table
sh scripts/runtime.sh .cache/runtime || exit 1
"${GO:-go}" run ./internal/addon/lockgen ${EXCLUDE_NEWER:+-before "$EXCLUDE_NEWER"} || exit 1
sh scripts/runtime.sh .cache/runtime # the locks are part of it
