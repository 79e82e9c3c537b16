"""Work to be killed: appends, folds, summaries, an agent's run and imports, each of which says what is stored.

Reads `KIND STORE TOLD` from stdin, a line each, and forks a worker for each line: its process id goes to stdout,
and its exit status when it has ended. A worker goes on until it is killed. After each piece of work it writes a
line to TOLD: the number and the id of the newest entry or, for an import, the number of entries and the id of the
log.
"""

import asyncio
import itertools
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.agents.agent import Agent
from holdfast.agents.loop import run
from holdfast.compaction.compact import compact
from holdfast.log import Log
from holdfast.messages import Text, ToolCall
from holdfast.models.model import ModelRequest
from holdfast.models.scripted import ScriptedModel
from holdfast.recordings import read_recordings
from holdfast.session import Session
from holdfast.store import SqliteStore
from holdfast.tools.envelope import ToolResult, tool_result
from holdfast.tools.tool import TypedTool
from holdfast.tools.workspace import Workspace

LOG, BUDGET = "work", 4_000
IMPORTED = 60
"""Messages of an imported recording."""

Tell = Callable[[str], None]


def step(number: int) -> Iterator[dict[str, object]]:
    call = {"id": f"c{number}", "type": "function", "function": {"name": "Look", "arguments": "{}"}}
    yield {"role": "assistant", "content": f"I look at part {number}.", "tool_calls": [call]}
    text = "\n".join(f"part {number}, line {n}: some_name_{n} = value_of({number})" for n in range(40))
    yield {"role": "tool", "tool_call_id": f"c{number}", "content": text}


def open_session(store: SqliteStore) -> Session:
    session = Session(store=store, log=LOG, budget=BUDGET, system="You look.")
    if not session.window.transcript.items:
        session.append({"role": "user", "content": "Look at every part. Never change one."})
    return session


def newest(session: Session) -> str:
    entries = session.log.entries(since=max(0, session.log.info.entries - 1))
    return f"{entries[-1].seq} {entries[-1].id}"


def append(store: SqliteStore, tell: Tell) -> None:
    session = open_session(store)
    for number in itertools.count(session.log.info.entries):
        session.append(*step(number))
        tell(newest(session))


def fold(store: SqliteStore, tell: Tell) -> None:
    session = open_session(store)
    for number in itertools.count(session.log.info.entries):
        session.append(*step(number))
        tell(newest(session))
        session.pack()
        tell(newest(session))


def summarize(store: SqliteStore, tell: Tell) -> None:
    session = open_session(store)
    for number in itertools.count(session.log.info.entries):
        session.append(*step(number))
        asyncio.run(compact(session))
        tell(newest(session))


class Place(Struct, frozen=True):
    path: str


def work_as_agent(store: SqliteStore, tell: Tell) -> None:
    async def look(arguments: Place, _: Workspace) -> ToolResult:
        rows = "\n".join(f"{arguments.path}: line {n}" for n in range(60))
        return tool_result(rows, "read", context={"path": arguments.path})

    def reply(request: ModelRequest) -> list[Text | ToolCall]:
        number = len(request.messages)
        return [
            Text(f"Step {number}."),
            ToolCall(f"c{os.getpid()}-{number}", "Look", {"path": f"p{number}.py"}),
        ]

    session = open_session(store)
    tool = TypedTool("Look", Place, "Looks.", look, is_read_only=True)
    model = ScriptedModel(reply, repeat_last=True, piece=10_000)
    summarizer = ScriptedModel("## Goal\n- look at every part", repeat_last=True)
    agent = Agent(
        model, [tool], session=session, summarizer=summarizer, watch=lambda _: tell(newest(session))
    )
    asyncio.run(run(agent, "Go on."))


def import_recordings(store: SqliteStore, tell: Tell) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for number in itertools.count(len(store.logs())):
            messages = [{"role": "user", "content": f"Look at every part, for the {number}th time."}]
            messages += [message for at in range(IMPORTED // 2) for message in step(at)]
            path = Path(folder) / f"{number}.json"
            path.write_bytes(msgspec.json.encode(messages))
            (recording,) = read_recordings(path)
            log = Log.import_recording(store, recording)
            tell(f"{log.info.entries} {log.id}")


WORK: dict[str, Callable[[SqliteStore, Tell], None]] = {
    "append": append,
    "fold": fold,
    "summary": summarize,
    "agent": work_as_agent,
    "import": import_recordings,
}


def start(kind: str, store: str, told: str) -> None:
    # Unbuffered: a line is in the file when `write` returns, even if the process is killed right then.
    with Path(told).open("ab", buffering=0) as out, SqliteStore(store) as opened:

        def tell(line: str) -> None:
            out.write(f"{line}\n".encode())

        WORK[kind](opened, tell)


def main() -> None:
    with Session(budget=BUDGET) as warm:  # what is loaded now, no worker has to load
        warm.append({"role": "user", "content": "Look."}, *step(1))
        warm.pack()
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            start(*line.split())
            os._exit(1)
        print_number(child)
        print_number(os.waitpid(child, 0)[1])


def print_number(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
