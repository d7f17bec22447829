# SPDX-License-Identifier: Apache-2.0
# perf script -s: every tracepoint's sample as a line of JSON, in perf's own reading of its fields.
import json


def plain(value):
    if isinstance(value, (bytes, bytearray)):
        return list(value)
    return value


def trace_unhandled(name, _context, fields, _sample=None):
    system, _, event = name.partition("__")
    own = {k: plain(v) for k, v in fields.items() if not k.startswith("common_")}
    print(json.dumps([fields["common_s"] * 10**9 + fields["common_ns"], fields["common_cpu"], fields["common_pid"], system, event, own]))
