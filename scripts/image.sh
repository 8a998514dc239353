#!/bin/sh
# image.sh [TARGET]: builds the image (full or slim) for the daemon's architecture. The programs are compiled and the
# wheels fetched here, where Go, pip and their settings are; the build itself needs only Debian's packages.
#
#   IMAGE  the name to give it                      BASE   what it stands on
#   GO     the Go command                           PYTHON the Python that fetches
set -eu
cd "$(dirname "$0")/.."
target=${1:-full}
image=${IMAGE:-hermes:$target}
go=${GO:-go}
suite=bookworm
arch=$(docker version --format '{{.Server.Arch}}')

say() { echo "image: $*"; }

# base prints the name of an image to stand on. Where no registry answers it is made of Debian's packages, as the
# usual one is made.
base() {
	name=debian:$suite-slim local=hermes-base:$suite
	for known in "$name" "$local"; do
		if docker image inspect "$known" >/dev/null 2>&1; then
			echo "$known"
			return
		fi
	done
	if docker pull --quiet "$name" >/dev/null 2>&1; then
		echo "$name"
		return
	fi
	say "no registry has $name: making $local from packages" >&2
	command -v mmdebstrap >/dev/null || sh scripts/apt.sh mmdebstrap >&2
	# usr-is-merged needs no Perl, which its alternative draws in.
	mmdebstrap --quiet --variant=minbase --architectures="$arch" --include=usr-is-merged \
		--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr \
		--dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
		--dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/info/*' \
		--dpkgopt='path-exclude=/usr/share/locale/*' $suite - | docker import - $local >/dev/null
	echo $local
}

# wheels fetches the wheels of the runtime's lock for the image's interpreter, once for each lock.
wheels() {
	to=.cache/image/wheels/$arch
	lock=$(sh scripts/sha256.sh <runtime/core.txt)
	[ "$(cat "$to/of" 2>/dev/null)" != "$lock" ] || return 0
	say "fetching wheels"
	case $arch in amd64) machine=x86_64 ;; arm64) machine=aarch64 ;; *) machine=$arch ;; esac
	platforms="--platform manylinux2014_$machine"
	for glibc in $(seq 17 36); do platforms="$platforms --platform manylinux_2_${glibc}_$machine"; done
	rm -rf "$to"
	# shellcheck disable=SC2086 # one word an option
	"${PYTHON:-python3}" -m pip --disable-pip-version-check download --quiet --dest "$to" --require-hashes --no-deps \
		--only-binary :all: --python-version 3.11 --implementation cp --abi cp311 --abi abi3 --abi none $platforms -r runtime/core.txt
	echo "$lock" >"$to/of"
}

# programs lays the programs out as the image has them. Its hermes carries the guest of its own architecture only: the
# image has the other programs as files.
programs() {
	built=.cache/image/hermes-linux-$arch tree=.cache/image/programs/$arch
	for file in internal/programs/bin/hermes-*; do
		case $file in */hermes-guest-linux-"$arch"*) ;; *) echo "$file" ;; esac
	done | awk 'BEGIN { printf "{\"Replace\": {" } { printf "%s\"%s\": \"\"", sep, $0; sep = ", " } END { print "}}" }' >.cache/image/overlay.json
	export CGO_ENABLED=0 GOOS=linux GOARCH="$arch"
	$go build -trimpath -buildvcs=false -overlay .cache/image/overlay.json -ldflags "-s -w $stamp" -o "$built" ./cmd/hermes
	rm -rf "$tree"
	mkdir -p "$tree/opt/hermes/.venv/bin"
	$go build -trimpath -buildvcs=false -ldflags "-s -w $stamp" -o ".cache/image/programs/describe-linux-$arch" ./image/describe
	bin/hermes init --arch "$arch" "$tree" >/dev/null
	cp "$built" "$tree/opt/hermes/.venv/bin/hermes"
}

# stamped prints one of the values that the programs are stamped with.
stamped() { echo "$stamp" | tr ' ' '\n' | sed -n "s/.*version\.$1=//p"; }

mkdir -p .cache/image
if command -v flock >/dev/null; then # of two builds in one checkout the second waits
	exec 9>.cache/image/lock
	flock 9
fi
stamp=$(sh scripts/stamp.sh)
before=$(docker image inspect --format '{{.Id}}' "$image" 2>/dev/null || true)
BASE=${BASE:-$(base)}
wheels
programs
oci=org.opencontainers.image
docker build --quiet --file image/Dockerfile --build-arg "BASE=$BASE" --target "$target" --tag "$image" \
	--label "$oci.base.name=$BASE" --label "$oci.version=$(stamped Version)" \
	--label "$oci.revision=$(stamped Commit)" --label "$oci.created=$(stamped Date)" . >/dev/null
# Every build leaves its throw-away stages and, without a name, the image before it. Those of the last hours are the cache.
[ -z "$before" ] || [ "$before" = "$(docker image inspect --format '{{.Id}}' "$image")" ] || docker image rm "$before" >/dev/null 2>&1 || true
docker image prune --force --filter label=hermes.leftover --filter until=4h >/dev/null
say "built $image, $(docker image inspect --format '{{.Size}}' "$image" | awk '{printf "%.0f MB", $1/1e6}')"
