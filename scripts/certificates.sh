#!/bin/sh
# Go fetches modules over TLS and brings no certificates of its own; a minimal machine has none either.
go=$1
cd "$(dirname "$0")/.." || exit 1

[ -d "${SSL_CERT_DIR:-}" ] && exit 0
for f in "${SSL_CERT_FILE:-}" /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/ca-bundle.pem /etc/ssl/cert.pem; do
	[ -s "$f" ] && exit 0
done
[ "$(uname -s)" = Linux ] || exit 0
GOPROXY=off "$go" mod download >/dev/null 2>&1 && exit 0 # all here already

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
	exec sh scripts/apt.sh ca-certificates
fi
echo "this machine has no CA certificates, so Go cannot fetch modules: install the package ca-certificates" >&2
exit 1
