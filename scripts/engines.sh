#!/bin/sh
# Starts Docker Engine and Podman's service where none answers, and leaves them running for the next time.
# What cannot be started costs one line and its tests; this script never fails for it.
cd "$(dirname "$0")/.." || exit 1
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
logs=$PWD/.cache/engines
docker_host=${DOCKER_HOST:-unix:///var/run/docker.sock}
podman_host=${CONTAINER_HOST:-unix:///run/podman/podman.sock}
podman_home=/var/lib/hermes-test/podman # as in scripts/podman/containers.conf

# Perl is on every Debian; the engines' own clients need not be.
answers() { # answers SOCKET
	perl -MIO::Socket::UNIX -e 'alarm 10; my $s = IO::Socket::UNIX->new($ARGV[0]) or exit 1;
		print $s "GET /_ping HTTP/1.0\r\n\r\n"; exit(<$s> !~ / 200 /)' "$1" 2>/dev/null
}

# Where /run outlives a reboot, what lies there may name a process that has nothing to do with it:
# dockerd would not start because of it, or would take it for its containerd and end it.
forget() { # forget PIDFILE NAME
	[ -e "$1" ] && [ "$(cat "/proc/$(cat "$1")/comm" 2>/dev/null)" != "$2" ] && rm -f "$1"
}

may_start() { # may_start SOCKET
	[ "$(id -u)" = 0 ] && return 0
	why="only root can start it"
	[ ! -e "$1" ] || [ -w "$1" ] || why="this user may not use $1"
	return 1
}

start() { # start NAME SOCKET COMMAND…: true once it answers
	socket=$2 log=$logs/$1.log
	shift 2
	mkdir -p "$logs" "$(dirname "$socket")"
	(cd / && exec setsid "$@") >"$log" 2>&1 </dev/null 9>&- &
	for _ in $(seq 300); do
		answers "$socket" && return 0
		kill -0 $! 2>/dev/null || break
		sleep 0.2
	done
	kill $! 2>/dev/null
	why="it does not start, see $log"
	return 1
}

docker_engine() {
	answers "${docker_host#unix://}" && return 0
	command -v dockerd >/dev/null || return 0 # test-deps.sh has said so
	may_start "${docker_host#unix://}" || return 1
	forget /var/run/docker.pid dockerd
	forget /var/run/docker/containerd/containerd.pid containerd
	start dockerd "${docker_host#unix://}" dockerd --host "$docker_host" && echo "started Docker Engine"
}

podman_service() {
	answers "${podman_host#unix://}" && return 0
	command -v podman >/dev/null || return 0
	may_start "${podman_host#unix://}" || return 1
	# Copied, because containers outlive this checkout.
	mkdir -p $podman_home && cp scripts/podman/* $podman_home/ && chmod 0755 $podman_home/runc
	start podman "${podman_host#unix://}" env CONTAINERS_CONF=$podman_home/containers.conf \
		podman system service --time=0 "$podman_host" && echo "started Podman's service"
}

[ "$(uname -s)" = Linux ] || exit 0
# Of two that start at once the second finds the work done.
lock=/run/hermes-test-engines.lock
if [ "$(id -u)" = 0 ] && touch $lock 2>/dev/null; then
	exec 9>$lock
	flock 9
fi
# A daemon elsewhere is not ours to start.
case $docker_host in unix://*) docker_engine || echo "Docker does not answer: $why; not tested: the docker engine with Docker" ;; esac
case $podman_host in unix://*) podman_service || echo "Podman does not answer: $why; not tested: the docker engine with Podman" ;; esac
exit 0
