"""The process that reads code: one text after another from its input, one outline each to its output.

Rule: it holds nothing that would be missed. Whoever started it may end it at any time.
"""

import resource
import struct
import sys
from typing import BinaryIO

import msgspec

from holdfast.review.code.outline import outline_of

LENGTH = struct.Struct(">I")
"""Each message has its length before it."""


def main() -> None:
    # Nobody looks into what a crash leaves behind.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    answer(sys.stdin.buffer, sys.stdout.buffer)


def answer(given: BinaryIO, out: BinaryIO) -> None:
    while len(head := given.read(LENGTH.size)) == LENGTH.size:
        language, raw = msgspec.msgpack.decode(given.read(LENGTH.unpack(head)[0]), type=tuple[str, bytes])
        said = msgspec.msgpack.encode(outline_of(raw.decode("utf-8"), language))
        out.write(LENGTH.pack(len(said)) + said)
        out.flush()


if __name__ == "__main__":
    main()
