#!/bin/sh
# dist.sh DIRECTORY [PLATFORM…]: builds hermes for every platform and packs it there, an archive each, with SHA256SUMS.
# The same source gives the same bytes, whoever builds it and where: no path, no time but the commit's.
set -e
cd "$(dirname "$0")/.."
to=$1
shift
go=${GO:-go}
work=.cache/dist
stamp=$(sh scripts/stamp.sh)
version=$(printf '%s' "$stamp" | sed 's/.*\.Version=\([^ ]*\).*/\1/')
epoch=${SOURCE_DATE_EPOCH:-$(git --no-optional-locks log -1 --format=%ct 2>/dev/null || echo 0)}

rm -rf "$work"
mkdir -p "$work/programs" "$work/share/completions" "$work/share/image"
for platform in ${*:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64}; do
	echo "hermes $version for $platform"
	GOOS=${platform%/*} GOARCH=${platform#*/} CGO_ENABLED=0 "$go" build -trimpath -buildvcs=false -ldflags "-s -w $stamp" \
		-o "$work/programs/hermes-${platform%/*}-${platform#*/}" ./cmd/hermes
done

"$go" build -trimpath -buildvcs=false -o "$work/hermes" ./cmd/hermes
for shell in bash fish zsh; do
	"$work/hermes" completion "$shell" >"$work/share/completions/hermes.$shell"
done
"$work/hermes" completion powershell >"$work/share/completions/hermes.ps1"
# The pages and what they lead to, each in its place.
cp -R LICENSE README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md docs "$work/share/"
cp -R image/compose.yaml image/kubernetes image/systemd "$work/share/image/"

"$go" run -buildvcs=false ./scripts/dist -from "$work/programs" -share "$work/share" -to "$to" -version "$version" -epoch "$epoch"
rm -rf "$work"
cat "$to/SHA256SUMS"
