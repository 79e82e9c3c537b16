"""Writers to be killed: a process that has everything loaded and forks one for each line it reads.

    python killable_writer.py <folder>

Each answers with its id as soon as it can write, and then writes until it is killed: files that say in every line
which version they are.
"""

import os
import signal
import sys
from pathlib import Path

from support.file_tools import FileTools

LINES = 60


def content(version: int) -> str:
    return "".join(f"version {version} line {n}\n" for n in range(LINES))


def work(root: Path) -> None:
    """Write and MultiEdit by turns, each from one version to the next."""
    tools = FileTools(root)
    assert not tools.read("sub/file.txt", limit=2000).is_error
    _tell(str(os.getpid()))
    version = int((root / "sub" / "file.txt").read_text().split()[1])
    while True:
        edits = [(f"version {version} line {n}\n", f"version {version + 1} line {n}\n") for n in range(LINES)]
        assert not tools.multi_edit("sub/file.txt", *edits).is_error
        assert not tools.write("sub/file.txt", content(version + 2)).is_error
        version += 2


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    root = Path(sys.argv[1])
    child = 0
    try:
        for _ in sys.stdin:
            child = os.fork()
            if not child:
                work(root)
            os.waitpid(child, 0)
            child = 0
            _tell("ended")
    finally:
        if child:
            os.kill(child, signal.SIGKILL)


if __name__ == "__main__":
    main()
