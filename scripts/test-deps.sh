#!/bin/sh
# Installs and starts what the tests use; where it may not, says per missing thing what will not be tested.
cd "$(dirname "$0")/.." || exit 1
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin # where ordinary users do not look

# package | is it there? | what is left out without it
list() {
	cat <<'END'
bubblewrap|command -v bwrap|the comparison with bwrap
uidmap|command -v newuidmap|sandboxes of an ordinary user with a range of ids
busybox-static|command -v busybox|shells other than bash
gcc libc6-dev|sh scripts/has-cc.sh|the race detector
ripgrep|command -v rg|searching with ripgrep in a sandbox
git|command -v git|the stamp of commit and date
docker.io|command -v dockerd|the docker engine with Docker
podman netavark runc tini|command -v podman && command -v runc|the docker engine with Podman
btrfs-progs|command -v mkfs.btrfs|a disk limit that the docker engine enforces
mmdebstrap|command -v mmdebstrap|the docker engine with a Debian image
docker-compose|command -v docker-compose || docker compose version|the compose file by Compose itself
systemd|command -v systemd-analyze|the unit by systemd itself
s6|command -v s6-svscan|the s6 driver
tini|command -v tini|the image's entrypoint under another init
procps|command -v ps|the processes below the image's entrypoint
python3 python3-venv python3-pip|/usr/bin/python3 -I -c 'import ensurepip, pip, venv'|the runtime of add-ons, and add-ons with a real interpreter
nodejs npm|command -v node && command -v npm|add-ons of npm, and MCP clients that are not ours
curl|command -v curl|the doors by curl
chromium fonts-dejavu-core|command -v chromium|the pages of the dashboard in a browser
END
}

missing() {
	list | while IFS='|' read -r pkgs there what; do
		eval "$there" >/dev/null 2>&1 || echo "$pkgs|$what"
	done
}

packages() { missing | cut -d'|' -f1; }

[ "$(uname -s)" = Linux ] || exit 0
if [ -n "$(missing)" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
	# shellcheck disable=SC2046,SC2086 # one word a package
	sh scripts/apt.sh $(packages) ||
		packages | while read -r pkgs; do sh scripts/apt.sh $pkgs; done # one that cannot be had must not cost the others
fi
missing | while IFS='|' read -r pkgs what; do
	echo "missing: $pkgs; not tested: $what"
done
# It has the uv with which add-ons are tested.
sh scripts/runtime.sh .cache/runtime || echo "missing: the Python runtime; not tested: add-ons with uv"
sh scripts/clients.sh .cache/clients || echo "missing: the clients of npm; not tested: hermes mcp with them, the OpenAPI document by another program"
exec sh scripts/engines.sh
