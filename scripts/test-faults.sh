#!/bin/sh
# test-faults.sh [NAME…]: breaks the program in one place at a time and expects the fault tests to be red.
cd "$(dirname "$0")/.." || exit 1
exec "${GO:-go}" run -buildvcs=false ./test/faults/variants "$@"
