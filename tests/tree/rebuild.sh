#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# make builds again what would come out otherwise: after a file is deleted, with other flags, for another version; and else nothing, whatever other makes do.
. "$(dirname "$0")/../lib.sh"
unset MAKEFLAGS CFLAGS OPT
mkdir "$scratch/tree"
git ls-files -z -co --exclude-standard Makefile '*.c' '*.h' 'tools/*' | xargs -0 cp --parents -t "$scratch/tree"
cd "$scratch/tree"

build() {
	make --no-print-directory build/libterm.a build/libsonde/version.o "$@" >../made 2>&1 || fail "$(tail -5 ../made)"
}
compiled() { grep -c -- ' -c -o ' ../made || true; }

build
files=$(compiled)
[ "$files" -ge 5 ] || fail "only $files files were compiled"
build
[ "$(compiled)" = 0 ] || fail "without a change, $(compiled) files were compiled"

# Tests run make beside each other: what another one has not finished is none of this one's.
echo half >build/gen/objects.new
build
[ "$(cat build/gen/objects.new)" = half ] || fail "make takes a file of another make's for its own"
[ "$(compiled)" = 0 ] || fail "beside another make, $(compiled) files were compiled"

# A whole path is the same directory: else the next make linked again what other tests were just about to run.
lists=$(cksum build/gen/objects build/gen/flags)
make -n B="$PWD/build" "$PWD/build/libterm.a" >/dev/null 2>&1 || fail "make does not take a whole path for B"
[ "$(cksum build/gen/objects build/gen/flags)" = "$lists" ] || fail "make takes build's whole path for another directory"

echo 'int once_here; int once_here_too(void); int once_here_too(void) { return once_here; }' >term/once.c
build
[ "$(compiled)" = 1 ] || fail "one file is new, and $(compiled) were compiled"
ar t build/libterm.a | grep -q '^once.o' || fail "the new file is not in the library"
rm term/once.c
build
if ar t build/libterm.a | grep -q '^once.o'; then fail "the deleted file is still in the library"; fi

build VERSION=9.8.7
[ "$(compiled)" = 1 ] || fail "another version, and $(compiled) files were compiled"
grep -aq '9\.8\.7' build/libsonde/version.o || fail "the version is not in what was built"
build VERSION=9.8.7 CFLAGS=-DNOTHING
[ "$(compiled)" = "$files" ] || fail "other CFLAGS, and $(compiled) of $files files were compiled"
build VERSION=9.8.7 CFLAGS=-DNOTHING OPT=-O1
[ "$(compiled)" = "$files" ] || fail "other OPT, and $(compiled) of $files files were compiled"
