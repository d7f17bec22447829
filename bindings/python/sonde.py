# SPDX-License-Identifier: Apache-2.0
"""libsonde for Python: histories, their tables as columns, and what was when.

    import sonde

    with sonde.History("run.sonde") as history:
        columns = history.table("preemption")          # {"victim": [...], "time": [...], ...}
        runs = history.intervals("host0/cpu0/runs")    # {"begin": [...], "end": [...], "value": [...]}

pandas.DataFrame(columns) makes a frame of them; nothing here needs pandas.  Times are integers: nanoseconds
on the physical machine's clock, or its cycles where history.ticks_are_ns is False.  Numbers are the
library's own, -1 is unknown; machines, CPUs, threads, namespaces and modes are text unless raw=True, and
None when unknown.  Errors are raised as sonde.Error, with the library's sentence and an errno.

The library is libsonde.so.0; $SONDE_LIBRARY names another file.  A History is used by one thread at a time.
"""

import ctypes
import errno
import os
from ctypes import POINTER, byref, c_bool, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint32, c_void_p

__all__ = ["Error", "History", "Stopped", "analyze", "version"]


class Error(OSError):
    """A call failed: .errno and .strerror say why."""


class Stopped(Error):
    """The caller's progress() returned False."""


class _Error(ctypes.Structure):
    _fields_ = [("code", c_int), ("text", ctypes.c_char * 512)]


_PROGRESS = ctypes.CFUNCTYPE(c_bool, c_char_p, c_double, c_void_p)
_NOTICE = ctypes.CFUNCTYPE(None, c_char_p, c_void_p)


class _Watcher(ctypes.Structure):
    _fields_ = [("progress", _PROGRESS), ("notice", _NOTICE), ("data", c_void_p)]


class _Column(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("title", c_char_p), ("type", c_int), ("help", c_char_p)]


class _Table(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("title", c_char_p), ("help", c_char_p), ("columns", POINTER(_Column)),
                ("nr_columns", ctypes.c_uint)]


class _Cell(ctypes.Union):
    _fields_ = [("i", c_int64), ("s", c_char_p)]


class _Interval(ctypes.Structure):
    _fields_ = [("begin", c_int64), ("end", c_int64), ("value", c_uint32)]


class _Machine(ctypes.Structure):
    _fields_ = [("name", c_char_p)]  # the first member: the library fills in no more than it is told


class _Inputs(ctypes.Structure):
    _fields_ = [("paths", POINTER(c_char_p)), ("nr_paths", ctypes.c_uint)]


_EACH = ctypes.CFUNCTYPE(c_bool, POINTER(_Interval), c_void_p)
_INT, _SIGNED, _NS, _TIME, _PPM, _BOOL, _STRING, _MACHINE, _CPU, _THREAD, _PID_NS, _MODE = range(12)
_SIGNED_UNKNOWN = -(1 << 63)
_LABELS = {_CPU: "sonde_cpu_label", _THREAD: "sonde_thread_label", _PID_NS: "sonde_pid_ns_label"}

_lib = ctypes.CDLL(os.environ.get("SONDE_LIBRARY", "libsonde.so.0"))


def _declare(name, result, *arguments):
    function = getattr(_lib, name)
    function.restype = result
    function.argtypes = arguments


_declare("sonde_version", c_char_p)
_declare("sonde_history_open", c_int, POINTER(c_void_p), c_char_p, POINTER(_Error))
_declare("sonde_history_close", None, c_void_p)
_declare("sonde_history_begin", c_int64, c_void_p)
_declare("sonde_history_end", c_int64, c_void_p)
_declare("sonde_history_traced", None, c_void_p, POINTER(c_int64), POINTER(c_int64))
_declare("sonde_history_complete", c_bool, c_void_p)
_declare("sonde_history_ticks_are_ns", c_bool, c_void_p)
_declare("sonde_history_watch_sized", None, c_void_p, POINTER(_Watcher), c_size_t)
_declare("sonde_history_window", c_int, c_void_p, c_char_p, POINTER(c_int64), POINTER(c_int64), POINTER(_Error))
_declare("sonde_tables", POINTER(POINTER(_Table)), POINTER(ctypes.c_uint))
_declare("sonde_rows_get", c_int, POINTER(c_void_p), c_void_p, c_char_p, c_int64, c_int64, POINTER(_Error))
_declare("sonde_rows_free", None, c_void_p)
_declare("sonde_rows_table", POINTER(_Table), c_void_p)
_declare("sonde_rows_nr", c_size_t, c_void_p)
_declare("sonde_rows_cell", _Cell, c_void_p, c_size_t, ctypes.c_uint)
_declare("sonde_machine_get_sized", c_int, c_void_p, c_int64, POINTER(_Machine), c_size_t)
_declare("sonde_mode_name", c_char_p, c_int)
_declare("sonde_attr_find", c_uint32, c_void_p, c_char_p)
_declare("sonde_interval_walk", c_int, c_void_p, c_uint32, c_int64, c_int64, _EACH, c_void_p)
_declare("sonde_analyze_sized", c_int, POINTER(_Inputs), c_size_t, c_char_p, POINTER(_Watcher), c_size_t, c_void_p,
         c_size_t, POINTER(_Error))
for _name in _LABELS.values():
    _declare(_name, c_int, c_void_p, c_int64, c_char_p, c_size_t)


def _text(raw):
    return raw.decode("utf-8", "replace")


def _check(ret, err=None):
    if ret < 0:
        text = _text(err.text) if err and err.text else os.strerror(-ret)
        raise (Stopped if ret == -errno.EINTR else Error)(-ret, text)


def _watcher(progress):
    """progress(phase, share) returns False to stop; the share is -1 where it is not known."""
    if not progress:
        return None
    return _Watcher(_PROGRESS(lambda phase, done, data: progress(_text(phase), done) is not False))


def version():
    """Version of the library that is loaded."""
    return _text(_lib.sonde_version())


def analyze(paths, output, progress=None):
    """Traces in, one history out: as `sonde analyze -o output paths...`."""
    paths = [os.fsencode(path) for path in paths]
    inputs = _Inputs((c_char_p * len(paths))(*paths), len(paths))
    watcher, err = _watcher(progress), _Error()
    _check(_lib.sonde_analyze_sized(byref(inputs), ctypes.sizeof(inputs), os.fsencode(output),
                                    byref(watcher) if watcher else None, ctypes.sizeof(_Watcher), None, 0,
                                    byref(err)), err)


class History:
    """An open .sonde file.  Close it, or use it in a with statement."""

    def __init__(self, path):
        self._handle, err = c_void_p(), _Error()
        _check(_lib.sonde_history_open(byref(self._handle), os.fsencode(path), byref(err)), err)

    def close(self):
        _lib.sonde_history_close(self._handle)
        self._handle = c_void_p()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _open(self):
        if not self._handle:
            raise ValueError("the history is closed")
        return self._handle

    @property
    def begin(self):
        return _lib.sonde_history_begin(self._open())

    @property
    def end(self):
        return _lib.sonde_history_end(self._open())

    @property
    def traced(self):
        """From when to when the physical machine was traced: the window of all that names none."""
        begin, end = c_int64(), c_int64()
        _lib.sonde_history_traced(self._open(), byref(begin), byref(end))
        return begin.value, end.value

    @property
    def complete(self):
        return _lib.sonde_history_complete(self._open())

    @property
    def ticks_are_ns(self):
        return _lib.sonde_history_ticks_are_ns(self._open())

    def window(self, text):
        """(begin, end) of a window as --time has it: "+1s,+2s", "50%,"."""
        begin, end, err = c_int64(), c_int64(), _Error()
        _check(_lib.sonde_history_window(self._open(), text.encode(), byref(begin), byref(end), byref(err)), err)
        return begin.value, end.value

    @staticmethod
    def tables():
        """{name: {"title": ..., "help": ..., "columns": {name: what it means}}} of all tables."""
        nr = ctypes.c_uint()
        found = _lib.sonde_tables(byref(nr))
        tables = (found[i].contents for i in range(nr.value))
        return {_text(t.name): {"title": _text(t.title), "help": _text(t.help),
                                "columns": {_text(t.columns[c].name): _text(t.columns[c].help)
                                            for c in range(t.nr_columns)}} for t in tables}

    def table(self, name, begin=None, end=None, raw=False, progress=None):
        """The table as {column: list}, for [begin, end), which is the traced window unless given.

        raw: rows' numbers instead of text.  progress(phase, share): returns False to stop, which raises Stopped.
        """
        handle, rows, err = self._open(), c_void_p(), _Error()
        traced = self.traced
        watcher = _watcher(progress)
        begin, end = traced[0] if begin is None else begin, traced[1] if end is None else end
        _lib.sonde_history_watch_sized(handle, byref(watcher) if watcher else None, ctypes.sizeof(_Watcher))
        try:
            _check(_lib.sonde_rows_get(byref(rows), handle, name.encode(), begin, end, byref(err)), err)
        finally:
            _lib.sonde_history_watch_sized(handle, None, ctypes.sizeof(_Watcher))
        try:
            table = _lib.sonde_rows_table(rows).contents
            nr = _lib.sonde_rows_nr(rows)
            return {_text(table.columns[c].name): self._column(rows, c, table.columns[c].type, nr, raw)
                    for c in range(table.nr_columns)}
        finally:
            _lib.sonde_rows_free(rows)

    def intervals(self, path, begin=None, end=None):
        """Intervals of an attribute (docs/formats/schema.md) as columns; values that are rows are row + 1, 0 is none."""
        handle = self._open()
        columns = {"begin": [], "end": [], "value": []}

        def each(interval, _):
            i = interval.contents
            columns["begin"].append(i.begin)
            columns["end"].append(i.end)
            columns["value"].append(i.value)
            return True

        begin, end = self.begin if begin is None else begin, self.end if end is None else end
        _check(_lib.sonde_interval_walk(handle, _lib.sonde_attr_find(handle, path.encode()), begin, end, _EACH(each),
                                        None))
        return columns

    def _column(self, rows, column, kind, nr, raw):
        cells = (_lib.sonde_rows_cell(rows, row, column) for row in range(nr))
        if kind == _STRING:
            return [_text(cell.s) for cell in cells]
        numbers = [cell.i for cell in cells]
        if kind == _BOOL:
            return [bool(number) for number in numbers]
        if kind == _SIGNED:
            return [None if number == _SIGNED_UNKNOWN else number for number in numbers]
        if raw or kind < _STRING:
            return numbers
        labels = {number: self._label(kind, number) for number in set(numbers)}
        return [labels[number] for number in numbers]

    def _label(self, kind, row):
        if row < 0:
            return None
        if kind == _MODE:
            return _text(_lib.sonde_mode_name(row))
        if kind == _MACHINE:
            machine = _Machine()
            _lib.sonde_machine_get_sized(self._handle, row, byref(machine), ctypes.sizeof(machine))
            return _text(machine.name) if machine.name else None
        if kind not in _LABELS:  # a type that only a newer library has
            return row
        buf = ctypes.create_string_buffer(512)
        getattr(_lib, _LABELS[kind])(self._handle, row, buf, len(buf))
        return _text(buf.value)
