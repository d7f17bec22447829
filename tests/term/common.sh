# SPDX-License-Identifier: Apache-2.0
# For tests of what needs a terminal, after lib.sh and tests/cmd/common.sh: a terminal (tmux) of the
# test's own, keys that are pressed in it, and what is on its screen.
need tmux
export LC_ALL=C.UTF-8
socket=$scratch/tmux

on_terminal() {
	tmux -S "$socket" "$@"
}
trap 'tmux -S "$socket" kill-server 2>/dev/null || true; rm -rf "$scratch"' EXIT

# terminal COLUMNS ROWS COMMAND: a new terminal in which the shell runs COMMAND; its exit status is
# then on the screen, as "exit N".
terminal() {
	on_terminal kill-server 2>/dev/null || true
	while [ -e "$socket" ] && on_terminal info >/dev/null 2>&1; do sleep 0.05; done
	on_terminal -f /dev/null new-session -d -s t -x "$1" -y "$2" \
		"cd '$PWD'; before=\$(stty -g); $3; echo exit \$?; [ \"\$(stty -g)\" = \"\$before\" ] && echo as before; exec cat"
}

keys() {
	on_terminal send-keys -t t "$@"
}

screen() {
	on_terminal capture-pane -p -t t
}

# Until the screen says so, 60 s at most: a test may share the machine with much else.
wait_for() {
	local n
	for n in $(seq 600); do
		"$@" && return
		sleep 0.1
	done
	screen
	fail "never: $*"
}

screen_has() {
	screen | grep -qF -- "$1"
}
screen_lacks() {
	! screen_has "$1"
}
sees() {
	wait_for screen_has "$1"
}
sees_no_longer() {
	wait_for screen_lacks "$1"
}

# ends STATUS: the program has ended, has given the screen back, and the terminal is as it was.
ends() {
	sees "exit $1"
	sees "as before"
	[ "$(on_terminal display -p -t t '#{alternate_on} #{cursor_flag} #{mouse_any_flag}')" = "0 1 0" ] ||
		fail "the screen is not as it was"
}
