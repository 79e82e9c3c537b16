"""Packs as JSON lines, so that anyone can score them with a scorer of their own.

Rule: one line for each reply of the recording, in order, also where the policy failed.
"""

import tempfile
from pathlib import Path
from typing import Self

import msgspec
from msgspec import Struct

_encode = msgspec.json.encode


class Line(Struct, frozen=True, gc=False):
    """What tells the lines of a recording apart."""

    index: int
    budget: int
    policy: str


class DumpFile:
    """A file of packs in a folder of such. Whoever takes over its name removes it; an error on the way does too."""

    def __init__(self, folder: str, recording: str) -> None:
        self._id = _encode(recording)
        self._file = tempfile.NamedTemporaryFile("wb", dir=folder, suffix=".jsonl", delete=False)  # noqa: SIM115
        self.name = self._file.name

    def write(self, line: Line, messages: bytes, tokens: int, fault: str) -> None:
        """`messages` are JSON already, and too many to encode again."""
        error = b',"error":' + _encode(fault) if fault else b""
        self._file.write(
            b'{"recording":%b,%b,"messages":%b,"tokens":%d%b}\n'
            % (self._id, _encode(line)[1:-1], messages, tokens, error)
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._file.close()
        if kind is not None:
            Path(self.name).unlink(missing_ok=True)
