# SPDX-License-Identifier: Apache-2.0
"""Small LTTng traces with whatever times and counts a test wants, for tests that import it."""

import struct
from pathlib import Path

METADATA = """/* CTF 1.8 */
typealias integer {{ size = 32; align = 8; signed = false; }} := u32;
typealias integer {{ size = 32; align = 8; signed = true; }} := i32;
typealias integer {{ size = 64; align = 8; signed = false; }} := u64;
typealias integer {{ size = 64; align = 8; signed = true; }} := i64;
typealias integer {{ size = 8; align = 8; signed = false; encoding = UTF8; }} := char;
trace {{ major = 1; minor = 8; byte_order = le; packet.header := struct {{ u32 magic; u32 stream_id; }}; }};
env {{ hostname = "odd"; domain = "kernel"; sysname = "Linux"; kernel_release = "6.1.0"; tracer_name = "lttng-modules";
 tracer_major = 2; tracer_minor = 13; tracer_patchlevel = 9; }};
clock {{ name = "monotonic"; freq = 1000000000; offset_s = {offset_s}; offset = {offset}; }};
typealias integer {{ size = 64; align = 8; signed = false; map = clock.monotonic.value; }} := stamp;
stream {{ id = 0; event.header := struct {{ u32 id; stamp timestamp; }};
 packet.context := struct {{ stamp timestamp_begin; stamp timestamp_end; u64 content_size; u64 packet_size;
  u64 packet_seq_num; u64 events_discarded; u32 cpu_id; }}; }};
event {{ name = "sched_switch"; id = 0; stream_id = 0; fields := struct {{ char _prev_comm[16]; i32 _prev_tid;
 i32 _prev_prio; i64 _prev_state; char _next_comm[16]; i32 _next_tid; i32 _next_prio; }}; }};
event {{ name = "kvm_x86_entry"; id = 1; stream_id = 0; fields := struct {{ u32 _vcpu_id; }}; }};
event {{ name = "kvm_x86_exit"; id = 2; stream_id = 0; fields := struct {{ u32 _exit_reason; u64 _guest_rip; u32 _isa; }}; }};
event {{ name = "irq_handler_entry"; id = 3; stream_id = 0; fields := struct {{ i32 _irq; }}; }};
event {{ name = "irq_handler_exit"; id = 4; stream_id = 0; fields := struct {{ i32 _irq; i32 _ret; }}; }};
event {{ name = "sched_waking"; id = 5; stream_id = 0; fields := struct {{ char _comm[16]; i32 _tid; i32 _prio; i32 _target_cpu; }}; }};
event {{ name = "sched_process_exec"; id = 6; stream_id = 0; fields := struct {{ i32 _tid; i32 _old_tid; }}; }};
event {{ name = "cgroup_attach_task"; id = 7; stream_id = 0; fields := struct {{ i32 _dst_root; u64 _dst_id; i32 _pid; }}; }};
"""
HEADER = struct.Struct("<II")
CONTEXT = struct.Struct("<QQQQQQI")


def comm(tid):
    return (f"task-{tid}" if tid else "swapper/0").encode().ljust(16, b"\0")


def switch(t, prev, following, state=1):
    return t, 0, comm(prev) + struct.pack("<iiq", prev, 20, state) + comm(following) + struct.pack("<ii", following, 20)


def entry(t, vcpu=0):
    return t, 1, struct.pack("<I", vcpu)


def leave(t, reason=0x78):
    return t, 2, struct.pack("<IQI", reason, 0xffffffff81000000, 2)


def irq(t, number=5):
    return t, 3, struct.pack("<i", number)


def irq_end(t, number=5):
    return t, 4, struct.pack("<ii", number, 1)


def waking(t, tid):
    return t, 5, comm(tid) + struct.pack("<iii", tid, 20, 0)


def packet(cpu, events, seq=0, discarded=0, begin=None, end=None):
    body = b"".join(struct.pack("<IQ", kind, t & 2**64 - 1) + data for t, kind, data in events)
    bits = (HEADER.size + CONTEXT.size + len(body)) * 8
    first = events[0][0] if begin is None else begin
    last = events[-1][0] if end is None else end
    return HEADER.pack(0xC1FC1FC1, 0) + CONTEXT.pack(
        first & 2**64 - 1, last & 2**64 - 1, bits, bits, seq, discarded & 2**64 - 1, cpu) + body


def write(folder, *streams, offset=0, offset_s=0, more=""):
    """Each stream is the bytes of its packets; @more: declarations of further events."""
    folder = Path(folder)
    folder.mkdir(parents=True)
    (folder / "metadata").write_text(METADATA.format(offset=offset, offset_s=offset_s) + more)
    for i, data in enumerate(streams):
        (folder / f"ch_{i}").write_bytes(data)
    return folder
