"""In which order a command wrote to its two pipes.

Rule: no byte depends on it. If the system does not tell the order, or no longer, the pipes are read in order of
arrival, and the watching ends.

A pipe in packet mode gives each write apart, up to the size of a page. For each write the kernel sends a signal
that names the pipe, and it keeps signals of one number in order. They go to one thread, which blocks them: they are
never delivered, only read. A process that this thread starts would have them blocked, too. So the command is
started before, with pipes that are full: its first write waits until the thread watches.

A write that has to wait, since the pipe is full, sends a signal before, too. To tell such signals from others, the
pipes are emptied at once, between two looks at the signals.

When it is quiet, each signal gets what its write wrote. That is one packet, unless a program wrote more than a page
at once, or opened `/dev/stderr` again and wrote without packets: then as many packets or lines as the numbers tell.
"""

import contextlib
import ctypes
import fcntl
import os
import re
import select
import signal
import struct
import sys
import termios
import threading
import time
from collections.abc import Collection, Iterator
from mmap import PAGESIZE
from pathlib import Path

PIPE = 1 << 20
"""Bytes that a pipe holds, if it may, and that one read takes."""
MOST_WRITES, MOST_BYTES, MOST_SECONDS = 20_000, 1 << 20, 1.0
"""How long a command is watched: a write takes some microseconds of reading, and more if another thread keeps the
interpreter busy."""
MANY_WRITES = 250
"""After so many it need not be quiet, if the order is clear."""
SIGNAL_WAIT, LARGE_WAIT = 500, 2
"""Milliseconds within which the signal of a write follows what was written: surely, and nearly always. The second
is waited if there may be no signal, since the packet may be a part of a larger write."""

F_SETOWN_EX, F_OWNER_TID = 15, 0
SIGNAL = int(signal.SIGRTMAX) - 4
"""The number that names the pipes. The kernel sends SIGIO instead if it cannot keep more of them."""
SIGNAL_INFO = struct.Struct("=20xi104x")
"""What the kernel tells of a signal: here, which pipe."""

_system = ctypes.CDLL(None, use_errno=True)
_system_at_once = ctypes.PyDLL(None)
"""Calls keep the interpreter's lock, since a busy thread would give it back after milliseconds only. For what never
waits."""
_LINE = re.compile(rb"[^\n]*\n|[^\n]+")

Piece = tuple[int, bytes | bytearray]
"""A pipe and what was written to it; nothing if it was closed."""


class IoVector(ctypes.Structure):
    _fields_ = (("start", ctypes.c_void_p), ("size", ctypes.c_size_t))


def read_pipe(pipe: int, most: int = PIPE) -> bytes | bytearray | None:
    """All packets of a pipe at once; the next one where the system cannot do that. None if there is nothing."""
    waiting = int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)
    memory = bytearray(max(min(waiting, most), 1))
    vector = IoVector(ctypes.addressof(ctypes.c_char.from_buffer(memory)), len(memory))
    count, flags = ctypes.c_size_t(1), ctypes.c_uint(os.SPLICE_F_NONBLOCK)
    size = _system.vmsplice(pipe, ctypes.byref(vector), count, flags)
    if size >= 0:
        del memory[size:]
        return memory
    try:
        # Less than the pipe holds could cut a packet, whose rest is then lost.
        return os.read(pipe, PIPE)
    except BlockingIOError:
        return None


def _resize(pipe: int, size: int) -> int:
    """Returns how many bytes the pipe holds now: a user may have only so many in all."""
    with contextlib.suppress(OSError):
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, size)
    return fcntl.fcntl(pipe, fcntl.F_GETPIPE_SZ)


class CommandPipe:
    """The two ends of a new pipe. If it has packets it is full, so that nothing is written until it is opened."""

    def __init__(self) -> None:
        self._filled = 0
        try:
            self.reader, self.writer = os.pipe2(os.O_CLOEXEC | os.O_DIRECT | os.O_NONBLOCK)
            self._filled = os.write(self.writer, bytes(PIPE))
        except OSError:
            self.reader, self.writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        os.set_blocking(self.writer, True)

    @property
    def has_packets(self) -> bool:
        return self._filled > 0

    def open(self, size: int = PIPE) -> None:
        """From now on it holds this many bytes, if it may."""
        _resize(self.reader, size)
        while self._filled:
            self._filled -= len(read_pipe(self.reader, self._filled) or b"")


class PacketStore:
    """The packets that were in a pipe. They are moved at once, through a pipe of our own, which nobody locks."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self._reader, self._writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self.room = _resize(self._writer, PIPE)
        self._moved = 0
        self._memory = ctypes.create_string_buffer(PIPE)
        self._view = memoryview(self._memory)
        self.packets: list[bytes] = []
        self.was_full = False
        """Whether the last packet may be followed by the signal of a write that had to wait."""
        self.is_closed = False

    def move(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._moved = os.splice(self._pipe, self._writer, PIPE, flags=os.SPLICE_F_NONBLOCK)
            self.is_closed = not self._moved

    def unpack(self) -> int:
        """Take apart what was moved. Returns how many bytes that were."""
        before, total = len(self.packets), self._moved
        while self._moved:
            size = _system_at_once.read(self._reader, self._memory, ctypes.c_size_t(PIPE))
            self.packets.append(self._view[:size].tobytes())
            self._moved -= size
        room = fcntl.fcntl(self._pipe, fcntl.F_GETPIPE_SZ) // PAGESIZE
        self.was_full = len(self.packets) - before >= room
        return total

    def close(self) -> None:
        os.close(self._reader)
        os.close(self._writer)


class WriteOrder:
    """**Contract:** only the thread that made it uses it, and that thread starts no process afterwards. OSError if
    the system cannot tell the order, or the program has a use of its own for the signal. `pipes` are those that are
    open: who closes one takes it out."""

    def __init__(self, pipes: Collection[int]) -> None:
        if is_used(SIGNAL):
            raise OSError("the signal that would tell the order is in use")
        self._pipes = pipes
        self._named: list[int] = []
        """The pipes that signals named, in order."""
        self._doubts: dict[int, int] = {}
        """Pipes that were full, and which of their signals may be that of a write that had to wait."""
        self._writes = self._size = 0
        self._seconds = 0.0
        self.is_on = True
        signal.pthread_sigmask(signal.SIG_BLOCK, {SIGNAL, signal.SIGIO})
        self._signals = _open_signals()
        self._stores: dict[int, PacketStore] = {}
        try:
            for pipe in pipes:
                self._stores[pipe] = PacketStore(pipe)
                _name_in_signals(pipe)
        except OSError:
            self.close()
            raise
        self.room = min(store.room for store in self._stores.values())
        """How many bytes the pipes may hold: all of it must fit into a store."""
        # The pipes are full: so far, signals can tell only of writes that have to wait.
        while self._read_signals():
            self._named = []

    def take(self) -> list[Piece]:
        """What was written until it is quiet, in order, if a pipe is ready. When the order is no longer told,
        `is_on` is false, and the pipes must be read as they come."""
        began, before = time.monotonic(), self._seconds
        self._gather()
        while (patience := self._patience()) and not self._is_enough:
            if self._wait(patience):
                self._gather()
            elif patience == SIGNAL_WAIT:
                self._stop()
            else:
                break
            self._seconds = before + time.monotonic() - began
        if self._is_enough:
            self._stop()
            self._gather()
        return self._pieces()

    def close(self) -> None:
        self._stop()
        os.close(self._signals)
        for store in self._stores.values():
            store.close()

    @property
    def _is_enough(self) -> bool:
        used_up = self._writes >= MOST_WRITES or self._size >= MOST_BYTES or self._seconds >= MOST_SECONDS
        return used_up or not self.is_on

    @property
    def _is_even(self) -> bool:
        """Whether there is one packet for each signal."""
        return all(len(self._stores[pipe].packets) == self._named.count(pipe) for pipe in self._pipes)

    def _patience(self) -> int:
        """Milliseconds to wait for a signal, since there is more than the signals tell of."""
        waits = [
            0 if any(store.packets or store.is_closed for store in self._stores.values()) else SIGNAL_WAIT
        ]
        for pipe in self._pipes:
            packets, signals = self._stores[pipe].packets, self._named.count(pipe)
            if len(packets) > signals:
                waits.append(LARGE_WAIT if len(join_pages(packets)) <= signals else SIGNAL_WAIT)
        return max(waits)

    def _wait(self, milliseconds: int) -> bool:
        """Whether there is a signal."""
        waiting = select.poll()
        waiting.register(self._signals, select.POLLIN)
        return bool(waiting.poll(milliseconds))

    def _stop(self) -> None:
        self.is_on = False
        for pipe in self._pipes:
            fcntl.fcntl(pipe, fcntl.F_SETFL, fcntl.fcntl(pipe, fcntl.F_GETFL) & ~os.O_ASYNC)
            _resize(pipe, PIPE)

    def _gather(self) -> None:
        """Read the signals that are there, and what they tell of."""
        is_more = self._read_signals()
        while is_more and not (self.is_on and self._is_enough):
            self._leave_out_waits()
            stores = {pipe: self._stores[pipe] for pipe in self._pipes}
            for store in stores.values():
                store.move()
            is_more = self._read_signals()
            for pipe, store in stores.items():
                self._size += store.unpack()
                if store.was_full and self._named.count(pipe) > len(store.packets):
                    self._doubts[pipe] = len(store.packets)
            is_closing = any(not store.is_closed and _has_no_writer(pipe) for pipe, store in stores.items())
            if len(self._named) >= MANY_WRITES and self._is_even:
                break
            is_more = self._read_signals() or is_more or is_closing

    def _leave_out_waits(self) -> None:
        """Of two signals in a row of a pipe that was full, the first is that of a write that had to wait."""
        for pipe, place in list(self._doubts.items()):
            at = [n for n, named in enumerate(self._named) if named == pipe][place]
            if at + 1 < len(self._named):
                del self._doubts[pipe]
                if self._named[at + 1] == pipe:
                    del self._named[at]

    def _read_signals(self) -> bool:
        """Whether there were any."""
        try:
            infos = os.read(self._signals, SIGNAL_INFO.size * 1024)
        except BlockingIOError:
            return False
        named = [pipe for (pipe,) in SIGNAL_INFO.iter_unpack(infos) if pipe in self._pipes]
        self._named += named
        self._writes += len(named)
        return True

    def _pieces(self) -> list[Piece]:
        """All that was gathered; at the end what no signal told of, and which pipes were closed."""
        pieces: list[Piece] = []
        shares = {pipe: self._shares(pipe) for pipe in self._pipes}
        for pipe in self._named:
            pieces += [(pipe, packet) for packet in next(shares[pipe], [])]
        for pipe in self._pipes:
            pieces += [(pipe, packet) for share in shares[pipe] for packet in share]
            self._stores[pipe].packets = []
        self._named = []
        self._doubts = {}
        return pieces + [(pipe, b"") for pipe in self._pipes if self._stores[pipe].is_closed]

    def _shares(self, pipe: int) -> Iterator[list[bytes]]:
        """What each signal of a pipe tells of."""
        store = self._stores[pipe]
        # The last signal of a pipe that was closed tells of that.
        return iter(share_out(store.packets, self._named.count(pipe) - store.is_closed))


def join_pages(packets: list[bytes]) -> list[list[bytes]]:
    """Packets of a whole page together with the next one, as if they were parts of larger writes."""
    writes: list[list[bytes]] = []
    for n, packet in enumerate(packets):
        if n and len(packets[n - 1]) == PAGESIZE:
            writes[-1].append(packet)
        else:
            writes.append([packet])
    return writes


def share_out(packets: list[bytes], count: int) -> list[list[bytes]]:
    """What was written to a pipe by this number of writes; more if that cannot be."""
    if count >= len(packets):
        lines = _LINE.findall(b"".join(packets))
        pieces = lines if count > len(packets) and count == len(lines) else packets
        return [[piece] for piece in pieces]
    joined = join_pages(packets)
    if len(joined) < count and len(packets) % count == 0:
        each = len(packets) // count
        return [packets[n : n + each] for n in range(0, len(packets), each)]
    return _split_largest(joined, count)


def _split_largest(writes: list[list[bytes]], count: int) -> list[list[bytes]]:
    """Take packets off the largest writes until there are this many."""
    while len(writes) < count:
        at = max(range(len(writes)), key=lambda n: len(writes[n]))
        first, *rest = writes[at]
        writes[at : at + 1] = [[first], rest]
    return writes


def _has_no_writer(pipe: int) -> bool:
    look = select.poll()
    look.register(pipe, select.POLLHUP)
    return any(event & select.POLLHUP for _, event in look.poll(0))


def is_used(number: int) -> bool:
    """Whether the program handles a signal, or this thread blocks it, in order to wait for it elsewhere."""
    status = Path("/proc/thread-self/status").read_text()
    masks = re.findall(r"^Sig(?:Cgt|Blk):\s*([0-9a-f]+)$", status, re.MULTILINE)
    return any(int(mask, 16) >> (number - 1) & 1 for mask in masks)


def _open_signals() -> int:
    """A descriptor from which this thread reads its signals."""
    chosen = ctypes.create_string_buffer(128)
    _system.sigemptyset(chosen)
    _system.sigaddset(chosen, SIGNAL)
    signals = int(_system.signalfd(-1, chosen, os.O_CLOEXEC | os.O_NONBLOCK))
    if signals < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return signals


def _name_in_signals(pipe: int) -> None:
    """From now on every write to this pipe sends this thread a signal."""
    fcntl.fcntl(pipe, fcntl.F_SETSIG, SIGNAL)
    fcntl.fcntl(pipe, F_SETOWN_EX, struct.pack("ii", F_OWNER_TID, threading.get_native_id()))
    fcntl.fcntl(pipe, fcntl.F_SETFL, fcntl.fcntl(pipe, fcntl.F_GETFL) | os.O_ASYNC)
