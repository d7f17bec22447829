#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# --tracer lttng: which commands LTTng gets, against a stand-in that notes them; what is said where
# LTTng cannot be used.
. "$(dirname "$0")/../lib.sh"
. tests/record/common.sh
sonde=$PWD/$sonde
mkdir "$scratch/bin"
ln -s "$(command -v sleep)" "$scratch/bin/sleep"

run 1 env PATH="$scratch/bin" "$sonde" record --tracer lttng -o "$scratch/none" -- sleep 0
says err "LTTng is not installed: apt install"
[ ! -e "$scratch/none" ] || fail "a run directory was left behind"

cat >"$scratch/bin/modinfo" <<'END'
#!/bin/sh
exit 1
END
cat >"$scratch/bin/lttng" <<'END'
#!/bin/sh
echo "$*" >>"$LOG"
case "$1 $2" in
"list --kernel")
	echo "Kernel events:"
	for e in sched_switch sched_waking irq_softirq_entry kvm_x86_exit kvm_x86_msr timer_hrtimer_start lttng_logger; do
		echo "      $e (loglevel: TRACE_EMERG (0)) (type: tracepoint)"
	done ;;
"list ") echo "  1) sonde-999999999 [active]" ;;
"list sonde-"*) echo "    Discarded events: 7"; echo "    Discarded events: 5" ;;
"create "*)
	for word; do case $word in --output=*) out=${word#--output=} ;; esac; done
	/bin/mkdir -p "$out/kernel" && echo metadata >"$out/kernel/metadata" ;;
"enable-event --kernel")
	case "$*" in *--filter*) [ "${FAIL-}" != filter ] || { echo "Error: no filters" >&2; exit 1; } ;; esac
	[ "${FAIL-}" != events ] || { echo "Error: it went wrong" >&2; exit 1; } ;;
esac
END
chmod +x "$scratch/bin/"*
export LOG=$scratch/log

# What bounds guests' clocks: timers, and of all MSRs that exit the deadlines only.
timers_are_recorded()
{
	grep -qE "^enable-event .*[ ,]timer_hrtimer_start(,|$)" "$scratch/log" || fail "no timers"
	grep -q "^enable-event .* --filter write == 1 && ecx == 1760 kvm_x86_msr$" "$scratch/log" || fail "no deadlines"
	! grep "^enable-event" "$scratch/log" | grep -v filter | grep -q kvm_x86_msr || fail "all MSRs are recorded"
}

if [ ! -e /proc/lttng-logger ]; then
	run 1 env PATH="$scratch/bin" "$sonde" record --tracer lttng -o "$scratch/none" -- sleep 0
	says err "LTTng's kernel modules are not there for this kernel"
	[ ! -e "$scratch/none" ] || fail "a run directory was left behind"
	# A mount of our own shows the file that the modules make.
	touch "$scratch/logger"
	printf '#!/bin/sh\nexit 0\n' >"$scratch/bin/modinfo"
	run 1 env PATH="$scratch/bin" "$sonde" record --tracer lttng -o "$scratch/none" -- sleep 0
	says err "cannot open /proc/lttng-logger"
	[ ! -e "$scratch/none" ] || fail "a run directory was left behind: $(find "$scratch/none")"
	grep -qE "^destroy sonde-[0-9]+$" "$scratch/log" || fail "the session was not removed"
	timers_are_recorded
	rm "$scratch/log"
	run 1 env FAIL=filter PATH="$scratch/bin" "$sonde" record --tracer lttng -o "$scratch/none" -- sleep 0
	says err "kvm_x86_msr is not recorded, which may cost exactness: lttng enable-event: Error: no filters"
	says err "cannot open /proc/lttng-logger" # and it went on
	FAIL=events run 1 env FAIL=events PATH="$scratch/bin" "$sonde" record --tracer lttng -o "$scratch/none" -- sleep 0
	says err "lttng enable-event: Error: it went wrong"
	# In an agent, of whose machine nothing is left then, and nothing of a dead one's.
	dead=/run/sonde-lttng-999999999-XXXXXX
	mkdir -p "$dead/kernel"
	trap 'rm -rf "$dead" "$scratch"' EXIT
	echo a-token-for-tests-0123456789 >"$scratch/token"
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	PATH="$scratch/bin" "$sonde" agent --once --tcp "$port" --token-file "$scratch/token" 2>"$scratch/agent" &
	agent=$!
	wait_for "the agent listens" grep -qs listening "$scratch/agent"
	"$build/agent/gather" "$scratch/gathered" token="$scratch/token" tracer=lttng "vm=tcp:127.0.0.1:$port" \
		</dev/null >"$scratch/out" || fail "gather: $?"
	kill "$agent" 2>/dev/null || true
	says out "cannot open /proc/lttng-logger"
	[ ! -d "$dead" ] || fail "the output of a dead recorder is still there"
	[ -z "$(find /run -maxdepth 1 -name "sonde-lttng-$agent-*")" ] || fail "the agent left its output behind"
	skip "what remains to be tested needs LTTng's kernel modules"
fi

run 0 env PATH="$scratch/bin" "$sonde" record --tracer lttng --format json -o "$scratch/run" -- sleep 0
json 'j["events_lost"] == 12 and j["clock"] == "monotonic" and j["complete"]'
grep -q "^create sonde-[0-9]* --output=/" "$scratch/log" || fail "no session"
grep -q "^destroy sonde-999999999$" "$scratch/log" || fail "a dead recorder's session was not removed"
grep -q "enable-event .*lttng_logger,sched_switch,sched_waking,irq_softirq_entry,kvm_x86_exit" "$scratch/log" || fail "events"
timers_are_recorded
[ "$(grep -oE '^(start|stop|destroy) sonde-[0-9]+' "$scratch/log" | tail -3 | cut -d' ' -f1 | tr '\n' ' ')" = "start stop destroy " ] ||
	fail "not in this order: $(cat "$scratch/log")"
[ -s "$scratch/run/host0/lttng/kernel/metadata" ] || fail "the trace is not in the run"
