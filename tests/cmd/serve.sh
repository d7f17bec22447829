#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sonde serve, as far as it can be seen without a browser: what it prints, and the page it sends.
. "$(dirname "$0")/../lib.sh"
. tests/cmd/common.sh
need curl
make_history
ln -s run.sonde "$scratch/other.sonde"
cp "$history" "$scratch/copy.sonde"

# A run that is named twice is served once, whatever it is called; a copy is another run.
"$sonde" serve --format json "$history" "$scratch/other.sonde" "$scratch/copy.sonde" "$history" \
	>"$scratch/out" 2>"$scratch/err" &
server=$!
trap 'kill $server 2>/dev/null || :; rm -rf "$scratch"' EXIT
for _ in $(seq 100); do
	! grep -q '^}' "$scratch/out" || break
	sleep 0.1
done
json 'len(j["urls"]) == 2 and j["urls"][1] == j["urls"][0] + "2/"'
says err "other.sonde is named twice: served once"
[ "$(grep -c "named twice" "$scratch/err")" = 2 ] || fail "$(cat "$scratch/err")"

# The page has its run's model inside: the same that it would be told.
url=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["url"])' "$scratch/out")
curl -sf "$url" >"$scratch/page"
curl -sf "${url}api/model" >"$scratch/model"
if [ -e build/web/app.js ]; then
	python3 - "$scratch/page" "$scratch/model" <<'END' || fail "the model inside the page"
import json, re, sys
page, model = (open(path).read() for path in sys.argv[1:])
inside = re.search(r'<script type="application/json" id="sonde-model">(.*?)</script>', page, re.S).group(1)
sys.exit(json.loads(inside) != json.loads(model))
END
fi

# A page of few events says how far they reach: in between none is missing.
curl -sf "${url}api/events?t=490000000&nr=20" >"$scratch/few"
curl -sf "${url}api/events?t=490000000&nr=10000" >"$scratch/many"
python3 - "$scratch/few" "$scratch/many" <<'END' || fail "events between from and to: $(cat "$scratch/few")"
import json, sys
few, many = (json.load(open(path)) for path in sys.argv[1:])
between = [e for e in many["events"] if few["from"] < e[0] < few["to"]]
sys.exit(len(few["events"]) != 20 or len(between) < 10 or any(e not in few["events"] for e in between))
END
kill $server
wait $server || fail "it ends with $?"
