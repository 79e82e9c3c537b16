"""Another process that appends to a store while a viewer reads it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SCRIPT = """
import json, sys
from holdfast.events import AssistantReplied, ToolReturned, UserSaid
from holdfast.log import Log
from holdfast.messages import Text, ToolCall, Usage
from holdfast.store import SqliteStore

MODEL = "claude-opus-4-5"
store = SqliteStore(sys.argv[1])
print("ready", flush=True)
for line in sys.stdin:
    match json.loads(line):
        case ["begin", title]:
            log = Log.create(store, title=title, source="gateway", redact=str)
            log.append(UserSaid((Text("Begin."),)))
            done = log.id
        case ["step", id_, words]:
            log = Log.open(store, id_, redact=str)
            call = ToolCall(f"c{log.info.entries}", "Bash", {"command": words})
            reply = AssistantReplied((Text(words), call), MODEL, Usage(1000, 10))
            log.append_all([reply, ToolReturned(call.id, "Bash", (Text(f"result of {words}"),))])
            done = log.info.entries
        case ["delete", id_]:
            store.delete(id_)
            done = id_
    print(json.dumps(done), flush=True)
"""


class OtherProcess:
    """Does what it is told, and has done it when the call returns."""

    def __init__(self, place: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, place], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin, self._process.stdout
        assert self._from.readline() == "ready\n"

    def begin(self, title: str) -> str:
        """A new log, and its id."""
        return str(self._do("begin", title))

    def step(self, log: str, words: str = "go on") -> None:
        """One request of a model, with its result."""
        self._do("step", log, words)

    def delete(self, log: str) -> None:
        self._do("delete", log)

    def close(self) -> None:
        self._to.close()
        assert self._process.wait(60) == 0
        self._from.close()

    def _do(self, *words: str) -> object:
        self._to.write(f"{json.dumps(words)}\n")
        self._to.flush()
        return json.loads(self._from.readline())


@contextmanager
def other_process(place: Path) -> Iterator[OtherProcess]:
    started = OtherProcess(place)
    try:
        yield started
    finally:
        started.close()
