# SPDX-License-Identifier: Apache-2.0
"""Just enough CTF 1.8 to cut and copy LTTng kernel traces: where each event begins and ends.

For the tools in this folder; Sonde itself reads traces with source/ctf.

    trace = Trace("L0/lttng/kernel")
    for stream in trace.streams:
        for packet in stream.packets():
            for event in packet.events():
                event.name, event.time, event.begin, event.end, event.field("tid")

Offsets are bytes from the start of the stream file.  Times are clock values without the offset.
"""

import re
import struct
from pathlib import Path

TOKEN = re.compile(r'\s+|/\*.*?\*/|//[^\n]*|("(?:\\.|[^"\\])*"|\.\.\.|:=|[A-Za-z_]\w*(?:\.\w+)*|'
                   r'-?(?:0x[0-9a-fA-F]+|\d+)|[{}\[\]<>():;=,.])', re.S)
METADATA_MAGIC = 0x75D11D57
METADATA_HEADER = struct.Struct("<I16sIIIBBBBB")
PACKET_MAGIC = 0xC1FC1FC1
INDEX_MAGIC = 0xC1F1DCC1


def metadata_text(data):
    """The text of a metadata file, packetised or plain."""
    if struct.unpack_from("<I", data)[0] != METADATA_MAGIC:
        return data.decode()
    text, at = "", 0
    while at < len(data):
        _, _, _, content_bits, packet_bits, *_ = METADATA_HEADER.unpack_from(data, at)
        text += data[at + METADATA_HEADER.size:at + content_bits // 8].decode()
        at += packet_bits // 8
    return text


def metadata_packets(text, uuid):
    """The packetised form of a metadata text, as LTTng writes it."""
    data, out, room = text.encode(), b"", 4096 - METADATA_HEADER.size
    for at in range(0, len(data), room):
        piece = data[at:at + room]
        header = METADATA_HEADER.pack(METADATA_MAGIC, uuid, 0,
                                      (METADATA_HEADER.size + len(piece)) * 8, 4096 * 8,
                                      0, 0, 0, 1, 8)
        out += (header + piece).ljust(4096, b"\0")
    return out


# ---- types ---------------------------------------------------------------------------------------
# A type has: align (bits), fixed_bits (its size when it starts aligned, or None),
# walk(data, at_bits, seen) -> end in bits; integers put their value into seen[name].

def align_up(at, align):
    return (at + align - 1) // align * align


class Integer:
    def __init__(self, props):
        self.size = int(props["size"])
        self.align = int(props.get("align", 8 if self.size % 8 == 0 else 1))
        self.signed = props.get("signed", "0") in ("1", "true")
        self.order = "big" if props.get("byte_order") in ("be", "network") else "little"
        self.fixed_bits = self.size

    def read(self, data, at):
        first, shift = at // 8, at % 8
        raw = int.from_bytes(data[first:(at + self.size + 7) // 8], self.order)
        value = (raw >> shift) & ((1 << self.size) - 1)
        if self.signed and value >> (self.size - 1):
            value -= 1 << self.size
        return value

    def walk(self, data, at, seen, name):
        at = align_up(at, self.align)
        seen[name] = (at // 8, self.read(data, at))
        return at + self.size


class Enum(Integer):
    def __init__(self, integer, labels):
        self.__dict__.update(integer.__dict__)
        self.labels = labels

    def label(self, value):
        return next((label for label, low, high in self.labels if low <= value <= high), None)

    def walk(self, data, at, seen, name):
        end = super().walk(data, at, seen, name)
        seen[name + "#"] = (0, self.label(seen[name][1]))
        return end


class String:
    align, fixed_bits = 8, None

    def walk(self, data, at, seen, name):
        begin = align_up(at, 8) // 8
        end = data.index(b"\0", begin)
        seen[name] = (begin, bytes(data[begin:end]))
        return (end + 1) * 8


class Array:
    """length: a number, or the name of an integer seen before."""

    def __init__(self, element, length):
        self.element, self.length, self.align = element, length, element.align
        self.fixed_bits = None
        if isinstance(length, int) and element.fixed_bits is not None:
            self.fixed_bits = align_up(element.fixed_bits, element.align) * length

    def walk(self, data, at, seen, name):
        at = align_up(at, self.align)
        length = self.length if isinstance(self.length, int) else seen[self.length][1]
        seen[name] = (at // 8, length)
        if self.element.fixed_bits is not None:
            return at + align_up(self.element.fixed_bits, self.align) * length
        for _ in range(length):
            at = self.element.walk(data, at, seen, "")
        return at


class Struct:
    def __init__(self, fields, align=1):
        self.fields = fields
        self.align = max([align, *(f.align for _, f in fields)])
        self.fixed_bits = 0
        for _, field in fields:
            if field.fixed_bits is None:
                self.fixed_bits = None
                break
            self.fixed_bits = align_up(self.fixed_bits, field.align) + field.fixed_bits

    def walk(self, data, at, seen, name):
        at = align_up(at, self.align)
        for name, field in self.fields:
            at = field.walk(data, at, seen, name)
        return at


class Variant:
    align, fixed_bits = 1, None

    def __init__(self, tag, choices):
        self.tag, self.choices = tag.split(".")[-1], dict(choices)

    def walk(self, data, at, seen, name):
        return self.choices[seen[self.tag + "#"][1]].walk(data, at, seen, name)


# ---- metadata text -------------------------------------------------------------------------------

class Parser:
    def __init__(self, text):
        self.tokens = [m.group(1) for m in TOKEN.finditer(text) if m.group(1)]
        self.at = 0
        self.named = {}
        self.streams = {}
        self.events = {}
        self.header = None

    def peek(self, ahead=0):
        return self.tokens[self.at + ahead]

    def take(self, expected=None):
        token = self.tokens[self.at]
        if expected and token != expected:
            raise ValueError(f"metadata: {expected} expected, {token} found (token {self.at})")
        self.at += 1
        return token

    def accept(self, token):
        if self.peek() == token:
            self.at += 1
            return True
        return False

    def parse(self):
        while self.at < len(self.tokens):
            word = self.take()
            if word == "typealias":
                kind = self.type()
                self.take(":=")
                words = []
                while not self.accept(";"):
                    words.append(self.take())
                self.named[" ".join(words)] = kind
            elif word == "struct":
                self.at -= 1
                self.type()
                self.take(";")
            elif word in ("trace", "env", "clock", "stream", "event"):
                self.scope(word)
            else:
                raise ValueError(f"metadata: {word} not understood")
        return self

    def scope(self, word):
        self.take("{")
        values = {}
        while not self.accept("}"):
            name = self.take()
            if self.accept(":="):
                values[name] = self.type()
            else:
                self.take("=")
                values[name] = self.take().strip('"')
            self.take(";")
        self.take(";")
        if word == "trace":
            self.header = values["packet.header"]
        elif word == "stream":
            self.streams[int(values.get("id", 0))] = values
        elif word == "event":
            self.events[int(values.get("stream_id", 0)), int(values["id"])] = values

    def type(self):
        word = self.take()
        if word == "integer":
            return self.integer()
        if word == "string":
            return String()
        if word == "struct":
            return self.structure()
        if word == "variant":
            self.take("<")
            tag = self.take()
            self.take(">")
            return Variant(tag, self.members())
        if word == "enum":
            return self.enumeration()
        while word not in self.named:
            word += " " + self.take()
        return self.named[word]

    def integer(self):
        props = {}
        self.take("{")
        while not self.accept("}"):
            name = self.take()
            self.take("=")
            props[name] = self.take()
            self.take(";")
        return Integer(props)

    def structure(self):
        name = None if self.peek() == "{" else "struct " + self.take()
        if name in self.named and self.peek() != "{":
            return self.named[name]
        fields, align = self.members(), 1
        if self.accept("align"):
            self.take("(")
            align = int(self.take())
            self.take(")")
        kind = Struct(fields, align)
        if name:
            self.named[name] = kind
        return kind

    def members(self):
        self.take("{")
        fields = []
        while not self.accept("}"):
            kind = self.type()
            name = self.take().removeprefix("_")
            while self.accept("["):
                length = self.take()
                self.take("]")
                number = re.fullmatch(r"\d+", length)
                kind = Array(kind, int(length) if number else length.removeprefix("_"))
            self.take(";")
            fields.append((name, kind))
        return fields

    def enumeration(self):
        self.take(":")
        integer = self.type()
        labels, following = [], 0
        self.take("{")
        while not self.accept("}"):
            label = self.take().strip('"').removeprefix("_")
            low = following
            if self.accept("="):
                low = int(self.take(), 0)
            high = int(self.take(), 0) if self.accept("...") else low
            labels.append((label, low, high))
            following = high + 1
            self.accept(",")
        return Enum(integer, labels)


# ---- the trace -----------------------------------------------------------------------------------

class Event:
    __slots__ = ("packet", "cls", "time", "begin", "payload", "end", "extended")

    @property
    def name(self):
        return self.cls["name"]

    def fields(self):
        """name -> (offset in the file, value); the value of an array is its length."""
        seen = {}
        self.cls["fields"].walk(self.packet.stream.data, self.payload * 8, seen, "")
        return seen

    def context(self):
        seen = {}
        context = self.packet.stream.cls.get("event.context")
        if context:
            header_end = self.packet.stream.header_end(self.begin, {})
            context.walk(self.packet.stream.data, header_end * 8, seen, "")
        return seen


class Packet:
    def __init__(self, stream, begin):
        self.stream, self.begin = stream, begin
        seen = {}
        at = stream.trace.header.walk(stream.data, begin * 8, seen, "")
        at = stream.cls["packet.context"].walk(stream.data, at, seen, "")
        self.context = seen
        self.first_event = at // 8
        self.content_end = begin + seen["content_size"][1] // 8
        self.end = begin + seen["packet_size"][1] // 8

    def value(self, name):
        return self.context[name][1]

    def events(self):
        stream, at, clock = self.stream, self.first_event, self.value("timestamp_begin")
        while at < self.content_end:
            event = Event()
            seen = {}
            event.packet, event.begin = self, at
            payload = stream.header_end(at, seen)
            event.extended = seen["id#"][1] == "extended"
            stamp = seen["timestamp"][1]
            if event.extended:
                clock = stamp
            else:
                bits = stream.compact_bits
                clock += (stamp - clock) & ((1 << bits) - 1)
            event.time = clock
            event.cls = stream.trace.events[stream.id, seen["id"][1]]
            event.payload = stream.context_end(payload)
            event.end = event.cls["end"](stream.data, event.payload)
            at = event.end
            yield event


class Stream:
    def __init__(self, trace, path):
        self.trace, self.path, self.name = trace, path, path.name
        self.data = path.read_bytes()
        seen = {}
        trace.header.walk(self.data, 0, seen, "")
        self.id = seen["stream_id"][1]
        self.cls = trace.parser.streams[self.id]
        self.header = self.cls["event.header"]
        compact = self.header.fields[1][1].choices["compact"]
        self.compact_bits = compact.fields[0][1].size
        context = self.cls.get("event.context")
        self.context_bytes = context.fixed_bits // 8 if context and context.fixed_bits else None
        self.context_type = context

    def header_end(self, at, seen):
        return self.header.walk(self.data, at * 8, seen, "") // 8

    def context_end(self, at):
        if self.context_type is None:
            return at
        if self.context_bytes is not None:
            return at + self.context_bytes
        return self.context_type.walk(self.data, at * 8, {}, "") // 8

    def packets(self):
        at = 0
        while at < len(self.data):
            packet = Packet(self, at)
            yield packet
            at = packet.end


def end_finder(fields):
    if fields.fixed_bits is not None:
        size = fields.fixed_bits // 8
        return lambda data, at: at + size
    return lambda data, at: (fields.walk(data, at * 8, {}, "") + 7) // 8


class Trace:
    def __init__(self, path):
        self.path = Path(path)
        self.text = metadata_text((self.path / "metadata").read_bytes())
        self.parser = Parser(self.text).parse()
        self.header = self.parser.header
        self.events = self.parser.events
        for cls in self.events.values():
            cls["end"] = end_finder(cls["fields"])
        files = sorted(p for p in self.path.iterdir() if p.is_file() and p.name != "metadata")
        self.streams = [Stream(self, p) for p in files if p.stat().st_size]

    def text_with_events(self, ids):
        """The metadata text with only the event classes whose (stream, id) is in ids."""
        def keep(match):
            number = int(re.search(r"\bid = (\d+);", match.group(0)).group(1))
            return match.group(0) if any(i == number for _, i in ids) else ""
        return re.sub(r"^event \{.*?^\};\n\n?", keep, self.text, flags=re.S | re.M)


INDEX_HEADER = struct.Struct(">4I")
INDEX_ROW = struct.Struct(">9Q")


def index_file(rows):
    """An LTTng packet index (version 1.1): rows of (offset, packet_bits, content_bits, begin, end,
    discarded, stream id, stream instance, sequence number)."""
    out = INDEX_HEADER.pack(INDEX_MAGIC, 1, 1, INDEX_ROW.size)
    return out + b"".join(INDEX_ROW.pack(*row) for row in rows)
