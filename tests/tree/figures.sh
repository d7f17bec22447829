#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# No figure is made in a way that can go wrong, and the check that says so sees it when one is.
. "$(dirname "$0")/../lib.sh"

tools/check-figures

expect_offence() { # TEXT WHAT
	mkdir -p "$scratch/tree/analysis"
	printf '%b' "$1" >"$scratch/tree/analysis/a.c"
	tools/check-figures "$scratch/tree" >"$scratch/out" && fail "not noticed: $2"
	grep -q "^analysis/a.c:" "$scratch/out" || fail "not named: $2"
}

expect_offence 'void f(void)\n{\n\tstruct sonde_loss l;\n\tadd(l.end - l.begin);\n}\n' "the length of a loss"
expect_offence 'ns_t f(const struct milestone *m)\n{\n\treturn m->at - m->since;\n}\n' "of a milestone"
expect_offence 'ns_t f(ns_t t)\n{\n\tstruct sonde_mark m = {0};\n\treturn t - m.t;\n}\n' "since a mark"
expect_offence 'ns_t f(run)\n{\n\treturn run_number(run, t, row(3), 5) - begin;\n}\n' "since a cell"
expect_offence 'x = (int64_t)((double)a / (double)b * 1e6);\n' "a share by way of a fraction"
expect_offence 'x = llround(share * 1e6);\n' "a fraction that is rounded"

cat >"$scratch/tree/analysis/a.c" <<'END'
/* l.end - l.begin, llround(x) */
static const char *text = "(int64_t)(x * 1e9)";
ns_t f(const struct sonde_loss *l, const struct sonde_interval *i)
{
	return ns_since(l->end, l->begin) + i->end - i->begin; /* intervals are in order */
}
ns_t g(struct sonde_mark m)
{
	return m.t - 1 - m.t; /* figure: the same moment */
}
END
tools/check-figures "$scratch/tree" || fail "comments, texts, what is in order and what is let through are free"
