"""A process that appends numbered groups of events and tells each number once it is stored; made to be killed.

Usage: writer.py STORE LOG NAME GROUPS SIZE TOLD. With GROUPS 0 it goes on until killed; what it stored it tells in
the file TOLD. Without arguments it reads such arguments from stdin, a line each, and forks a writer for each line:
its process id goes to stdout, and its exit status when it has ended. That spares the imports of every writer.
"""

import itertools
import os
import sys
from pathlib import Path

from holdfast.errors import InputError
from holdfast.events import Noted, ToolReturned
from holdfast.log import Log
from holdfast.messages import Text
from holdfast.store import open_store
from holdfast.store_places import parse_place


def main() -> None:
    if len(sys.argv) > 1:
        write(*sys.argv[1:])
        return
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            write(*line.split())
            os._exit(0)
        tell(child)
        tell(os.waitpid(child, 0)[1])


def tell(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def write(path: str, id_: str, name: str, groups: str, size: str, told: str) -> None:
    # Unbuffered: a line is in the file when `write` returns, even if the process is killed right then.
    with open_store(parse_place(path)) as store, Path(told).open("ab", buffering=0) as out:
        try:
            log = Log.create(store, id=id_, redact=str)
        except InputError:
            log = Log.open(store, id_, redact=str)
        for group in range(int(groups)) if int(groups) else itertools.count():
            entries = log.append_all([event(name, group, member) for member in range(int(size))])
            out.write("".join(f"{entry.seq} {name} {group}\n" for entry in entries).encode())
            if group % 5 == 4:
                store.search(f"{name} {group}")


def event(name: str, group: int, member: int) -> ToolReturned | Noted:
    if member % 2:
        return Noted("beat", f"{name} {group} {member}", {"group": group, "long": "shared by all " * 40})
    text = f"{name} {group} {member}\n" + "output of some length, unlike the others\n" * (group % 40)
    return ToolReturned(f"c{group}", "Bash", (Text(text), Text("exit code 0")))


if __name__ == "__main__":
    main()
