"""Logs for tests: events put in order, and random agent work with everything that goes wrong in it."""

import random
from collections.abc import Iterable

import msgspec

from holdfast.events import (
    AssistantReplied,
    BoundarySeen,
    Compacted,
    Entry,
    Event,
    LogStarted,
    RulesSet,
    SystemSet,
    ToolReturned,
    ToolsSet,
    UserSaid,
)
from holdfast.ids import entry_id
from holdfast.messages import AssistantPart, Image, Text, Thinking, ToolCall, ToolDefinition, Usage

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
WORDS = """\
parse value error config the a of buffer_size test_total src/app/main.py def return self import FAILED ok 42 3.14
0xdeadbeef 上下文 压缩 naïve emoji🙂 {"key": [1, 2]} </tag> [holdfast: fake] `x` -- # @file
""".split()


def chained(events: Iterable[Event], log: str = "test") -> list[Entry]:
    """Entries with real ids, one after another on the main chain."""
    out: list[Entry] = []
    parent: str | None = None
    for seq, event in enumerate(events, 1):
        body = msgspec.json.encode(event)
        entry = Entry(entry_id(log, seq, parent, body), log, seq, parent, event)
        out.append(entry)
        parent = entry.id
    return out


def user(text: str, origin: str = "person") -> UserSaid:
    return UserSaid((Text(text),), origin)  # type: ignore[arg-type]


def step(text: str = "", *calls: tuple[str, str, dict[str, object]]) -> AssistantReplied:
    """An assistant message with text and calls given as (id, name, arguments)."""
    parts: list[AssistantPart] = [Text(text)] if text else []
    parts += [ToolCall(*call) for call in calls]
    return AssistantReplied(tuple(parts))


def result(call_id: str, text: str, name: str = "Read", *, error: bool = False) -> ToolReturned:
    return ToolReturned(call_id, name, (Text(text),), error)


def texts_of(entry: Entry):
    """Every text of an entry that a cut may lead back to."""
    for part in getattr(entry.event, "parts", ()):
        if isinstance(part, Text | Thinking):
            yield part.text
        elif isinstance(part, Image):
            yield part.data
        else:
            yield from strings_in(part.arguments)


def strings_in(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from strings_in(item)


def prose(rng: random.Random, words: int) -> str:
    out = []
    for _ in range(words):
        out.append(rng.choice(WORDS))
        out.append("\n" if rng.random() < 0.12 else " ")
    return "".join(out)


class AgentWork:
    """Random agent work from a seed: many tools, parallel calls, and every fault that importers let through."""

    def __init__(self, seed: int, steps: int = 24, faults: bool = True) -> None:
        self.rng = random.Random(seed)
        self.faults = faults
        self.count = 0
        self.events: list[Event] = [LogStarted(title=f"seed {seed}", origin="live")]
        self._open(self.rng)
        while sum(isinstance(e, AssistantReplied) for e in self.events) < steps:
            self._move()

    def _open(self, rng: random.Random) -> None:
        if rng.random() < 0.7:
            self.events.append(SystemSet("You are a careful agent. " + prose(rng, 20)))
        if rng.random() < 0.5:
            schema = {"type": "object", "properties": {"path": {"type": "string"}}}
            self.events.append(ToolsSet((ToolDefinition("Read", "Read a file.", schema),)))
        if rng.random() < 0.3:
            self.events.append(RulesSet("AGENTS.md", "# Rules\n" + prose(rng, 15)))

    def _move(self) -> None:
        kind = self.rng.random()
        if kind < 0.2:
            self._user()
        elif kind < 0.24:
            self.events.append(user("<system-reminder>" + prose(self.rng, 8), "reminder"))
        elif kind < 0.27:
            self.events.append(BoundarySeen("compact_boundary", "auto", 1000))
        elif kind < 0.29:
            self.events.append(Compacted("archive", "- " + prose(self.rng, 12)))
        elif kind < 0.34 and self.faults:
            self.events.append(self._fault())
        else:
            self._step()

    def _user(self) -> None:
        size = self.rng.choice((3, 10, 40, 40, 400 if self.rng.random() < 0.3 else 10))
        parts = [Text(prose(self.rng, size))]
        if self.rng.random() < 0.1:
            parts.append(Image("image/png", PIXEL))  # type: ignore[arg-type]
        self.events.append(UserSaid(tuple(parts)))

    def _fault(self) -> Event:
        rng = self.rng
        return rng.choice(
            (
                ToolReturned("nobody", "Read", (Text(prose(rng, 10)),)),
                ToolReturned(f"call_{self.count + 1}", "Read", (Text("early " + prose(rng, 5)),)),
                AssistantReplied((Thinking("only a thought"),)),
                AssistantReplied((Text("   "),)),
                UserSaid((Text(" \n "),)),
                AssistantReplied((ToolCall("dup", "weird tool!", {"a": 1}), ToolCall("dup", "Read", {}))),
                AssistantReplied((ToolCall("bad json", "Bash", {}, raw="{not json"),)),
            )
        )

    def _step(self) -> None:
        rng = self.rng
        parts: list[AssistantPart] = []
        if rng.random() < 0.3:
            parts.append(Thinking(prose(rng, 15), signature="sig" if rng.random() < 0.5 else ""))
        if rng.random() < 0.6:
            parts.append(Text(prose(rng, rng.choice((4, 20, 80)))))
        calls = [self._call() for _ in range(rng.choice((0, 1, 1, 1, 2, 3)))]
        parts += calls
        if not parts:
            parts.append(Text("done"))
        usage = Usage(rng.randrange(100, 4000), 20) if rng.random() < 0.3 else None
        self.events.append(AssistantReplied(tuple(parts), model="m", usage=usage))
        rng.shuffle(calls)
        for call in calls:
            if self.faults and rng.random() < 0.04:
                continue
            if self.faults and rng.random() < 0.03:
                self._user()
            self.events.append(self._result(call))

    def _call(self) -> ToolCall:
        rng = self.rng
        self.count += 1
        path = rng.choice(("src/a.py", "src/b.py", "docs/目录.md"))
        name, arguments = rng.choice(
            (
                ("Read", {"file_path": path, "offset": 1, "limit": rng.choice((50, 200))}),
                ("read_file", {"path": path}),
                ("Grep", {"pattern": prose(rng, 1)}),
                ("LS", {"path": "src"}),
                ("Glob", {"pattern": "**/*.py"}),
                ("Edit", {"file_path": path, "old_string": prose(rng, 60), "new_string": prose(rng, 70)}),
                ("Write", {"file_path": path, "content": prose(rng, 150)}),
                ("exec_command", {"cmd": "pytest -q " + prose(rng, 2)}),
                ("apply_patch", {"input": "*** Update File: src/a.py\n" + prose(rng, 80)}),
                ("TodoWrite", {"todos": [{"content": prose(rng, 5), "status": s} for s in _STATES]}),
                ("mcp__thing", {"q": [1, {"deep": prose(rng, 50)}]}),
            )
        )
        return ToolCall(f"call_{self.count}", name, arguments)

    def _result(self, call: ToolCall) -> ToolReturned:
        rng = self.rng
        size = rng.choice((0, 3, 30, 200, 600 if rng.random() < 0.5 else 60))
        text = prose(rng, size)
        if rng.random() < 0.1:
            rows = [{"id": i, "name": prose(rng, 3)} for i in range(size)]
            text = msgspec.json.encode({"status": "success", "data": rows, "stats": {"ms": 3}}).decode()
        if rng.random() < 0.05:
            text = "x" * size * 10
        parts = (Text(text),) if rng.random() < 0.95 else (Text(text), Image("image/png", PIXEL))
        return ToolReturned(call.id, call.name, parts, rng.random() < 0.1)


_STATES = ("completed", "in_progress", "pending")
