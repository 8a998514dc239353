#!/bin/sh
# Installs what the tests use; where it may not, says per missing thing what will not be tested.
cd "$(dirname "$0")/.." || exit 1

# package | is it there? | what is left out without it
list() {
	cat <<'END'
bubblewrap|command -v bwrap|the comparison with bwrap
uidmap|command -v newuidmap|sandboxes of an ordinary user with a range of ids
busybox-static|command -v busybox|shells other than bash
gcc libc6-dev|sh scripts/has-cc.sh|the race detector
git|command -v git|the stamp of commit and date
END
}

missing() {
	list | while IFS='|' read -r pkgs there what; do
		eval "$there" >/dev/null 2>&1 || echo "$pkgs|$what"
	done
}

[ "$(uname -s)" = Linux ] || exit 0
todo=$(missing)
[ -z "$todo" ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
	# shellcheck disable=SC2046 # one word a package
	sh scripts/apt.sh $(printf '%s\n' "$todo" | cut -d'|' -f1)
	todo=$(missing)
fi
[ -z "$todo" ] || printf '%s\n' "$todo" | while IFS='|' read -r pkgs what; do
	echo "missing: $pkgs; not tested: $what"
done
exit 0
