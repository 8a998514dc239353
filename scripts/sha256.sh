#!/bin/sh
# Prints the SHA-256 of standard input, with what the system has.
set -e
if command -v sha256sum >/dev/null 2>&1; then sha256sum | cut -d' ' -f1
else shasum -a 256 | cut -d' ' -f1
fi
