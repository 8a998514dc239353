#!/bin/sh
# A short demonstration on the real thing: every command is shown with its real output, and the script
# fails when one of them does not behave. It uses a home of its own and leaves nothing behind.
cd "$(dirname "$0")/.." || exit 1
program=$PWD/bin/hermes
hermes() { "$program" "$@"; }

work=$(mktemp -d) || exit 1
export HERMES_HOME="$work/home"
export DEMO_SECRET=swordfish
mkdir -m 0700 "$HERMES_HOME" && echo "$DEMO_SECRET" >"$work/secret" || exit 1
sleep 300.25 & # a process of the host to look for
marker=$!

finish() {
	kill "$marker" 2>/dev/null
	hermes sandbox prune --all --yes >/dev/null 2>&1
	rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

failures=0
out='' status=0
say() { printf '\n# %s\n' "$*"; }
show() { # show COMMAND: print it, run it, print what it said
	printf '$ %s\n' "$1"
	out=$(eval "$1" 2>&1 </dev/null)
	status=$?
	[ -z "$out" ] || printf '%s\n' "$out"
	[ "$status" = 0 ] || printf '(exit status %s)\n' "$status"
}
must() { # must WHAT TEST…: the test holds, or the demonstration has failed
	what=$1
	shift
	"$@" || { printf '!! not as it should be: %s\n' "$what"; failures=$((failures + 1)); }
}
says() { case $out in *"$1"*) return 0 ;; *) return 1 ;; esac; }
hides() { ! says "$1"; }
ended() { [ "$status" = "$1" ]; }
fails() { [ "$status" != 0 ]; }

say "a command in a sandbox of its own; the first one creates it"
show "hermes sandbox exec --task demo -c 'echo hello from \$(hostname), uid \$(id -u)'"
must "the command runs" ended 0
must "its output arrives" says "hello from"

say "its exit status is yours"
show "hermes sandbox exec --task demo -c 'exit 7'"
must "the status is passed through" ended 7

say "a session keeps directory and variables from one command to the next"
show "hermes sandbox exec --task demo --session s1 -c 'cd /tmp; export COLOUR=green'"
must "the first command runs" ended 0
show "hermes sandbox exec --task demo --session s1 -c 'echo in \$PWD with \$COLOUR'"
must "the second one sees them" says "in /tmp with green"

say "what is the host's stays the host's: this file, its environment, your keys"
show "cat $work/secret"
must "the host can read it" says "$DEMO_SECRET"
show "hermes sandbox exec --task demo -c 'cat $work/secret'"
must "the sandbox cannot" fails
must "the sandbox does not show it" hides "$DEMO_SECRET"
show "hermes sandbox exec --task demo -c 'echo \"secret: \${DEMO_SECRET:-not there}\"'"
must "the environment is not handed down" says "secret: not there"
show "hermes sandbox exec --task demo -c 'cat ~/.ssh/id_*'"
must "no keys inside" fails

say "no network, only a loopback"
show "hermes sandbox exec --task demo -c 'sed -n \"s/:.*//p\" /proc/net/dev'"
must "there is a loopback" says "lo"
must "and nothing else" [ "$(printf '%s\n' "$out" | wc -l)" -eq 1 ]

say "no processes but its own"
show "hermes sandbox exec --task demo -c 'for p in /proc/[0-9]*; do echo \${p#/proc/} \$(tr \"\\000\" \" \" <\$p/cmdline); done'"
must "the listing works" ended 0
must "the host's processes are out of sight" hides "300.25"

say "what is really enforced, read back after the start"
show "hermes sandbox inspect demo"
must "it is shown" ended 0
must "the filter is there" says "seccomp"

say "a sandbox for one command, with this directory and nothing else; gone afterwards"
show "hermes run --here -- ls Makefile"
must "the directory is there" says "Makefile"

say "and away with it"
show "hermes sandbox rm demo --files"
must "it can be removed" ended 0
show "hermes sandbox ls"
must "it is gone" hides "demo"

echo
if [ "$failures" != 0 ]; then
	echo "$failures of the above did not behave"
	exit 1
fi
echo "All as it should be. With a terminal, \`make run\` opens a shell in a sandbox instead."
