# SPDX-License-Identifier: Apache-2.0
# For the script tests of this folder, after lib.sh: $sonde, and a history of the shipped samples
# that is made once per test.
sonde=$build/sonde
[ -x "$sonde" ] || skip "$sonde is not built"

# run STATUS COMMAND...: runs it, keeps its output in $scratch/out and $scratch/err, and checks the
# exit status.
run() {
	local want=$1 status=0
	shift
	"$@" >"$scratch/out" 2>"$scratch/err" || status=$?
	[ "$status" = "$want" ] || {
		cat "$scratch/out" "$scratch/err"
		fail "exit status $status, not $want: $*"
	}
}

# says FILE TEXT: the file has this text in it.
says() {
	grep -qF -- "$2" "$scratch/$1" || {
		cat "$scratch/$1"
		fail "\"$2\" is missing"
	}
}

# not_says FILE TEXT
not_says() {
	! grep -qF -- "$2" "$scratch/$1" || fail "\"$2\" should not be there"
}

# json EXPRESSION: a Python expression over the output as JSON, named j, that must be true.
json() {
	python3 - "$scratch/out" "$1" <<'END' || fail "not true: $1"
import json, sys
j = json.load(open(sys.argv[1]))
sys.exit(0 if eval(sys.argv[2]) else 1)
END
}

# make_history: analyses the LTTng sample into $scratch/run.sonde.
make_history() {
	"$sonde" analyze -q samples/lttng -o "$scratch/run.sonde" >/dev/null
	history=$scratch/run.sonde
}
