#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What libsonde.so shows to programs is what libsonde/libsonde.abi says: a change is made on purpose.
. "$(dirname "$0")/../lib.sh"
need abidw
need abidiff
[ "$(uname -m)" = x86_64 ] || skip "the stored interface is x86-64's"
case $build in
build) ;;
*) skip "the stored interface is the plain build's" ;;
esac
readelf -p .comment build/libsonde.so.0 | grep -q GCC || skip "the stored interface is gcc's"
tools/abi >"$scratch/said" || fail "$(cat "$scratch/said")"

# Negative controls: a function less, one more, and a struct of another length.
stored=libsonde/libsonde.abi
mkdir -p "$scratch/tools" "$scratch/build" "$scratch/libsonde"
cp tools/abi "$scratch/tools"
cp build/libsonde.so.0 "$scratch/build"
cp -r libsonde/include "$scratch/libsonde"
changed()
{
	"$scratch/tools/abi" >"$scratch/said" && fail "not seen: $1"
	grep -q "$2" "$scratch/said" || fail "$1: $(cat "$scratch/said")"
}
sed "/<elf-symbol name='sonde_version'/d" $stored >"$scratch/$stored"
changed "one more function" "1 Added function\|sonde_version"
sed "s/<elf-symbol name='sonde_version'/<elf-symbol name='sonde_gone'/" $stored >"$scratch/$stored"
changed "a function less" "sonde_gone"
sed "/<class-decl name='sonde_interval'/s/size-in-bits='192'/size-in-bits='128'/" $stored >"$scratch/$stored"
changed "a longer struct" "sonde_interval"
