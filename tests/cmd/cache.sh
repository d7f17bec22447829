#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sonde serve has a directory for what took long among the user's caches; with --no-cache it makes none.
. "$(dirname "$0")/../lib.sh"
. tests/cmd/common.sh
need curl
make_history

# served OPTIONS...: a server's start, an answer of it and its end.
server=
trap 'kill $server 2>/dev/null || :; rm -rf "$scratch"' EXIT
served() {
	local url
	: >"$scratch/out"
	"$sonde" serve "$history" --format json "$@" >"$scratch/out" 2>"$scratch/err" &
	server=$!
	for _ in $(seq 300); do
		! grep -q '^}' "$scratch/out" || break
		sleep 0.1
	done
	url=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["url"])' "$scratch/out")
	curl -sf "${url}api/model" >"$scratch/answer"
	kill $server
	wait $server || :
}

export XDG_CACHE_HOME=$scratch/cache
mkdir "$XDG_CACHE_HOME"
served --no-cache
[ -z "$(ls -A "$XDG_CACHE_HOME")" ] || fail "--no-cache makes $(ls -A "$XDG_CACHE_HOME")"
served
[ -d "$XDG_CACHE_HOME/sonde" ] || fail "no cache is made without --no-cache"
