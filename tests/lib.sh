# SPDX-License-Identifier: Apache-2.0
# For script tests in bash: . "$(dirname "$0")/../lib.sh"
# The test then runs in the repository's root, stops at the first failing command, and has
# $build (where the programs are) and $scratch (a directory of its own, removed at the end).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=${SONDE_BUILD:-build}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/sonde-test.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

skip() {
	echo "$*"
	exit 77
}

fail() {
	echo "FAILED: $*"
	exit 1
}

need() {
	command -v "$1" >/dev/null || skip "$1 is not installed"
}

# shared_set NAME: prints the directory that holds the unpacked set of shared traces; skips when
# they are not on this machine.  Use it as: dir=$(shared_set lab-multi-lttng) || exit
shared_set() {
	python3 tests/lib.py "$1"
}
