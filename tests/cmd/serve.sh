#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sonde serve, as far as it can be seen without a browser: what it prints, and the page it sends.
. "$(dirname "$0")/../lib.sh"
. tests/cmd/common.sh
need curl
make_history
ln -s run.sonde "$scratch/other.sonde"
cp "$history" "$scratch/copy.sonde"

head -c 300 "$history" >"$scratch/cut.sonde"

# A run that is named twice is served once, whatever it is called; a copy is another run; one that cannot
# be opened does not keep the others.
nice -n 5 "$sonde" serve --format json "$history" "$scratch/other.sonde" "$scratch/cut.sonde" "$scratch/copy.sonde" "$history" \
	>"$scratch/out" 2>"$scratch/err" &
server=$!
trap 'kill $server 2>/dev/null || :; rm -rf "$scratch"' EXIT
for _ in $(seq 100); do
	! grep -q '^}' "$scratch/out" || break
	sleep 0.1
done
json 'len(j["urls"]) == 2 and j["urls"][1] == j["urls"][0] + "2/"'
says err "other.sonde is named twice: served once"
says err "cut.sonde"
says err "what cannot be opened is not served; the rest is"
[ "$(grep -c "named twice" "$scratch/err")" = 2 ] || fail "$(cat "$scratch/err")"

# The page has its run's model inside: the same that it would be told.
url=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["url"])' "$scratch/out")
curl -sf "$url" >"$scratch/page"
curl -sf "${url}api/model" >"$scratch/model"
[ "$(python3 -c 'import json, sys; print(*(m["kind"] for m in json.load(open(sys.argv[1]))["machines"]), sep=",")' "$scratch/model")" = "host,VM,VM,nested VM" ] || fail "what the machines are"
if [ -e build/web/app.js ]; then
	python3 - "$scratch/page" "$scratch/model" <<'END' || fail "the model inside the page"
import json, re, sys
page, model = (open(path).read() for path in sys.argv[1:])
inside = re.search(r'<script type="application/json" id="sonde-model">(.*?)</script>', page, re.S).group(1)
sys.exit(json.loads(inside) != json.loads(model))
END
	# It is one document, of which a browser is told to run this script and no other; and its
	# head asks for rows.
	curl -sfD "$scratch/head" -o /dev/null "$url"
	python3 - "$scratch/page" "$scratch/head" "$url" <<'END' || fail "the page's parts"
import base64, hashlib, html, re, struct, sys, urllib.request
page, head = (open(path, newline="").read() for path in sys.argv[1:3])
for part, text in (("script", re.search(r'<script type="module" blocking="render">(.*?)</script>', page, re.S).group(1)),
                   ("style", re.search(r"<style>(.*?)</style>", page, re.S).group(1))):
    own = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    assert f"{part}-src 'sha256-{own}';" in head, part
assert not re.search(r'src="|rel="stylesheet"', page)
assert re.search(r"^Server-Timing: wait;dur=[\d.]+, answer;dur=[\d.]+, cpu;dur=[\d.]+\r?$", head, re.M), head
asked = html.unescape(re.search(r'<link rel="preload" as="fetch" crossorigin id="sonde-first" href="(.*?)">', page).group(1))
rows = urllib.request.urlopen(sys.argv[3] + asked).read()
attrs = re.search(r"attrs=([\d,]+)$", asked).group(1).split(",")
assert struct.unpack_from("<III", rows) == (1, len(attrs), 2048), asked
END
fi

# Of many rows two workers answer every other one: together they are what is answered one by one.
python3 - "$url" <<'END' || fail "rows that two workers answered"
import json, sys, urllib.request
def get(question):
    return urllib.request.urlopen(sys.argv[1] + "api/" + question).read()
length = json.loads(get("model"))["length"]
threads = [t[6] for t in json.loads(get("threads?first=0&nr=1000")) if t[6] is not None]
def rows(attrs):
    return get(f"rows?begin=0&end={length}&px=500&attrs={','.join(map(str, attrs))}")
for nr in (31, 32, 33, 60):
    assert len(threads) >= nr
    alone = b"".join(rows([a])[12:] for a in threads[:nr])
    assert rows(threads[:nr])[12:] == alone, nr
contexts = json.loads(get("contexts?first=0&nr=1000"))
last = len(contexts) - 1
assert json.loads(get(f"contexts?rows=7,3,{last}")) == [contexts[7], contexts[3], contexts[last]]
for wrong in ("rows=4294967295", "rows=1,x", "rows=" + ",".join(["1"] * 1025)):
    try:
        get("contexts?" + wrong)
        sys.exit(f"contexts?{wrong:.40}")
    except urllib.error.HTTPError as e:
        assert e.code == 400, e.code
wrong = f"rows?begin=0&end={length}&px=500&attrs=" + ",".join(["1"] * 40 + ["999999999"])
try:
    get(wrong)
    sys.exit("an attribute that is not there")
except urllib.error.HTTPError as e:
    assert e.code == 400, e.code
END

# A page of few events says how far they reach: in between none is missing.
curl -sf "${url}api/events?t=490000000&nr=20" >"$scratch/few"
curl -sf "${url}api/events?t=490000000&nr=10000" >"$scratch/many"
python3 - "$scratch/few" "$scratch/many" <<'END' || fail "events between from and to: $(cat "$scratch/few")"
import json, sys
few, many = (json.load(open(path)) for path in sys.argv[1:])
between = [e for e in many["events"] if few["from"] < e[0] < few["to"]]
sys.exit(len(few["events"]) != 20 or len(between) < 10 or any(e not in few["events"] for e in between))
END

# Analyses go behind pictures on CPUs, however nice the server is itself.
python3 - $server <<'END' || fail "how nice its threads are"
import glob, sys, time
def nices():
    return {int(open(path).read().rsplit(")", 1)[1].split()[16]) for path in glob.glob(f"/proc/{sys.argv[1]}/task/*/stat")}
own = int(open(f"/proc/{sys.argv[1]}/stat").read().rsplit(")", 1)[1].split()[16])
for _ in range(50):
    if nices() == {own, min(own + 10, 19)}:
        sys.exit(0)
    time.sleep(0.1)
sys.exit(f"{own}: {nices()}")
END
kill $server
wait $server && fail "one was not served"
[ $? = 1 ] || fail "it ends with $?"
run 1 "$sonde" serve "$scratch/cut.sonde"
