#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What users read has the words of docs/glossary.md and short sentences, and the check that says so sees it when not.
. "$(dirname "$0")/../lib.sh"

tools/check-words

tree=$scratch/tree
mkdir -p "$tree/docs/man" "$tree/docs/formats" "$tree/cmd" "$tree/web/src"

expect_offence() { # FILE TEXT WHAT
	printf '%b' "$2" >"$tree/$1"
	tools/check-words "$tree" >"$scratch/out" && fail "not noticed: $3"
	grep -q "^$1:[0-9]*: " "$scratch/out" || fail "not named: $3"
	rm "$tree/$1"
}

long="$(printf 'word %.0s' {1..26})"
expect_offence docs/a.md "# A vCPU\n\nIt was ready to run.\n" "a word that is gone"
expect_offence docs/formats/a.md "# A vCPU\n\nIt was ready to run.\n" "one in the text of a format"
expect_offence docs/man/a.1.scd "a(1)\n\n\tIt was ready to run.\n" "one in a manual page"
expect_offence cmd/a.c 'puts("it was ready "\n     "to run");\n' "one in two literals"
expect_offence web/src/a.ts 'const s = `it was ready to run for ${t}`;\n' "one on the page"
expect_offence docs/a.md "Short. $long\n" "26 words"
expect_offence docs/a.md "| a | $long |\n" "26 words in a cell"
expect_offence docs/man/a.1.scd "*-a*\n\t$long\n" "26 words in a manual page"
expect_offence docs/glossary.md "$long\n" "26 words in the glossary"

cat >"$tree/docs/glossary.md" <<'END'
| Before | Now |
|---|---|
| ready to run | runnable |
END
cat >"$tree/docs/a.md" <<'END'
`ready to run` is a value. [A link of more words than one](a.md) is one word,
and so is `a code span with many words in it`: one two three four five six.

	ready to run: what is indented is free

```
ready to run: what is fenced is free
```
END
cat >"$tree/cmd/a.c" <<'END'
/* A thread is ready to run. */
if (strstr(line, "ready to run")) /* words: another tracer's */
	tell();
END
tools/check-words "$tree" || fail "code spans, examples, comments and what is let through are free"
