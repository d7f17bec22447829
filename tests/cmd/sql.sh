#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sonde sql: how it is asked, what it prints, what it refuses; and the extension in sqlite3.
. "$(dirname "$0")/../lib.sh"
. tests/cmd/common.sh
make_history

# ---- how it is asked

run 0 "$sonde" sql "$history" "select name, level from machines"
[ "$(head -2 "$scratch/out" | tr -s ' ')" = $'name level\nhost0 0' ] || fail "table: $(cat "$scratch/out")"
(cd "$scratch" && run 0 "$OLDPWD/$sonde" sql "select name from machines where row = 0")
says out host0
run 0 "$sonde" sql -i "$history" "select 1 as one"
says out one
run 0 "$sonde" sql "$history" - <<<"select 2 as two; -- from stdin"
says out two
run 0 "$sonde" sql "$history" $'-- a comment = no option\nselect 3 as three' --format csv
[ "$(cat "$scratch/out")" = $'three\n3' ] || fail "a comment first: $(cat "$scratch/out")"
run 0 "$sonde" sql --format csv "$history" $'--comment\nselect 3 as three'
[ "$(cat "$scratch/out")" = $'three\n3' ] || fail "a comment first: $(cat "$scratch/out")"
run 0 "$sonde" sql --format csv -- "$history" "select 3 as three"
[ "$(cat "$scratch/out")" = $'three\n3' ] || fail "--: $(cat "$scratch/out")"
run 2 "$sonde" sql "$history" "-- only a comment"
not_says err option
run 2 "$sonde" sql "$history" "-- a comment" -Z
says err "unknown option -Z"
run 2 "$sonde" sql "$history" --comment
says err "unknown option --comment"
run 0 "$sonde" sql "$history" "select 1 where 0"
[ "$(cat "$scratch/out")" = "no rows" ] || fail "no rows: $(cat "$scratch/out")"
run 0 "$sonde" sql --format json "$history" "select 1 as x, 2 as x, 0.1 as r, null as n, 'é\"' as t, x'00ff' as b"
json 'j == [{"x": 1, "x_2": 2, "r": 0.1, "n": None, "t": "é\"", "b": "00ff"}]'
run 0 "$sonde" sql --format json "$history" "select 1 as x, 2 as x, 3 as x_2, 4 as x"
json 'j == [{"x": 1, "x_3": 2, "x_2": 3, "x_4": 4}]'
[ "$(python3 -c 'import json, sys; print(len(json.load(open(sys.argv[1]))[0]))' "$scratch/out")" = 4 ] || fail "a column is lost"
run 0 "$sonde" sql --format json "$history" "select 1 where 0"
json 'j == []'
run 0 "$sonde" sql --format csv "$history" "select 'a,b' as \"x,y\", null as n, char(27) || '[31m' as e, 1e300 as big"
[ "$(cat "$scratch/out")" = $'"x,y",n,e,big\n"a,b",,?[31m,1e+300' ] || fail "CSV: $(cat "$scratch/out")"
run 0 "$sonde" sql --format csv "$history" "select printf('%.*c', 5000, 'x') as long"
[ "$(wc -c <"$scratch/out")" = 5006 ] || fail "long text is cut off"
# What a spreadsheet would compute is text; what is a number stays one.
run 0 "$sonde" sql --format csv "$history" "select '=1+1' as t, '-2' as n, -2 as i, -9e999 as r"
[ "$(cat "$scratch/out")" = $'t,n,i,r\n\'=1+1,-2,-2,-inf' ] || fail "formulas in CSV: $(cat "$scratch/out")"
# Longer than what a table keeps at a time.
run 0 "$sonde" sql "$history" "with recursive t(i) as (select 1 union all select i + 1 from t limit 10000) select i from t"
[ "$(grep -c '[0-9]' "$scratch/out")" = 10000 ] || fail "rows of a long table"
run 0 "$sonde" sql "$history" "select sum(length) as s from states where kind = 'runs'" --time 60.0,60.5 --format json
json 'j == [{"s": 10**9}]'
run 0 "$sonde" sql "$history" --ready machines
says out vm-a-n
run 0 "$sonde" sql --ready
says out "Who had the CPU while which vCPU was runnable?"
run 0 "$sonde" sql --schema
says out "what value each attribute had from when to when"
run 0 "$sonde" sql --schema steal states
says out window_begin
run 2 "$sonde" sql --schema nothing
run 0 "$sonde" sql --ready machines "$history" # the other way round
run 2 "$sonde" sql --ready "$history"
says err "is a file: what is asked of it?"
run 2 "$sonde" sql "$history" --ready nothing
says err 'no ready query "nothing"'
run 2 "$sonde" sql
says err "a query is expected"
run 2 "$sonde" sql "$history"
says err "is a file: what is asked of it?"
run 1 "$sonde" sql /nonexistent.sonde "select 1"
run 2 "$sonde" sql "$history" "select 1" --time nonsense,
"$sonde" --completion bash >"$scratch/completion"
grep -q -- 'sql:--ready|sql:-r) words=".*slow-wakeups' "$scratch/completion" || fail "completion of ready queries"

# ---- what is wrong with a query

run 2 "$sonde" sql "$history" "select begn
from states"
says err "no such column: begn"
says err "  select begn"
says err "         ^"
run 2 "$sonde" sql "$history" "select * from state"
says err "no such table: state; sonde sql --schema lists what there is"
for list in sqlite_schema sqlite_master; do
	run 0 "$sonde" sql "$history" "select name from $list"
	says err "list of tables is empty here; sonde sql --schema lists the tables"
done
run 0 "$sonde" sql "$history" "select * from machines where name = 'nobody'"
[ ! -s "$scratch/err" ] || fail "a hint where there is nothing to hint at"
cd_before=$(ls -A "$scratch")
for query in "attach '$scratch/x.db' as x" "vacuum into '$scratch/x.db'" "create table t(a)" \
	"pragma journal_mode = wal" "select load_extension('x')" "select writefile('$scratch/x', 'x')" \
	"create virtual table temp.x using sonde('README.md', 'steal')"; do
	status=0
	"$sonde" sql "$history" "$query" >"$scratch/out" 2>"$scratch/err" || status=$?
	[ "$status" = 1 ] || [ "$status" = 2 ] || fail "$query: exit status $status"
done
[ "$(ls -A "$scratch")" = "$cd_before" ] || fail "a query left a file"
cmp -s "$history" <("$sonde" sql "$history" "select 1" >/dev/null; cat "$history") || fail "the history changed"

# ---- events

run 0 "$sonde" sql "$history" "select count(*) as n from events" --format json
cp "$scratch/out" "$scratch/n"
"$sonde" events -q samples/lttng >"$scratch/events"
[ "$(grep -o '[0-9]*' "$scratch/n")" = "$(wc -l <"$scratch/events")" ] || fail "number of events"
"$sonde" events -q samples/lttng -m vm-a -e 'sched_w*' --time 60s,60.5 --format json >"$scratch/wanted"
run 0 "$sonde" sql -v "$history" --format json "select time as t, ticks, machine, cpu, tid, name, kind, fields from events
	where machine = 'vm-a' and name glob 'sched_w*' and time >= 60000000000 and time < sonde_time('60.5')"
python3 - "$scratch/out" "$scratch/wanted" <<'END' || fail "events differ"
import json, sys
got = json.load(open(sys.argv[1]))
want = [json.loads(line) for line in open(sys.argv[2])]
assert len(want) > 10
assert got == [{k: None if k == "tid" and e[k] in (-1, None) else e[k] for k in got[0]} for e in want], (got[0], want[0])
END
# What is not wanted is not read.
says err "and $(wc -l <"$scratch/wanted") events"
run 0 "$sonde" sql -v "$history" "select * from events limit 3"
says err " 3 events"
run 0 "$sonde" sql "$history" "select sonde_field(fields, 'next_tid') as tid, count(*) from events
	where name = 'sched_switch' group by 1 having tid = 'x'"

# A history without its traces.
cp -r samples/lttng "$scratch/traces"
"$sonde" analyze -q "$scratch/traces" -o "$scratch/moved.sonde" >/dev/null
mv "$scratch/traces" "$scratch/elsewhere"
run 1 "$sonde" sql "$scratch/moved.sonde" "select * from events"
says err "is not at $scratch/traces/"
run 0 "$sonde" sql "$scratch/moved.sonde" "select count(*) from states"

# ---- on the sample, too: what is passed down changes no answer

for where in "begin >= 60000000000 and begin < 60010000000" "end <= 59700000000" "cpu = 'vm-a/0'" \
	"path glob 'vm-a/*' and begin > 60.5e9" "kind = 'exit' and end > 60800000000" "machine = 'vm-b' and kind = 'waker'"; do
	run 0 "$sonde" sql -v "$history" "select path, begin, end, length, value, text from states where $where order by path, begin" --format csv
	cp "$scratch/out" "$scratch/down"
	asked=$(grep -o '[0-9]* intervals' "$scratch/err")
	run 0 "$sonde" sql -v "$history" "select path, begin, end, length, value, text from states where ($where or 1 = 2) is true order by path, begin" --format csv
	cmp "$scratch/out" "$scratch/down" || fail "$where"
	[ "$(wc -l <"$scratch/down")" -gt 10 ] || fail "$where: no rows"
	all=$(grep -o '[0-9]* intervals' "$scratch/err")
	[ "${asked% *}" -lt $((${all% *} / 2)) ] || fail "$where: $asked of $all were read"
done

# ---- ^C

"$sonde" sql "$history" "with recursive t(i) as (select 1 union all select i + 1 from t) select count(*) from t" \
	>"$scratch/out" 2>"$scratch/err" &
pid=$!
sleep 1
kill -INT "$pid"
status=0
wait "$pid" || status=$?
[ "$status" = 4 ] || fail "^C: exit status $status"
says err interrupted

# ---- the extension

case $build in
*san*) exit 0 ;; # another program's allocator
esac
command -v sqlite3 >/dev/null || skip "sqlite3 is not installed; the rest passed"
lite() {
	sqlite3 -batch -cmd ".load $build/sonde_sqlite" :memory: "$@"
}
[ "$(lite "select sonde_open('$history') > 50" "select name from machines order by row" | tr '\n' ' ')" = \
	"1 host0 vm-a vm-b vm-a-n " ] || fail "sonde_open()"
# Two runs, one query; a name with a quote in it.
cp "$history" "$scratch/it's.sonde"
[ "$(lite "select sonde_open('$history', 'a_'), sonde_open('$scratch/it''s.sonde', 'b_')" \
	"select count(*) = sum(a.steal = b.steal) from a_steal a join b_steal b using (vcpu)" | tail -1)" = 1 ] ||
	fail "two runs"
"$sonde" sql "$history" "select * from preemption" --format json >"$scratch/wanted"
sqlite3 -batch -json -cmd ".load $build/sonde_sqlite" -cmd "create virtual table temp.p using sonde('$history', preemption)" \
	:memory: "select * from p" >"$scratch/out"
json "len(j) > 10 and j == json.load(open('$scratch/wanted'))"
run 1 lite "select sonde_open('/nonexistent.sonde')"
says err "/nonexistent.sonde"
run 1 lite "create virtual table temp.p using sonde('$history', nothing)"
says err 'no table "nothing"'
run 1 lite "create virtual table temp.p using sonde"
says err "sonde(FILE, TABLE) is expected"
# A view that somebody put into a database opens no files.
sqlite3 -batch -cmd ".load $build/sonde_sqlite" "$scratch/x.db" "create virtual table p using sonde('$history', 'steal')" \
	"create view v as select * from p"
run 1 sqlite3 -batch -cmd ".load $build/sonde_sqlite" "$scratch/x.db" "select * from v"
says err "unsafe use"
