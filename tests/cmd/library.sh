#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# libsonde as its users meet it: installed, found by pkg-config, linked both ways, and the worked
# example of docs/examples compiled and run.
. "$(dirname "$0")/../lib.sh"
. tests/cmd/common.sh
need pkg-config
compiler=${CC:-gcc}
need "$compiler"
case $build in
*san*) skip "the sanitized build is not installed" ;;
esac
make_history

make -s install B="$build" DESTDIR="$scratch/root" PREFIX=/opt/sonde >/dev/null
root=$scratch/root/opt/sonde
for file in bin/sonde lib/libsonde.so.0 lib/libsonde.so lib/libsonde.a lib/pkgconfig/libsonde.pc \
	include/sonde/sonde.h share/sonde/python/sonde.py share/bash-completion/completions/sonde; do
	[ -e "$root/$file" ] || fail "$file is not installed"
done

export PKG_CONFIG_PATH=$root/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$scratch/root
flags=$(pkg-config --cflags --libs libsonde)
# shellcheck disable=SC2086 # flags are several words
$compiler -std=c11 -Wall -Wextra -Wpedantic -Werror docs/examples/who_ran.c $flags \
	-o "$scratch/who_ran"
LD_LIBRARY_PATH=$root/lib run 0 "$scratch/who_ran" "$history"
[ "$(grep -c '^+' "$scratch/out")" = 10 ] || fail "the example shows no ten moments"
says out "vm-a-n used"
cp "$scratch/out" "$scratch/shared"
LD_LIBRARY_PATH=$root/lib run 1 "$scratch/who_ran" README.md
says err "README.md"

# From C++, too: every header alone, and an example.
for header in libsonde/include/sonde/*.h; do
	c++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -Ilibsonde/include -x c++ "$header" ||
		fail "C++ does not take $header"
done
# shellcheck disable=SC2086
c++ -std=c++17 -Wall -Wextra -Wpedantic -Werror docs/examples/mode_share.cpp $flags -o "$scratch/mode_share"
LD_LIBRARY_PATH=$root/lib run 0 "$scratch/mode_share" "$history"
says out "CPU 0: "
says out "hypervisor "
LD_LIBRARY_PATH=$root/lib run 1 "$scratch/mode_share" README.md
says err "README.md"

# shellcheck disable=SC2046
$compiler docs/examples/who_ran.c $(pkg-config --cflags libsonde) "$root/lib/libsonde.a" \
	$(PKG_CONFIG_SYSROOT_DIR='' pkg-config --libs --static libsonde | sed 's/-lsonde//') \
	-o "$scratch/static"
run 0 "$scratch/static" "$history"
cmp -s "$scratch/out" "$scratch/shared" || fail "the static library answers differently"

# Only names that begin with sonde_ are shown, and all that the headers declare are there.
nm -D --defined-only "$root/lib/libsonde.so.0" | awk '$2 != "A" {sub(/@.*/, "", $3); print $3}' | sort >"$scratch/shown"
! grep -v '^sonde_' "$scratch/shown" || fail "the shared library shows other names"
nm -g --defined-only "$root/lib/libsonde.a" | awk 'NF == 3 {print $3}' | sort >"$scratch/shown_static"
! grep -v '^sonde_' "$scratch/shown_static" || fail "the static library shows other names"
cat libsonde/include/sonde/*.h | tr '\n' ' ' | grep -oE 'SONDE_API [^;(]*\(' | grep -oE 'sonde_[a-z0-9_]+ ?\($' |
	tr -d ' (' | sort -u >"$scratch/declared"
cmp -s "$scratch/declared" "$scratch/shown" ||
	fail "declared and shown differ: $(diff "$scratch/declared" "$scratch/shown")"

# Every header stands on its own.
for header in "$root"/include/sonde/*.h; do
	echo "#include <sonde/$(basename "$header")>" | $compiler -std=c11 -Wall -Werror \
		-I"$root/include" -fsyntax-only -x c - || fail "$header"
done

# Each function has a comment, and stands in a man page that man(1) has nothing to say about.
if command -v scdoc >/dev/null && command -v man >/dev/null; then
	for page in "$root"/share/man/man3/*.3; do
		MANWIDTH=400 man --warnings -l "$page" 2>>"$scratch/warnings"
	done | grep -E '^   sonde_' | tr -d ' ' | tr ',' '\n' | sort >"$scratch/described"
	[ ! -s "$scratch/warnings" ] || fail "man warns: $(head -1 "$scratch/warnings")"
	sed 's/_sized$//' "$scratch/declared" | sort -u >"$scratch/to_describe"
	grep -v '_get$' "$scratch/to_describe" | comm -23 - "$scratch/described" >"$scratch/undescribed"
	[ ! -s "$scratch/undescribed" ] || fail "no man page has $(tr '\n' ' ' <"$scratch/undescribed")"
fi
