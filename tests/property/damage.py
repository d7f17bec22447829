# SPDX-License-Identifier: Apache-2.0
"""Copies of recordings from which something is missing: packets, pages, bytes, streams, traces.

    recording = Recording.of("lttng", folder)
    what = recording.damage(random.Random(seed), target)     # what was done, as a list of texts
"""

import bisect
import os
import re
import shutil
import struct
from pathlib import Path

PACKET_MAGIC = 0xC1FC1FC1
# What LTTng writes in front of each packet: magic, UUID, stream, instance; times, sizes, number.
PACKET_SIZE_AT = 56
DAT_MAGIC = b"\x17\x08\x44tracing6\0"
MISSED_EVENTS = 1 << 31
PAGE_HEAD_BYTES = 16
STAT = re.compile(rb"CPU: (\d+)\n[^\0]*?oldest event ts: *([\d.]+)\n[^\0]*?read events: *(\d+)\n")
BLOCK_BYTES = 4096
PERF_SAMPLE, PERF_COMPRESSED = 9, 81
PERF_BESIDE = 32
PERF_ID_AT, PERF_TIME_AT, PERF_CPU_AT = 8, 32, 40  # in the samples of the recordings used here
TOGETHER_NS = 100_000_000  # see COVER_ENDS_TOGETHER_NS


# What a disk, or a copy, leaves that has the right bytes in the wrong place.
MISPLACED = ["swapped", "repeated", "stale", "torn", "of another CPU", "of another trace"]
SECTOR_BYTES = 512
NEAR = 3  # units: what is written together comes to stand in another's place


def misplace(rng, own, others, how):
    """Of a stream's units (pages, packets) some are not where they belong.  @others: (time, unit) of those
    that do not belong to the stream; mostly one of about the same time gets in."""
    i = rng.randrange(len(own))
    j = rng.choice([n for n in range(max(0, i - NEAR), min(len(own), i + NEAR + 1)) if n != i])
    if how == "swapped":
        own[i], own[j] = own[j], own[i]
    elif how == "repeated":
        own[j] = own[i]
    elif how == "inserted":
        own.insert(j, own[i])
    elif how == "stale":
        nr = min(rng.choice([1, 2, 4, 8]), len(own) // 2)
        i = rng.randrange(len(own) - 2 * nr + 1)
        j = rng.randrange(i + nr, len(own) - nr + 1)
        own[j:j + nr] = own[i:i + nr]
    elif how == "torn":
        at = SECTOR_BYTES * rng.randrange(1, 8)
        own[i] = own[i][:at] + own[j][at:len(own[i])].ljust(max(len(own[i]) - at, 0), b"\0")
    else:
        time = time_of(own[i]) if rng.random() < 0.7 else rng.choice(others)[0]
        own[i] = min(others, key=lambda other: abs(other[0] - time))[1]
    return f"{i}, {j} of {len(own)}"


def time_of(unit):
    """When a packet or a page begins."""
    return struct.unpack_from("<Q", unit, PACKET_SIZE_AT - 24 if is_packet(unit) else 0)[0]


def is_packet(unit):
    return struct.unpack_from("<I", unit)[0] == PACKET_MAGIC


def timed(units):
    return [(time_of(unit), unit) for unit in units]


class Ctf:
    """A directory of LTTng's."""

    def __init__(self, folder):
        self.folder = folder
        self.streams = sorted(p.name for p in folder.iterdir() if p.name.startswith("ch"))

    def packets(self, name):
        data, at, list_ = (self.folder / name).read_bytes(), 0, []
        while at + PACKET_SIZE_AT + 8 <= len(data):
            size = struct.unpack_from("<Q", data, at + PACKET_SIZE_AT)[0] // 8
            if struct.unpack_from("<I", data, at)[0] != PACKET_MAGIC or not size:
                break
            list_.append((at, size))
            at += size
        return list_

    def kinds(self):
        return ["packets", "packets, index", "packets zeroed", "bytes zeroed", "bytes removed",
                "bytes overwritten", "truncated", "stream", "trace"]

    def units(self, name):
        data = (self.folder / name).read_bytes()
        return [data[at:at + size] for at, size in self.packets(name)]

    def misplaced(self):
        if not any(len(self.packets(name)) > 1 for name in self.streams):
            return []
        return [f"packets {how}" for how in [*MISPLACED, "inserted"] if self.others(how)] + \
            ["file of another session", "stamps altered"]

    def others(self, how, name=None):
        """Streams whose packets do not belong into the stream of that name."""
        if how == "of another CPU":
            return [(self, stream) for stream in self.streams if stream != name] if len(self.streams) > 1 else []
        return [(trace, stream) for trace in self.beside for stream in trace.streams]

    def misplace(self, rng, target, kind):
        how = kind.removeprefix("packets ")
        name = rng.choice([name for name in self.streams if len(self.packets(name)) > 1])
        own = self.units(name)
        others = [unit for trace, stream in self.others(how, name) for unit in trace.units(stream)]
        done = misplace(rng, own, timed(others), how)
        (target / name).write_bytes(b"".join(own))
        if how == "inserted" or rng.random() < 0.8:
            (target / "index" / f"{name}.idx").unlink(missing_ok=True)
        return f"{name}: {done}"

    def foreign_file(self, rng, target):
        """A file of another session comes to stand in the folder: beside its own, or in the place of one."""
        trace, stream = rng.choice(self.others("of another trace"))
        name = rng.choice([*self.streams, "channel9_0"])
        shutil.copy(trace.folder / stream, target / name)
        (target / "index" / f"{name}.idx").unlink(missing_ok=True)
        return f"{trace.folder.name}/{stream} as {name}"

    def alter_stamp(self, rng, target):
        """When one packet begins, or ends, is not what it says."""
        name = rng.choice(self.streams)
        at, _ = rng.choice(packets := self.packets(name))
        place = at + PACKET_SIZE_AT - rng.choice([24, 24, 16])
        data = bytearray((target / name).read_bytes())
        time, = struct.unpack_from("<Q", data, place)
        by = rng.choice([-1, 1]) * int(10 ** rng.uniform(3, 10))
        struct.pack_into("<Q", data, place, max(time + by, 0))
        (target / name).write_bytes(data)
        if index := rng.random() < 0.5:
            (target / "index" / f"{name}.idx").unlink(missing_ok=True)
        return f"{name}: {place - at} of packet at {at} of {len(packets)} by {by}{', no index' if index else ''}"

    def packet_ends(self, name):
        data = (self.folder / name).read_bytes()
        return [struct.unpack_from("<Q", data, at + PACKET_SIZE_AT - 16)[0] for at, _ in self.packets(name)]

    def rotations(self):
        """Where the session could have been rotated: of each stream so many packets, that end at about one time."""
        ends = {name: self.packet_ends(name) for name in self.streams}
        longest = max(ends.values(), key=len, default=[])
        places = [{name: min(range(len(of)), key=lambda i, of=of: abs(of[i] - end)) + 1
                   for name, of in ends.items() if of} for end in longest]
        return [place for place, end in zip(places, longest)
                if all(abs(ends[name][nr - 1] - end) < TOGETHER_NS for name, nr in place.items())]

    def chunk(self, rng, target):
        """One chunk of a rotated session, the others are not given."""
        places = [dict.fromkeys(self.streams, 0), *self.rotations()]
        first = rng.randrange(len(places) - 1)
        last = rng.randrange(first + 1, len(places) - (first == 0))
        for name in self.streams:
            begin, end = places[first].get(name, 0), places[last].get(name, 0)
            kept = self.packets(name)[begin:end]
            data = (target / name).read_bytes()
            (target / name).write_bytes(b"".join(data[at:at + size] for at, size in kept))
            (target / "index" / f"{name}.idx").unlink(missing_ok=True)
        return f"{first}..{last} of {len(places) - 1}"

    def parts(self):
        return ["chunk"] if len(self.rotations()) > 1 else []

    def cut_packets(self, rng, target, name, kind):
        list_ = self.packets(name)
        # All of them: that is the stream.
        nr = min(max(len(list_) - 1, 1), rng.choice([1, 1, 1, 2, 3, 5]))
        first = rng.randrange(len(list_) - nr + 1)
        begin, end = list_[first][0], sum(list_[first + nr - 1])
        data = bytearray((target / name).read_bytes())
        index = target / "index" / f"{name}.idx"
        if kind == "packets zeroed":
            data[begin:end] = bytes(end - begin)
        else:
            del data[begin:end]
            if kind == "packets":
                index.unlink(missing_ok=True)
            elif index.exists():
                cut_index(index, first, nr, end - begin)
        (target / name).write_bytes(data)
        return f"{first}+{nr} of {len(list_)}"

    def keep_hardly_any(self, target):
        for name in self.streams:
            (target / "index" / f"{name}.idx").unlink(missing_ok=True)
            with open(target / name, "r+b") as file:
                file.truncate(sum(self.packets(name)[0]) if self.packets(name) else 0)

    def damage(self, rng, target, kind):
        if kind == "chunk":
            return self.chunk(rng, target)
        if kind in self.misplaced():
            by = {"file of another session": self.foreign_file, "stamps altered": self.alter_stamp}
            return by[kind](rng, target) if kind in by else self.misplace(rng, target, kind)
        names = self.streams
        if kind.startswith("packets"):
            names = [name for name in names if len(self.packets(name)) > 1] or names
        name = rng.choice(names)
        file = target / name
        if kind.startswith("packets"):
            return f"{name}: {self.cut_packets(rng, target, name, kind)}"
        if kind == "stream":
            file.unlink()
            (target / "index" / f"{name}.idx").unlink(missing_ok=True)
            return name
        data = bytearray(file.read_bytes())
        begin, end = span(rng, len(data))
        if kind == "bytes overwritten":
            overwrite(data, rng, begin, end, 0, len(data))
            file.write_bytes(data)
            return f"{name}: {begin}..{end}"
        return f"{name}: {cut_bytes(file, data, begin, end, kind)}"


def page_events(data, page):
    """See source/dat/page.h."""
    commit = struct.unpack_from("<I", data, page + 8)[0] & 0x7FFFFFF
    at, end, nr = page + PAGE_HEAD_BYTES, page + PAGE_HEAD_BYTES + commit, 0
    while at + 8 <= end:
        word, next_word = struct.unpack_from("<II", data, at)
        kind = word & 31
        if kind == 29 and not word >> 5:
            break
        nr += kind < 29
        at += 4 + (4 if kind > 29 else 4 * kind if 0 < kind < 29 else next_word)
    return nr


def cut_index(index, first, nr, gone_bytes):
    """An index without these packets: what stands behind them stands earlier."""
    data = index.read_bytes()
    each = struct.unpack_from(">I", data, 12)[0]
    head, rows = data[:16], [data[at:at + each] for at in range(16, len(data), each)]
    rest = [struct.pack(">Q", struct.unpack_from(">Q", row)[0] - gone_bytes) + row[8:]
            for row in rows[first + nr:]]
    index.write_bytes(head + b"".join(rows[:first] + rest))


def span(rng, length):
    """From one page to a third of it all, small ones more often."""
    size = min(length, int(4096 * 2 ** rng.uniform(0, 8)), max(4096, length // 3))
    begin = rng.randrange(length - size + 1)
    return begin, begin + size


def overwrite(data, rng, begin, end, first, last, unit=BLOCK_BYTES):
    """Other bytes of [first, last) stand there.  Not so that units follow each other: of those
    nothing tells that they are not where they belong, if only their times follow those before."""
    other = first + rng.randrange(last - first - (end - begin) + 1)
    if (other - begin) % unit == 0:
        other += 1 if other < begin else -1
    data[begin:end] = data[other:other + end - begin]


def cut_bytes(file, data, begin, end, kind):
    if kind == "bytes zeroed":
        data[begin:end] = bytes(end - begin)
    elif kind == "bytes removed":
        del data[begin:end]
    else:
        del data[begin:]
    file.write_bytes(data)
    return f"{begin}..{end}"


class Dat:
    """A trace.dat of version 6, not packed."""

    def __init__(self, file):
        self.file = file
        data = file.read_bytes()
        assert data.startswith(DAT_MAGIC), file
        self.page_bytes = struct.unpack_from("<I", data, len(DAT_MAGIC) + 2)[0]
        self.places_at = data.index(b"flyrecord\0") + 10
        self.places = []
        at = self.places_at
        while not self.places or at + 16 <= self.places[0][0]:
            place = struct.unpack_from("<QQ", data, at)
            if not place[0] or (self.places and place[0] < self.places[-1][0]):
                break
            self.places.append(place)
            at += 16

    def kinds(self):
        return ["pages", "pages, not said", "pages, not said nor counted", "pages zeroed", "bytes zeroed", "bytes removed",
                "bytes overwritten", "truncated", "stream", "trace"]

    def misplaced(self):
        return [f"pages {how}" for how in MISPLACED if self.others(how)]

    def others(self, how, cpu=None):
        """The pages that do not belong to the CPU."""
        if how == "of another CPU":
            return [page for nr in range(len(self.places)) if nr != cpu for page in self.units(nr)] \
                if sum(place[1] > 0 for place in self.places) > 1 else []
        return [page for trace in self.beside if trace.page_bytes == self.page_bytes
                for nr in range(len(trace.places)) for page in trace.units(nr)]

    def units(self, cpu):
        data = self.file.read_bytes()
        at, length = self.places[cpu]
        return [data[page:page + self.page_bytes] for page in range(at, at + length, self.page_bytes)]

    def misplace(self, rng, data, kind):
        how = kind.removeprefix("pages ")
        cpu = rng.choice([cpu for cpu, place in enumerate(self.places) if place[1] > self.page_bytes])
        own = self.units(cpu)
        done = misplace(rng, own, timed(self.others(how, cpu)), how)
        at, length = self.places[cpu]
        data[at:at + length] = b"".join(own)
        return f"cpu{cpu}: {done}"

    def cut_pages(self, rng, data, cpu, kind):
        at, length = self.places[cpu]
        pages = length // self.page_bytes
        # Of pages that nothing follows nothing tells; and all of them are the stream.
        last = pages if kind.startswith("pages, not said") else pages - 1
        nr = min(last, rng.choice([1, 1, 2, 4, 8, 16]))
        # A file that has the smaller part of what was counted is taken for an excerpt.
        if kind == "pages, not said":
            nr = min(nr, max(pages // 3, 1))
        first = rng.randrange(last - nr + 1)
        begin, size = at + first * self.page_bytes, nr * self.page_bytes
        if kind == "pages zeroed":
            data[begin:begin + size] = bytes(size)
        else:
            rest = data[begin + size:at + length]
            data[begin:at + length] = rest + bytes(size)
            struct.pack_into("<QQ", data, self.places_at + 16 * cpu, at, length - size)
            if kind == "pages, not said nor counted":
                self.count_nothing(data)
            if kind == "pages" and rest:
                commit = struct.unpack_from("<I", data, begin + 8)[0]
                struct.pack_into("<I", data, begin + 8, commit | MISSED_EVENTS)
        return f"cpu{cpu}: {first}+{nr} of {pages}"

    def events(self, data, cpu):
        """How many events the CPU's pages have."""
        at, length = self.places[cpu]
        return sum(page_events(data, page) for page in range(at, at + length, self.page_bytes))

    def count_whole(self):
        """The kernel's counters as of a recording of all that is here, and of no more.  Of an excerpt, what a CPU had behind its last
        page is not here: each was read for longer.  That of one CPU ends where its events do."""
        data = bytearray(self.file.read_bytes())
        stats = list(STAT.finditer(data))
        excerpt = len(stats) > 1 and any(int(stat[3]) > self.events(data, int(stat[1])) for stat in stats)
        for stat in stats:
            at, length = self.places[int(stat[1])]
            last, = struct.unpack_from("<Q", data, at + max(length - self.page_bytes, 0))
            oldest = f"{last // 10**9}.{last // 1000 % 10**6:06}" if b"." in stat[2] else str(last)
            for nr, value in ((2, stat[2].decode() if excerpt else oldest), (3, str(self.events(data, int(stat[1]))))):
                data[stat.start(nr):stat.end(nr)] = value.rjust(len(stat[nr])).encode()
                assert len(value) <= len(stat[nr])
        self.file.write_bytes(data)

    def count_nothing(self, data):
        for stat in list(STAT.finditer(data)):
            data[stat.start(3):stat.end(3)] = b"0".rjust(len(stat[3]))

    def keep_hardly_any(self, target):
        data = bytearray(target.read_bytes())
        for cpu, (at, length) in enumerate(self.places):
            struct.pack_into("<QQ", data, self.places_at + 16 * cpu, at,
                             min(length, self.page_bytes))
        target.write_bytes(data)

    def damage(self, rng, target, kind):
        data = bytearray(target.read_bytes())
        if kind in self.misplaced():
            done = self.misplace(rng, data, kind)
            target.write_bytes(data)
            return done
        least = self.page_bytes if kind.startswith("pages") else 0
        cpu = rng.choice([cpu for cpu, place in enumerate(self.places) if place[1] > least])
        at, length = self.places[cpu]
        if kind.startswith("pages"):
            done = self.cut_pages(rng, data, cpu, kind)
        elif kind == "stream":
            struct.pack_into("<QQ", data, self.places_at + 16 * cpu, at, 0)
            done = f"cpu{cpu}"
        elif kind == "bytes overwritten":
            begin, end = span(rng, length)
            overwrite(data, rng, at + begin, at + end, at, at + length)
            done = f"cpu{cpu}: {begin}..{end}"
        else:
            begin, end = span(rng, length)
            # Without whole pages what is left may hold together, and then nothing tells.
            if kind == "bytes removed" and (end - begin) % self.page_bytes == 0:
                end -= 1
            return f"cpu{cpu}: {cut_bytes(target, data, at + begin, at + end, kind)}"
        target.write_bytes(data)
        return done


class Perf:
    """A perf.data file.  What stands behind the records is kept, wherever it comes to stand."""

    HEADER = struct.Struct("<8sQQQQQQ")  # magic, size, attribute's size; attributes; records
    FLAGS_AT = 72  # which features there are: a place and a size of each stand behind the records

    def __init__(self, file):
        self.file = file
        self.data = data = file.read_bytes()
        *_, self.at, self.length = self.HEADER.unpack_from(data)
        self.packed = any(struct.unpack_from("<I", data, at)[0] == PERF_COMPRESSED for at in self.borders(data))
        self.own = {}  # each CPU's samples

    def kinds(self):
        return ["bytes zeroed", "bytes removed", "bytes overwritten", "records removed, not said",
                "trace"]

    def misplaced(self):
        if self.packed:
            return [f"compressed records {how}" for how in ("removed", "doubled", "swapped")]
        return ["CPUs altered", "times altered", "numbers altered", "records swapped"]

    def misplace(self, rng, data, kind):
        """Of some samples, one behind the other, a field is another; or they stand in another order."""
        if self.packed:
            return self.misplace_packed(rng, data, kind)
        samples = [at for at in self.borders(data) if struct.unpack_from("<I", data, at)[0] == PERF_SAMPLE]
        nr = rng.choice([1, 1, 5, 50])
        first = rng.randrange(len(samples) - nr)
        for at in samples[first:first + nr]:
            if kind == "CPUs altered":
                cpu, = struct.unpack_from("<I", data, at + PERF_CPU_AT)
                struct.pack_into("<I", data, at + PERF_CPU_AT, not cpu)
            elif kind == "times altered":
                self.alter_time(rng, data, samples, at)
            elif kind == "numbers altered":
                data[at + PERF_ID_AT:at + PERF_ID_AT + 8] = data[samples[0] + PERF_ID_AT:samples[0] + PERF_ID_AT + 8]
        if kind == "records swapped":
            begin, end, next_ = samples[first], samples[first + (nr + 1) // 2], samples[first + nr]
            data[begin:next_] = data[end:next_] + data[begin:end]
        return f"{first}+{nr} of {len(samples)}"

    def misplace_packed(self, rng, data, kind):
        """A part is missing, is there twice, or stands in another's place; of the last ones nothing tells."""
        parts = [(at, struct.unpack_from("<H", data, at + 6)[0]) for at in self.borders(data)
                 if struct.unpack_from("<I", data, at)[0] == PERF_COMPRESSED]
        nr = rng.choice([1, 1, 2, 5])
        first = rng.randrange(1, len(parts) - 2 * nr - 1)
        begin, middle, end = parts[first][0], parts[first + nr][0], parts[first + 2 * nr][0]
        if kind.endswith("removed"):
            self.remove(data, begin, middle)
        elif kind.endswith("doubled"):
            self.insert(data, middle, data[begin:middle])
        else:
            data[begin:end] = data[middle:end] + data[begin:middle]
        return f"{first}+{nr} of {len(parts)}"

    def alter_time(self, rng, data, samples, at):
        """By one bit, to a time that is not between the CPU's samples beside it: else nothing tells."""
        def time(other):
            return struct.unpack_from("<Q", self.data, other + PERF_TIME_AT)[0]

        def cpu(other):
            return struct.unpack_from("<I", self.data, other + PERF_CPU_AT)[0]
        self.own = self.own or {one: [other for other in samples if cpu(other) == one] for one in {*map(cpu, samples)}}
        own = self.own[cpu(at)]
        nr = bisect.bisect_left(own, at)
        near = [time(other) for other in own[max(0, nr - PERF_BESIDE):nr + PERF_BESIDE]]
        altered = [time(at) ^ 1 << bit for bit in range(12, 48)]
        data[at + PERF_TIME_AT:at + PERF_TIME_AT + 8] = struct.pack(
            "<Q", rng.choice([one for one in altered if not min(near) <= one <= max(near)]))

    def borders(self, data):
        at, list_ = self.at, []
        while at < self.at + self.length:
            list_.append(at)
            at += struct.unpack_from("<H", data, at + 6)[0]
        return list_

    def remove(self, data, begin, end):
        """As if these bytes had never been: what the file says of its length is true."""
        self.move_rest(data, begin - end)
        del data[begin:end]

    def insert(self, data, at, more):
        self.move_rest(data, len(more))
        data[at:at] = more

    def move_rest(self, data, by):
        """What stands behind the records comes to stand so many bytes later."""
        flags = int.from_bytes(data[self.FLAGS_AT:self.FLAGS_AT + 32], "little")
        for nr in range(flags.bit_count()):
            place = self.at + self.length + 16 * nr
            offset, = struct.unpack_from("<Q", data, place)
            struct.pack_into("<Q", data, place, offset + by)
        struct.pack_into("<Q", data, 48, self.length + by)

    def keep_hardly_any(self, target):
        data = bytearray(target.read_bytes())
        borders = self.borders(data)
        self.remove(data, borders[len(borders) // 50], self.at + self.length)
        target.write_bytes(data)

    def damage(self, rng, target, kind):
        data = bytearray(target.read_bytes())
        if kind in self.misplaced():
            done = self.misplace(rng, data, kind)
            target.write_bytes(data)
            return done
        begin, end = span(rng, self.length)
        begin, end = self.at + begin, self.at + end
        # Records are multiples of eight bytes.  Without such a number two of one length may become
        # one that looks sound, and nothing tells.
        if kind == "bytes removed" and (end - begin) % 8 == 0:
            end -= 1
        if kind == "records removed, not said":
            borders = self.borders(data)
            begin = max(at for at in borders if at <= begin)
            end = min([at for at in borders if at >= end] or [self.at + self.length])
        if kind == "bytes zeroed":
            data[begin:end] = bytes(end - begin)
        elif kind == "bytes overwritten":
            overwrite(data, rng, begin, end, self.at, self.at + self.length, 8)
        else:
            self.remove(data, begin, end)
        target.write_bytes(data)
        return f"{begin}..{end}"


class Recording:
    """The traces of one run, each in its own directory or file under @folder."""

    def __init__(self, folder, traces):
        self.folder, self.traces = folder, traces
        self.strangers = []  # traces of other runs
        for trace in traces.values():
            trace.beside = [other for other in traces.values() if other is not trace and type(other) is type(trace)]

    @staticmethod
    def of(folder):
        traces = {}
        for path in sorted(folder.rglob("*")):
            if path.name == "metadata":
                traces[path.parent.relative_to(folder)] = Ctf(path.parent)
            elif path.suffix == ".dat":
                traces[path.relative_to(folder)] = Dat(path)
            elif path.suffix == ".data":
                traces[path.relative_to(folder)] = Perf(path)
        return Recording(folder, traces)

    def kinds(self):
        return sorted({kind for trace in self.traces.values() for kind in trace.kinds()}
                      - ({"trace"} if len(self.traces) < 2 else set()))

    def misplaced(self):
        """Kinds of what has the right bytes in the wrong place."""
        return sorted({kind for trace in self.traces.values() for kind in trace.misplaced()})

    def sessions(self):
        """Kinds of what is given otherwise: a part of a session, a trace twice, one of another run."""
        return [*(["chunk"] if any(self.parts_of(t) for t in self.traces) else []), "again",
                *(["stranger"] if self.strangers else [])]

    def all_kinds(self):
        return {*self.kinds(), *self.sessions(), *self.misplaced()}

    def parts_of(self, name):
        return self.traces[name].parts() if isinstance(self.traces[name], Ctf) else []

    def given(self, rng, target, kind):
        """Writes a copy of which a trace is given otherwise; says how."""
        copy_linked(self.folder, target)
        if kind == "stranger":
            other = rng.choice(self.strangers)
            copy_any(other, target / f"stranger-{other.name}")
            return [(kind, str(other.name), "")]
        name = rng.choice([n for n in self.traces if kind != "chunk" or self.parts_of(n)])
        if kind == "again":
            # No shorter than the trace's own name: of two copies the plainer one is used.
            copy_any(self.folder / name, target / f"zz-{'-'.join(name.parts)}")
            return [(kind, str(name), "")]
        unlink_hard(target / name)
        return [(kind, str(name), self.traces[name].damage(rng, target / name, kind))]

    def damage(self, rng, target, kinds):
        """Writes a copy in which one to three things are missing; says which."""
        copy_linked(self.folder, target)
        done, nr = [], rng.choice([1, 1, 1, 2, 3])
        while nr > 0 or not done:
            nr -= 1
            name = rng.choice(list(self.traces))
            trace = self.traces[name]
            path = target / name
            own = [k for k in kinds if k in trace.kinds() + trace.misplaced()]
            if not own:
                continue
            kind = rng.choice(own)
            if not path.exists() or any(d[1] == str(name) for d in done):
                continue
            if kind == "trace":
                if sum(d[0] == "trace" for d in done) + 1 == len(self.traces):
                    continue
                shutil.rmtree(path) if path.is_dir() else path.unlink()
                done.append((kind, str(name), ""))
                continue
            unlink_hard(path)
            done.append((kind, str(name), trace.damage(rng, path, kind)))
        return done

    def keep_hardly_any(self, target):
        """A copy with the first packet or page of each stream, and no more."""
        copy_linked(self.folder, target)
        for name, trace in self.traces.items():
            unlink_hard(target / name)
            trace.keep_hardly_any(target / name)


def copy_linked(folder, target):
    shutil.copytree(folder, target, copy_function=os.link)


def copy_any(path, target):
    if path.is_dir():
        shutil.copytree(path, target)
    else:
        shutil.copy(path, target)


def unlink_hard(path):
    """What is going to be changed is no longer the original."""
    for file in path.rglob("*") if path.is_dir() else [path]:
        if file.is_file():
            data = file.read_bytes()
            file.unlink()
            file.write_bytes(data)
