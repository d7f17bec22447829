#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# --help, the manual pages, the completion and the JSON document say what the program does.
. "$(dirname "$0")/../lib.sh"
. tests/cmd/common.sh

run 0 "$sonde" --help
says out "sonde COMMAND [OPTION...]"
commands=$(sed -n '/^Commands/,/^$/s/^  \([a-z]*\) .*/\1/p' "$scratch/out")
[ "$(echo "$commands" | wc -w)" -ge 8 ] || fail "commands: $commands"
run 2 "$sonde"
run 2 "$sonde" nonsense
says err 'there is no command "nonsense"'
run 2 "$sonde" --nonsense
says err 'unknown option --nonsense before a command'
run 0 "$sonde" --version
grep -qE '^sonde [0-9]+\.[0-9]+\.[0-9]+( \(commit [0-9a-f]{12}\))?$' "$scratch/out" || fail "--version"
run 2 "$sonde" help nosuch
says err 'there is no command "nosuch"'
run 0 "$sonde" help report
says out "--table NAME"

"$sonde" --completion bash >"$scratch/completion"
bash -n "$scratch/completion"

# complete WORD...: what the shell offers for the last word.
complete_words() {
	bash -c '. "$1"; shift
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _sonde; echo "${COMPREPLY[@]}"' \
		bash "$scratch/completion" "$@"
}
[ "$(complete_words sonde rep)" = report ] || fail "completion of a command"
[ "$(complete_words sonde-agent --vs)" = --vsock ] || fail "completion of sonde-agent"
[ "$(complete_words sonde report -t preemption_v)" = preemption_victim ] || fail "completion of a section"
[ "$(complete_words sonde timeline --rows vc)" = vcpus ] || fail "completion of rows"
[ "$(complete_words sonde report wak)" = wakeup ] || fail "completion of a topic"
[ -z "$(complete_words sonde why wak)" ] || fail "a topic is offered to sonde why"
mkdir "$scratch/files" "$scratch/files/dir"
touch "$scratch/files/a.sonde" "$scratch/files/a.txt"
[ "$(complete_words sonde report "$scratch/files/")" = "$scratch/files/a.sonde $scratch/files/dir" ] ||
	fail "completion of a history"
[ "$(complete_words sonde report --color al)" = always ] || fail "completion of a choice"
[ "$(complete_words sonde report --format c)" = csv ] || fail "completion of report's formats"
[ -z "$(complete_words sonde why --format c)" ] || fail "completion of formats that why does not have"
[ "$(complete_words sonde agent --tracer h)" = hypertrace ] || fail "completion of the agent's tracers"
[ "$(complete_words sonde record --tracer l)" = lttng ] || fail "completion of record's tracers"

for command in $commands; do
	run 0 "$sonde" "$command" --help
	page=docs/man/sonde-$command.1.scd
	[ -f "$page" ] || fail "there is no $page"
	options=$(grep -oE '(^  |, )--[a-z0-9-]+' "$scratch/out" | tr -d ' ,')
	[ -n "$options" ] || fail "$command: no options"
	for option in $options; do
		grep -q -- "\\*$option\\*" "$page" || fail "$page does not describe $option"
		complete_words sonde "$command" "$option" | grep -qw -- "$option" ||
			fail "$command $option is not completed"
	done
	for option in $(grep -oE '^\*(-[a-zA-Z]\*, \*)?--[a-z0-9-]+' "$page" | grep -oE -- '--[a-z0-9-]+'); do
		grep -qw -- "$option" "$scratch/out" || fail "$page describes $option: there is none"
	done
	grep -q "sonde-$command" docs/man/sonde.1.scd || fail "sonde.1 lacks $command"
	run 2 "$sonde" "$command" --nonsense
	says err "unknown option --nonsense; see sonde $command --help"
done

if command -v scdoc >/dev/null; then
	for page in docs/man/*.scd; do
		scdoc <"$page" >/dev/null || fail "$page"
	done
fi

# Every analysis and every column of it is in the document, with its type and meaning.
"$sonde" report --table help --format json >"$scratch/out"
python3 - "$scratch/out" docs/formats/json.md <<'END'
import json, sys
document = open(sys.argv[2]).read()
for name, analysis in json.load(open(sys.argv[1])).items():
    section = document.split(f"\n### {name}\n", 1)
    assert len(section) == 2, f"no section for {name}"
    section = section[1].split("\n### ")[0]
    for column, what in analysis["columns"].items():
        row = f"| `{column}` | {what['type']} | {what['help']} |"
        assert row in section, f"{name}: {row}"
END
