# SPDX-License-Identifier: Apache-2.0
# For the tests of this folder, after lib.sh: the npm packages they are written with.
need node
need npm

# packages: has them fetched, once for all tests that run side by side.
packages() {
	local got=tests/web/node_modules/.package-lock.json
	exec 8>"$build/web-tests.lock"
	flock 8
	[ "$got" -nt tests/web/package-lock.json ] || (
		cd tests/web && timeout 120 npm ci --ignore-scripts --no-audit --no-fund --fetch-retries=1 \
			>"$scratch/npm" 2>&1 && touch node_modules/.package-lock.json
	) || skip "npm cannot fetch what tests/web/package.json names: $(tail -1 "$scratch/npm")"
	exec 8>&-
}
