#!/bin/sh
# image.sh [TARGET]: builds the image, full or slim. The programs are compiled and the wheels fetched here, where Go, pip
# and their settings are; the build itself fetches Debian's packages only.
#
#   IMAGE  the name to give it (hermes:TARGET)      ARCH    amd64 or arm64 (the daemon's)
#   BASE   the image that it stands on (Debian)     PYTHON  the Python whose pip fetches wheels
set -eu
cd "$(dirname "$0")/.."
target=${1:-full}
image=${IMAGE:-hermes:$target}
go=${GO:-go}
suite=bookworm
cache=.cache/image

say() { echo "image: $*"; }
fail() {
	echo "cannot build the image: $*" >&2
	exit 1
}
have() { docker image inspect "$1" >/dev/null 2>&1; }

# base prints the name of an image to stand on. Where no registry answers it is made of Debian's packages, as the usual
# one is made.
base() {
	usual=debian:$suite-slim own=hermes-base:$suite-$arch
	for known in $usual $own; do
		if have $known; then
			echo $known
			return
		fi
	done
	if docker pull --quiet $usual >/dev/null 2>&1; then
		echo $usual
		return
	fi
	say "no registry has $usual: making $own of packages" >&2
	command -v mmdebstrap >/dev/null || sh scripts/apt.sh mmdebstrap >&2 || fail "mmdebstrap is not installed; install it, or set BASE"
	# usr-is-merged needs no Perl; what apt would take in its place does.
	mmdebstrap --quiet --variant=minbase --architectures="$arch" --include=usr-is-merged \
		--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr \
		--dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
		--dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/info/*' \
		--dpkgopt='path-exclude=/usr/share/locale/*' $suite $cache/base.tar >$cache/base.log 2>&1 ||
		fail "mmdebstrap has failed: $(tail -n 1 $cache/base.log)"
	docker import $cache/base.tar $own >/dev/null
	rm $cache/base.tar
	echo $own
}

# wheels fetches those of the runtime's lock for Debian's interpreter, once for each lock.
wheels() {
	to=$cache/wheels/$arch
	lock=$(sh scripts/sha256.sh <runtime/core.txt)
	[ "$(cat "$to/of" 2>/dev/null)" != "$lock" ] || return 0
	python=${PYTHON:-python3}
	"$python" -m pip --version >/dev/null 2>&1 || fail "$python has no pip; install python3-pip, or set PYTHON"
	say "fetching wheels for $arch"
	case $arch in amd64) machine=x86_64 ;; arm64) machine=aarch64 ;; esac
	platforms="--platform manylinux2014_$machine"
	for glibc in $(seq 17 36); do platforms="$platforms --platform manylinux_2_${glibc}_$machine"; done
	rm -rf "$to"
	# shellcheck disable=SC2086 # one word an option
	"$python" -m pip --disable-pip-version-check download --quiet --dest "$to" --require-hashes --no-deps --only-binary :all: \
		--python-version 3.11 --implementation cp --abi cp311 --abi abi3 --abi none $platforms -r runtime/core.txt
	echo "$lock" >"$to/of"
}

# compile SOURCE TO [OPTION…]
compile() {
	from=$1 to=$2
	shift 2
	CGO_ENABLED=0 GOOS=linux GOARCH=$arch $go build -trimpath -buildvcs=false -ldflags "-s -w $stamp" "$@" -o "$to" "$from"
}

# programs lays them out as the image has them. The hermes in it carries nothing but the guest of its own architecture:
# the other programs are there as files.
programs() {
	tree=$cache/programs/$arch
	for file in internal/programs/bin/hermes-*; do
		case $file in */hermes-guest-linux-"$arch"*) ;; *) echo "$file" ;; esac
	done | awk 'BEGIN { printf "{\"Replace\": {" } { printf "%s\"%s\": \"\"", sep, $0; sep = ", " } END { print "}}" }' >$cache/overlay.json
	compile ./cmd/hermes "$cache/hermes-linux-$arch" -overlay $cache/overlay.json
	compile ./image/describe "$cache/programs/describe-linux-$arch"
	rm -rf "$tree"
	mkdir -p "$tree/opt/hermes/.venv/bin"
	bin/hermes init --arch "$arch" "$tree" >/dev/null
	cp "$cache/hermes-linux-$arch" "$tree/opt/hermes/.venv/bin/hermes"
}

# stamped prints one of the values that the programs are stamped with.
stamped() { echo "$stamp" | tr ' ' '\n' | sed -n "s/.*version\.$1=//p"; }

daemon=$(docker version --format '{{.Server.Arch}}' 2>/dev/null) || fail "Docker does not answer; start its daemon, or set DOCKER_HOST"
arch=${ARCH:-$daemon}
case $arch in amd64 | arm64) ;; *) fail "it is for amd64 and arm64, not for $arch" ;; esac
platform=
[ "$arch" = "$daemon" ] || platform=--platform=linux/$arch # the daemon needs an emulator for this

mkdir -p $cache/programs
if command -v flock >/dev/null; then # of two builds in one checkout the second waits
	exec 9>$cache/lock
	flock 9
fi
stamp=$(sh scripts/stamp.sh)
BASE=${BASE:-$(base)}
wheels
programs
before=$(docker image inspect --format '{{.Id}}' "$image" 2>/dev/null || true)
oci=org.opencontainers.image
# shellcheck disable=SC2086 # empty or one word
docker build --quiet $platform --file image/Dockerfile --build-arg "BASE=$BASE" --target "$target" --tag "$image" \
	--label "$oci.base.name=$BASE" --label "$oci.version=$(stamped Version)" \
	--label "$oci.revision=$(stamped Commit)" --label "$oci.created=$(stamped Date)" . >/dev/null
# A build leaves its throw-away stages and, without a name, the image before it. Those of the last hours are the cache.
[ -z "$before" ] || [ "$before" = "$(docker image inspect --format '{{.Id}}' "$image")" ] || docker image rm "$before" >/dev/null 2>&1 || true
docker image prune --force --filter label=hermes.leftover --filter until=4h >/dev/null
say "built $image, $(docker image inspect --format '{{.Size}}' "$image" | awk '{printf "%.0f MB", $1/1e6}')"
